# SPDX-License-Identifier: Apache-2.0
# One line of 100 MB, then the one that tells.
{ head -c 100000000 /dev/zero | tr '\0' 'x'; echo; cat "$EXAMPLES/nightly-latency-ecc/dmesg.txt"; } >long.log
timeout 60 "$CUTRIAGE" diagnose long.log >out 2>err
[ $? -eq 1 ] && grep -q 'long.log:[0-9]' out
