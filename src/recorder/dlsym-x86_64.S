/* SPDX-License-Identifier: Apache-2.0 */
/*
 * void *dlsym(void *handle, const char *name): asks ctr_dlsym() for a substitute; without one it
 * jumps to the real function, so that this one finds its caller where it expects it: RTLD_NEXT
 * goes by the return address.
 */
    .text
    .globl dlsym
    .type dlsym, @function
    .p2align 4
dlsym:
    .cfi_startproc
    endbr64
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    call ctr_dlsym
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    testq %rdx, %rdx
    jne 1f
    movq ctr_real_dlsym(%rip), %rdx
    testq %rdx, %rdx
    je 1f
    jmp *%rdx
1:  ret
    .cfi_endproc
    .size dlsym, . - dlsym
    .section .note.GNU-stack, "", @progbits
