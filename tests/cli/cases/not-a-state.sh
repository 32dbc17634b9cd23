# SPDX-License-Identifier: Apache-2.0
# What is no case and holds nothing that can be read has no state: refused, never "no difference".
export XDG_DATA_HOME=$PWD/data
run() { want=$1; shift; timeout 60 "$CUTRIAGE" "$@" >out 2>err; got=$?
    [ "$got" = "$want" ] || { echo "$*: exit $got, not $want"; cat out err; exit 1; }; }
"$CUTRIAGE" capture --sysroot "$SOURCE/tests/sysroot/two-gpus" -o a.case >/dev/null || exit 1
: >empty
head -c 100000 /dev/urandom >random
printf 'SQLite format 3\000' >other.db
head -c 8176 /dev/zero >>other.db
for bad in empty random other.db /dev/zero /dev/null; do
    run 4 diff a.case "$bad"
    grep -Eq "nothing (in it could be read|to read is left)" err || { echo "diff $bad says:"; cat err; exit 1; }
    run 4 diff "$bad" a.case
    run 4 diff --group a.case a.case "$bad"
    run 4 diff --release cuda12.4 "$bad"
    run 4 check "$bad"
    grep -Eq "nothing (in it could be read|to read is left)" err && [ ! -s out ] || { cat out err; exit 1; }
done
# Text without any fact is something, but there is nothing to compare.
echo "hello there" >hello.txt
run 3 diff a.case hello.txt
grep -q "nothing could be compared" out || { cat out; exit 1; }
run 3 diff hello.txt a.case
run 3 diff --json a.case hello.txt
"$VALIDATE_JSON" "$SOURCE/docs/diff-schema.json" out || exit 1
