// SPDX-License-Identifier: Apache-2.0
/*
 * System calls of freestanding code on x86-64.
 */
#pragma once

#include <stdint.h>

static inline int64_t stub_syscall(int64_t nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                                   uint64_t e, uint64_t f)
{
    int64_t result;
    register uint64_t r10 __asm__("r10") = d;
    register uint64_t r8 __asm__("r8") = e;
    register uint64_t r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

#define STUB_NR_MMAP         9
#define STUB_NR_MPROTECT     10
#define STUB_NR_MUNMAP       11
#define STUB_NR_RT_SIGACTION 13
#define STUB_NR_SIGPROCMASK  14
#define STUB_NR_NANOSLEEP    35
#define STUB_NR_CLONE        56
#define STUB_NR_EXECVE       59
#define STUB_NR_EXIT_GROUP   231
