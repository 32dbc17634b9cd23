# SPDX-License-Identifier: Apache-2.0
: >empty.log
"$CUTRIAGE" diagnose empty.log >out 2>err
rc=$?
cat out
[ $rc -eq 0 ] || [ $rc -eq 3 ]
