# SPDX-License-Identifier: Apache-2.0
# check: the list of a tree, of a case and of logs; its exit code; a machine without a device.
export XDG_DATA_HOME=$PWD/data
tree=$SOURCE/tests/sysroot/orin-board
"$CUTRIAGE" check --sysroot "$tree" >out 2>err
[ $? -eq 1 ] || { echo "exit"; cat out err; exit 1; }
grep -q '^Mend first: ' out && grep -q '^  FAIL    L4T and JetPack parts' out || { cat out; exit 1; }
grep -q '^  warn    NvMap allocations *L4T 36.4.7' out || { cat out; exit 1; }
grep -q 'Persistence' out && { echo "a Jetson has no persistence mode"; exit 1; }
[ "$(awk 'length > 80' out | wc -l)" -eq 0 ] || { echo "wider than 80"; exit 1; }
"$CUTRIAGE" check --sysroot "$tree" --json >out.json
"$VALIDATE_JSON" "$SOURCE/docs/check-schema.json" out.json || { cat out.json; exit 1; }
"$CUTRIAGE" check --sysroot "$tree" --lang zh | grep -q '失败' || exit 1
"$CUTRIAGE" check --sysroot "$tree" --format md | grep -q '^| .* | FAIL | ' || exit 1
"$CUTRIAGE" capture --sysroot "$tree" -o a.case >/dev/null 2>&1 || exit 1
"$CUTRIAGE" check a.case | grep -q 'L4T and JetPack parts' || exit 1

# Logs that somebody sent: what they show fails, the rest is not known.
printf '%s\n' '$ nvidia-smi' 'Failed to initialize NVML: Driver/library version mismatch' >log
"$CUTRIAGE" check log >out
[ $? -eq 1 ] && grep -q '^  FAIL    Module and libraries' out || { cat out; exit 1; }
grep -q '^  unknown Faults in the kernel log' out || { cat out; exit 1; }

mkdir -p empty/proc empty/sys/bus/pci/devices
"$CUTRIAGE" check --sysroot empty >out; [ $? -eq 3 ] || { cat out; exit 1; }
grep -q 'no NVIDIA device' out || { cat out; exit 1; }
[ "$(wc -l <out)" -le 4 ] || { echo "more than one line's worth"; exit 1; }
"$CUTRIAGE" check a.case --pid 1 2>err; [ $? -eq 2 ] || exit 1
"$CUTRIAGE" check --format pdf 2>err; [ $? -eq 2 ] && grep -q "text, json and md" err || exit 1
"$CUTRIAGE" check /nonexistent.case 2>err; [ $? -eq 4 ] || { cat err; exit 1; }

# A plan shows its own lines only.
"$CUTRIAGE" check --sysroot "$SOURCE/tests/sysroot/nano-r32" --plan-upgrade jp6.2 >out
[ $? -eq 1 ] && grep -q '^  FAIL    Board *L4T 36.4.3 has no support for tegra210' out || { cat out; exit 1; }
grep -q 'Power mode' out && { echo "more than the plan"; exit 1; }
"$CUTRIAGE" check --sysroot "$SOURCE/tests/sysroot/nano-r32" --plan-upgrade jp99 2>err; [ $? -eq 2 ] || { cat err; exit 1; }

# What would not fit, for each kind of machine: TREE RELEASE LINE
plan() {
    "$CUTRIAGE" check --sysroot "$SOURCE/tests/sysroot/$1" --plan-upgrade "$2" >out
    grep -q "^  $3" out || { echo "$1 to $2: no line '$3'"; cat out; exit 1; }
}
plan nano-r32 cuda-13.0 'FAIL    CUDA and GPU  *CUDA 13.0 is not for tegra210'
plan nano-r32 jp7.0 'FAIL    CUDA and GPU'
plan xavier-r35 cuda-13.0 'FAIL    CUDA and GPU'
plan thor-r38 cuda-11.4 'FAIL    CUDA and GPU'
plan orin-r36 jp4.6.1 'FAIL    CUDA and GPU'
plan orin-r36 cuda-13.0 'FAIL    CUDA and driver  *L4T 36.4.4 has CUDA 12.6'
plan orin-r36 cuda-12.8 'warn    CUDA and driver  *.*12.8 runs with'
plan orin-r36 cuda-12.6 'pass    CUDA and driver'
plan orin-r36 driver-580 'FAIL    Board  *this is a Jetson'
plan h200 driver-470 'FAIL    Driver and GPU'
plan h200 driver-580 'pass    Driver and GPU'
plan x86-two jp6.2 'FAIL    Board  *jp6.2 is for Jetson'
[ "$(grep -c '^  [a-zF]' out)" -eq 1 ] || { echo "more than that it is no Jetson"; cat out; exit 1; }
