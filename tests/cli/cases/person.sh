# SPDX-License-Identifier: Apache-2.0
# The person as a source: notes, changes, answers, and the test that is offered.
hot=$SOURCE/tests/scenarios/hot-card-slows-down
fail=0
bad() { echo "$*"; fail=1; }
p() { jq -r ".hypotheses[] | select(.cause == \"$1\") | .probability"; }
less() { awk "BEGIN { exit !($1 < $2) }"; }
command -v jq >/dev/null || { echo "no jq, nothing checked"; exit 0; }

echo 'output tensor contains NaN' >nan.log
before=$("$CUTRIAGE" diagnose --json nan.log | p nan-from-fp16-overflow)
for note in 'gone in FP32' '换成 FP32 正常'; do
    after=$("$CUTRIAGE" diagnose --json --note "$note" nan.log | p nan-from-fp16-overflow)
    less "${before:-0}" "${after:-0}" || bad "$note: $before -> $after"
done
"$CUTRIAGE" diagnose --json --note 'the weather was fine' nan.log |
    jq -e '[.hypotheses[].for[] | select(.source == "said")] | length == 0' >/dev/null ||
    bad "a note without meaning counts"

# The same words in a log are no statement of the person.
echo 'gone in FP32' >>nan.log
"$CUTRIAGE" diagnose --json nan.log |
    jq -e '[.hypotheses[].for[].rule] | index("said-half-only") == null' >/dev/null ||
    bad "a log speaks for the person"

# Each outcome has an id that --answer takes.
"$CUTRIAGE" diagnose --json "$hot" >hot.json
test=$(jq -r '.hypotheses[0].next[0].test' hot.json)
outcome=$(jq -r '.hypotheses[0].next[0].tells[-1].outcome' hot.json)
"$CUTRIAGE" diagnose --json --answer "$test=$outcome" "$hot" >answered.json
"$VALIDATE_JSON" "$SOURCE/docs/diagnosis-schema.json" answered.json || bad "answered.json"
# The leading cause may stand at its ceiling, which one answer does not break.
less "$(p gpu-thermal-throttle <hot.json)" "$(p gpu-thermal-throttle <answered.json)" &&
    bad "an answer for another cause speaks for the leading one"
unasked=$(p "$outcome" <hot.json)
less "${unasked:-0}" "$(p "$outcome" <answered.json)" ||
    bad "an answer gives its cause nothing"
"$CUTRIAGE" diagnose --full --answer "$test=$outcome" "$hot" | grep -q 'said by you' ||
    bad "the arithmetic does not show the answer"

# A case keeps what was said.
"$CUTRIAGE" diagnose -o said.case --answer "$test=$outcome" "$hot" >/dev/null
"$CUTRIAGE" diagnose --full said.case | grep -q 'said by you' || bad "the case forgets"

for wrong in "--answer nonsense" "--answer no-such-test=x" "--answer $test=no-such" \
    "--changed weather"; do
    # shellcheck disable=SC2086
    "$CUTRIAGE" diagnose $wrong "$hot" >/dev/null 2>&1
    [ $? = 2 ] || bad "$wrong is taken"
done

# Without a terminal the test is shown and nothing runs; a pipe cannot be read twice.
"$CUTRIAGE" diagnose --next "$hot" 2>err >/dev/null </dev/null
grep -q -e "--answer $test=$outcome" err || bad "--next shows no outcomes"
"$CUTRIAGE" diagnose --next - <nan.log >/dev/null 2>&1
[ $? = 2 ] || bad "--next reads a pipe"

# On a terminal: no run without a yes, an outcome by its number, and what changed.
if command -v script >/dev/null; then
    printf 'n\n3\n' | script -qec "'$CUTRIAGE' diagnose --lang en --next -o next.case '$hot'" \
        /dev/null >typed 2>&1
    grep -q 'What changed' typed || bad "nothing is judged again"
    grep -q '^  |' typed && bad "the test ran without a yes"
    "$CUTRIAGE" query next.case "SELECT name FROM event WHERE kind = 'answer'" | grep -q "$test" ||
        bad "the outcome is not stored"
fi
exit $fail
