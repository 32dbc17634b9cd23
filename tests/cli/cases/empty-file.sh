# SPDX-License-Identifier: Apache-2.0
# Where nothing was read, "nothing wrong" would be a lie.
: >empty.log
: >more.log
"$CUTRIAGE" diagnose empty.log >out 2>err
[ $? -eq 3 ] && grep -q 'empty.log is empty' out && ! grep -q 'Nothing wrong' out || exit 1
"$CUTRIAGE" diagnose --json empty.log | grep -q 'empty.log is empty' || exit 1
"$CUTRIAGE" diagnose empty.log more.log >out 2>err
[ $? -eq 3 ] && grep -q 'all 2 sources are empty' out || exit 1
printf '' | "$CUTRIAGE" diagnose - >out 2>err
[ $? -eq 3 ] && grep -q 'standard input is empty' out || exit 1
echo hello >said.log
"$CUTRIAGE" diagnose empty.log said.log >out 2>err
[ $? -eq 0 ]
