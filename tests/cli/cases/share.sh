# SPDX-License-Identifier: Apache-2.0
# A package says the same as its case, holds no secret, and never takes the place of the case.
export XDG_DATA_HOME=$PWD/data
unpack() {
    mkdir -p "$1.u" && zstd -dcq "$1.tar.zst" | tar -xf - -C "$1.u"
}
same() {
    "$CUTRIAGE" diff "$1" "$2" >diff.out 2>&1 || { cat diff.out; echo "$1: the package differs"; exit 1; }
}
# Versions of four numbers, UUIDs, serials: trees of a Jetson, of a server, and this machine.
for tree in orin-r36 thor-r38 two-gpus; do
    "$CUTRIAGE" capture --sysroot "$SOURCE/tests/sysroot/$tree" -o $tree.case >/dev/null || exit 1
    "$CUTRIAGE" share $tree.case -o $tree.tar.zst >/dev/null || exit 1
    unpack $tree && same $tree.case $tree.u/$tree.case
done
"$CUTRIAGE" query orin-r36.u/orin-r36.case "SELECT value FROM fact WHERE key='version.tensorrt'" |
    grep -q 10.3.0.30 || { echo "a version was taken for an address"; exit 1; }
"$CUTRIAGE" capture -o live.case >/dev/null || exit 1
"$CUTRIAGE" share live.case -o live.tar.zst >/dev/null || exit 1
unpack live && same live.case live.u/live.case
"$CUTRIAGE" query live.u/live.case "SELECT key FROM fact WHERE key='version.kernel'" |
    grep -q version.kernel || { echo "a key was replaced"; exit 1; }
# What a program says and what diagnose keeps.
id=7d865e959b2466918c9863afca942d0fb89d7c9ac0c99bafc3749504ded97730
cat >planted.log <<X
post https://hooks.slack.com/services/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
mysql -uroot -pWinter7Rain shop; serve --key kq81LLmz72Tw; Driver=x;Uid=sa;Pwd=Summer8Snow;
oauth ya29.a0Xq81LLmz72TwbCdEfGhIjK pay sk_live_9Kd83mDk2Lq0Zz71
bot 5566778899:AAGd83mDk2Lq0Zz71kq81LLmz72TwXyZabc
{"auths":{"reg.example.org":{"auth":"Ym9iOldpbnRlclJhaW5z"}}}
aws_secret_access_key = kD83mDk2/Lq0Zz71kq81LLmz72Tw+yZab
GET https://api.example.org/x?access_token=pL83mDk2Lq0Zz71&page=2
密码：Autumn9Leaf
0::/docker/$id
0::/system.slice/docker-$id.scope
container 7d865e959b24 exited, CONTAINER_ID=7d865e959b24
[12345.678901] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=$id,mems_allowed=0,oom_memcg=/docker/$id,task_memcg=/docker/$id,task=python3,pid=77,uid=0
[12345.678902] Memory cgroup out of memory: Killed process 77 (python3) total-vm:900kB, anon-rss:800kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:4kB oom_score_adj:0
X
secrets='zXcVbNmAs|Winter7Rain|kq81LLmz72Tw|Summer8Snow|a0Xq81LL|sk_live_9|AAGd83mDk2|Ym9iOldp|kD83mDk2|pL83mDk2|Autumn9Leaf|7d865e959b24'
"$CUTRIAGE" capture -o told.case -- cat planted.log >/dev/null 2>&1
! grep -a -E -o "$secrets" told.case || { echo "left in the case"; exit 1; }
"$CUTRIAGE" diagnose -o kept.case planted.log >/dev/null
"$CUTRIAGE" share kept.case -o kept.tar.zst >/dev/null || exit 1
unpack kept
! grep -a -E -o "$secrets" kept.u/kept.case || { echo "left in the package"; exit 1; }
# Arguments and environment of a process.
(NCCL_NOTE="Driver=x;Pwd=Summer8Snow;" CONTAINER_ID=7d865e959b24 CUDA_NOTE=密码：Autumn9Leaf \
    exec tail -f /dev/null --pid=$$ -s 1 >/dev/null) &
tail=$!
sh -c 'while :; do sleep 1; done' mysql -uroot -pWinter7Rain --key kq81LLmz72Tw "/docker/$id" sk_live_9Kd83mDk2Lq0Zz71 >/dev/null &
args=$!
for p in $tail $args; do
    "$CUTRIAGE" capture --pid $p -f -o of.case >/dev/null || exit 1
    ! grep -a -E -o "$secrets" of.case || { echo "left in the case of a process"; exit 1; }
done
kill $tail $args 2>/dev/null
# The case itself is not the place for its package, by no name.
before=$(sha256sum <live.case)
ln live.case hard.case && ln -s live.case soft.case && mkdir sub
for out in live.case ./sub/../live.case hard.case soft.case; do
    "$CUTRIAGE" share live.case -o $out -f >/dev/null 2>err
    [ $? = 2 ] || { echo "$out: not refused"; exit 1; }
    grep -q 'is the case itself' err || { cat err; exit 1; }
done
"$CUTRIAGE" share soft.case -o live.case -f >/dev/null 2>&1 && exit 1
[ "$before" = "$(sha256sum <live.case)" ] || { echo "the case was changed"; exit 1; }
