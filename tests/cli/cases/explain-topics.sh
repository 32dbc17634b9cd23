# SPDX-License-Identifier: Apache-2.0
# Topics: what people call their trouble, in either language, with the causes that lead.
fail() { echo "$1"; cat out; exit 1; }
topic() { # QUESTION TOPIC
    "$CUTRIAGE" explain --json "$1" >out || fail "$1: exit $?"
    grep -q "\"topic\": \"$2\"" out || fail "$1: not $2"
}
for words in hang 'GPU hang' 卡死 训练卡住了怎么办; do topic "$words" hang; done
for words in slow 慢 'why is inference so slow' 为什么推理很慢; do topic "$words" slow; done
for words in thermal 过热 降频; do topic "$words" thermal; done
for words in OOM 爆显存 显存不足; do topic "$words" out-of-memory; done
for words in 'memory leak' 显存泄漏; do topic "$words" memory-leak; done
for words in nan NaN 非数; do topic "$words" nan; done
for words in 'version mismatch' 版本不匹配; do topic "$words" version-mismatch; done
for words in multi-stream 'multiple streams' 多流; do topic "$words" multi-stream; done
for words in 'no gpu' 找不到GPU; do topic "$words" no-gpu; done
# The page: what it is, the layers, the causes with their first check.
for lang in en zh; do
    "$CUTRIAGE" explain --lang $lang hang >out || fail "$lang"
    grep -q 'deadlock-host-locks' out || fail "$lang: causes"
    grep -q -E '^(About|说明)' out && grep -q -E '^(Layer|层次)' out || fail "$lang: labels"
    grep -q '  \$ ' out || fail "$lang: no command"
done
# A longer question is searched for.
"$CUTRIAGE" explain 'latency spikes every hour' >out || fail search
grep -q periodic-interference out || fail search
# COLUMNS holds where there is no terminal.
COLUMNS=50 "$CUTRIAGE" explain hang >out
[ "$(wc -L <out)" -le 50 ] || fail 'wider than COLUMNS'
