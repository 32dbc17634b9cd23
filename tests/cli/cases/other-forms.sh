# SPDX-License-Identifier: Apache-2.0
"$CUTRIAGE" diagnose --format md "$EXAMPLES/nightly-latency-ecc" >a.md
[ $? -eq 1 ] && grep -q '^## ' a.md || exit 1
"$CUTRIAGE" diagnose --format html "$EXAMPLES/nightly-latency-ecc" >a.html
[ $? -eq 1 ] && head -n 1 a.html | grep -q '^<!DOCTYPE html>' && tail -n 1 a.html | grep -q '</html>$' || exit 1
grep -q '<script\|http:\|https:' a.html && { echo "not self-contained"; exit 1; }
"$CUTRIAGE" diagnose --format text "$EXAMPLES/nightly-latency-ecc" >a.txt
"$CUTRIAGE" diagnose "$EXAMPLES/nightly-latency-ecc" | cmp - a.txt
