# SPDX-License-Identifier: Apache-2.0
# One missing file does not stop the others, and the page says so.
"$CUTRIAGE" diagnose nosuch.log "$EXAMPLES/nightly-latency-ecc" >out 2>err
[ $? -eq 1 ] || exit 1
grep -q 'nosuch.log.*skipped' err || exit 1
"$CUTRIAGE" diagnose --json nosuch.log "$EXAMPLES/nightly-latency-ecc" 2>/dev/null |
    grep -A3 '"path": "nosuch.log"' | grep -q '"status": "absent"'
