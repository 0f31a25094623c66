// SPDX-License-Identifier: Apache-2.0
/*
 * The signal frame that the host builds on a task's stack: arch/x86/include/uapi/asm/ucontext.h and
 * sigcontext.h of Linux. Only what the kernel reads or writes in it.
 */
#pragma once

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#define FRAME_SIGINFO_BYTES 128

/* Where uc_sigmask lies from the start of the ucontext; the host's mask has 8 bytes there. */
#define FRAME_SIGMASK_OFFSET 296

/* Its registers, from the first to the last that is of interest, in the order of the host. */
struct frame_registers {
    uint64_t arg4; /* of a call */
    uint64_t others1[5], arg1, arg2, others2[3];
    uint64_t result; /* of a call; before it its number */
    uint64_t others3[2], ip;
};

#define FRAME_REGISTERS_OFFSET offsetof(ucontext_t, uc_mcontext.gregs[REG_R10])

#define FRAME_CALL       0x050f /* the instruction that calls, as it lies in memory */
#define FRAME_CALL_BYTES 2

_Static_assert(FRAME_REGISTERS_OFFSET + sizeof(struct frame_registers) ==
                   offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP + 1]),
               "registers of x86-64");
_Static_assert(FRAME_REGISTERS_OFFSET + offsetof(struct frame_registers, arg2) ==
                   offsetof(ucontext_t, uc_mcontext.gregs[REG_RSI]),
               "registers of x86-64");
_Static_assert(FRAME_REGISTERS_OFFSET + offsetof(struct frame_registers, result) ==
                   offsetof(ucontext_t, uc_mcontext.gregs[REG_RAX]),
               "registers of x86-64");
_Static_assert(FRAME_SIGMASK_OFFSET == offsetof(ucontext_t, uc_sigmask), "ucontext of x86-64");
_Static_assert(FRAME_SIGINFO_BYTES == sizeof(siginfo_t), "siginfo of Linux");

/*
 * How far behind its first instruction the stub's restorer can be when it makes rt_sigreturn(2):
 * its few instructions, see stub_entry.S.
 */
#define FRAME_RESTORER_BYTES 16
