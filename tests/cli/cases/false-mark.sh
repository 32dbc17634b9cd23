# SPDX-License-Identifier: Apache-2.0
# Two stray bytes that look like the mark of UTF-16 do not hide a plain log; a true mark counts.
log=$EXAMPLES/nightly-latency-ecc/dmesg.txt
cause() { "$CUTRIAGE" diagnose --json "$1" 2>err | grep -m 1 '"cause"'; }
want=$(cause "$log")
[ -n "$want" ] || exit 1
for mark in '\377\376' '\376\377'; do
    { printf "$mark"; cat "$log"; } >stray.log
    [ "$(cause stray.log)" = "$want" ] || { echo "$mark"; exit 1; }
done
{ printf '\377\376'; iconv -f UTF-8 -t UTF-16LE "$log"; } >true.log
[ "$(cause true.log)" = "$want" ]
