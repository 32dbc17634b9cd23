# SPDX-License-Identifier: Apache-2.0
gzip -c "$EXAMPLES/nightly-latency-ecc/gpu.csv" | head -c 2000 >cut.gz
"$CUTRIAGE" diagnose --json cut.gz >out 2>err
rc=$?
[ $rc -le 3 ] || { echo "exit $rc"; exit 1; }
grep -m1 '"status"' out
