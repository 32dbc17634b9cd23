# SPDX-License-Identifier: Apache-2.0
mkdir -p d/e && ln -s .. d/e/up && ln -s loop d/loop
cp "$EXAMPLES/nightly-latency-ecc/dmesg.txt" d/e/
timeout 20 "$CUTRIAGE" diagnose d >out 2>err
[ $? -eq 1 ]
