// SPDX-License-Identifier: Apache-2.0
/* What the machine says of itself, usage, random bytes, and what needs an administrator. */
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>

/* ---- names ---- */

TEST(uname_is_linux)
{
    struct utsname u;
    int major = 0, minor = 0;
    ASSERT_EQ(uname(&u), 0);
    EXPECT_STR(u.sysname, "Linux");
    EXPECT_STR(u.machine, "x86_64");
    EXPECT_EQ(sscanf(u.release, "%d.%d", &major, &minor), 2);
    EXPECT_GE(major, 5);
    EXPECT_ERRNO(syscall(SYS_uname, (void *)8), EFAULT);
}

TEST(uname_agrees_with_proc)
{
    struct utsname u;
    char text[100] = "";
    uname(&u);
    int fd = open("/proc/sys/kernel/osrelease", O_RDONLY);
    ASSERT_GE(fd, 0);
    ssize_t n = read(fd, text, sizeof(text) - 1);
    ASSERT_GT(n, 0);
    text[n - 1] = '\0';
    EXPECT_STR(text, u.release);
}

TEST(host_name_is_not_for_everybody_to_set)
{
    if (geteuid() == 0)
        SKIP("needs a user without privileges");
    EXPECT_ERRNO(sethostname("other", 5), EPERM);
    EXPECT_ERRNO(setdomainname("other", 5), EPERM);
}

TEST(host_name_of_a_sandbox_can_be_set_by_its_root)
{
    struct utsname u;
    char long_name[70] = "";
    if (geteuid() != 0 || !harness_is_inside())
        SKIP("needs root of a sandbox");
    EXPECT_EQ(sethostname("renamed", 7), 0);
    EXPECT_EQ(setdomainname("domain", 6), 0);
    uname(&u);
    EXPECT_STR(u.nodename, "renamed");
    EXPECT_STR(u.domainname, "domain");
    EXPECT_ERRNO(sethostname(long_name, 65), EINVAL);
    EXPECT_ERRNO(syscall(SYS_sethostname, long_name, -1), EINVAL);
    EXPECT_ERRNO(syscall(SYS_sethostname, (void *)8, 5), EFAULT);
}

TEST(sysinfo_makes_sense)
{
    struct sysinfo s;
    memset(&s, 0xff, sizeof(s));
    ASSERT_EQ(sysinfo(&s), 0);
    EXPECT_GE(s.uptime, 0);
    EXPECT_GT(s.totalram, 0);
    EXPECT_LE(s.freeram, s.totalram);
    EXPECT_GT(s.freeram, 0);
    EXPECT_GE(s.mem_unit, 1);
    EXPECT_GE(s.procs, 1);
    EXPECT_ERRNO(syscall(SYS_sysinfo, (void *)8), EFAULT);
}

TEST(personality_is_linux)
{
    EXPECT_EQ(personality(0xffffffff), 0);
    EXPECT_EQ(personality(0), 0);
    EXPECT_EQ(personality(0xffffffff), 0);
}

/* ---- random bytes ---- */

TEST(getrandom_gives_what_was_asked_for)
{
    unsigned char a[64] = {0}, b[64] = {0};
    EXPECT_EQ(getrandom(a, sizeof(a), 0), sizeof(a));
    EXPECT_EQ(getrandom(b, sizeof(b), GRND_NONBLOCK), sizeof(b));
    EXPECT_TRUE(memcmp(a, b, sizeof(a)) != 0);
    EXPECT_EQ(getrandom(a, 0, 0), 0);
    EXPECT_EQ(getrandom(a, sizeof(a), GRND_RANDOM), sizeof(a));
    EXPECT_EQ(getrandom(a, sizeof(a), 4 /* GRND_INSECURE */), sizeof(a));
}

TEST(getrandom_gives_large_amounts)
{
    size_t size = 256 * 1024;
    unsigned char *p = calloc(1, size);
    size_t zeros = 0;
    EXPECT_EQ(getrandom(p, size, 0), size);
    for (size_t i = 0; i < size; i++)
        zeros += p[i] == 0;
    EXPECT_GT(zeros, 500);
    EXPECT_LT(zeros, 2000);
}

TEST(getrandom_checks_its_arguments)
{
    char c;
    EXPECT_ERRNO(getrandom(&c, 1, 8), EINVAL);
    EXPECT_ERRNO(getrandom(&c, 1, GRND_RANDOM | 4), EINVAL);
    EXPECT_ERRNO(syscall(SYS_getrandom, (void *)8, 1, 0), EFAULT);
}

TEST(getrandom_stops_at_the_end_of_memory)
{
    char *map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_EQ(munmap(map + 4096, 4096), 0);
    EXPECT_EQ(syscall(SYS_getrandom, map + 4000, 4096, 0), 96);
}

/* ---- usage ---- */

static void burn(int ms)
{
    struct timespec t;
    do {
        for (volatile int i = 0; i < 100000; i++)
            ;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    } while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < ms);
}

static long usage_ms(int who)
{
    struct rusage u;
    EXPECT_EQ(getrusage(who, &u), 0);
    return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 +
           (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000;
}

TEST(usage_grows_with_work)
{
    burn(100);
    EXPECT_GE(usage_ms(RUSAGE_SELF), 80);
    EXPECT_GE(usage_ms(RUSAGE_THREAD), 80);
    EXPECT_EQ(usage_ms(RUSAGE_CHILDREN), 0);
}

TEST(usage_of_children_counts_when_they_were_waited_for)
{
    pid_t pid = fork();
    if (pid == 0) {
        burn(100);
        _exit(0);
    }
    usleep(200000);
    EXPECT_EQ(usage_ms(RUSAGE_CHILDREN), 0);
    waitpid(pid, NULL, 0);
    EXPECT_GE(usage_ms(RUSAGE_CHILDREN), 80);
}

TEST(usage_of_children_has_faults_and_switches)
{
    enum { PAGES = 100 };
    static char memory[PAGES * 4096];
    struct rusage u = {0};
    pid_t pid = fork();
    if (pid == 0) {
        memset(memory, 1, sizeof(memory));
        __asm__ volatile("" ::"r"(memory) : "memory");
        burn(100);
        usleep(1000);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    ASSERT_EQ(getrusage(RUSAGE_CHILDREN, &u), 0);
    EXPECT_GE(u.ru_minflt, PAGES);
    EXPECT_GE(u.ru_nvcsw, 1);
}

TEST(usage_of_children_that_are_ignored_does_not_count)
{
    signal(SIGCHLD, SIG_IGN);
    pid_t pid = fork();
    if (pid == 0) {
        burn(100);
        _exit(0);
    }
    EXPECT_ERRNO(waitpid(pid, NULL, 0), ECHILD);
    EXPECT_EQ(usage_ms(RUSAGE_CHILDREN), 0);
}

TEST(usage_of_grandchildren_comes_through_their_parents)
{
    pid_t pid = fork();
    if (pid == 0) {
        pid_t inner = fork();
        if (inner == 0) {
            burn(100);
            _exit(0);
        }
        waitpid(inner, NULL, 0);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    EXPECT_GE(usage_ms(RUSAGE_CHILDREN), 80);
}

TEST(wait4_tells_the_usage_of_its_child)
{
    struct rusage u;
    pid_t pid = fork();
    if (pid == 0) {
        burn(100);
        _exit(0);
    }
    EXPECT_EQ(wait4(pid, NULL, 0, &u), pid);
    EXPECT_GE(u.ru_utime.tv_usec + u.ru_stime.tv_usec + u.ru_utime.tv_sec * 1000000, 80000);
    EXPECT_GT(u.ru_maxrss, 0);
}

TEST(wait_tells_the_usage_of_grandchildren_that_were_waited_for)
{
    struct rusage by_wait4 = {0}, by_waitid = {0};
    siginfo_t info;
    pid_t pid = fork();
    if (pid == 0) {
        pid_t grandchild = fork();
        if (grandchild == 0) {
            burn(100);
            _exit(0);
        }
        waitpid(grandchild, NULL, 0);
        _exit(0);
    }
    EXPECT_EQ(syscall(SYS_waitid, P_PID, pid, &info, WEXITED | WNOWAIT, &by_waitid), 0);
    EXPECT_EQ(wait4(pid, NULL, 0, &by_wait4), pid);
    EXPECT_GE(by_wait4.ru_utime.tv_usec + by_wait4.ru_stime.tv_usec +
                  by_wait4.ru_utime.tv_sec * 1000000,
              80000);
    EXPECT_EQ(by_waitid.ru_utime.tv_usec, by_wait4.ru_utime.tv_usec);
}

TEST(usage_has_memory_and_faults)
{
    struct rusage u;
    EXPECT_EQ(getrusage(RUSAGE_SELF, &u), 0);
    EXPECT_GT(u.ru_maxrss, 100);
    EXPECT_GT(u.ru_minflt, 0);
    long before = u.ru_maxrss;
    char *p = mmap(NULL, 32 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(p, 1, 32 << 20);
    getrusage(RUSAGE_SELF, &u);
    EXPECT_GE(u.ru_maxrss, before + 30000);
}

TEST(getrusage_checks_its_arguments)
{
    struct rusage u;
    EXPECT_ERRNO(getrusage(5, &u), EINVAL);
    EXPECT_ERRNO(getrusage(-2, &u), EINVAL);
    EXPECT_ERRNO(syscall(SYS_getrusage, RUSAGE_SELF, (void *)8), EFAULT);
}

TEST(times_tells_ticks)
{
    struct tms t, later;
    clock_t a = times(&t);
    EXPECT_GT(a, 0);
    burn(100);
    clock_t b = times(&later);
    EXPECT_GE(b - a, 8);
    EXPECT_GE(later.tms_utime + later.tms_stime, 8);
    EXPECT_GT(times(NULL), 0);
    EXPECT_ERRNO(syscall(SYS_times, (void *)8), EFAULT);
}

/* ---- what needs an administrator ---- */

TEST(clocks_are_not_for_everybody_to_set)
{
    struct timespec t = {1000000000, 0};
    struct timeval v = {1000000000, 0};
    if (geteuid() == 0 && !harness_is_inside())
        SKIP("would set the machine's clock");
    EXPECT_ERRNO(clock_settime(CLOCK_REALTIME, &t), EPERM);
    EXPECT_ERRNO(settimeofday(&v, NULL), EPERM);
}

TEST(settings_of_clocks_are_checked_first)
{
    struct timespec t = {1000000000, 1000000000};
    struct timeval v = {1000000000, -1};
    EXPECT_ERRNO(clock_settime(CLOCK_REALTIME, &t), EINVAL);
    t.tv_nsec = 0;
    EXPECT_ERRNO(clock_settime(CLOCK_MONOTONIC, &t), EINVAL);
    EXPECT_ERRNO(clock_settime(99, &t), EINVAL);
    EXPECT_ERRNO(syscall(SYS_clock_settime, CLOCK_REALTIME, (void *)8), EFAULT);
    EXPECT_ERRNO(settimeofday(&v, NULL), EINVAL);
    EXPECT_ERRNO(syscall(SYS_settimeofday, (void *)8, NULL), EFAULT);
}

TEST(adjtimex_can_be_read)
{
    struct timex t = {.modes = 0};
    EXPECT_GE(adjtimex(&t), 0);
    EXPECT_EQ(t.tick, 10000);
    EXPECT_GT(t.time.tv_sec, 1000000000);
    EXPECT_GE(clock_adjtime(CLOCK_REALTIME, &t), 0);
    EXPECT_ERRNO(clock_adjtime(CLOCK_MONOTONIC, &t), EOPNOTSUPP);
    EXPECT_ERRNO(syscall(SYS_adjtimex, (void *)8), EFAULT);
    t.modes = ADJ_TICK;
    if (geteuid() != 0)
        EXPECT_ERRNO(adjtimex(&t), EPERM);
}

TEST(mounting_is_refused)
{
    if (geteuid() == 0 && !harness_is_inside())
        SKIP("would mount something");
    EXPECT_ERRNO(mount("none", ".", "tmpfs", 0, NULL), EPERM);
    EXPECT_ERRNO(umount2(".", 0), EPERM);
    EXPECT_ERRNO(syscall(SYS_pivot_root, ".", "."), EPERM);
}

TEST(namespaces_are_refused)
{
    if (!harness_is_inside())
        SKIP("the machine may allow them");
    EXPECT_ERRNO(unshare(CLONE_NEWUSER), EPERM);
    EXPECT_ERRNO(unshare(CLONE_NEWNS), EPERM);
    EXPECT_ERRNO(unshare(CLONE_NEWNET | CLONE_FS), EPERM);
}

static int unshared_works(void *unused)
{
    if (unshare(CLONE_FILES) != 0 || close(5) != 0)
        return 1;
    return 0;
}

TEST(unshare_parts_descriptor_tables)
{
    static char stack[65536] __attribute__((aligned(16)));
    int status;
    ASSERT_EQ(dup2(0, 5), 5);
    pid_t pid = clone(unshared_works, stack + sizeof(stack), CLONE_FILES | SIGCHLD, NULL);
    ASSERT_GT(pid, 0);
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(fcntl(5, F_GETFD), 0);
}

static int unshared_directory(void *unused)
{
    return unshare(CLONE_FS) != 0 || chdir("/") != 0;
}

TEST(unshare_parts_working_directories)
{
    static char stack[65536] __attribute__((aligned(16)));
    char before[4096], after[4096];
    int status;
    getcwd(before, sizeof(before));
    pid_t pid = clone(unshared_directory, stack + sizeof(stack), CLONE_FS | SIGCHLD, NULL);
    ASSERT_GT(pid, 0);
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
    getcwd(after, sizeof(after));
    EXPECT_STR(after, before);
}

TEST(unshare_checks_its_flags)
{
    EXPECT_EQ(unshare(0), 0);
    EXPECT_EQ(unshare(CLONE_FS | CLONE_FILES), 0);
    EXPECT_ERRNO(unshare(CLONE_VFORK), EINVAL);
    EXPECT_ERRNO(unshare(CLONE_PARENT), EINVAL);
}

TEST(seccomp_tells_what_there_is)
{
    uint32_t action = SECCOMP_RET_ERRNO;
    struct seccomp_notif_sizes sizes;
    EXPECT_EQ(syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action), 0);
    action = 0x12340000;
    EXPECT_ERRNO(syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action), EOPNOTSUPP);
    EXPECT_ERRNO(syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 1, &action), EINVAL);
    EXPECT_ERRNO(syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, (void *)8), EFAULT);
    EXPECT_EQ(syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes), 0);
    EXPECT_GE(sizes.seccomp_notif, 80);
    EXPECT_ERRNO(syscall(SYS_seccomp, 99, 0, NULL), EINVAL);
}

TEST(kernel_log_of_a_sandbox_is_empty)
{
    char text[100];
    if (!harness_is_inside())
        SKIP("the machine has one");
    EXPECT_EQ(syscall(SYS_syslog, 3, text, sizeof(text)), 0);
    EXPECT_GT(syscall(SYS_syslog, 10, NULL, 0), 0);
    EXPECT_ERRNO(syscall(SYS_syslog, 3, NULL, 10), EINVAL);
    if (geteuid() != 0)
        EXPECT_ERRNO(syscall(SYS_syslog, 5, NULL, 0), EPERM);
}
