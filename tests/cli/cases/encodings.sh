# SPDX-License-Identifier: Apache-2.0
# UTF-16 from Windows, GB18030, CRLF, NUL bytes, colours: the same cause as from plain UTF-8.
line='2025-01-01 10:00:00 ERROR 推理失败: CUDA error: misaligned address (716)'
printf '%s\n' "$line" >plain.log
"$CUTRIAGE" diagnose --json plain.log | grep -m1 '"cause": "[a-z-]*"' >want
[ -s want ] || exit 1
check() {
    "$CUTRIAGE" diagnose --json "$1" | grep -m1 '"cause": "[a-z-]*"' | cmp -s - want || { echo "$1"; exit 1; }
}
printf '%s\r\n' "$line" >crlf.log && check crlf.log
printf '\033[31m%s\033[0m\n' "$line" >colour.log && check colour.log
printf 'a\000b\000c\n%s\n' "$line" >nul.log && check nul.log
if command -v iconv >/dev/null; then
    { printf '\377\376' && printf '%s\r\n' "$line" | iconv -f UTF-8 -t UTF-16LE; } >u16le.log && check u16le.log
    { printf '\376\377' && printf '%s\n' "$line" | iconv -f UTF-8 -t UTF-16BE; } >u16be.log && check u16be.log
    printf '%s\n' "$line" | iconv -f UTF-8 -t GB18030 >gb.log && check gb.log
fi
printf 'caf\351 \377\376\375 bytes\n%s\n' "$line" >bad.log && check bad.log
