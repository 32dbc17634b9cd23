# SPDX-License-Identifier: Apache-2.0
# Which part of the evidence is looked at, and several incidents in one file.
log=$SOURCE/tests/scenarios/month-with-two-faults/journal.log
first() { "$CUTRIAGE" diagnose "$@" "$log" 2>&1 | sed -n 1p; }
both() {
    "$CUTRIAGE" diagnose "$@" "$log" | sed -n '/Also found/p' | grep -c .
}
bus="Cause   GPU dropped off the PCIe bus [hardware]"
oom="Cause   Process killed by the kernel's OOM killer [memory]"
fail=0
want() {
    expected=$1
    shift
    got=$(first "$@")
    [ "$got" = "$expected" ] || { echo "$*: $got"; fail=1; }
}
want "$bus"
want "$bus" --group 1
want "$oom" --group 2
want "$oom" --since "Nov 10"
want "$oom" --since 11-10
want "$oom" --since "11月10日"
want "$oom" --since "-10d"
want "$oom" --since "10 days ago"
want "$bus" --until "Nov 20 12:00"
want "$bus" --until "2 weeks ago"
# The log writes no year: one that is asked for cannot rule it out. Nor does an end behind the end.
want "$oom" --since 2024-11-10
want "$oom" --since "2024-11-10 08:00" --until "Dec 20"
want "$bus" --until "2024-11-20 12:00"
want "$bus" --until "Dec 20"
want "$bus" --gpu 0000:3B:00.0
want "$oom" --pid 60213
want "$bus" --pid 31877
want "$oom" --boot last
want "$bus" --boot 1
want "$bus" --host kestrel
[ "$(both)" = 1 ] || { echo "two incidents, and not one line of the other"; fail=1; }
[ "$(both --until 'Nov 20')" = 0 ] || { echo "one incident, and a line of another"; fail=1; }

# A span of time without anything in it is said to be one.
"$CUTRIAGE" diagnose --until 10-25 "$log" 2>&1 >/dev/null | grep -q 'the first is of 11-0' ||
    { echo "an empty span is called healthy"; fail=1; }
[ -z "$("$CUTRIAGE" diagnose --since 'Nov 10' "$log" 2>&1 >/dev/null)" ] || { echo "a needless note"; fail=1; }

# What cannot be meant is refused.
for wrong in "--since=" "--since soon" "--until 25:00" "--pid python" "--boot first" "--boot 9" "--group 3" \
    "--group -1"; do
    # shellcheck disable=SC2086
    "$CUTRIAGE" diagnose $wrong "$log" >/dev/null 2>&1
    [ $? = 2 ] || { echo "$wrong is taken"; fail=1; }
done

# A case keeps all, whatever part was looked at.
"$CUTRIAGE" diagnose -o part.case --since "Nov 10" "$log" >/dev/null
[ "$("$CUTRIAGE" diagnose part.case | sed -n 1p)" = "$bus" ] || { echo "the case is cut"; fail=1; }
"$CUTRIAGE" diagnose --json "$log" >two.json
"$VALIDATE_JSON" "$SOURCE/docs/diagnosis-schema.json" two.json || fail=1
exit $fail
