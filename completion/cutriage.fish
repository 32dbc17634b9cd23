# SPDX-License-Identifier: Apache-2.0
# fish completion. Verbs and options are asked from the program itself, so this file never lags.
function __cutriage_verbs
    cutriage help 2>/dev/null | string match -r '^  [a-z][a-z-]*  .*' | string replace -r '^  ([a-z-]+)\s+(.*)' '$1\t$2'
    printf 'snapshot\tanother name of capture\ndoctor\tanother name of check\n'
end
function __cutriage_releases
    cutriage list releases --csv 2>/dev/null | string match -rg '^([a-z][a-z0-9.-]*[0-9]),(.*)' | paste - -
end
function __cutriage_after
    contains -- (commandline -opc)[-1] $argv
end
function __cutriage_options
    set -l verb (commandline -opc)[2]
    cutriage $verb --help 2>/dev/null | string match -rg '^  (?:-[a-z], )?(--[a-z-]+)'
end
# The program that record, capture or check is given, and its arguments.
function __cutriage_records
    set -l words (commandline -opc)
    contains -- "$words[2]" record capture snapshot check doctor; and contains -- -- $words
end
function __cutriage_recorded
    set -l words (commandline -opc)
    set -l at (contains -i -- -- $words)
    complete -C(string join ' ' -- $words[(math $at + 1)..-1] (commandline -ct))
end
complete -c cutriage -n __cutriage_records -f -a '(__cutriage_recorded)'
complete -c cutriage -n 'test (count (commandline -opc)) -eq 1' -f -a '(__cutriage_verbs)'
complete -c cutriage -n 'test (count (commandline -opc)) -gt 1; and not __cutriage_records; and string match -q -- "-*" (commandline -ct)' -a '(__cutriage_options)'
complete -c cutriage -n '__fish_seen_subcommand_from list' -f -a 'collectors parsers analyzers causes rules signatures codes topics releases vocabulary'
complete -c cutriage -n '__fish_seen_subcommand_from help' -f -a '(__cutriage_verbs)'
complete -c cutriage -n '__cutriage_after --release --plan-upgrade' -f -k -a '(__cutriage_releases)'
