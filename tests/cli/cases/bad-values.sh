# SPDX-License-Identifier: Apache-2.0
# Each wrong value names itself and what is known, and ends with 2.
try() {
    "$CUTRIAGE" "$@" >out 2>err
    [ $? -eq 2 ] || { echo "not 2: $*"; exit 1; }
    [ ! -s out ] || exit 1
    grep -q "$want" err || { cat err; exit 1; }
}
echo x >f
want='known are en and zh' && try diagnose --lang fr f
want='known are auto, always and never' && try diagnose --color blue f
want='known are text, json, md and html' && try diagnose --format pdf f
want='exclude each other' && try diagnose --json --format text f
want='exclude each other' && try query --json --csv f x
want="there is no list of 'parser'.*did you mean parsers" && try list parser
want='known are traces, sections' && try inspect --show nothing f
want="no verb 'foo'" && try help foo
true
