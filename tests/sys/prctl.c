// SPDX-License-Identifier: Apache-2.0
/* prctl(2). */
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <linux/securebits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

TEST(name_can_be_set_and_is_cut)
{
    char name[17] = "";
    EXPECT_EQ(prctl(PR_SET_NAME, "short"), 0);
    EXPECT_EQ(prctl(PR_GET_NAME, name), 0);
    EXPECT_STR(name, "short");
    EXPECT_EQ(prctl(PR_SET_NAME, "a name that is too long"), 0);
    EXPECT_EQ(prctl(PR_GET_NAME, name), 0);
    EXPECT_STR(name, "a name that is ");
    EXPECT_ERRNO(prctl(PR_SET_NAME, 8), EFAULT);
    EXPECT_ERRNO(prctl(PR_GET_NAME, 8), EFAULT);
}

TEST(name_is_shown_in_proc)
{
    char text[32] = "";
    prctl(PR_SET_NAME, "shown");
    int fd = open("/proc/self/comm", O_RDONLY);
    ASSERT_GE(fd, 0);
    EXPECT_GT(read(fd, text, sizeof(text) - 1), 0);
    EXPECT_STR(text, "shown\n");
}

static void *name_thread(void *unused)
{
    prctl(PR_SET_NAME, "thread");
    return unused;
}

TEST(name_is_per_thread_and_inherited)
{
    char name[16];
    pthread_t thread;
    prctl(PR_SET_NAME, "main");
    pthread_create(&thread, NULL, name_thread, NULL);
    pthread_join(thread, NULL);
    prctl(PR_GET_NAME, name);
    EXPECT_STR(name, "main");
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_GET_NAME, name);
        _exit(strcmp(name, "main"));
    }
    int status;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST(parent_death_signal_is_kept_and_checked)
{
    int sig = -1;
    EXPECT_EQ(prctl(PR_GET_PDEATHSIG, &sig), 0);
    EXPECT_EQ(sig, 0);
    EXPECT_EQ(prctl(PR_SET_PDEATHSIG, SIGTERM), 0);
    EXPECT_EQ(prctl(PR_GET_PDEATHSIG, &sig), 0);
    EXPECT_EQ(sig, SIGTERM);
    EXPECT_ERRNO(prctl(PR_SET_PDEATHSIG, 65), EINVAL);
    EXPECT_ERRNO(prctl(PR_SET_PDEATHSIG, -1), EINVAL);
    EXPECT_ERRNO(prctl(PR_GET_PDEATHSIG, 8), EFAULT);
}

TEST(parent_death_signal_is_not_inherited)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    pid_t pid = fork();
    if (pid == 0) {
        int sig = -1;
        prctl(PR_GET_PDEATHSIG, &sig);
        _exit(sig);
    }
    int status;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST(parent_death_signal_comes_when_the_parent_dies)
{
    int ends[2];
    char c = 0;
    ASSERT_EQ(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        int ready[2];
        if (pipe(ready) != 0)
            _exit(1);
        if (fork() == 0) {
            sigset_t s;
            siginfo_t info;
            sigemptyset(&s);
            sigaddset(&s, SIGUSR1);
            sigprocmask(SIG_BLOCK, &s, NULL);
            prctl(PR_SET_PDEATHSIG, SIGUSR1);
            write(ready[1], "x", 1);
            struct timespec timeout = {10, 0};
            c = sigtimedwait(&s, &info, &timeout) == SIGUSR1 ? 'y' : 'n';
            write(ends[1], &c, 1);
            _exit(0);
        }
        _exit(read(ready[0], &c, 1) == 1 ? 0 : 1);
    }
    waitpid(pid, NULL, 0);
    EXPECT_EQ(read(ends[0], &c, 1), 1);
    EXPECT_EQ(c, 'y');
}

TEST(subreaper_becomes_the_parent_of_orphans)
{
    int on = -1, status;
    EXPECT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    EXPECT_EQ(prctl(PR_GET_CHILD_SUBREAPER, &on), 0);
    EXPECT_EQ(on, 1);
    pid_t pid = fork();
    if (pid == 0) {
        pid_t middle = getpid();
        if (fork() == 0) {
            while (getppid() == middle)
                usleep(1000);
            _exit(getppid() == getpgrp() || getppid() > 1 ? 9 : 1);
        }
        _exit(3);
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 3 << 8);
    EXPECT_GT(wait(&status), 0);
    EXPECT_EQ(status, 9 << 8);
    EXPECT_ERRNO(wait(&status), ECHILD);
}

TEST(subreaper_gets_orphaned_zombies)
{
    int status;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t pid = fork();
    if (pid == 0) {
        if (fork() == 0)
            _exit(4);
        usleep(30000);
        _exit(0);
    }
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_GT(wait(&status), 0);
    EXPECT_EQ(status, 4 << 8);
}

TEST(dumpable_is_one_or_zero)
{
    EXPECT_EQ(prctl(PR_SET_DUMPABLE, 1), 0);
    EXPECT_EQ(prctl(PR_GET_DUMPABLE), 1);
    EXPECT_EQ(prctl(PR_SET_DUMPABLE, 0), 0);
    EXPECT_EQ(prctl(PR_GET_DUMPABLE), 0);
    EXPECT_ERRNO(prctl(PR_SET_DUMPABLE, 2), EINVAL);
    EXPECT_ERRNO(prctl(PR_SET_DUMPABLE, -1), EINVAL);
}

TEST(no_new_privs_is_for_good)
{
    EXPECT_ERRNO(prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0), EINVAL);
    EXPECT_ERRNO(prctl(PR_SET_NO_NEW_PRIVS, 1, 1, 0, 0), EINVAL);
    EXPECT_ERRNO(prctl(PR_GET_NO_NEW_PRIVS, 1, 0, 0, 0), EINVAL);
    EXPECT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    EXPECT_EQ(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
    pid_t pid = fork();
    if (pid == 0)
        _exit(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : 1);
    int status;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST(keepcaps_is_a_flag)
{
    EXPECT_EQ(prctl(PR_GET_KEEPCAPS), 0);
    EXPECT_EQ(prctl(PR_SET_KEEPCAPS, 1), 0);
    EXPECT_EQ(prctl(PR_GET_KEEPCAPS), 1);
    EXPECT_EQ(prctl(PR_SET_KEEPCAPS, 0), 0);
    EXPECT_ERRNO(prctl(PR_SET_KEEPCAPS, 2), EINVAL);
}

TEST(securebits_need_a_capability)
{
    EXPECT_EQ(prctl(PR_GET_SECUREBITS), 0);
    if (geteuid() != 0) {
        EXPECT_ERRNO(prctl(PR_SET_SECUREBITS, SECBIT_NOROOT), EPERM);
        return;
    }
    EXPECT_EQ(prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED), 0);
    EXPECT_EQ(prctl(PR_GET_SECUREBITS), SECBIT_NOROOT | SECBIT_NOROOT_LOCKED);
    EXPECT_ERRNO(prctl(PR_SET_SECUREBITS, SECBIT_NOROOT_LOCKED), EPERM);
    EXPECT_ERRNO(prctl(PR_SET_SECUREBITS, 0), EPERM);
    EXPECT_ERRNO(prctl(PR_SET_SECUREBITS, 1 << 30), EPERM);
}

TEST(timer_slack_has_a_default)
{
    EXPECT_EQ(prctl(PR_SET_TIMERSLACK, 0), 0);
    int standard = prctl(PR_GET_TIMERSLACK);
    EXPECT_GT(standard, 0);
    EXPECT_EQ(prctl(PR_SET_TIMERSLACK, 1234567), 0);
    EXPECT_EQ(prctl(PR_GET_TIMERSLACK), 1234567);
    EXPECT_EQ(prctl(PR_SET_TIMERSLACK, 0), 0);
    EXPECT_EQ(prctl(PR_GET_TIMERSLACK), standard);
}

TEST(thp_can_be_disabled)
{
    EXPECT_ERRNO(prctl(PR_GET_THP_DISABLE, 1, 0, 0, 0), EINVAL);
    EXPECT_EQ(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0);
    EXPECT_EQ(prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0), 1);
    int status = -1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0));
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(WEXITSTATUS(status), 1);
    EXPECT_EQ(prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0), 0);
    EXPECT_EQ(prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0), 0);
}

TEST(seccomp_is_off)
{
    EXPECT_EQ(prctl(PR_GET_SECCOMP), 0);
    EXPECT_ERRNO(prctl(PR_SET_SECCOMP, 77, 0), EINVAL);
}

TEST(unknown_options_are_einval)
{
    EXPECT_ERRNO(prctl(9999, 0, 0, 0, 0), EINVAL);
    EXPECT_ERRNO(prctl(-1, 0, 0, 0, 0), EINVAL);
}

TEST(timing_is_statistical)
{
    EXPECT_EQ(prctl(PR_GET_TIMING), PR_TIMING_STATISTICAL);
    EXPECT_EQ(prctl(PR_SET_TIMING, PR_TIMING_STATISTICAL), 0);
    EXPECT_ERRNO(prctl(PR_SET_TIMING, PR_TIMING_TIMESTAMP), EINVAL);
}

/* The same number stands in /proc. */
TEST(timer_slack_can_be_written)
{
    char text[32] = "";
    int fd = open("/proc/self/timerslack_ns", O_RDWR);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(write(fd, "60000", 5), 5);
    EXPECT_EQ(prctl(PR_GET_TIMERSLACK), 60000);
    EXPECT_EQ(prctl(PR_SET_TIMERSLACK, 70000), 0);
    EXPECT_GT(pread(fd, text, sizeof(text) - 1, 0), 0);
    EXPECT_STR(text, "70000\n");
}

/* Who may execute a file and not read it has no business in the memory that holds it. */
TEST(program_that_can_not_be_read_is_not_dumpable)
{
    char path[] = "/tmp/unreadable-XXXXXX", command[128], byte;
    int executed[2];
    struct stat st = {.st_uid = 12345};
    int fd = mkstemp(path);
    ASSERT_GE(fd, 0);
    close(fd);
    snprintf(command, sizeof(command), "cp /bin/sleep %s && chmod 0111 %s", path, path);
    ASSERT_EQ(system(command), 0);
    ASSERT_EQ(pipe2(executed, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (geteuid() != 0 || setresuid(12345, 12345, 12345) == 0)
            execl(path, "sleep", "100", NULL);
        _exit(1);
    }
    close(executed[1]);
    EXPECT_EQ(read(executed[0], &byte, 1), 0);
    snprintf(command, sizeof(command), "/proc/%d/environ", pid);
    EXPECT_EQ(stat(command, &st), 0);
    EXPECT_EQ(st.st_uid, 0);
    kill(pid, SIGKILL);
    EXPECT_EQ(waitpid(pid, NULL, 0), pid);
    unlink(path);
}
