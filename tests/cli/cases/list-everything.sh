# SPDX-License-Identifier: Apache-2.0
for what in collectors parsers analyzers causes rules signatures codes vocabulary; do
    "$CUTRIAGE" list $what >out || { echo "$what"; exit 1; }
    [ "$(wc -l <out)" -gt 3 ] || { echo "$what: $(wc -l <out) lines"; exit 1; }
    "$CUTRIAGE" list --json $what | grep -q '"schema": "cutriage.list/1"' || exit 1
    "$CUTRIAGE" list --csv $what | head -n 1 | grep -q , || exit 1
done
"$CUTRIAGE" list causes --lang zh | grep -q 显存 || exit 1
"$CUTRIAGE" list codes xid | grep -q '^xid ' || exit 1
[ "$("$CUTRIAGE" list causes nosuchthing | wc -l)" -eq 1 ]
