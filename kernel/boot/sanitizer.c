// SPDX-License-Identifier: Apache-2.0
/*
 * Settings of the sanitizers, for builds that have them: the kernel's environment has none. Reports
 * go to standard error, which is the log; the first one ends the sandbox, so that no test overlooks
 * it.
 *
 * What they call of the host makes the jail wide (a process that is traced by a thread of its own),
 * so that it is for tests of everything else.
 *
 * host calls of sanitizers: gettid getpid getppid clone ptrace wait4 prctl rt_sigaction sigaltstack
 * mprotect readlink open getdents sched_yield futex exit
 */
#ifdef __SANITIZE_ADDRESS__

const char *__asan_default_options(void);
const char *__ubsan_default_options(void);
const char *__lsan_default_suppressions(void);

const char *__asan_default_options(void)
{
    return "abort_on_error=0:exitcode=99:detect_stack_use_after_return=1:"
           "strict_string_checks=1:allocator_may_return_null=1:print_suppressions=0";
}

const char *__ubsan_default_options(void)
{
    return "halt_on_error=1:exitcode=99:print_stacktrace=1";
}

/* What lives as long as the sandbox does. */
const char *__lsan_default_suppressions(void)
{
    return "leak:spec_read\nleak:bind_mounts\n";
}

#else

typedef int sanitizer_not_used; /* a file of C holds something */

#endif
