# SPDX-License-Identifier: Apache-2.0
# Files that only look like cases, or were damaged: a clear message and 4, never a crash.
"$CUTRIAGE" diagnose -o run.case "$EXAMPLES/nightly-latency-ecc" >/dev/null
echo 'plain text' >text.case
: >empty.case
head -c 4096 run.case >cut.case
{ head -c 100 run.case; head -c 200000 /dev/urandom; } >noise.case
for f in text.case empty.case cut.case noise.case .; do
    "$CUTRIAGE" query "$f" 'SELECT * FROM event' >out 2>err
    rc=$?
    [ $rc -eq 4 ] || [ $rc -eq 2 ] || { echo "$f: exit $rc"; exit 1; }
    grep -q '^cutriage' err || { echo "$f: no message"; exit 1; }
done
