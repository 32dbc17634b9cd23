# SPDX-License-Identifier: Apache-2.0
# A bad file in a folder of knowledge is told of and left out, by every verb that takes one; the
# table of confusion; a case of two incidents is judged as diagnose shows it.
fail() { echo "$1"; cat out err; exit 1; }
mkdir -p cases
cp -r "$SOURCE/tests/calibration/gpu-oom-capacity" "$SOURCE/tests/calibration/no-kernel-image" cases/
mkdir -p kb && cp -r "$SOURCE/knowledge/." kb/
echo 'cause: [' >kb/causes/memory/broken.yaml
for verb in "explain --knowledge kb gpu-oom-capacity" "list --knowledge kb causes" \
    "kb calibrate cases kb" "kb calibrate --knowledge kb cases"; do
    "$CUTRIAGE" $verb >out 2>err || fail "$verb: exit $?"
    [ "$(grep -c 'broken.yaml' err)" -eq 1 ] || fail "$verb: not told once"
done
"$CUTRIAGE" kb calibrate --confusion cases >out 2>err || fail confusion
grep -q -E '^memory: 1 of 1 lead' out || fail 'no topic'
grep -q -E '^  gpu-oom-capacity +1 of  1' out || fail 'no cause'
# Two faults in a month: the one that diagnose shows first is the answer.
mkdir -p two/month && cp "$SOURCE"/tests/scenarios/month-with-two-faults/*.log two/month/
first=$("$CUTRIAGE" diagnose --json two/month/*.log | sed -n 's/.*"cause": "\([a-z0-9-]*\)".*/\1/p' | head -n 1)
[ -n "$first" ] || fail 'nothing found'
printf 'cause: %s\n' "$first" >two/month/truth.yaml
"$CUTRIAGE" kb calibrate two >out 2>err || fail two
grep -q '^ok' out || fail 'not judged as diagnose does'
exit 0
