// SPDX-License-Identifier: Apache-2.0
#include "sandbox/clone.h"

#include <linux/sched.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define STACK_BYTES (64 * 1024)

/*
 * libc has no wrapper for clone3(2). The child returns from the system call on another stack, where
 * no frame of a C function is: it goes on in these lines.
 */
static long clone3_call(const struct clone_args *args, int (*fn)(void *), void *argument)
{
    long result;
    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xor %%ebp, %%ebp\n\t"
                     "mov %[argument], %%rdi\n\t"
                     "call *%[fn]\n\t"
                     "ud2\n"
                     "1:"
                     : "=a"(result)
                     : "0"(SYS_clone3), "D"(args),
                       "S"(sizeof(*args)), [fn] "r"(fn), [argument] "r"(argument)
                     : "rcx", "r11", "memory", "cc");
    return result;
}

/*
 * The child's frames are never left: it executes its program, or exits, in them. ASan notes in this
 * process's memory where they end, and would hold that against whatever is mapped there next.
 */
static void unmap_stack(char *stack)
{
#ifdef __SANITIZE_ADDRESS__
    ASAN_UNPOISON_MEMORY_REGION(stack, STACK_BYTES);
#endif
    munmap(stack, STACK_BYTES);
}

static pid_t clone_into(int (*fn)(void *), void *argument, uint64_t flags, int cgroup, char *stack,
                        int *ret_pidfd)
{
    struct clone_args args = {
        .flags = flags | CLONE_INTO_CGROUP,
        .pidfd = (uint64_t)(uintptr_t)ret_pidfd,
        .exit_signal = SIGCHLD,
        .stack = (uint64_t)(uintptr_t)stack,
        .stack_size = STACK_BYTES,
        .cgroup = (uint64_t)cgroup,
    };
    return (pid_t)clone3_call(&args, fn, argument);
}

static pid_t clone_here(int (*fn)(void *), void *argument, uint64_t flags, char *stack,
                        int *ret_pidfd)
{
    pid_t pid = clone(fn, stack + STACK_BYTES, (int)flags | SIGCHLD, argument, ret_pidfd);
    return pid < 0 ? -errno : pid;
}

pid_t clone_child(int (*fn)(void *), void *argument, uint64_t flags, int cgroup, int *ret_pidfd)
{
    sigset_t all, before;
    int pidfd;
    char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return -errno;
    flags |= CLONE_VM | CLONE_VFORK | CLONE_PIDFD;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t pid = cgroup >= 0 ? clone_into(fn, argument, flags, cgroup, stack, &pidfd)
                            : clone_here(fn, argument, flags, stack, &pidfd);
    sigprocmask(SIG_SETMASK, &before, NULL);
    unmap_stack(stack);
    if (pid > 0)
        *ret_pidfd = pidfd;
    return pid;
}
