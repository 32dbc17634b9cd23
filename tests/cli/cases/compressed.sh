# SPDX-License-Identifier: Apache-2.0
gzip -c "$EXAMPLES/nightly-latency-ecc/dmesg.txt" >dmesg.txt.gz
"$CUTRIAGE" diagnose dmesg.txt.gz | head -n 1
"$CUTRIAGE" diagnose "$EXAMPLES/nightly-latency-ecc/dmesg.txt" | head -n 1 >plain
"$CUTRIAGE" diagnose dmesg.txt.gz | head -n 1 | cmp - plain
