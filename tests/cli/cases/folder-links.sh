# SPDX-License-Identifier: Apache-2.0
# A folder is not left by its links, circles end, and a silent pipe is told of.
fail() { echo "$1"; cat out err; exit 1; }
mkdir -p outside d/sub
echo 'RuntimeError: CUDA error: an illegal memory access was encountered' >outside/app.log
echo 'step 1 done' >d/sub/run.log
ln -s .. d/up
ln -s ../outside/app.log d/app.log
ln -s . d/here
ln -s sub d/again
ln -s nothing d/dead
"$CUTRIAGE" diagnose --json d >out 2>err
case $? in 0 | 3) ;; *) fail 'a link out of the folder was followed' ;; esac
grep -q 'outside' out && fail 'a path outside'
grep -q 'a link out of the folder' out || fail 'no word of it'
[ "$(grep -c 'run.log"' out)" -eq 1 ] || fail 'a file was read twice'
# Named by the person, a link is followed.
ln -s outside/app.log named.log
"$CUTRIAGE" diagnose named.log >out 2>err
[ $? -eq 1 ] || fail 'a link that was named'
ln -s outside linked
"$CUTRIAGE" diagnose linked >out 2>err
[ $? -eq 1 ] || fail 'a linked folder that was named'
# A pipe: what comes late is waited for, and said so.
mkfifo pipe
(sleep 1; cat outside/app.log >pipe) &
timeout 20 "$CUTRIAGE" diagnose pipe >out 2>err
[ $? -eq 1 ] || fail 'a named pipe'
grep -q 'pipe.*waiting' err || fail 'no word of waiting'
wait
exit 0
