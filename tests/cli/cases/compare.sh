# SPDX-License-Identifier: Apache-2.0
# Exit codes of compare, and that neither a NaN nor a missing tensor passes.
npy() { # NAME BYTES: two floats
    { printf '\223NUMPY\001\000\106\000%-69s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
      printf "$2"; } >"$1"
}
one='\000\000\200\077' two='\000\000\000\100' nan='\000\000\300\177'
mkdir ref test
npy ref/1_a.npy "$one$two"
npy ref/2_b.npy "$two$two"
npy test/1_a.npy "$one$two"
wants() { # CODE WORDS ARGS...
    code=$1 words=$2
    shift 2
    "$CUTRIAGE" compare "$@" >out 2>&1
    got=$?
    [ $got = "$code" ] || { echo "compare $*: exit $got, not $code"; cat out; exit 1; }
    grep -q -e "$words" out || { echo "compare $*: no '$words' in"; cat out; exit 1; }
}
wants 0 'compared 1 of 1' ref/1_a.npy test/1_a.npy
wants 1 'compared 1 of 2' ref test
wants 1 'missing' ref test
npy test/2_b.npy "$two$one"
wants 1 '1 differs' ref test
wants 0 'PASSED' --atol 1.5 ref test
wants 1 '"pass": false' --json ref test
wants 1 'all' --runs ref test
npy ref/2_b.npy "$nan$two"
npy test/2_b.npy "$nan$two"
wants 1 'the reference itself holds NaN' --atol 1e9 ref test
wants 1 '2 b .undefined-operation.' --first-bad test
wants 2 'needs --first-bad' ref
wants 2 'rule' --rule never ref test
wants 4 'No such file' ref nowhere
head -c 90 ref/1_a.npy | head -c 85 >short.npy
wants 1 'offset' ref/1_a.npy short.npy
wants 1 'FAILED' -o numbers.ctr ref test
"$CUTRIAGE" diagnose numbers.ctr >out
grep -q 'NaN' out || { cat out; exit 1; }
"$CUTRIAGE" compare --full --first-bad --json ref test >out.json || [ $? = 1 ]
"$VALIDATE_JSON" "$SOURCE/docs/compare-schema.json" out.json || exit 1
wants 2 'trt' --trt new ref test
"$CUTRIAGE" compare --runs --json ref test test >out.json || [ $? = 1 ]
"$VALIDATE_JSON" "$SOURCE/docs/compare-runs-schema.json" out.json || exit 1
wants 1 '^### First bad tensor' --first-bad --format md ref test
wants 1 '<h2>First bad tensor' --first-bad --format html ref test
wants 1 '^首个出错的张量' --first-bad --lang zh ref test
wants 1 '2 b .undefined-operation.: 对有限数' --first-bad --lang zh ref test
npy test/1_a.npy "$two$two"
wants 1 '^runs differ .[a-z]*.: ' --lang zh --runs ref test
wants 2 'exclude each other' --json --format md ref test
wants 2 'known are text' --format pdf ref test
wants 2 'exists; --force' -o numbers.ctr ref test
wants 1 'FAILED' --force -o numbers.ctr ref test
