# SPDX-License-Identifier: Apache-2.0
"$CUTRIAGE" diagnose --lang zh "$EXAMPLES/nightly-latency-ecc" >a
LC_ALL=zh_CN.UTF-8 "$CUTRIAGE" diagnose "$EXAMPLES/nightly-latency-ecc" >b 2>/dev/null
env -u LC_ALL LANG=zh_CN.UTF-8 "$CUTRIAGE" diagnose "$EXAMPLES/nightly-latency-ecc" >c 2>/dev/null
cmp a b && cmp a c || exit 1
cat a
