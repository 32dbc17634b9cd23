# SPDX-License-Identifier: Apache-2.0
# What swells more than a thousandfold is cut off, with a reason.
head -c 300000000 /dev/zero | gzip -9 >bomb.gz
timeout 60 "$CUTRIAGE" diagnose --json bomb.gz >out 2>err
rc=$?
[ $rc -le 3 ] || { echo "exit $rc"; exit 1; }
grep -q '"status": "\(truncated\|partial\|unsupported\)"' out || { grep '"status"\|"note"' out | head -n 4; exit 1; }
