# SPDX-License-Identifier: Apache-2.0
# Every verb has a page with a summary and examples, of at most 80 columns, on standard output.
bad=0
"$CUTRIAGE" help | sed -n 's/^  \([a-z-][a-z-]*\)  .*/\1/p' | while read -r verb; do
    case $verb in cutriage | help) continue ;; esac
    "$CUTRIAGE" "$verb" --help >page 2>err || { echo "$verb --help: exit $?"; exit 1; }
    "$CUTRIAGE" help "$verb" >page2 || exit 1
    cmp page page2 || exit 1
    [ ! -s err ] || { echo "$verb --help writes errors"; exit 1; }
    grep -q '^Examples:' page || { echo "$verb: no examples"; exit 1; }
    grep -q -e '--help' page || { echo "$verb: --help not listed"; exit 1; }
    awk -v v="$verb" 'length($0) > 80 { print v ": " $0; bad = 1 } END { exit bad }' page || exit 1
done
