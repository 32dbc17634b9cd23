# SPDX-License-Identifier: Apache-2.0
esc=$(printf '\033')
e=$EXAMPLES/nightly-latency-ecc
"$CUTRIAGE" diagnose "$e" | grep -q "$esc" && { echo "colour in a pipe"; exit 1; }
"$CUTRIAGE" diagnose --color always "$e" | grep -q "$esc" || { echo "always"; exit 1; }
command -v script >/dev/null || exit 0
tty() { script -qec "$1" /dev/null </dev/null; }
TERM=xterm tty "'$CUTRIAGE' diagnose '$e'" | grep -q "$esc" || { echo "none on a terminal"; exit 1; }
TERM=xterm tty "NO_COLOR=1 '$CUTRIAGE' diagnose '$e'" | grep -q "$esc" && { echo "NO_COLOR"; exit 1; }
TERM=xterm tty "'$CUTRIAGE' diagnose --color never '$e'" | grep -q "$esc" && { echo "never"; exit 1; }
true
