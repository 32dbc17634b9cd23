# SPDX-License-Identifier: Apache-2.0
"$CUTRIAGE" diagnose -o run.case "$EXAMPLES/nightly-latency-ecc" >/dev/null
"$CUTRIAGE" query run.case 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n'
