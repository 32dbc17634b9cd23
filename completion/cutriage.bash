# SPDX-License-Identifier: Apache-2.0
# bash completion. Verbs and options are asked from the program itself, so this file never lags.
_cutriage_verbs() {
    "$1" help 2>/dev/null | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p' | grep -v '^cutriage$'
    echo snapshot doctor # other names of capture and check
}
_cutriage_releases() {
    "$1" list releases --csv 2>/dev/null | sed -n 's/^\([a-z][a-z0-9.-]*[0-9]\),.*/\1/p'
}
_cutriage() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]}
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "$(_cutriage_verbs "${COMP_WORDS[0]}")" -- "$cur"))
        return
    fi
    # The program that record, capture or check is given, and its arguments.
    case $verb in record | capture | snapshot | check | doctor)
        local i
        for ((i = 2; i < COMP_CWORD; i++)); do
            [ "${COMP_WORDS[i]}" = -- ] || continue
            if declare -F _command_offset >/dev/null; then
                _command_offset $((i + 1))
            elif [ "$COMP_CWORD" -eq $((i + 1)) ]; then
                COMPREPLY=($(compgen -c -- "$cur" | sort -u))
            else
                COMPREPLY=($(compgen -f -- "$cur"))
            fi
            return
        done
        ;;
    esac
    case $prev in
    --lang) COMPREPLY=($(compgen -W "en zh" -- "$cur")) && return ;;
    --color) COMPREPLY=($(compgen -W "auto always never" -- "$cur")) && return ;;
    --format) COMPREPLY=($(compgen -W "text json md html" -- "$cur")) && return ;;
    --show) COMPREPLY=($(compgen -W "traces sections sources events facts findings series" -- "$cur")) && return ;;
    --rule) COMPREPLY=($(compgen -W "numpy trtexec polygraphy" -- "$cur")) && return ;;
    --layout) COMPREPLY=($(compgen -W "nchw nhwc chw2 chw4 chw16 chw32 hwc8 hwc16" -- "$cur")) && return ;;
    --changed) COMPREPLY=($(compgen -W "driver model engine container config nothing" -- "$cur")) && return ;;
    --release) COMPREPLY=($(compgen -W "$(_cutriage_releases "${COMP_WORDS[0]}" | grep -v '^driver')" -- "$cur")) && return ;;
    --plan-upgrade) COMPREPLY=($(compgen -W "$(_cutriage_releases "${COMP_WORDS[0]}")" -- "$cur")) && return ;;
    --boot) COMPREPLY=($(compgen -W "last 1 2" -- "$cur")) && return ;;
    --knowledge | --sysroot) COMPREPLY=($(compgen -d -- "$cur")) && return ;;
    esac
    case $verb:$cur in
    *:-*)
        COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" "$verb" --help 2>/dev/null |
            grep -o '^  \(-[a-z], \)\{0,1\}--[a-z-]*' | grep -o -e '--[a-z-]*')" -- "$cur"))
        ;;
    help:*)
        COMPREPLY=($(compgen -W "$(_cutriage_verbs "${COMP_WORDS[0]}")" -- "$cur"))
        ;;
    list:*)
        COMPREPLY=($(compgen -W "collectors parsers analyzers causes rules signatures codes topics releases vocabulary" -- "$cur"))
        ;;
    *) COMPREPLY=($(compgen -f -- "$cur")) ;;
    esac
}
complete -o filenames -F _cutriage cutriage
