# SPDX-License-Identifier: Apache-2.0
"$CUTRIAGE" >out 2>err || exit 1
[ ! -s err ] || exit 1
# Five lines of state, then the five steps; only verbs that exist.
sed -n '1,5p' out | cut -c1-9 | tr -d ' ' | tr '\n' ' ' | grep -q '^GPU Driver System Memory Place ' || exit 1
for step in 1 2 3 4 5; do grep -q "^$step " out || { echo "step $step"; exit 1; }; done
grep -o 'cutriage [a-z]*' out | sort -u | while read -r _ verb; do
    "$CUTRIAGE" help "$verb" >/dev/null 2>&1 || [ "$verb" = help ] || { echo "no verb $verb"; exit 1; }
done || exit 1
awk 'length($0) > 80 { exit 1 }' out
