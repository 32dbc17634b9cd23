# SPDX-License-Identifier: Apache-2.0
e=$EXAMPLES/nightly-latency-ecc
echo precious >run.case
"$CUTRIAGE" diagnose -o run.case "$e" >out 2>err
[ $? -eq 2 ] && [ "$(cat run.case)" = precious ] && grep -q -e --force err || exit 1
"$CUTRIAGE" diagnose --force -o run.case "$e" >out 2>err
[ $? -eq 1 ] || exit 1
"$CUTRIAGE" query run.case 'SELECT count(*) AS n FROM source' | tail -n 1 | grep -q 5
