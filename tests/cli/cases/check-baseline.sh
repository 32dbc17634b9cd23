# SPDX-License-Identifier: Apache-2.0
# check says by itself what has changed since capture --baseline; JSON and copied trees stay as they are.
export XDG_DATA_HOME=$PWD/data
unset CUDA_VISIBLE_DEVICES
"$CUTRIAGE" capture --baseline >/dev/null 2>&1 || exit 1
CUDA_VISIBLE_DEVICES=7 "$CUTRIAGE" check >out
grep -q 'env.CUDA_VISIBLE_DEVICES: not there -> 7' out || { cat out; exit 1; }
CUDA_VISIBLE_DEVICES=7 "$CUTRIAGE" check --json >out
grep -q 'this machine differs' out && exit 1
"$CUTRIAGE" check --sysroot "$SOURCE/tests/sysroot/h200" >out
grep -q 'differs from the baseline' out && exit 1
echo broken >data/cutriage/baseline.case
"$CUTRIAGE" check >out 2>err
grep -q 'baseline is left out' err || { cat err; exit 1; }
