# SPDX-License-Identifier: Apache-2.0
[ -e /dev/full ] || exit 0
"$CUTRIAGE" list codes >/dev/full 2>err
[ $? -eq 4 ] || exit 1
"$CUTRIAGE" diagnose "$EXAMPLES/nightly-latency-ecc" >/dev/full 2>err
[ $? -eq 4 ] && [ -s err ]
