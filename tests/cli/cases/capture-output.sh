# SPDX-License-Identifier: Apache-2.0
# Where a case goes: never through a link, never over something else, and nothing is lost on a full disk.
export XDG_DATA_HOME=$PWD/data TMPDIR=$PWD/tmp
mkdir tmp
tree=$SOURCE/tests/sysroot/orin-board
try() { "$CUTRIAGE" capture --sysroot "$tree" "$@" >out 2>err; }
echo mine >other
ln -s other link.case
try -o link.case && { echo "wrote through a link"; exit 1; }
try -f -o link.case && { echo "wrote through a link with --force"; exit 1; }
grep -q "symbolic link" err || { cat err; exit 1; }
[ "$(cat other)" = mine ] || exit 1
rm -f tmp/*
try -f -o other && { echo "replaced a file that is no case"; exit 1; }
try -o /nonexistent/x.case; [ $? -eq 4 ] || { cat err; exit 1; }
grep -q "kept in" err && [ -s tmp/x.case ] || { echo "lost"; cat err; exit 1; }
try -o a.case && try -f -o a.case || exit 1
try -o a.case; [ $? -eq 2 ] || exit 1
try --sysroot /nonexistent -o b.case; [ $? -eq 4 ] || exit 1
try --budget 9999 -o b.case; [ $? -eq 2 ] || exit 1
try --baseline || { cat err; exit 1; }
[ -s data/cutriage/baseline.case ] && grep -q '^## ' data/cutriage/baseline.md || { echo "no page"; exit 1; }
[ "$(stat -c %a data/cutriage/redact.key)" = 600 ] || exit 1
"$CUTRIAGE" share a.case -o link.case 2>/dev/null && { echo "share wrote through a link"; exit 1; }
"$CUTRIAGE" share other 2>/dev/null && { echo "shared what is no case"; exit 1; }
"$CUTRIAGE" share 2>/dev/null; [ $? -eq 2 ]
