# SPDX-License-Identifier: Apache-2.0
for n in 1 2 3; do "$CUTRIAGE" diagnose --json "$EXAMPLES/nightly-latency-ecc" >$n.json; done
cmp 1.json 2.json && cmp 1.json 3.json
