# SPDX-License-Identifier: Apache-2.0
# The checker itself: a document of the wrong shape must not pass.
"$CUTRIAGE" diagnose --json "$EXAMPLES/nightly-latency-ecc" >good.json
schema=$SOURCE/docs/diagnosis-schema.json
for change in 's/"outcome": "found"/"outcome": "maybe"/' 's/"schema": "cutriage.diagnosis.1"/"schema": "x"/' \
    's/"probability": 0/"probability": 7/' 's/"layers": \[/"layers": 5, "more": [/' 's/"verify"/"verifies"/'; do
    sed "$change" good.json >bad.json
    cmp -s good.json bad.json && { echo "no change: $change"; exit 1; }
    "$VALIDATE_JSON" "$schema" bad.json 2>/dev/null && { echo "passed: $change"; exit 1; }
done
true
