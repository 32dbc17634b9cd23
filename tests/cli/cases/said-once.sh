# SPDX-License-Identifier: Apache-2.0
# A source that cannot be used is told of in one sentence, without its name or a word twice.
mkdir d && ln -s loop d/loop
cp "$EXAMPLES/nightly-latency-ecc/dmesg.txt" d/
"$CUTRIAGE" diagnose -o whole.case d >out 2>err
[ "$(grep -c 'd/loop: a link in a circle, skipped$' err)" = 1 ] || { cat err; exit 1; }
head -c 60000 whole.case >d/half.case
"$CUTRIAGE" diagnose d >out 2>err
grep -q 'd/half.case: ' err && ! grep -q 'half.case: .*half.case: ' err
