# SPDX-License-Identifier: Apache-2.0
# kb: mistakes have a place and exit code 1, the built-in base is shown and listed.
fail() { echo "$1"; cat out; exit 1; }
mkdir -p kb/causes/memory kb/signatures
cp "$SOURCE/knowledge/vocabulary.tsv" kb/
printf -- '- id: s\n  kind: xid\n  anchors: [NVRM]\n  patern: x\n' >kb/signatures/s.yaml
printf -- '- id: t\n  kind: moon\n  anchors: [abc]\n  pattern: abc\n' >kb/signatures/t.yaml
"$CUTRIAGE" kb lint kb >out
[ $? -eq 1 ] || fail 'lint: exit code'
grep -q 'kb/signatures/s.yaml:4:3: error: unknown key `patern`; did you mean `pattern`?' out || fail key
grep -q 'kb/signatures/t.yaml:1: error: t: event `moon` is not in vocabulary.tsv' out || fail moon
"$CUTRIAGE" kb lint --json kb >out
grep -q '"schema"' out || fail json
"$CUTRIAGE" kb test --filter gpu-fell-off-bus/ >out || fail test
grep -q '^[1-9][0-9]* passed, 0 failed, 0 skipped$' out || fail tally
"$CUTRIAGE" kb show gpu-fell-off-bus >out || fail show
grep -q '^layer *hardware' out || fail layer
"$CUTRIAGE" kb list >out || fail list
grep -q '^gpu-fell-off-bus' out || fail list
"$CUTRIAGE" kb show nobody >out 2>err
[ $? -eq 2 ] || fail 'show: exit code'
