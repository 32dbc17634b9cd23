# SPDX-License-Identifier: Apache-2.0
command -v bash >/dev/null || exit 0
cat >try.bash <<'END'
. "$SOURCE/completion/cutriage.bash"
COMP_WORDS=("$CUTRIAGE" dia) COMP_CWORD=1
_cutriage
[ "${COMPREPLY[*]}" = diagnose ] || { echo "verb: ${COMPREPLY[*]}"; exit 1; }
COMP_WORDS=("$CUTRIAGE" diagnose --fo) COMP_CWORD=2
_cutriage
[ "${COMPREPLY[*]}" = "--force --format" ] || { echo "option: ${COMPREPLY[*]}"; exit 1; }
COMP_WORDS=("$CUTRIAGE" list c) COMP_CWORD=2
_cutriage
[ "${COMPREPLY[*]}" = "collectors causes codes" ] || { echo "list: ${COMPREPLY[*]}"; exit 1; }
END
bash try.bash
