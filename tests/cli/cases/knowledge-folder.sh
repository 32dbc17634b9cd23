# SPDX-License-Identifier: Apache-2.0
# A typo in a person's own knowledge: file and line, and exit 4.
mkdir -p kb/causes/memory kb/signatures kb/codes
cp "$SOURCE/knowledge/vocabulary.tsv" kb/
printf 'cause: broken\nlayer: memory\ntitel: {en: x, zh: y}\n' >kb/causes/memory/broken.yaml
echo hello >app.log
"$CUTRIAGE" diagnose --knowledge kb app.log >out 2>err
[ $? -eq 4 ] || exit 1
grep -q 'broken.yaml:3' err || { cat err; exit 1; }
"$CUTRIAGE" diagnose --knowledge nosuchfolder app.log >out 2>err
[ $? -eq 4 ] && [ -s err ] || exit 1
"$CUTRIAGE" diagnose --knowledge "$SOURCE/knowledge" "$EXAMPLES/nightly-latency-ecc" >a
[ $? -eq 1 ] || exit 1
"$CUTRIAGE" diagnose "$EXAMPLES/nightly-latency-ecc" | cmp - a
[ $? -eq 0 ] || exit 1
# Without causes and signatures every log would look healthy.
mkdir bare && cp "$SOURCE/knowledge/vocabulary.tsv" bare/
echo 'cause: lost' >bare/lost.yaml
"$CUTRIAGE" diagnose --knowledge bare app.log >out 2>err
[ $? -eq 4 ] && grep -q 'no causes or signatures in bare' err && grep -q 'bare/lost.yaml' err ||
    { cat err; exit 1; }
# One bad file among good ones is told of and left out.
cp -r "$SOURCE/knowledge" most && chmod -R u+w most && cp kb/causes/memory/broken.yaml most/causes/memory/
"$CUTRIAGE" diagnose --knowledge most "$EXAMPLES/nightly-latency-ecc" >b 2>err
[ $? -eq 1 ] && cmp a b && grep -q 'broken.yaml:3:.*, left out' err || { cat err; exit 1; }
