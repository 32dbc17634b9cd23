# SPDX-License-Identifier: Apache-2.0
# The contract holds for every kind of question, in both languages.
printf 'fine\nCUDA error: an illegal memory access was encountered\n' >app.log
for lang in en zh; do
    while read -r question; do
        "$CUTRIAGE" explain --json --lang $lang "$question" >out 2>err
        case $? in 0 | 2) ;; *) echo "$question: failed"; cat err; exit 1 ;; esac
        "$VALIDATE_JSON" "$SOURCE/docs/explain-schema.json" out || { echo "$question"; exit 1; }
    done <<END
719
3
xid 79
cudaErrorIllegalAddress
cudaErrorIlegalAddres
out of memory
RuntimeError: CUDA error: device-side assert triggered
app.log:2
app.log:1
gpu-fell-off-bus
显存泄漏
sm_87
no such thing at all
END
done
