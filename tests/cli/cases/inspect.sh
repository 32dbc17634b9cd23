# SPDX-License-Identifier: Apache-2.0
e=$EXAMPLES/nightly-latency-ecc
"$CUTRIAGE" inspect "$e/dmesg.txt" >a || exit 1
grep -q 'dmesg.txt .*host' a || exit 1
for what in sections sources events facts findings series; do
    "$CUTRIAGE" inspect --show $what --json "$e" >out || { echo "$what"; exit 1; }
    grep -q '"schema": "cutriage.inspect/1"' out || exit 1
done
"$CUTRIAGE" inspect --show events "$e" | grep -q 'cudaErrorLaunchFailure' || exit 1
