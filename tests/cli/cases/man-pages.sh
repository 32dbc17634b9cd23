# SPDX-License-Identifier: Apache-2.0
# The options of a verb's --help are those of its man page; every verb stands in cutriage(1).
"$CUTRIAGE" help | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p' | grep -v '^cutriage$' >verbs
while read -r verb; do
    grep -q "^\*$verb\*" "$SOURCE/man/cutriage.1.scd" || { echo "cutriage.1 lacks $verb"; exit 1; }
    case $verb in version | help) continue ;; esac
    page=$SOURCE/man/cutriage-$verb.1.scd
    [ -f "$page" ] || { echo "no page for $verb"; exit 1; }
    grep -q "cutriage-$verb\*(1)" "$SOURCE/man/cutriage.1.scd" || { echo "no link to $verb"; exit 1; }
    "$CUTRIAGE" "$verb" --help | grep -o '^  \(-[a-z], \)\{0,1\}--[a-z-]*' | grep -o -e '--[a-z-]*' |
        sort -u >from-help
    sed -n '/^# OPTIONS/,/^# [A-NP-Z]/p' "$page" | grep '^\*' | grep -o -e '--[a-z-]*' | sort -u >from-page
    cmp -s from-help from-page || { echo "$verb: help and man page differ"; diff from-help from-page; exit 1; }
done <verbs
