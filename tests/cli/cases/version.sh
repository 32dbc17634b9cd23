# SPDX-License-Identifier: Apache-2.0
"$CUTRIAGE" --version >a && "$CUTRIAGE" version >b && cmp a b || exit 1
"$CUTRIAGE" version --json | grep -q '"diagnosis": "cutriage.diagnosis/1"' || exit 1
cat a
