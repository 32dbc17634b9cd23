# SPDX-License-Identifier: Apache-2.0
"$CUTRIAGE" diagnose -o run.case "$EXAMPLES/nightly-latency-ecc" >/dev/null
cp run.case before
try() {
    want=$1
    shift
    "$CUTRIAGE" query "$@" >out 2>err
    rc=$?
    [ $rc -eq "$want" ] || { echo "exit $rc for $*"; cat err; exit 1; }
    [ -s err ] || { echo "silent: $*"; exit 1; }
}
try 2
try 2 run.case
try 2 run.case 'SELEC 1'
try 2 run.case ''
try 2 run.case 'SELECT 1' 'SELECT 2'
try 2 run.case 'SELECT 1; SELECT 2'
try 4 nosuch.case 'SELECT 1'
for sql in 'DELETE FROM event' 'CREATE TABLE t(x)' 'DROP TABLE event' "ATTACH 'x.db' AS x" 'PRAGMA writable_schema=1' \
    'CREATE TEMP TABLE t(x)' "VACUUM INTO 'copy.db'"; do
    "$CUTRIAGE" query run.case "$sql" >out 2>err && { echo "allowed: $sql"; exit 1; }
done
cmp run.case before && [ ! -e x.db ] && [ ! -e copy.db ]
