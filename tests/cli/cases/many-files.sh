# SPDX-License-Identifier: Apache-2.0
# More files than are taken: the rest is left out, and it is said.
mkdir many && cd many && seq -f 'f%06g.log' 1 21000 | xargs touch && cd ..
timeout 60 "$CUTRIAGE" diagnose many >out 2>err
rc=$?
[ $rc -le 3 ] && [ $rc -ne 1 ] || { echo "exit $rc"; exit 1; }
grep -q '20000\|20,000' out err || { head -n 30 out err; exit 1; }
grep -q 'at least 1000 not read' out err || { head -n 30 out err; exit 1; }
# What most likely tells something is read first, wherever the order of names would put it.
cp "$EXAMPLES/nightly-latency-ecc/dmesg.txt" many/kern-zzz.txt
timeout 60 "$CUTRIAGE" diagnose many >out 2>err
rc=$?
"$CUTRIAGE" diagnose "$EXAMPLES/nightly-latency-ecc/dmesg.txt" >alone 2>err2
[ "$(sed -n 1p out)" = "$(sed -n 1p alone)" ] && [ $rc -eq 1 ] || { head -n 12 out alone; exit 1; }
