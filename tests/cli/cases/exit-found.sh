# SPDX-License-Identifier: Apache-2.0
"$CUTRIAGE" diagnose "$EXAMPLES/nightly-latency-ecc"
