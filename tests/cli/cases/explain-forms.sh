# SPDX-License-Identifier: Apache-2.0
# What each form of a question leads to.
fail() { echo "$1"; cat out; exit 1; }
has() { # QUESTION PATTERN
    "$CUTRIAGE" explain --lang en $1 >out || fail "$1: exit $?"
    grep -q -e "$2" out || fail "$1: no $2"
}
has 719 'cudaErrorLaunchFailure'
has 719 'the process must'
has 'xid 79' 'GPU_HAS_FALLEN_OFF_THE_BUS'
has 'xid 79' 'gpu-fell-off-bus'
has 'sxid 12028' 'non-fatal'
has 'nvml 18' 'Driver/library version mismatch'
has 'nccl 3' 'ncclInternalError'
has 'trt 2' 'kINTERNAL_ERROR'
has 'nvjpeg 5' 'NVJPEG_STATUS_ALLOCATOR_FAILURE'
has NVJPEG_STATUS_BAD_JPEG 'damaged'
has 'ort 11' 'ORT_EP_FAIL'
has ORT_INVALID_PROTOBUF 'cannot be read'
has 137 'SIGKILL'
has -9 'SIGKILL'
has 'cuda 77' 'cudaErrorIllegalAddress'
has 'jetpack 5.1.2' '35.4.1'
has '--family cudnn 8' 'CUDNN_STATUS_EXECUTION_FAILED'
has gpu-fell-off-bus '^Fix'
"$CUTRIAGE" explain --lang en 13 >out || fail 13
[ "$(grep -c -E '^(xid|errno|signal|cuda) +13 ' out)" -ge 3 ] || fail 'not every reading of 13'
"$CUTRIAGE" explain --lang zh 显存泄漏 >out || fail leak
grep -q 'gpu-oom-leak' out || fail leak
# A line of a packed file, a message from a pipe.
printf 'fine\nNVRM: Xid (PCI:0000:3b:00): 31, pid=7, name=serve, Ch 00000008\n' | gzip >k.log.gz
has k.log.gz:2 'FIFO_ERROR_MMU_ERR_FLT'
echo 'CUDA error: an illegal memory access was encountered' | "$CUTRIAGE" explain - >out || fail pipe
grep -q 'cudaErrorIllegalAddress' out || fail pipe
# What is not known: exit code 2 and what may have been meant; a missing line: 4.
"$CUTRIAGE" explain --lang en cudaErrorIllegalAdress >out
[ $? -eq 2 ] || fail 'exit code of the unknown'
grep -q 'cudaErrorIllegalAddress' out || fail 'no suggestion'
"$CUTRIAGE" explain k.log.gz:9 >out 2>err
[ $? -eq 4 ] || fail 'exit code of a missing line'
# What looks like a path and is not there is no question.
for place in gone.log:3 logs/app:7 ./x.txt:0; do
    "$CUTRIAGE" explain "$place" >out 2>err
    [ $? -eq 4 ] || fail "exit code of $place"
    grep -q 'No such file' err || fail "$place: no word of the file"
done
# A code that no table holds is said to be unknown; nothing is searched for.
unknown() { # QUESTION PATTERN
    "$CUTRIAGE" explain --lang en $1 >out 2>err
    [ $? -eq 2 ] || fail "$1: not told as unknown"
    grep -q -e "^No $2 is known" out || fail "$1: no $2"
}
unknown 'xid 9999' 'Xid 9999'
unknown 'xid -1' 'Xid -1'
unknown 'xid 99999999999999999999999' 'Xid 99999999999999999999999'
unknown 'sxid 1' 'SXid 1'
unknown 'CUDA error 4242' 'CUDA error 4242'
unknown CUDA_ERROR_FOO CUDA_ERROR_FOO
grep -q CUDA_ERROR_INVALID_VALUE out || fail 'no sibling of CUDA_ERROR_FOO'
unknown cudaErrorFrobnicated cudaErrorFrobnicated
"$CUTRIAGE" explain npp -1 >out 2>err
[ $? -eq 2 ] || fail npp
# Several codes.
has '719 700' cudaErrorLaunchFailure
has '719 700' cudaErrorIllegalAddress
has 'xid 79, 31' GPU_HAS_FALLEN_OFF
has 'xid 79, 31' FIFO_ERROR_MMU_ERR_FLT
has 'CUDA_ERROR_INVALID_VALUE and 716' cudaErrorMisalignedAddress
has '700 9876' 'No 9876 is known'
has -1 SIGHUP
has -1 EPERM
# A status of cuDNN in a line has a number in either numbering.
"$CUTRIAGE" explain 'RuntimeError: cuDNN error: CUDNN_STATUS_BAD_PARAM' >out || fail cudnn
grep -q 'cuDNN status 2000' out && grep -q 'cuDNN status 3$' out || fail 'both numberings'
# A code within a question, in either language; a name with its number is one thing.
has 'what is xid 79?' GPU_HAS_FALLEN_OFF
has '什么是 xid 79' GPU_HAS_FALLEN_OFF
has 719是什么意思 cudaErrorLaunchFailure
has CUDA错误719 cudaErrorLaunchFailure
has 退出码137 SIGKILL
has 'cudaErrorIllegalAddress 700' '^cudaErrorIllegalAddress'
grep -q '^No 700' out && fail 'the number of a name is unknown'
unknown 'what is xid 9999' 'Xid 9999'
# Releases that do not exist, and words that mean nothing here.
unknown 'driver 9999' 'driver 9999'
unknown sm_999 sm_999
"$CUTRIAGE" explain foo bar baz >out 2>err
[ $? -eq 2 ] || fail 'chance words'
has 'nccl timeout' nccl-timeout-desync
