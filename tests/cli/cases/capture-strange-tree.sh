# SPDX-License-Identifier: Apache-2.0
# A tree of traps: pipes, loops, links that lead out, huge and unreadable files, noise. It ends, quickly.
export XDG_DATA_HOME=$PWD/data
mkdir -p t/proc/driver/nvidia/gpus t/sys/bus/pci t/etc t/dev t/var/lib/dpkg t/usr/lib t/sys/class/thermal/thermal_zone0
mkfifo t/proc/modules t/etc/nvpmodel.conf t/dev/nvidia0 t/pipe.txt
ln -s .. t/sys/bus/pci/devices
ln -s loop t/proc/driver/nvidia/version
ln -s /etc/passwd t/etc/os-release
ln -s ../../../../../../../../etc/passwd t/etc/nv_tegra_release
ln -s . t/usr/lib/self
head -c 3000000 /dev/urandom >t/var/lib/dpkg/status
head -c 300000 /dev/urandom >t/noise.txt
head -c 100000 /dev/urandom >t/etc/ld.so.cache
yes 'Node 0, zone Normal 9999999999999999999999 -1 x' | head -n 20000 >t/proc/buddyinfo
echo secret >t/sys/class/thermal/thermal_zone0/temp && chmod 000 t/sys/class/thermal/thermal_zone0/temp
truncate -s 8G t/proc/meminfo 2>/dev/null || : >t/proc/meminfo
timeout 30 "$CUTRIAGE" capture --sysroot t -o x.case >out 2>err || { cat out err; exit 1; }
! grep -a -q 'root:x:0' x.case || { echo "a link led out"; exit 1; }
"$CUTRIAGE" query x.case "SELECT path, status FROM source" | grep -q . || exit 1
"$CUTRIAGE" query x.case "SELECT path, status, note FROM source WHERE path LIKE 'live:%' AND status IN ('failed','timeout')" |
    grep live: && { echo "a collector broke"; exit 1; }
# An empty tree says so little that nothing is wrong with it.
mkdir empty
"$CUTRIAGE" capture --sysroot empty -o e.case >/dev/null
