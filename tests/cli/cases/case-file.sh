# SPDX-License-Identifier: Apache-2.0
e=$EXAMPLES/nightly-latency-ecc
"$CUTRIAGE" diagnose -o run.case "$e" >a
[ $? -eq 1 ] || exit 1
[ "$(stat -c %a run.case)" = 600 ] || { echo "mode $(stat -c %a run.case)"; exit 1; }
# The case alone gives the same causes.
"$CUTRIAGE" diagnose run.case >b
[ $? -eq 1 ] || exit 1
head -n 1 a >a1; head -n 1 b | cmp - a1
