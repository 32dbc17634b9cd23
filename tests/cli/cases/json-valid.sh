# SPDX-License-Identifier: Apache-2.0
# The contract holds for every example, in both languages, and for input that gives little.
printf 'hello\n' >plain.log
: >empty.log
printf '\377\376\001bad \033[31mred\033[0m bytes ERROR CUDA error 700\n' >odd.log
for input in "$EXAMPLES"/*/ plain.log empty.log odd.log; do
    for lang in en zh; do
        "$CUTRIAGE" diagnose --json --lang $lang "$input" >out 2>err
        rc=$?
        case $rc in 0 | 1 | 3) ;; *) echo "$input: exit $rc"; exit 1 ;; esac
        "$VALIDATE_JSON" "$SOURCE/docs/diagnosis-schema.json" out || { echo "$input"; exit 1; }
    done
done
