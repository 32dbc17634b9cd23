# SPDX-License-Identifier: Apache-2.0
c=$SOURCE/tests/fuzz/corpus/timeline
"$CUTRIAGE" inspect "$c/kineto.json" --lang en >a || exit 1
grep -q 'kineto, PyTorch profiler' a && grep -q 'Example GPU' a && grep -q 'pageable -> device' a &&
    grep -q 'Not in the file' a || { cat a; exit 1; }
"$CUTRIAGE" inspect "$c/kineto.json" --lang zh | grep -q '忙碌' || exit 1
"$CUTRIAGE" inspect "$c/nsys.sqlite" >b || exit 1
grep -q 'cudaLaunchKernel' b && grep -q '700 cudaErrorIllegalAddress' b || { cat b; exit 1; }
"$CUTRIAGE" inspect "$c/profile.json" "$c/layers.json" --json >j || exit 1
grep -q '"schema": "cutriage.traces/1"' j && grep -q '"type": "Reformat"' j || { cat j; exit 1; }

# Packed, in an archive, from a pipe, cut.
gzip -c "$c/nsys.sqlite" >n.sqlite.gz
tar cf both.tar n.sqlite.gz -C "$c" ort.json
"$CUTRIAGE" inspect both.tar >d || exit 1
grep -q 'both.tar:n.sqlite.gz' d && grep -q 'CPUExecutionProvider' d || { cat d; exit 1; }
gzip -c "$c/kineto.json" | "$CUTRIAGE" inspect - | grep -q 'Example GPU' || exit 1
head -c 900 "$c/kineto.json" >cut.json
"$CUTRIAGE" inspect cut.json | grep -q 'the file is cut' || exit 1
"$CUTRIAGE" diagnose cut.json >/dev/null
[ $? -eq 3 ] || exit 1
ls "${TMPDIR:-/tmp}"/cutriage-trace-* 2>/dev/null && exit 1

# An SQLite file that is none of ours is told of.
printf 'SQLite format 3\000' >x.sqlite
head -c 4080 /dev/zero >>x.sqlite
"$CUTRIAGE" inspect x.sqlite 2>&1 | grep -q 'x.sqlite' || exit 1
exit 0
