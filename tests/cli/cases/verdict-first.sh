# SPDX-License-Identifier: Apache-2.0
for input in "$EXAMPLES"/*/; do
    "$CUTRIAGE" diagnose "$input" | sed -n '1,3p' | cut -d' ' -f1 | tr '\n' ' ' |
        grep -q '^Cause Sure Now $' || { echo "$input"; exit 1; }
done
