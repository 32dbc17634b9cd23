# SPDX-License-Identifier: Apache-2.0
# The default page: at most 23 lines of 80 columns, the prompt takes the last; --full is as wide.
width() {
    # Columns: in UTF-8 every CJK character here is three bytes and two columns wide.
    LC_ALL=C awk '{
        n = length($0); wide = gsub(/[\343-\357][\200-\277][\200-\277]/, "")
        two = gsub(/\342[\200-\277][\200-\277]|[\302-\337][\200-\277]/, "")
        w = length($0) + 2 * wide + two
        if (w > 80) { print FILENAME ": " w " columns, line " FNR; bad = 1 }
    } END { exit bad }' "$1"
}
for input in "$EXAMPLES"/*/; do
    for lang in en zh; do
        "$CUTRIAGE" diagnose --lang $lang "$input" >page
        "$CUTRIAGE" diagnose --lang $lang --full "$input" >full
        [ "$(wc -l <page)" -le 23 ] || { echo "$input $lang: $(wc -l <page) lines"; exit 1; }
        width page && width full || { echo "$input $lang"; exit 1; }
    done
done
