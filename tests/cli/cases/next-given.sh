# SPDX-License-Identifier: Apache-2.0
# A test whose output is among the evidence already comes after those that tell something new; a
# consequence is no observation of its own; no line of the verdict and no outcome is cut.
fail() { echo "$1"; cat out; exit 1; }
cat >dmesg.txt <<'EOF'
$ sudo dmesg -T
[Tue Mar  4 10:11:12 2025] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.120  Fri Sep 13 10:10:01 UTC 2024
[Tue Mar  4 11:11:12 2025] NVRM: Xid (PCI:0000:5e:00): 79, pid=77, name=serve, GPU has fallen off the bus.
[Tue Mar  4 11:11:12 2025] NVRM: Xid (PCI:0000:5e:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)
EOF
"$CUTRIAGE" diagnose --json dmesg.txt >out
[ $? -eq 1 ] || fail 'not found'
first=$(sed -n '/"next": \[/,/\]/p' out | grep -m1 '"run"')
case $first in *dmesg*) fail "asks for the kernel log again: $first" ;; esac
# One line, two groups and consequences: one observation.
echo 'RuntimeError: CUDA error: an illegal memory access was encountered' >app.log
"$CUTRIAGE" diagnose --lang en app.log >out
grep -q 'one observation speaks for it' out || fail 'counted twice'
# A source that cannot be read does not cut the line.
: >empty.log
mkdir -p d && cp dmesg.txt app.log d/ && printf '\037\213\010\000broken' >d/x.gz
for lang in en zh; do
    "$CUTRIAGE" diagnose --lang $lang d >out
    grep -E '^(Sure|把握|Now|现在).*\.\.\.$' out && fail "$lang: cut"
    grep -E -e '->.*\.\.\.$' out && fail "$lang: an outcome is cut"
    [ "$(wc -l <out)" -le 24 ] || fail "$lang: more than a screen"
done
exit 0
