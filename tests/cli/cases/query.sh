# SPDX-License-Identifier: Apache-2.0
"$CUTRIAGE" diagnose -o run.case "$EXAMPLES/nightly-latency-ecc" >/dev/null
"$CUTRIAGE" query run.case "SELECT code, count(*) AS n FROM event WHERE kind='xid' GROUP BY code" || exit 1
"$CUTRIAGE" query --csv run.case "SELECT 'a,\"b' AS x, 1.5 AS y, NULL AS z" || exit 1
"$CUTRIAGE" query --json run.case "SELECT cause FROM hypothesis ORDER BY probability DESC LIMIT 1" >q.json || exit 1
grep -q '"schema": "cutriage.query/1"' q.json && grep -q '"cause": ' q.json || exit 1
"$CUTRIAGE" query --schema run.case | grep -q '^CREATE TABLE event ' || exit 1
