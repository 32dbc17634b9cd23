# SPDX-License-Identifier: Apache-2.0
# What a machine holds of names and secrets is neither in a case nor in a package, unless asked for.
export XDG_DATA_HOME=$PWD/data
tree=$SOURCE/tests/sysroot/two-gpus
secrets='hf_AbCdEfGh|liwei|gpu-box-07|1652921047311|4f1c2d3e-5a6b'
"$CUTRIAGE" capture --sysroot "$tree" -o clean.case >/dev/null || exit 1
! grep -a -E -o "$secrets" clean.case || { echo "left in the case"; exit 1; }
"$CUTRIAGE" capture --sysroot "$tree" --no-redact -o raw.case >/dev/null || exit 1
for s in gpu-box-07 1652921047311 4f1c2d3e-5a6b; do
    grep -a -q "$s" raw.case || { echo "$s went although it was to stay"; exit 1; }
done
"$CUTRIAGE" share raw.case -o ticket.tar.zst >/dev/null || exit 1
[ "$(stat -c %a ticket.tar.zst)" = 600 ] || exit 1
mkdir out && zstd -dcq ticket.tar.zst | tar -xf - -C out || exit 1
! grep -a -E -o "$secrets" out/raw.case || { echo "left in the package"; exit 1; }
sum=$(sha256sum out/raw.case | cut -d' ' -f1)
grep -q "$sum" out/manifest.json || { echo "manifest: no hash"; exit 1; }
# The environment of a live machine.
NVIDIA_NGC_API_KEY=zq8Planted77 PYTHON_REGISTRY=https://kim:gl0bal-S3cret@pypi.example.org/simple \
    NCCL_SOCKET_IFNAME=eth0 CUDA_HOME=/home/kimberley/cuda-12.4 TRITON_SERVER=10.40.2.9:8001 \
    "$CUTRIAGE" capture -o live.case >/dev/null || exit 1
! grep -a -E -o 'zq8Planted77|gl0bal-S3cret|kimberley|10\.40\.2\.9' live.case || { echo "left in the live case"; exit 1; }
grep -a -q 'NCCL_SOCKET_IFNAME=eth0' live.case && grep -a -q 'cuda-12.4' live.case || { echo "damaged"; exit 1; }
# The same thing has the same name in both, and versions are as they were.
for f in clean.case out/raw.case; do
    "$CUTRIAGE" query $f "SELECT value FROM fact WHERE key='gpu.uuid' ORDER BY 1" >"$(basename $f).uuid"
    "$CUTRIAGE" query $f "SELECT value FROM fact WHERE key='version.cudnn'" | grep -q 8.9.2.26 || exit 1
    "$CUTRIAGE" query $f "SELECT value FROM fact WHERE key='gpu.vbios'" | grep -q 92.00.a0.00.05 || exit 1
done
cmp clean.case.uuid raw.case.uuid
