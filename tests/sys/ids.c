// SPDX-License-Identifier: Apache-2.0
/* Users and groups of a process: setuid(2) and kin, setgroups(2), credentials(7). Raw system calls:
 * libc's would change all threads. */
#include "tests/harness/harness.h"

#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define NO_PID 0x3ffffff0

static void need_root(void)
{
    if (geteuid() != 0)
        SKIP("needs root");
}

static void need_user(void)
{
    if (geteuid() == 0)
        SKIP("needs a user without privileges");
}

struct three {
    uint32_t real, effective, saved;
};

static struct three uids(void)
{
    struct three t = {7, 7, 7};
    EXPECT_EQ(syscall(SYS_getresuid, &t.real, &t.effective, &t.saved), 0);
    return t;
}

static struct three gids(void)
{
    struct three t = {7, 7, 7};
    EXPECT_EQ(syscall(SYS_getresgid, &t.real, &t.effective, &t.saved), 0);
    return t;
}

static void expect_uids(uint32_t real, uint32_t effective, uint32_t saved)
{
    struct three t = uids();
    EXPECT_EQ(t.real, real);
    EXPECT_EQ(t.effective, effective);
    EXPECT_EQ(t.saved, saved);
    EXPECT_EQ(syscall(SYS_getuid), real);
    EXPECT_EQ(syscall(SYS_geteuid), effective);
}

static void expect_gids(uint32_t real, uint32_t effective, uint32_t saved)
{
    struct three t = gids();
    EXPECT_EQ(t.real, real);
    EXPECT_EQ(t.effective, effective);
    EXPECT_EQ(t.saved, saved);
    EXPECT_EQ(syscall(SYS_getgid), real);
    EXPECT_EQ(syscall(SYS_getegid), effective);
}

/* ---- asking ---- */

TEST(pids_are_consistent)
{
    pid_t parent = getpid(), pid = fork();
    EXPECT_EQ(syscall(SYS_getpid), syscall(SYS_gettid));
    if (pid == 0)
        _exit(getppid() == parent && getpid() != parent ? 0 : 1);
    int status;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST(orphan_gets_another_parent)
{
    int ends[2];
    pid_t parent = -1;
    ASSERT_EQ(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        pid_t middle = getpid();
        if (fork() == 0) {
            while (getppid() == middle)
                usleep(1000);
            parent = getppid();
            write(ends[1], &parent, sizeof(parent));
        }
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    ASSERT_EQ(read(ends[0], &parent, sizeof(parent)), sizeof(parent));
    EXPECT_NE(parent, pid);
    EXPECT_GE(parent, 1);
}

TEST(ids_are_inherited_by_fork_and_exec)
{
    char command[200];
    snprintf(command, sizeof(command), "test $(id -u) = %d && test $(id -g) = %d", (int)geteuid(),
             (int)getegid());
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST(getresuid_checks_its_addresses)
{
    uint32_t id;
    EXPECT_ERRNO(syscall(SYS_getresuid, (void *)8, &id, &id), EFAULT);
    EXPECT_ERRNO(syscall(SYS_getresuid, &id, &id, (void *)8), EFAULT);
    EXPECT_ERRNO(syscall(SYS_getresgid, &id, (void *)8, &id), EFAULT);
}

TEST(getgroups_checks_its_size)
{
    gid_t groups[100];
    int count = getgroups(0, NULL);
    EXPECT_GE(count, 0);
    EXPECT_ERRNO(syscall(SYS_getgroups, -1, groups), EINVAL);
    EXPECT_EQ(getgroups(100, groups), count);
    if (count > 1)
        EXPECT_ERRNO(getgroups(count - 1, groups), EINVAL);
}

/* ---- a user without privileges ---- */

TEST(user_can_not_become_anybody)
{
    need_user();
    uint32_t self = getuid();
    EXPECT_ERRNO(syscall(SYS_setuid, 0), EPERM);
    EXPECT_ERRNO(syscall(SYS_setreuid, 0, -1), EPERM);
    EXPECT_ERRNO(syscall(SYS_setreuid, -1, 0), EPERM);
    EXPECT_ERRNO(syscall(SYS_setresuid, -1, -1, 0), EPERM);
    EXPECT_ERRNO(syscall(SYS_setresuid, self, 0, self), EPERM);
    expect_uids(self, self, self);
}

TEST(user_can_not_join_a_group)
{
    need_user();
    uint32_t self = getgid();
    gid_t group = 0;
    EXPECT_ERRNO(syscall(SYS_setgid, 0), EPERM);
    EXPECT_ERRNO(syscall(SYS_setregid, 0, 0), EPERM);
    EXPECT_ERRNO(syscall(SYS_setresgid, 0, -1, -1), EPERM);
    EXPECT_ERRNO(syscall(SYS_setgroups, 1, &group), EPERM);
    EXPECT_ERRNO(syscall(SYS_setgroups, 0, NULL), EPERM);
    expect_gids(self, self, self);
}

TEST(user_can_set_what_it_is)
{
    need_user();
    uint32_t self = getuid();
    EXPECT_EQ(syscall(SYS_setuid, self), 0);
    EXPECT_EQ(syscall(SYS_setreuid, self, self), 0);
    EXPECT_EQ(syscall(SYS_setresuid, self, self, self), 0);
    EXPECT_EQ(syscall(SYS_setgid, getgid()), 0);
    expect_uids(self, self, self);
}

TEST(user_can_not_change_its_fsuid)
{
    need_user();
    uint32_t self = getuid();
    EXPECT_EQ(syscall(SYS_setfsuid, 0), self);
    EXPECT_EQ(syscall(SYS_setfsuid, -1), self);
    EXPECT_EQ(syscall(SYS_setfsgid, 0), getgid());
    EXPECT_EQ(syscall(SYS_setfsgid, -1), getgid());
}

TEST(minus_one_is_no_id)
{
    EXPECT_ERRNO(syscall(SYS_setuid, -1), EINVAL);
    EXPECT_ERRNO(syscall(SYS_setgid, -1), EINVAL);
    EXPECT_EQ(syscall(SYS_setreuid, -1, -1), 0);
    EXPECT_EQ(syscall(SYS_setregid, -1, -1), 0);
    EXPECT_EQ(syscall(SYS_setresuid, -1, -1, -1), 0);
    EXPECT_EQ(syscall(SYS_setresgid, -1, -1, -1), 0);
}

/* ---- root ---- */

TEST(setuid_of_root_is_for_good)
{
    need_root();
    EXPECT_EQ(syscall(SYS_setuid, 12345), 0);
    expect_uids(12345, 12345, 12345);
    EXPECT_ERRNO(syscall(SYS_setuid, 0), EPERM);
    EXPECT_ERRNO(syscall(SYS_setresuid, 0, 0, 0), EPERM);
}

TEST(seteuid_of_root_can_be_taken_back)
{
    need_root();
    EXPECT_EQ(syscall(SYS_setresuid, -1, 12345, -1), 0);
    expect_uids(0, 12345, 0);
    EXPECT_ERRNO(syscall(SYS_setgid, 5), EPERM);
    EXPECT_EQ(syscall(SYS_setresuid, -1, 0, -1), 0);
    expect_uids(0, 0, 0);
    EXPECT_EQ(syscall(SYS_setgid, 5), 0);
}

TEST(setreuid_swaps_real_and_effective)
{
    need_root();
    EXPECT_EQ(syscall(SYS_setresuid, 1000, 2000, 2000), 0);
    EXPECT_EQ(syscall(SYS_setreuid, 2000, 1000), 0);
    expect_uids(2000, 1000, 1000);
    EXPECT_EQ(syscall(SYS_setreuid, -1, 2000), 0);
    /* The effective id is the real one now: the saved id stays. */
    expect_uids(2000, 2000, 1000);
    EXPECT_EQ(syscall(SYS_setreuid, -1, 1000), 0);
    expect_uids(2000, 1000, 1000);
    EXPECT_ERRNO(syscall(SYS_setreuid, 3000, -1), EPERM);
}

TEST(setresuid_takes_any_of_the_three)
{
    need_root();
    EXPECT_EQ(syscall(SYS_setresuid, 1, 2, 3), 0);
    expect_uids(1, 2, 3);
    EXPECT_EQ(syscall(SYS_setresuid, 3, 1, 2), 0);
    expect_uids(3, 1, 2);
    EXPECT_ERRNO(syscall(SYS_setresuid, 4, -1, -1), EPERM);
    EXPECT_EQ(syscall(SYS_setresuid, -1, 3, -1), 0);
    expect_uids(3, 3, 2);
}

TEST(setuid_of_an_unprivileged_one_changes_the_effective_only)
{
    need_root();
    EXPECT_EQ(syscall(SYS_setresuid, 1000, 2000, 3000), 0);
    EXPECT_EQ(syscall(SYS_setuid, 3000), 0);
    expect_uids(1000, 3000, 3000);
    EXPECT_EQ(syscall(SYS_setuid, 1000), 0);
    expect_uids(1000, 1000, 3000);
    EXPECT_ERRNO(syscall(SYS_setuid, 2000), EPERM);
}

TEST(setgid_follows_the_same_rules)
{
    need_root();
    EXPECT_EQ(syscall(SYS_setgid, 50), 0);
    expect_gids(50, 50, 50);
    EXPECT_EQ(syscall(SYS_setresgid, 1, 2, 3), 0);
    EXPECT_EQ(syscall(SYS_setuid, 1000), 0);
    EXPECT_EQ(syscall(SYS_setregid, 2, 1), 0);
    expect_gids(2, 1, 1);
    EXPECT_ERRNO(syscall(SYS_setgid, 3), EPERM);
    EXPECT_ERRNO(syscall(SYS_setresgid, 0, -1, -1), EPERM);
}

TEST(setgroups_sorts_and_getgroups_shows)
{
    need_root();
    gid_t groups[] = {30, 10, 20}, got[4];
    EXPECT_EQ(syscall(SYS_setgroups, 3, groups), 0);
    EXPECT_EQ(getgroups(4, got), 3);
    EXPECT_EQ(got[0], 10);
    EXPECT_EQ(got[1], 20);
    EXPECT_EQ(got[2], 30);
    EXPECT_ERRNO(getgroups(2, got), EINVAL);
    EXPECT_EQ(syscall(SYS_setgroups, 0, NULL), 0);
    EXPECT_EQ(getgroups(0, NULL), 0);
}

TEST(setgroups_checks_its_arguments)
{
    need_root();
    EXPECT_ERRNO(syscall(SYS_setgroups, -1, NULL), EINVAL);
    EXPECT_ERRNO(syscall(SYS_setgroups, 65537, NULL), EINVAL);
    EXPECT_ERRNO(syscall(SYS_setgroups, 1, (void *)8), EFAULT);
}

TEST(fsuid_follows_the_effective_id)
{
    need_root();
    EXPECT_EQ(syscall(SYS_setresuid, -1, 1000, -1), 0);
    EXPECT_EQ(syscall(SYS_setfsuid, -1), 1000);
    EXPECT_EQ(syscall(SYS_setfsuid, 0), 1000);
    EXPECT_EQ(syscall(SYS_setfsuid, -1), 0);
}

TEST(fsuid_decides_who_owns_a_new_file)
{
    need_root();
    struct stat s;
    EXPECT_EQ(chmod(".", 0777), 0);
    EXPECT_EQ(syscall(SYS_setfsuid, 1234), 0);
    EXPECT_EQ(syscall(SYS_setfsgid, 4321), 0);
    EXPECT_EQ(mkdir("made", 0700), 0);
    syscall(SYS_setfsuid, 0);
    EXPECT_EQ(stat("made", &s), 0);
    EXPECT_EQ(s.st_uid, 1234);
    EXPECT_EQ(s.st_gid, 4321);
}

TEST(change_of_ids_makes_undumpable)
{
    need_root();
    EXPECT_EQ(prctl(PR_SET_DUMPABLE, 1), 0);
    EXPECT_EQ(syscall(SYS_setresuid, -1, 1000, -1), 0);
    EXPECT_NE(prctl(PR_GET_DUMPABLE), 1);
}

static void *drop_in_thread(void *unused)
{
    if (syscall(SYS_setresuid, 1000, 1000, 1000) != 0 || syscall(SYS_getuid) != 1000)
        return "failed";
    return unused;
}

TEST(raw_setuid_changes_one_thread)
{
    need_root();
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, drop_in_thread, NULL);
    pthread_join(thread, &result);
    EXPECT_TRUE(result == NULL);
    EXPECT_EQ(syscall(SYS_getuid), 0);
}

static void *wait_then_look(void *result)
{
    for (int i = 0; i < 20000 && syscall(SYS_getuid) == 0; i++)
        usleep(1000);
    *(long *)result = syscall(SYS_getuid);
    return NULL;
}

TEST(setuid_of_libc_changes_all_threads)
{
    need_root();
    pthread_t thread;
    long seen = -1;
    pthread_create(&thread, NULL, wait_then_look, &seen);
    usleep(10000);
    EXPECT_EQ(setuid(1000), 0);
    pthread_join(thread, NULL);
    EXPECT_EQ(seen, 1000);
}

/* What id -u, owned by root and set-user-ID, says to a child of these clone(2) flags. */
static int id_of_a_user(unsigned long flags)
{
    int out[2], status = -1;
    char text[16] = "";
    ASSERT_EQ(pipe(out), 0);
    pid_t pid = (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        dup2(out[1], 1);
        syscall(SYS_setresuid, 12345, 12345, 12345);
        execl("./id", "id", "-u", NULL);
        _exit(1);
    }
    close(out[1]);
    EXPECT_GT(read(out[0], text, sizeof(text) - 1), 0);
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
    return atoi(text);
}

TEST(set_user_id_is_not_for_who_shares_its_directory)
{
    need_root();
    ASSERT_EQ(chmod(".", 0755), 0);
    ASSERT_EQ(system("cp /usr/bin/id id && chmod 4755 id"), 0);
    EXPECT_EQ(id_of_a_user(0), 0);
    EXPECT_EQ(id_of_a_user(CLONE_FS), 12345);
}

/* A child that has the caller's directories and makes no call, so that it is not known for long. */
static pid_t silent_child_with_same_directories(void)
{
    pid_t pid = (pid_t)syscall(SYS_clone, CLONE_FS | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        for (;;)
            ;
    return pid;
}

TEST(set_user_id_is_not_for_who_has_just_made_a_child_with_its_directory)
{
    need_root();
    int out[2];
    char text[16] = "";
    pid_t children[2];
    ASSERT_EQ(chmod(".", 0755), 0);
    ASSERT_EQ(system("cp /usr/bin/id id && chmod 4755 id"), 0);
    ASSERT_EQ(pipe(out), 0);
    if ((children[0] = fork()) == 0) {
        syscall(SYS_setresuid, 12345, 12345, 12345);
        pid_t child = silent_child_with_same_directories();
        write(out[1], &child, sizeof(child));
        dup2(out[1], 1);
        execl("./id", "id", "-u", NULL);
        _exit(1);
    }
    ASSERT_EQ(read(out[0], &children[1], sizeof(children[1])), sizeof(children[1]));
    EXPECT_GT(read(out[0], text, sizeof(text) - 1), 0);
    kill(children[1], SIGKILL);
    EXPECT_EQ(waitpid(children[0], NULL, 0), children[0]);
    EXPECT_EQ(atoi(text), 12345);
}
