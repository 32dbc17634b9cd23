# SPDX-License-Identifier: Apache-2.0
"$CUTRIAGE" help >a && "$CUTRIAGE" --help >b && "$CUTRIAGE" -h >c && cmp a b && cmp a c
cat a
