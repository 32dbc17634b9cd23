# SPDX-License-Identifier: Apache-2.0
# What cannot be meant is refused before any work, and a limit on the size of files is an error.
export XDG_DATA_HOME=$PWD/data TMPDIR=$PWD/tmp
mkdir tmp
tree=$SOURCE/tests/sysroot/orin-board
run() { want=$1; shift; "$CUTRIAGE" "$@" >out 2>err; got=$?
    [ "$got" = "$want" ] || { echo "$*: exit $got, not $want"; cat out err; exit 1; }; }
for verb in capture check; do
    for wrong in "--pid 0" "--pid -4" "--pid shell" "--pid 99999999999" "--budget 0" "--budget -1" \
        "--budget 601" "--budget soon"; do
        # shellcheck disable=SC2086
        run 2 $verb $wrong
        grep -q -- "${wrong%% *}" err || { cat err; exit 1; }
    done
done
run 2 capture --repeat 0 -o r.case -- true
grep -q "between 1 and 1000" err || { cat err; exit 1; }
[ ! -e r.case ] || exit 1
# The name is judged before the command runs.
ln -s nowhere link.case
run 4 capture -o link.case -- touch ran
[ ! -e ran ] && [ -z "$(ls tmp)" ] || { echo "refused only after the work"; exit 1; }
echo mine >other
run 4 capture -f -o other -- touch ran
run 2 capture -o other -- touch ran
[ ! -e ran ] && [ -z "$(ls tmp)" ] || { echo "refused only after the work"; exit 1; }
( ulimit -f 20; "$CUTRIAGE" capture --sysroot "$tree" -o full.case -f >out 2>err; echo $? >rc )
[ "$(cat rc)" = 4 ] && [ -s err ] && [ ! -e full.case ] || { echo "limit: $(cat rc)"; cat err; exit 1; }
# What runs ignores the signals that it would ignore without us, and no other.
ignored=$(sh -c 'grep SigIgn /proc/self/status')
run 0 capture --budget 1 -o s.case -- sh -c 'grep SigIgn /proc/self/status'
grep -qF "$ignored" out err || { echo "wanted $ignored"; cat out err; exit 1; }
# A model that is named and not taken is told of; a hole of any size is no work.
truncate -s 30G hole.engine 2>/dev/null || : >hole.engine
mkfifo pipe.engine
echo text >notes.txt
run 0 capture -o m.case hole.engine pipe.engine missing.engine notes.txt
for word in "pipe.engine: it is no regular file" "missing.engine: there is no such file" \
    "notes.txt: neither an engine"; do
    grep -q "$word" out || { echo "not told: $word"; cat out; exit 1; }
done
"$CUTRIAGE" query m.case "select path, status from source where path like '%.engine' order by path" >out
grep -q "hole.engine  *ok" out && ! grep -q timeout out || { cat out; exit 1; }
