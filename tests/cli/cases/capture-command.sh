# SPDX-License-Identifier: Apache-2.0
# capture -- COMMAND: its output passes, its ending is ours, and the case tells of it.
export XDG_DATA_HOME=$PWD/data
run() { "$CUTRIAGE" capture --budget 1 -f -o a.case "$@" >out 2>err; }
ended() { "$CUTRIAGE" query --csv a.case "SELECT value FROM fact WHERE key = 'runs.ended'" | tail -1 | tr -d '\r'; }

run -- sh -c 'echo to out; echo to err >&2; exit 7'
[ $? -eq 7 ] || { echo "not 7"; cat err; exit 1; }
[ "$(cat out)" = "to out" ] && grep -q "^to err" err || { echo "output"; cat out err; exit 1; }
[ "$(ended)" = "exit code 7" ] || { ended; exit 1; }
run -- sh -c 'kill -SEGV $$'
[ $? -eq 139 ] && [ "$(ended)" = "killed by SIGSEGV" ] || { ended; exit 1; }
run --no-stacks -- true || { cat err; exit 1; }
run -- ./not-there
[ $? -eq 4 ] && grep -q "not-there: No such file" err || { cat err; exit 1; }
run --json -- echo program || exit 1
grep -q '^{' out || { cat out; exit 1; }
grep -q "^program" err || { echo "output of the program went elsewhere"; exit 1; }

# One that fails sooner each time; the times are far enough apart for a busy machine.
cat >app.sh <<'X'
n=$(cat count 2>/dev/null || echo 0)
echo $((n + 1)) >count
sleep $(awk "BEGIN { print (5 - $n) * 0.15 }")
exit 3
X
run --repeat 5 -- sh app.sh
[ $? -eq 1 ] || { echo "repeat: exit"; exit 1; }
grep -q "^Failures: 5 of 5, 100.0 %, 95 % interval 56.6 % to 100.0 %" err || { cat err; exit 1; }
grep -q "^Trend of the time to failure: shrinks" err || { cat err; exit 1; }
trend=$("$CUTRIAGE" query --csv a.case "SELECT value FROM fact WHERE key = 'runs.trend'" | tail -1 | tr -d '\r')
[ "$trend" = shrinks ] || { echo "trend $trend"; exit 1; }

run --repeat many -- true; [ $? -eq 2 ] || exit 1
run --repeat 2000 -- true; [ $? -eq 2 ] || exit 1
run --repeat 3; [ $? -eq 2 ] && grep -q -- "-- COMMAND" err || { cat err; exit 1; }
run --; [ $? -eq 2 ]
