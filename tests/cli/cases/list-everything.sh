# SPDX-License-Identifier: Apache-2.0
for what in collectors parsers analyzers causes rules signatures codes releases vocabulary; do
    "$CUTRIAGE" list $what >out || { echo "$what"; exit 1; }
    [ "$(wc -l <out)" -gt 3 ] || { echo "$what: $(wc -l <out) lines"; exit 1; }
    "$CUTRIAGE" list --json $what | grep -q '"schema": "cutriage.list/1"' || exit 1
    "$CUTRIAGE" list --csv $what | head -n 1 | grep -q , || exit 1
done
"$CUTRIAGE" list causes --lang zh | grep -q 显存 || exit 1
"$CUTRIAGE" list codes xid | grep -q '^xid ' || exit 1
[ "$("$CUTRIAGE" list causes nosuchthing | wc -l)" -eq 1 ] || exit 1
# Every release that is listed is one that the verbs take.
"$CUTRIAGE" capture --sysroot "$SOURCE/tests/sysroot/orin-board" -o o.case >/dev/null || exit 1
for r in jp5.1.2 jp6.2 l4t-r36.4.7 cuda12.4 driver-580; do
    "$CUTRIAGE" list releases | grep -q "^$r " || { echo "not listed: $r"; exit 1; }
    "$CUTRIAGE" check --plan-upgrade "$r" o.case >out 2>&1
    [ $? -ne 2 ] || { cat out; exit 1; }
    [ $r = driver-580 ] || { "$CUTRIAGE" diff --release "$r" o.case >out 2>&1; [ $? -le 1 ]; } || { cat out; exit 1; }
done
