# SPDX-License-Identifier: Apache-2.0
# What a file says reaches neither the terminal's controls nor the markup.
printf '2025-01-01 10:00:00 ERROR \033]0;owned\007 <script>alert(1)</script> CUDA error: an illegal memory access was encountered (700) `rm` \342\200\256x\n' >'a
b<i>.log'
for form in text md html json; do
    "$CUTRIAGE" diagnose --full --format $form 'a
b<i>.log' >out.$form 2>err
    [ $? -le 3 ] || exit 1
    LC_ALL=C grep -q "$(printf '\033')" out.$form && { echo "escape in $form"; exit 1; }
done
LC_ALL=C grep -q "$(printf '\342\200\256')" out.text && exit 1
grep -q '<script>\|<i>' out.html && { echo "markup"; exit 1; }
true
