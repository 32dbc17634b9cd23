# SPDX-License-Identifier: Apache-2.0
# What README.md shows of the examples is what the program says (examples/refresh-readme writes it);
# the first line is compared, since sentences of the knowledge base may change any day.
cd "$SOURCE" || exit 1
grep -A1 '^    \$ cutriage diagnose ' README.md | grep -v '^--$' | sed 's/^    //' >"$OLDPWD/shown"
cd "$OLDPWD" || exit 1
[ "$(grep -c '^\$' shown)" -ge 4 ] || { echo "fewer than four examples"; exit 1; }
while read -r command && read -r first; do
    args=${command#\$ cutriage }
    (cd "$SOURCE" && "$CUTRIAGE" $args) 2>/dev/null | head -n 1 >real
    [ "$(sed 's/  */ /g' real)" = "$(echo "$first" | sed 's/  */ /g')" ] ||
        { echo "$command"; echo "README: $first"; cat real; exit 1; }
done <shown
# Each example folder stands in examples/README.md.
for folder in "$EXAMPLES"/*/; do
    grep -q "$(basename "$folder")" "$EXAMPLES/README.md" || { echo "$folder"; exit 1; }
done
# The line of packages is that of tools/install-packages.
sed -n '/^build="/,/"$/p' "$SOURCE/tools/install-packages" | tr -d '\\' | tr '" =' '\n\n\n' | grep -v -e '^build$' -e '^$' |
    while read -r package; do
        sed -n '/^## Install/,/^## /p' "$SOURCE/README.md" | grep -qw -e "$package" || { echo "README lacks $package"; exit 1; }
    done
