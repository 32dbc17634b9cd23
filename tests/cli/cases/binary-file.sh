# SPDX-License-Identifier: Apache-2.0
head -c 100000 /dev/urandom >noise.bin
"$CUTRIAGE" diagnose noise.bin >out 2>err
rc=$?
cat out err
[ $rc -ne 1 ] && [ $rc -le 4 ]
