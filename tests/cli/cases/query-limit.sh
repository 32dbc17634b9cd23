# SPDX-License-Identifier: Apache-2.0
# A statement that gives rows without end is cut, and says so.
fail() { echo "$1"; exit 1; }
echo 'step 1 done' >app.log
"$CUTRIAGE" diagnose -o run.case app.log >out 2>err
endless='WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n'
"$CUTRIAGE" query --csv --limit 5 run.case "$endless" >out 2>err || fail 'limit'
[ "$(wc -l <out)" -eq 6 ] || fail 'rows'
grep -q 'only the first 5 rows' err || fail note
"$CUTRIAGE" query --csv run.case "$endless" >out 2>err || fail 'default limit'
[ "$(wc -l <out)" -eq 100001 ] || fail 'default rows'
"$CUTRIAGE" query --csv --limit 3 run.case 'SELECT 1 UNION SELECT 2 UNION SELECT 3' >out 2>err
grep -q first err && fail 'a note without a reason'
"$CUTRIAGE" query --limit -1 run.case 'SELECT 1' >out 2>err
[ $? -eq 2 ] || fail 'negative limit'
exit 0
