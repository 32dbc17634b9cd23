# SPDX-License-Identifier: Apache-2.0
# --next --yes runs the test that it offers, judges what it printed with the rest, tells what
# changed, and keeps it in the case.
fail() { echo "$1"; cat out err; exit 1; }
mkdir -p kb/causes/memory kb/signatures
cp "$SOURCE/knowledge/vocabulary.tsv" kb/
cat >kb/signatures/s.yaml <<'EOF'
- id: hint
  kind: app-error
  anchors: ["frobnicator stopped"]
  pattern: 'frobnicator stopped'
  set: {name: hint}
  test: {hit: ["frobnicator stopped"], near: ["frobnicator started"]}
- id: proof
  kind: app-error
  anchors: ["proof of the leak"]
  pattern: 'proof of the leak'
  set: {name: proof}
  test: {hit: ["proof of the leak"], near: ["proof of nothing"]}
EOF
cat >kb/causes/memory/gpu-oom-leak.yaml <<'EOF'
cause: gpu-oom-leak
layer: memory
topic: memory
title: {en: A leak, zh: 泄漏}
about: {en: Something leaks., zh: 有泄漏。}
prior: normal
action: {do: fix-code, owner: application, urgency: soon}
evidence:
  - id: hint
    event: app-error
    name: [hint]
    group: hint
    weight: 12
    say: {en: "it stopped", zh: "已停止"}
    test: {hit: ["frobnicator stopped"], near: ["frobnicator started"]}
  - id: proof
    event: app-error
    name: [proof]
    group: proof
    weight: 16
    say: {en: "the proof is there", zh: "有证据"}
    test: {hit: ["proof of the leak"], near: ["proof of nothing"]}
next:
  - test: look
    run: touch ran && echo 'proof of the leak' > proof.txt
    cost: 1 s
    say: {en: "Look for the proof", zh: "查找证据"}
    tells:
      - {cause: gpu-oom-leak, when: {en: "it is there", zh: "存在"}}
fix:
  - {en: "Mend it", zh: "修复"}
verify:
  - {en: "It is gone", zh: "已消失"}
EOF
echo 'frobnicator stopped' >app.log
# Without a terminal and without a word of the person nothing runs.
"$CUTRIAGE" diagnose --lang en --knowledge kb --next app.log >out 2>err
grep -q 'Next test:' err || fail 'not offered'
[ -e ran ] && fail 'ran unasked'
"$CUTRIAGE" diagnose --lang en --knowledge kb --next --yes -o run.case app.log >out 2>err
[ -e ran ] || fail 'did not run'
[ -e proof.txt ] && fail 'the file of the command was written'
grep -q 'proof of the leak' err || fail 'the output is not shown'
grep -q 'What changed' err || fail 'no word of the change'
grep -q 'the proof is there' out || fail 'not judged again'
"$CUTRIAGE" query run.case "SELECT path FROM source WHERE path = 'test:look'" >out
grep -q 'test:look' out || fail 'not kept'
# On a terminal it asks, runs after a yes and takes the outcome; a no runs nothing.
if command -v script >/dev/null 2>&1 && script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    rm -f ran
    (sleep 1; echo n; sleep 1; echo) |
        script -qec "$CUTRIAGE diagnose --lang en --knowledge kb --next app.log" /dev/null >out 2>err
    grep -q 'Run this now' out || fail 'not asked'
    [ -e ran ] && fail 'ran after a no'
    (sleep 1; echo y; sleep 1; echo 1; sleep 1) |
        script -qec "$CUTRIAGE diagnose --lang en --knowledge kb --next -o asked.case app.log" \
            /dev/null >out 2>err
    [ -e ran ] || fail 'did not run after a yes'
    grep -q 'What changed' out || fail 'no change after a yes'
    "$CUTRIAGE" query asked.case "SELECT path FROM source WHERE path = 'test:look'" >out
    grep -q 'test:look' out || fail 'not kept after a yes'
fi
"$CUTRIAGE" diagnose --yes app.log >out 2>err
[ $? -eq 2 ] || fail '--yes alone'
exit 0
