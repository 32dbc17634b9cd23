/* SPDX-License-Identifier: Apache-2.0 */
/* As dlsym-x86_64.S: a substitute from ctr_dlsym(), or a jump to the real function with the
 * caller's return address still in x30. */
    .text
    .globl dlsym
    .type dlsym, %function
    .p2align 4
dlsym:
    .cfi_startproc
    hint #34 /* bti c */
    stp x29, x30, [sp, #-32]!
    .cfi_def_cfa_offset 32
    .cfi_offset 29, -32
    .cfi_offset 30, -24
    mov x29, sp
    stp x0, x1, [sp, #16]
    bl ctr_dlsym
    mov x2, x0
    mov x3, x1
    ldp x0, x1, [sp, #16]
    ldp x29, x30, [sp], #32
    .cfi_restore 30
    .cfi_restore 29
    .cfi_def_cfa_offset 0
    cbnz x3, 1f
    adrp x16, ctr_real_dlsym
    ldr x16, [x16, #:lo12:ctr_real_dlsym]
    cbz x16, 1f
    br x16
1:  mov x0, x2
    ret
    .cfi_endproc
    .size dlsym, . - dlsym
    .section .note.GNU-stack, "", %progbits
