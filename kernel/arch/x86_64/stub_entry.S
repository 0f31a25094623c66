// SPDX-License-Identifier: Apache-2.0
/*
 * Where the loader stub begins, how it leaves, and the two pieces of our code that stay in a task's
 * memory for signals. See kernel/proc/signal.h.
 */
#include "kernel/guest/numbers.h"

#define STUB_STACK_BYTES 4096

    .text
    .globl _start
    .hidden _start
_start:
    xor %ebp, %ebp
    mov %rsp, %rdi
    lea stub_stack_top(%rip), %rsp
    call stub_main
    hlt

/*
 * stub_jump(stack, entry): the program begins as after the host's own execve, and finds nothing that
 * the stub left on its stack.
 */
    .globl stub_jump
    .hidden stub_jump
stub_jump:
    mov %rdi, %rsp
    mov %rsi, %rdx
    lea stub_stack_bottom(%rip), %rdi
    mov $STUB_STACK_BYTES / 8, %ecx
    xor %eax, %eax
    cld
    rep stosq
    mov %rdx, %rcx
    xor %eax, %eax
    xor %ebx, %ebx
    xor %edx, %edx
    xor %ebp, %ebp
    xor %edi, %edi
    xor %esi, %esi
    xor %r8d, %r8d
    xor %r9d, %r9d
    xor %r10d, %r10d
    xor %r11d, %r11d
    xor %r12d, %r12d
    xor %r13d, %r13d
    xor %r14d, %r14d
    xor %r15d, %r15d
    jmp *%rcx

/* struct rt_sigframe of Linux: the restorer's address, ucontext, siginfo. */
#define FRAME_BYTES         440
#define FRAME_UC            8
#define FRAME_SIGINFO       312
#define UC_FLAGS            0
#define UC_STACK_SP         16
#define UC_STACK_FLAGS      24
#define UC_STACK_SIZE       32
#define UC_RSP              160
#define UC_FPSTATE          224
#define FPSTATE_LEGACY      512 /* bytes of FXSAVE */
#define FPSTATE_SIZE        468 /* extended_size in its struct _fpx_sw_bytes */
#define UC_FP_XSTATE        1
#define RED_ZONE            128

/*
 * The host's handler of every signal: rdi signal, rsi siginfo, rdx ucontext, (%rsp) = stub_restorer.
 * It asks the kernel, and tells in r10 whether the host has changed to the alternate stack for this
 * frame (sas_ss_flags() of Linux): ours is SA_ONSTACK, the program's may not be. The kernel answers
 * with the address of the program's handler, or 0; it has written siginfo and the mask in the
 * ucontext. Nothing is pushed: the program's handler sees the frame as Linux makes it.
 */
    .globl stub_handler
    .hidden stub_handler
    .p2align 4
stub_handler:
    endbr64
    xor %r10d, %r10d
    mov UC_STACK_SIZE(%rdx), %rcx
    test %rcx, %rcx
    jz 2f
    cmpl $0, UC_STACK_FLAGS(%rdx) /* SS_AUTODISARM is the sign: one is never "on" such a stack */
    js 1f
    mov UC_RSP(%rdx), %rax
    sub UC_STACK_SP(%rdx), %rax
    sub $RED_ZONE + 1, %rax
    cmp %rcx, %rax
    jb 2f
1:  inc %r10d
2:  mov $SYS_GLOVEBOX_SIGNAL, %eax
    syscall
    test %rax, %rax
    jz 3f
    btr $STUB_MOVE_FRAME_BIT, %rax
    jc move_frame
    mov (%rsi), %edi
    jmp *%rax
3:  ret

/*
 * To the program's handler at rax on the interrupted stack: the frame goes where the host would have
 * laid it without SA_ONSTACK. A fault on the way is delivered on the alternate stack, as any. No
 * kick comes until the kernel is told that the frame is in place: one that did would find the
 * alternate stack in use and stay there.
 */
move_frame:
    mov %rax, %r8
    mov UC_RSP(%rdx), %rax
    sub $RED_ZONE, %rax
    mov UC_FPSTATE(%rdx), %rsi
    test %rsi, %rsi
    jz 2f
    mov $FPSTATE_LEGACY, %ecx
    testb $UC_FP_XSTATE, UC_FLAGS(%rdx)
    jz 1f
    mov FPSTATE_SIZE(%rsi), %ecx
1:  sub %rcx, %rax
    and $-64, %rax
    mov %rax, %rdi
    mov %rax, UC_FPSTATE(%rdx)
    rep movsb
2:  sub $FRAME_BYTES, %rax
    and $-16, %rax
    sub $8, %rax /* as after the call of a function */
    mov %rsp, %rsi
    mov %rax, %rdi
    mov $FRAME_BYTES / 8, %ecx
    rep movsq
    mov %rax, %rsp
    mov $SYS_GLOVEBOX_MOVED, %eax
    syscall
    lea FRAME_UC(%rsp), %rdx
    lea FRAME_SIGINFO(%rsp), %rsi
    mov (%rsi), %edi
    jmp *%r8

/* rsp is at the ucontext here; the kernel is told where, since a filter sees no stack pointer. */
    .globl stub_restorer
    .hidden stub_restorer
    .p2align 4
stub_restorer:
    mov %rsp, %rdi
    mov $15, %eax
    syscall
    hlt

/* The stub's own stack: what is below the vectors of the real one is about to be rewritten. */
    .bss
    .p2align 4
stub_stack_bottom:
    .skip STUB_STACK_BYTES
stub_stack_top:

    .section .note.GNU-stack, "", @progbits
