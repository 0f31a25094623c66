// SPDX-License-Identifier: Apache-2.0
/*
 * Ways round the filter: other entrances to the host's kernel, numbers that nobody knows, arguments
 * whose upper half says something else, filters and namespaces of the guest's own.
 */
#include "tests/security/hostile.h"

#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>

#define X32 0x40000000L

/* The entrance of 32-bit programs: their numbers mean other calls. */
static long int80(long nr, long a, long b, long c)
{
    long result;
    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"(nr), "b"(a), "c"(b), "d"(c)
                     : "memory", "r8", "r9", "r10", "r11");
    return result;
}

TEST(calls_of_32_bit)
{
    static const int numbers[] = {1, 5, 11, 20, 45, 90, 102, 120, 173, 358};
    char *low =
        mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    ASSERT_TRUE(low != MAP_FAILED);
    strcpy(low, "/etc/passwd");
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        pid_t pid = fork();
        if (pid == 0) {
            int80(numbers[i], (long)low, 0, 0);
            _exit(0); /* it came back: the call was let in */
        }
        int status = hostile_wait(pid);
        EXPECT_TRUE(status == 128 + SIGSYS || status == 128 + SIGSEGV);
    }
    EXPECT_TRUE(hostile_kernel_serves());
}

TEST(calls_of_x32)
{
    for (long nr = 0; nr < 600; nr++)
        EXPECT_ERRNO(syscall(X32 | nr, 0L, 0L, 0L, 0L, 0L, 0L), ENOSYS);
}

TEST(unknown_numbers)
{
    static const long numbers[] = {-1, -2, 0x7fffffff, 0x80000000L, 0xffffffffL, 999, 1004, 4096};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        EXPECT_ERRNO(syscall(numbers[i], 0L, 0L, 0L, 0L, 0L, 0L), ENOSYS);
    for (long nr = 337; nr < 424; nr++)
        EXPECT_ERRNO(syscall(nr, 0L, 0L, 0L, 0L, 0L, 0L), ENOSYS);
    for (long nr = 453; nr < 1000; nr++)
        if (nr != 467)
            EXPECT_ERRNO(syscall(nr, -1L, -1L, -1L, -1L, -1L, -1L), ENOSYS);
}

/* uretprobe and uprobe: newer hosts don't ask the filter, and refuse whoever has no probe. */
TEST(numbers_of_probes)
{
    for (long nr = 335; nr <= 336; nr++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(syscall(nr) == -1 && (errno == ENOSYS || errno == ENXIO) ? 0 : 1);
        int status = hostile_wait(pid);
        EXPECT_TRUE(status == 0 || status == 128 + SIGILL);
    }
    EXPECT_TRUE(hostile_kernel_serves());
}

TEST(vsyscall_page)
{
    for (unsigned long at = 0xffffffffff600000UL; at <= 0xffffffffff600800UL; at += 0x400) {
        pid_t pid = fork();
        if (pid == 0) {
            long values[4];
            ((long (*)(void *, void *, void *))at)(values, values + 2, NULL);
            _exit(0);
        }
        int status = hostile_wait(pid);
        EXPECT_TRUE(status == 0 || status == 128 + SIGSEGV);
    }
    EXPECT_TRUE(hostile_kernel_serves());
}

TEST(namespaces)
{
    static const int flags[] = {CLONE_NEWNS,  CLONE_NEWUSER, CLONE_NEWPID,   CLONE_NEWNET,
                                CLONE_NEWIPC, CLONE_NEWUTS,  CLONE_NEWCGROUP};
    for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
        EXPECT_ERRNO(syscall(SYS_clone, (long)flags[i] | SIGCHLD, 0L, 0L, 0L, 0L), EPERM);
        EXPECT_ERRNO(syscall(SYS_clone, (long)flags[i] | SIGCHLD | 1L << 40, 0L, 0L, 0L, 0L),
                     EPERM);
        EXPECT_ERRNO(unshare(flags[i]), EPERM);
    }
    EXPECT_ERRNO(syscall(SYS_clone, (long)CLONE_PARENT | SIGCHLD, 0L, 0L, 0L, 0L), EINVAL);
    EXPECT_ERRNO(syscall(SYS_clone, (long)CLONE_PTRACE | SIGCHLD, 0L, 0L, 0L, 0L), EINVAL);
    EXPECT_ERRNO(setns(0, 0), EPERM);
}

TEST(clone3)
{
    uint64_t args[11] = {CLONE_NEWUSER};
    EXPECT_ERRNO(syscall(435, args, sizeof(args)), ENOSYS);
    args[0] = 0;
    EXPECT_ERRNO(syscall(435, args, sizeof(args)), ENOSYS);
}

TEST(mounts_and_roots)
{
    EXPECT_ERRNO(syscall(SYS_mount, "none", "/tmp", "tmpfs", 0L, NULL), EPERM);
    EXPECT_ERRNO(syscall(SYS_umount2, "/proc", 2L), EPERM);
    EXPECT_ERRNO(syscall(SYS_pivot_root, "/", "/"), EPERM);
    EXPECT_ERRNO(syscall(428, AT_FDCWD, "/", 0L), EPERM);
    EXPECT_ERRNO(syscall(430, "ext4", 0L), EPERM);
}

TEST(ptrace)
{
    EXPECT_ERRNO(ptrace(PTRACE_TRACEME, 0, NULL, NULL), EPERM);
    EXPECT_ERRNO(ptrace(PTRACE_ATTACH, 1, NULL, NULL), EPERM);
    EXPECT_ERRNO(ptrace(PTRACE_SEIZE, getppid(), NULL, NULL), EPERM);
}

/* A filter of its own could answer our calls, or take the listener. */
TEST(seccomp_of_its_own)
{
    struct sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
    struct sock_fprog program = {1, &allow};
    static const long flags[] = {0, 1, 2, 4, 8, 16, 32};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
        EXPECT_EQ(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags[i], &program), -1);
    EXPECT_EQ(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0L, NULL), -1);
    EXPECT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0), -1);
    EXPECT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0), -1);
    EXPECT_TRUE(hostile_kernel_serves());
}

TEST(prctl_that_changes_how_calls_are_made)
{
    EXPECT_EQ(prctl(59 /* PR_SET_SYSCALL_USER_DISPATCH */, 1, 0, 0, 0), -1);
    EXPECT_EQ(prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0), -1);
    EXPECT_EQ(prctl(PR_SET_MM, 1 /* PR_SET_MM_START_CODE */, 4096, 0, 0), -1);
    EXPECT_EQ(syscall(SYS_arch_prctl, 0x1012L /* ARCH_SET_CPUID */, 0L), -1);
    EXPECT_ERRNO(syscall(SYS_personality, 0x0400000L /* READ_IMPLIES_EXEC */), EINVAL);
    EXPECT_ERRNO(syscall(SYS_modify_ldt, 0L, NULL, 0L), ENOSYS);
    EXPECT_ERRNO(syscall(SYS_iopl, 3L), EPERM);
    EXPECT_ERRNO(syscall(SYS_ioperm, 0L, 1L, 1L), EPERM);
}

TEST(futexes_with_an_owner)
{
    static const int ops[] = {FUTEX_FD,
                              FUTEX_LOCK_PI,
                              FUTEX_UNLOCK_PI,
                              FUTEX_TRYLOCK_PI,
                              FUTEX_CMP_REQUEUE_PI,
                              FUTEX_WAIT_REQUEUE_PI,
                              13};
    uint32_t word = 0, other = 0;
    for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
        EXPECT_ERRNO(syscall(SYS_futex, &word, (long)ops[i], 0L, NULL, &other, 0L), ENOSYS);
        EXPECT_ERRNO(syscall(SYS_futex, &word, (long)ops[i] | 1L << 33, 0L, NULL, &other, 0L),
                     ENOSYS);
        EXPECT_ERRNO(
            syscall(SYS_futex, &word, (long)ops[i] | FUTEX_PRIVATE_FLAG, 0L, NULL, &other, 0L),
            ENOSYS);
    }
}

TEST(advice_that_harms)
{
    static const int advices[] = {
        9 /* REMOVE */, 12 /* MERGEABLE */, 100 /* HWPOISON */, 101 /* SOFT_OFFLINE */, 102, 999};
    char *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < sizeof(advices) / sizeof(*advices); i++)
        EXPECT_ERRNO(syscall(SYS_madvise, p, PAGE, (long)advices[i]), EINVAL);
}

TEST(calls_that_only_a_host_has)
{
    static const struct {
        long nr;
        int error;
    } calls[] = {
        {SYS_io_uring_setup, ENOSYS},
        {SYS_bpf, EPERM},
        {SYS_perf_event_open, EACCES},
        {SYS_userfaultfd, ENOSYS},
        {SYS_keyctl, ENOSYS},
        {SYS_add_key, ENOSYS},
        {SYS_kexec_load, EPERM},
        {SYS_init_module, EPERM},
        {SYS_finit_module, EPERM},
        {SYS_reboot, EPERM},
        {SYS_swapon, EPERM},
        {SYS_acct, EPERM},
        {SYS_quotactl, EPERM},
        {SYS_open_by_handle_at, EPERM},
        {SYS_kcmp, EPERM},
        {438 /* pidfd_getfd */, EPERM},
        {447 /* memfd_secret */, ENOSYS},
        {SYS_io_setup, ENOSYS},
        {SYS_mbind, ENOSYS},
        {SYS_move_pages, ENOSYS},
    };
    for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
        EXPECT_ERRNO(syscall(calls[i].nr, 0L, 0L, 0L, 0L, 0L, 0L), calls[i].error);
}
