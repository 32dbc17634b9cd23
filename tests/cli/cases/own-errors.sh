# SPDX-License-Identifier: Apache-2.0
# A line that the program itself calls an error is shown, though no rule knows it; "no error" would
# be false. One that was overcome long ago is none of today's.
fail() { echo "$1"; exit 1; }
for line in '2025-03-04 10:00:00 ERROR pump 3 failed: cavitation' \
    '2025-03-04 10:00:00,113 - mixer - ERROR - pump 3 gives up' \
    '[03/04/2025-10:00:00] [E] [pump] cavitation' '[错误] 3 号泵失效' \
    'time="2025-03-04T10:00:00Z" level=error msg="pump 3 failed"'; do
    echo "$line" >own.log
    "$CUTRIAGE" diagnose --full own.log >out
    [ $? -eq 3 ] || fail "$line: nothing wrong"
    grep -q 'pump\|泵' out || fail "$line: not shown"
done
{
    echo '2025-03-04 10:00:00 ERROR upstream timed out, retrying'
    seq -f '2025-03-04 10:01:%02g INFO request done in 5 ms' 10 59
} >went-on.log
"$CUTRIAGE" diagnose went-on.log >out || fail "an error that was overcome"
printf '2025-03-04 10:00:00 INFO done, ERROR: 0\nERROR SUMMARY: 0 errors\n' >none.log
"$CUTRIAGE" diagnose none.log >out || fail "a count of none"
