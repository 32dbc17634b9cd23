# SPDX-License-Identifier: Apache-2.0
# An error that no cause explains.
printf '2025-01-01 10:00:00 ERROR cudaMemcpyAsync returned 999 (cudaErrorUnknown): unknown error\n' >app.log
"$CUTRIAGE" diagnose app.log >out
rc=$?
cat out
[ $rc -eq 3 ] || [ $rc -eq 1 ]
