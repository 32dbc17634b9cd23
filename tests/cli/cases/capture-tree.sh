# SPDX-License-Identifier: Apache-2.0
# Trees of a board and of a server: the facts that matter are in the case.
export XDG_DATA_HOME=$PWD/data
fact() { "$CUTRIAGE" query "$1" "SELECT count(*) AS n FROM fact WHERE $2" | tail -n 1 | grep -q "^ *[1-9]" ||
    { echo "$1: no fact with $2"; exit 1; }; }
"$CUTRIAGE" capture --sysroot "$SOURCE/tests/sysroot/orin-board" -o board.case >said || exit 1
grep -q "Written: board.case" said || { cat said; exit 1; }
[ "$(stat -c %a board.case)" = 600 ] || { echo "mode $(stat -c %a board.case)"; exit 1; }
fact board.case "key='version.l4t' AND value='36.4.7'"
fact board.case "key='power.mode' AND value='7W'"
fact board.case "key='power.mode.cap.gpu' AND number=408000000"
fact board.case "key='gpu.clock.sm.max' AND number=624750000"
fact board.case "key='board.oc-count' AND number=17"
fact board.case "key='board.temperature' AND status='unsupported' AND value='off'"
fact board.case "key='memory.largest-block' AND number=524288"
fact board.case "key='zram.used' AND number>0"
fact board.case "key='package.nvidia-l4t-cuda'"
fact board.case "key='package.libnvinfer10' AND status='partial'"
fact board.case "key='version.tensorrt' AND value='10.3.0'"
fact board.case "key='device-node.nvgpu/igpu0/ctrl' AND value='present'"
fact board.case "key='schedule.cron' AND number=12300000000000"
"$CUTRIAGE" capture --sysroot "$SOURCE/tests/sysroot/two-gpus" -o server.case >/dev/null || exit 1
fact server.case "key='gpu.pci-count' AND number=2"
fact server.case "key='gpu.pcie.link.width.current' AND number=8 AND subject='gpu:0000:17:00.0'"
fact server.case "key='pci.acs' AND subject='0000:16:01.0'"
fact server.case "key='gpu.kernel-driver' AND value='nvidia'"
fact server.case "key='version.driver.kernel' AND value='550.90.07'"
fact server.case "key='version.driver.user' AND value='550.90.07'"
fact server.case "key='cdi.driver' AND value='535.161.08'"
fact server.case "key='cgroup.cpu.quota' AND number=2"
fact server.case "key='limit.locked-memory' AND number=65536"
fact server.case "key='shm.size' AND number=67108864"
fact server.case "key='device-node.nvidia-uvm' AND status='absent'"
fact server.case "key='daemon.nvidia-persistenced'"
fact server.case "key='version.torch.cuda' AND value='12.1'"
fact server.case "key='gpu.persistence' AND value='Enabled'"
"$CUTRIAGE" query server.case "SELECT kind, code FROM event" | grep -q "xid *31" || exit 1
"$CUTRIAGE" snapshot --sysroot "$SOURCE/tests/sysroot/two-gpus" -o json.case --json >out.json || exit 1
grep -q '"schema": "cutriage.capture/1"' out.json
