# SPDX-License-Identifier: Apache-2.0
# Two captures of one machine: what drifted, by how much it matters; groups, releases, all forms.
export XDG_DATA_HOME=$PWD/data
run() { want=$1; shift; "$CUTRIAGE" diff "$@" >out 2>err; got=$?
    [ "$got" = "$want" ] || { echo "diff $*: exit $got, not $want"; cat out err; exit 1; }; }
cp -R "$SOURCE/tests/sysroot/two-gpus" tree
"$CUTRIAGE" capture --sysroot tree -o good.case >/dev/null || exit 1
sed -i 's/550\.90\.07/550.127.05/' tree/proc/driver/nvidia/version tree/sys/module/nvidia/version
"$CUTRIAGE" capture --sysroot tree -o now.case >/dev/null || exit 1
run 0 good.case good.case
run 1 good.case now.case
grep -q "^changed version.driver.kernel" out || { cat out; exit 1; }
run 1 --json good.case now.case
"$VALIDATE_JSON" "$SOURCE/docs/diff-schema.json" out || exit 1
run 1 --format md good.case now.case
grep -q "^## now.case differs" out || exit 1
run 1 --format html good.case now.case
grep -q "</html>" out || exit 1
run 1 --lang zh good.case now.case
grep -q "已改变" out || exit 1
run 1 --group good.case good.case now.case --json
"$VALIDATE_JSON" "$SOURCE/docs/diff-schema.json" out || exit 1
grep -q '"state": "now.case"' out || exit 1
"$CUTRIAGE" capture --sysroot "$SOURCE/tests/sysroot/orin-board" -o board.case >/dev/null || exit 1
run 0 --release l4t-r36.4.7 board.case
run 1 --release jp5.1.2 board.case
grep -q "the release has 35.4.1, here is 36.4.7" out || { cat out; exit 1; }
run 3 --release jp5.1.2 "$SOURCE/docs/usage.md"
run 2 --release jp99 board.case
run 2 good.case
run 2 --group good.case
run 2 --group --release jp6.2 good.case
run 2 --format pdf good.case now.case
run 4 good.case missing.case
# A capture has stand-ins where a log of the same machine has the names: no difference. Nor is what the log
# does not tell; another GPU's UUID is one.
tree=$SOURCE/tests/sysroot/x86-two
"$CUTRIAGE" capture --sysroot "$tree" -o x86.case >/dev/null || exit 1
mkdir logs
cp "$tree/nvidia-smi-q.txt" logs/
run 0 x86.case logs
grep -q " 0 differences" out && grep -q "known of one side only" out || { cat out; exit 1; }
sed -i '0,/\(GPU UUID  *: GPU-\)......../s//\1deadbeef/' logs/nvidia-smi-q.txt
run 1 x86.case logs
grep -q "^changed gpu:0 gpu.uuid" out || { cat out; exit 1; }
run 1 --release cuda12.4 board.case
grep -q " 1 differences" out || { cat out; exit 1; }
run 3 --release jp6.2 x86.case
grep -q "is a release for Jetson" out || { cat out; exit 1; }
# What was taken on request in one state is no outlier.
"$CUTRIAGE" capture --hash --sysroot "$tree" -o hashed.case >/dev/null || exit 1
run 0 --group x86.case x86.case hashed.case
! grep -q sha256 out || { cat out; exit 1; }
