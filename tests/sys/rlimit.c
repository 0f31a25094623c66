// SPDX-License-Identifier: Apache-2.0
/* Resource limits: getrlimit(2), setrlimit(2), prlimit(2). */
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define NO_PID 0x3ffffff0

static void expect_limit(int resource, rlim_t soft, rlim_t hard)
{
    struct rlimit l;
    EXPECT_EQ(getrlimit(resource, &l), 0);
    EXPECT_EQ(l.rlim_cur, soft);
    EXPECT_EQ(l.rlim_max, hard);
}

TEST(limits_of_a_sandbox_when_nobody_set_them)
{
    if (!harness_is_inside())
        SKIP("the machine's limits are its own");
    expect_limit(RLIMIT_NOFILE, 1024, 65536);
    expect_limit(RLIMIT_STACK, 8 << 20, RLIM_INFINITY);
    expect_limit(RLIMIT_NPROC, 512, 512);
    expect_limit(RLIMIT_NICE, 0, 0);
    expect_limit(RLIMIT_AS, RLIM_INFINITY, RLIM_INFINITY);
}

TEST(soft_limit_moves_freely_below_the_hard_one)
{
    struct rlimit l;
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &l), 0);
    rlim_t hard = l.rlim_max;
    l.rlim_cur = 64;
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &l), 0);
    expect_limit(RLIMIT_NOFILE, 64, hard);
    l.rlim_cur = hard;
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &l), 0);
    expect_limit(RLIMIT_NOFILE, hard, hard);
}

TEST(soft_above_hard_is_einval)
{
    struct rlimit l = {100, 50};
    EXPECT_ERRNO(setrlimit(RLIMIT_NOFILE, &l), EINVAL);
}

TEST(hard_limit_only_goes_down_without_privilege)
{
    struct rlimit l = {50, 50};
    if (geteuid() == 0)
        SKIP("needs a user without privileges");
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &l), 0);
    l.rlim_max = 51;
    EXPECT_ERRNO(setrlimit(RLIMIT_NOFILE, &l), EPERM);
    expect_limit(RLIMIT_NOFILE, 50, 50);
}

/* Root of a container may lack it. */
static bool has_sys_resource(void)
{
    struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    return syscall(SYS_capget, &h, data) == 0 && data[0].effective & 1u << CAP_SYS_RESOURCE;
}

TEST(hard_limit_goes_up_with_privilege)
{
    struct rlimit l = {50, 50};
    if (!has_sys_resource())
        SKIP("needs CAP_SYS_RESOURCE");
    EXPECT_EQ(setrlimit(RLIMIT_CORE, &l), 0);
    l.rlim_max = 5000;
    EXPECT_EQ(setrlimit(RLIMIT_CORE, &l), 0);
    expect_limit(RLIMIT_CORE, 50, 5000);
}

TEST(files_can_not_be_unlimited)
{
    struct rlimit l = {10, RLIM_INFINITY};
    EXPECT_ERRNO(setrlimit(RLIMIT_NOFILE, &l), EPERM);
}

TEST(unknown_resources_are_einval)
{
    struct rlimit l = {1, 1};
    EXPECT_ERRNO(getrlimit(16, &l), EINVAL);
    EXPECT_ERRNO(setrlimit(16, &l), EINVAL);
    EXPECT_ERRNO(syscall(SYS_getrlimit, -1, &l), EINVAL);
    EXPECT_ERRNO(syscall(SYS_prlimit64, 0, 99, NULL, &l), EINVAL);
}

TEST(bad_addresses_are_efault)
{
    EXPECT_ERRNO(syscall(SYS_getrlimit, RLIMIT_CORE, (void *)8), EFAULT);
    EXPECT_ERRNO(syscall(SYS_setrlimit, RLIMIT_CORE, (void *)8), EFAULT);
    EXPECT_ERRNO(syscall(SYS_prlimit64, 0, RLIMIT_CORE, (void *)8, NULL), EFAULT);
    EXPECT_ERRNO(syscall(SYS_prlimit64, 0, RLIMIT_CORE, NULL, (void *)8), EFAULT);
}

TEST(prlimit_sets_and_tells_the_old)
{
    struct rlimit l, old;
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
    l = (struct rlimit){77, old.rlim_max};
    struct rlimit before;
    EXPECT_EQ(prlimit(0, RLIMIT_NOFILE, &l, &before), 0);
    EXPECT_EQ(before.rlim_cur, old.rlim_cur);
    EXPECT_EQ(prlimit(getpid(), RLIMIT_NOFILE, NULL, &before), 0);
    EXPECT_EQ(before.rlim_cur, 77);
    EXPECT_EQ(prlimit(0, RLIMIT_NOFILE, NULL, NULL), 0);
}

TEST(prlimit_reaches_a_child)
{
    struct rlimit l;
    int go[2];
    char c;
    ASSERT_EQ(pipe(go), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit now;
        read(go[0], &c, 1);
        getrlimit(RLIMIT_NOFILE, &now);
        _exit(now.rlim_cur == 55 ? 0 : 1);
    }
    EXPECT_EQ(prlimit(pid, RLIMIT_NOFILE, NULL, &l), 0);
    l.rlim_cur = 55;
    EXPECT_EQ(prlimit(pid, RLIMIT_NOFILE, &l, NULL), 0);
    EXPECT_EQ(write(go[1], "x", 1), 1);
    int status;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST(prlimit_of_nobody_is_esrch)
{
    struct rlimit l;
    EXPECT_ERRNO(prlimit(NO_PID, RLIMIT_NOFILE, NULL, &l), ESRCH);
    EXPECT_ERRNO(prlimit(-1, RLIMIT_NOFILE, NULL, &l), ESRCH);
}

TEST(prlimit_of_another_user_is_eperm)
{
    struct rlimit l;
    if (geteuid() != 0)
        SKIP("needs root to become somebody else");
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        if (setgid(12345) != 0 || setuid(12345) != 0)
            _exit(2);
        _exit(prlimit(parent, RLIMIT_NOFILE, NULL, &l) == -1 && errno == EPERM ? 0 : 1);
    }
    int status;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST(limits_are_inherited_by_fork_and_exec)
{
    struct rlimit l;
    int status;
    getrlimit(RLIMIT_NOFILE, &l);
    l.rlim_cur = 99;
    setrlimit(RLIMIT_NOFILE, &l);
    pid_t pid = fork();
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", "test $(ulimit -n) = 99", (char *)NULL);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST(open_files_stop_at_the_limit)
{
    struct rlimit l;
    getrlimit(RLIMIT_NOFILE, &l);
    l.rlim_cur = 20;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &l), 0);
    int fd, last = -1;
    while ((fd = dup(0)) >= 0)
        last = fd;
    EXPECT_EQ(errno, EMFILE);
    EXPECT_EQ(last, 19);
    EXPECT_ERRNO(dup2(0, 20), EBADF);
    EXPECT_ERRNO(fcntl(0, F_DUPFD, 20), EINVAL);
}

TEST(processes_stop_at_the_limit)
{
    struct rlimit l = {3, 3};
    if (geteuid() == 0)
        SKIP("root is not counted");
    if (!harness_is_inside())
        SKIP("the user may have processes elsewhere");
    ASSERT_EQ(setrlimit(RLIMIT_NPROC, &l), 0);
    int made = 0;
    pid_t pid = 0;
    for (; made < 10; made++) {
        pid = fork();
        if (pid == 0) {
            for (;;)
                pause();
        }
        if (pid < 0)
            break;
    }
    EXPECT_EQ(pid, -1);
    EXPECT_EQ(errno, EAGAIN);
    EXPECT_LT(made, 4);
    signal(SIGTERM, SIG_IGN);
    kill(0, SIGTERM);
}

#define OTHER_UID 54321 /* nobody has processes of that */

/* A process of another user, who may have so many; root has some all the while. */
#define BECOME_OTHER(count)                                       \
    do {                                                          \
        struct rlimit most = {count, count};                      \
        if (geteuid() != 0)                                       \
            SKIP("only root becomes somebody else");              \
        ASSERT_EQ(setresgid(OTHER_UID, OTHER_UID, OTHER_UID), 0); \
        ASSERT_EQ(setrlimit(RLIMIT_NPROC, &most), 0);             \
        ASSERT_EQ(setresuid(OTHER_UID, OTHER_UID, OTHER_UID), 0); \
    } while (0)

TEST(processes_of_others_do_not_count)
{
    pid_t made[3];
    BECOME_OTHER(3);
    for (int i = 0; i < 3; i++) {
        made[i] = fork();
        if (made[i] == 0)
            for (;;)
                pause();
    }
    EXPECT_GT(made[0], 0);
    EXPECT_GT(made[1], 0);
    EXPECT_EQ(made[2], -1);
    EXPECT_EQ(errno, EAGAIN);
    for (int i = 0; i < 2; i++) {
        kill(made[i], SIGKILL);
        EXPECT_EQ(waitpid(made[i], NULL, 0), made[i]);
    }
}

TEST(a_zombie_counts_until_it_was_waited_for)
{
    siginfo_t info;
    BECOME_OTHER(2);
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    ASSERT_GT(pid, 0);
    ASSERT_EQ(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    EXPECT_ERRNO(fork(), EAGAIN);
    EXPECT_EQ(waitpid(pid, NULL, 0), pid);
    pid = fork();
    if (pid == 0)
        _exit(0);
    EXPECT_GT(pid, 0);
    EXPECT_EQ(waitpid(pid, NULL, 0), pid);
}

static void *sleep_for_ever(void *unused)
{
    for (;;)
        pause();
    return unused;
}

TEST(threads_count_as_processes)
{
    pthread_t thread;
    BECOME_OTHER(3);
    EXPECT_EQ(pthread_create(&thread, NULL, sleep_for_ever, NULL), 0);
    EXPECT_EQ(pthread_create(&thread, NULL, sleep_for_ever, NULL), 0);
    EXPECT_EQ(pthread_create(&thread, NULL, sleep_for_ever, NULL), EAGAIN);
}

TEST(of_root_there_may_be_as_many_as_he_likes)
{
    const struct rlimit none = {0, 0};
    if (geteuid() != 0)
        SKIP("root's");
    ASSERT_EQ(setrlimit(RLIMIT_NPROC, &none), 0);
    for (int i = 0; i < 2; i++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(0);
        EXPECT_GT(pid, 0);
        EXPECT_EQ(waitpid(pid, NULL, 0), pid);
        /* The real user counts, whatever it may do. */
        ASSERT_EQ(setresuid(0, OTHER_UID, OTHER_UID), 0);
    }
}

static volatile sig_atomic_t ran;

static void note(int sig)
{
    ran = sig;
}

TEST(cpu_time_limit_sends_sigxcpu_then_kills)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit l = {1, 2};
        signal(SIGXCPU, note);
        setrlimit(RLIMIT_CPU, &l);
        while (!ran)
            ;
        struct timespec used;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
        if (used.tv_sec * 1000 + used.tv_nsec / 1000000 < 200) /* the limit counts by ticks */
            _exit(1);
        for (;;)
            ;
    }
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, SIGKILL);
}
