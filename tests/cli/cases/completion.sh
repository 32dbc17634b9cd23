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
COMP_WORDS=("$CUTRIAGE" record --print) COMP_CWORD=2
_cutriage
[ "${COMPREPLY[*]}" = --print-env ] || { echo "record: ${COMPREPLY[*]}"; exit 1; }
COMP_WORDS=("$CUTRIAGE" record -q -- mkfif) COMP_CWORD=4
_cutriage
[ "${COMPREPLY[*]}" = mkfifo ] || { echo "command of record: ${COMPREPLY[*]}"; exit 1; }
COMP_WORDS=("$CUTRIAGE" record -- mkfifo -) COMP_CWORD=4
_cutriage
[[ " ${COMPREPLY[*]} " != *--print-env* ]] || { echo "own options after --"; exit 1; }
COMP_WORDS=("$CUTRIAGE" sna) COMP_CWORD=1
_cutriage
[ "${COMPREPLY[*]}" = snapshot ] || { echo "alias: ${COMPREPLY[*]}"; exit 1; }
COMP_WORDS=("$CUTRIAGE" doc) COMP_CWORD=1
_cutriage
[ "${COMPREPLY[*]}" = doctor ] || { echo "alias: ${COMPREPLY[*]}"; exit 1; }
COMP_WORDS=("$CUTRIAGE" doctor --plan) COMP_CWORD=2
_cutriage
[ "${COMPREPLY[*]}" = --plan-upgrade ] || { echo "option of an alias: ${COMPREPLY[*]}"; exit 1; }
COMP_WORDS=("$CUTRIAGE" check --plan-upgrade driver-58) COMP_CWORD=3
_cutriage
[[ " ${COMPREPLY[*]} " == *" driver-580 "* ]] || { echo "plan: ${COMPREPLY[*]}"; exit 1; }
COMP_WORDS=("$CUTRIAGE" diff --release jp6.) COMP_CWORD=3
_cutriage
[[ " ${COMPREPLY[*]} " == *" jp6.2 "* ]] || { echo "release: ${COMPREPLY[*]}"; exit 1; }
COMP_WORDS=("$CUTRIAGE" diff --release driver) COMP_CWORD=3
_cutriage
[ -z "${COMPREPLY[*]}" ] || { echo "a driver is no release: ${COMPREPLY[*]}"; exit 1; }
END
bash try.bash || exit 1
if command -v fish >/dev/null; then
    PATH=$(dirname "$CUTRIAGE"):$PATH HOME=$PWD fish --no-config -c '
        source $SOURCE/completion/cutriage.fish
        string match -q -- "--print-env*" (complete -C "cutriage record --print-e") || exit 1
        string match -q -- "mkfifo*" (complete -C "cutriage record -q -- mkfif") || exit 2
        string match -q -- "*--no-stacks*" (complete -C "cutriage record -- mkfifo -") && exit 3
        string match -q -- "doctor*" (complete -C "cutriage doc") || exit 4
        string match -q -- "jp6.2*" (complete -C "cutriage diff --release jp6.2") || exit 5
        string match -q -- "driver-580*" (complete -C "cutriage check --plan-upgrade driver-5") || exit 6
        exit 0' || { echo "fish: $?"; exit 1; }
fi
if command -v zsh >/dev/null; then
    zsh -n "$SOURCE/completion/_cutriage" || { echo "zsh: syntax"; exit 1; }
fi
