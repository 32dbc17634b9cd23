# SPDX-License-Identifier: Apache-2.0
# A reader that leaves early is no reason to crash.
"$CUTRIAGE" list codes 2>err | head -n 1 >/dev/null
[ ! -s err ] || exit 1
# More than a pipe holds: the write fails in the middle of a row.
"$CUTRIAGE" list signatures --json 2>err | head -n 1 >/dev/null
[ ! -s err ] || exit 1
# Nor does it change what was found: a pipe whose reader is gone before anything is written.
{ sleep 0.5; "$CUTRIAGE" diagnose --full "$EXAMPLES/nightly-latency-ecc" 2>err; echo $? >rc; } | :
[ ! -s err ] && [ "$(cat rc)" = 1 ]
