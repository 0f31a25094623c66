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

/*
 * The host's handler of every signal: rdi signal, rsi siginfo, rdx ucontext, (%rsp) = stub_restorer.
 * The kernel answers with the address of the program's handler, or 0; it has written siginfo and
 * the mask in the ucontext. Nothing is pushed: the program's handler sees the frame as Linux makes it.
 */
    .globl stub_handler
    .hidden stub_handler
    .p2align 4
stub_handler:
    endbr64
    mov $SYS_GLOVEBOX_SIGNAL, %eax
    syscall
    test %rax, %rax
    jz 1f
    mov (%rsi), %edi
    jmp *%rax
1:  ret

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
