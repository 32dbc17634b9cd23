# SPDX-License-Identifier: Apache-2.0
"$CUTRIAGE" diagnose - <"$EXAMPLES/nightly-latency-ecc/dmesg.txt" >a
[ $? -eq 1 ] || exit 1
# Without a path a pipe is read.
cat "$EXAMPLES/nightly-latency-ecc/dmesg.txt" | "$CUTRIAGE" diagnose >b
[ $? -eq 1 ] || exit 1
cmp a b && grep -q '(stdin):[0-9]' a
