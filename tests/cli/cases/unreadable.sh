# SPDX-License-Identifier: Apache-2.0
cp "$EXAMPLES/nightly-latency-ecc/dmesg.txt" d.txt
: >locked.log && chmod 000 locked.log
if [ "$(id -u)" -eq 0 ]; then exit 0; fi
"$CUTRIAGE" diagnose locked.log d.txt >out 2>err
[ $? -eq 1 ] && grep -q 'locked.log' err
