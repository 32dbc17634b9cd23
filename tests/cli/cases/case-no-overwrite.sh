# SPDX-License-Identifier: Apache-2.0
e=$EXAMPLES/nightly-latency-ecc
"$CUTRIAGE" diagnose -o run.case "$EXAMPLES/nightly-latency-ecc/dmesg.txt" >out 2>err
cp run.case old.case
"$CUTRIAGE" diagnose -o run.case "$e" >out 2>err
[ $? -eq 2 ] && cmp run.case old.case && grep -q -e --force err || exit 1
"$CUTRIAGE" diagnose --force -o run.case "$e" >out 2>err
[ $? -eq 1 ] || exit 1
"$CUTRIAGE" query run.case 'SELECT count(*) AS n FROM source' | tail -n 1 | grep -q 5 || exit 1
# What is not a case is never replaced, whatever was said.
cp "$e/dmesg.txt" ok.log
"$CUTRIAGE" diagnose --force -o ok.log ok.log >out 2>err
[ $? -eq 4 ] && cmp ok.log "$e/dmesg.txt" && grep -q 'ok.log is not a case' err
