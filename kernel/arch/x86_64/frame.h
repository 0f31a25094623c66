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

/* Where the instruction pointer and the result of a call are in it. */
#define FRAME_IP_OFFSET     offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP])
#define FRAME_RESULT_OFFSET offsetof(ucontext_t, uc_mcontext.gregs[REG_RAX])
#define FRAME_CALL_BYTES    2 /* of the instruction that calls */

_Static_assert(FRAME_SIGMASK_OFFSET == offsetof(ucontext_t, uc_sigmask), "ucontext of x86-64");
_Static_assert(FRAME_SIGINFO_BYTES == sizeof(siginfo_t), "siginfo of Linux");

/*
 * How far behind its first instruction the stub's restorer can be when it makes rt_sigreturn(2):
 * its few instructions, see stub_entry.S.
 */
#define FRAME_RESTORER_BYTES 16
