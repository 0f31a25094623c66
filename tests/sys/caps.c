// SPDX-License-Identifier: Apache-2.0
/* Capabilities: capget(2), capset(2), what changes of users do to them (capabilities(7)). */
#include "tests/harness/harness.h"

#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define NO_PID 0x3ffffff0

struct words {
    uint32_t effective, permitted, inheritable;
};

struct sets {
    uint64_t effective, permitted, inheritable;
};

static void need_root(void)
{
    if (geteuid() != 0)
        SKIP("needs root");
}

static struct sets get_sets(void)
{
    struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct words w[2];
    EXPECT_EQ(syscall(SYS_capget, &h, w), 0);
    return (struct sets){
        w[0].effective | (uint64_t)w[1].effective << 32,
        w[0].permitted | (uint64_t)w[1].permitted << 32,
        w[0].inheritable | (uint64_t)w[1].inheritable << 32,
    };
}

static long set_sets(struct sets s)
{
    struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct words w[2] = {
        {(uint32_t)s.effective, (uint32_t)s.permitted, (uint32_t)s.inheritable},
        {(uint32_t)(s.effective >> 32), (uint32_t)(s.permitted >> 32),
         (uint32_t)(s.inheritable >> 32)},
    };
    return syscall(SYS_capset, &h, w);
}

static uint64_t bit(int cap)
{
    return 1ULL << cap;
}

TEST(unknown_version_is_told_the_newest)
{
    struct __user_cap_header_struct h = {0, 0};
    struct words w[2];
    EXPECT_EQ(syscall(SYS_capget, &h, NULL), 0);
    EXPECT_EQ(h.version, _LINUX_CAPABILITY_VERSION_3);
    h.version = 0x12345678;
    EXPECT_ERRNO(syscall(SYS_capget, &h, w), EINVAL);
    EXPECT_EQ(h.version, _LINUX_CAPABILITY_VERSION_3);
    h.version = 0;
    EXPECT_ERRNO(syscall(SYS_capset, &h, w), EINVAL);
    EXPECT_EQ(h.version, _LINUX_CAPABILITY_VERSION_3);
}

TEST(all_versions_say_the_same)
{
    struct words w[2], w1 = {0, 0, 0};
    struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
    EXPECT_EQ(syscall(SYS_capget, &h, w), 0);
    h.version = _LINUX_CAPABILITY_VERSION_1;
    EXPECT_EQ(syscall(SYS_capget, &h, &w1), 0);
    EXPECT_EQ(w1.permitted, w[0].permitted);
    h.version = _LINUX_CAPABILITY_VERSION_2;
    EXPECT_EQ(syscall(SYS_capget, &h, w), 0);
    EXPECT_EQ(w1.effective, w[0].effective);
}

TEST(capget_checks_its_arguments)
{
    struct words w[2];
    struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, -1};
    EXPECT_ERRNO(syscall(SYS_capget, &h, w), EINVAL);
    h.pid = NO_PID;
    EXPECT_ERRNO(syscall(SYS_capget, &h, w), ESRCH);
    h.pid = 0;
    EXPECT_ERRNO(syscall(SYS_capget, &h, (void *)8), EFAULT);
    EXPECT_ERRNO(syscall(SYS_capget, (void *)8, w), EFAULT);
}

TEST(capget_of_another_process)
{
    struct words w[2], own[2];
    struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
    pid_t pid = fork();
    if (pid == 0) {
        pause();
        _exit(0);
    }
    EXPECT_EQ(syscall(SYS_capget, &h, own), 0);
    h.pid = pid;
    EXPECT_EQ(syscall(SYS_capget, &h, w), 0);
    EXPECT_EQ(w[0].permitted, own[0].permitted);
    EXPECT_ERRNO(syscall(SYS_capset, &h, w), EPERM);
    kill(pid, 9);
    waitpid(pid, NULL, 0);
}

TEST(user_has_no_capabilities_and_gets_none)
{
    if (geteuid() == 0)
        SKIP("needs a user without privileges");
    struct sets s = get_sets();
    EXPECT_EQ(s.effective, 0);
    EXPECT_EQ(s.permitted, 0);
    s.permitted = bit(CAP_CHOWN);
    EXPECT_ERRNO(set_sets(s), EPERM);
    s.permitted = 0;
    EXPECT_EQ(set_sets(s), 0);
}

TEST(effective_needs_permitted)
{
    need_root();
    struct sets s = get_sets();
    s.permitted = bit(CAP_CHOWN);
    s.effective = bit(CAP_KILL);
    EXPECT_ERRNO(set_sets(s), EPERM);
    s.effective = bit(CAP_CHOWN);
    s.inheritable = 0;
    EXPECT_EQ(set_sets(s), 0);
    s = get_sets();
    EXPECT_EQ(s.effective, bit(CAP_CHOWN));
    EXPECT_EQ(s.permitted, bit(CAP_CHOWN));
}

TEST(permitted_never_grows)
{
    need_root();
    struct sets s = get_sets();
    s.permitted = s.effective = bit(CAP_CHOWN) | bit(CAP_SETUID);
    s.inheritable = 0;
    EXPECT_EQ(set_sets(s), 0);
    s.permitted |= bit(CAP_KILL);
    EXPECT_ERRNO(set_sets(s), EPERM);
}

TEST(dropped_capability_is_gone)
{
    need_root();
    struct sets s = get_sets();
    s.effective &= ~bit(CAP_SETGID);
    EXPECT_EQ(set_sets(s), 0);
    EXPECT_ERRNO(syscall(SYS_setgid, 77), EPERM);
    s.effective |= bit(CAP_SETGID);
    EXPECT_EQ(set_sets(s), 0);
    EXPECT_EQ(syscall(SYS_setgid, 77), 0);
}

TEST(leaving_root_clears_capabilities)
{
    need_root();
    EXPECT_EQ(syscall(SYS_setresuid, 1000, 1000, 1000), 0);
    struct sets s = get_sets();
    EXPECT_EQ(s.effective, 0);
    EXPECT_EQ(s.permitted, 0);
}

TEST(leaving_root_for_a_while_clears_the_effective_set_only)
{
    need_root();
    uint64_t before = get_sets().permitted;
    EXPECT_EQ(syscall(SYS_setresuid, -1, 1000, -1), 0);
    EXPECT_EQ(get_sets().effective, 0);
    EXPECT_EQ(get_sets().permitted, before);
    EXPECT_EQ(syscall(SYS_setresuid, -1, 0, -1), 0);
    EXPECT_EQ(get_sets().effective, before);
}

TEST(keepcaps_keeps_the_permitted_set)
{
    need_root();
    uint64_t before = get_sets().permitted;
    EXPECT_EQ(prctl(PR_SET_KEEPCAPS, 1), 0);
    EXPECT_EQ(syscall(SYS_setresuid, 1000, 1000, 1000), 0);
    EXPECT_EQ(get_sets().permitted, before);
    EXPECT_EQ(get_sets().effective, 0);
    struct sets s = get_sets();
    s.effective = s.permitted;
    EXPECT_EQ(set_sets(s), 0);
    EXPECT_EQ(syscall(SYS_setgid, 77), 0);
}

TEST(no_setuid_fixup_keeps_everything)
{
    need_root();
    uint64_t before = get_sets().effective;
    EXPECT_EQ(prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP), 0);
    EXPECT_EQ(syscall(SYS_setresuid, 1000, 1000, 1000), 0);
    EXPECT_EQ(get_sets().effective, before);
}

TEST(setfsuid_moves_the_file_capabilities_only)
{
    need_root();
    uint64_t before = get_sets().effective;
    syscall(SYS_setfsuid, 1000);
    EXPECT_TRUE(!(get_sets().effective & bit(CAP_DAC_OVERRIDE)));
    EXPECT_TRUE(!(get_sets().effective & bit(CAP_CHOWN)));
    EXPECT_TRUE(get_sets().effective & bit(CAP_SETUID));
    syscall(SYS_setfsuid, 0);
    EXPECT_EQ(get_sets().effective, before);
}

TEST(bounding_set_can_be_read_and_dropped_from)
{
    EXPECT_ERRNO(prctl(PR_CAPBSET_READ, 63), EINVAL);
    EXPECT_ERRNO(prctl(PR_CAPBSET_READ, 1000), EINVAL);
    EXPECT_GE(prctl(PR_CAPBSET_READ, CAP_CHOWN), 0);
    if (geteuid() != 0) {
        EXPECT_ERRNO(prctl(PR_CAPBSET_DROP, CAP_CHOWN), EPERM);
        return;
    }
    EXPECT_ERRNO(prctl(PR_CAPBSET_DROP, 63), EINVAL);
    EXPECT_EQ(prctl(PR_CAPBSET_READ, CAP_SYS_BOOT), 1);
    EXPECT_EQ(prctl(PR_CAPBSET_DROP, CAP_SYS_BOOT), 0);
    EXPECT_EQ(prctl(PR_CAPBSET_READ, CAP_SYS_BOOT), 0);
}

TEST(ambient_set_needs_permitted_and_inheritable)
{
    EXPECT_ERRNO(prctl(PR_CAP_AMBIENT, 99, CAP_CHOWN, 0, 0), EINVAL);
    EXPECT_ERRNO(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, 63, 0, 0), EINVAL);
    EXPECT_ERRNO(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_CHOWN, 1, 0), EINVAL);
    EXPECT_ERRNO(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 1, 0, 0), EINVAL);
    EXPECT_EQ(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_CHOWN, 0, 0), 0);
    if (geteuid() != 0) {
        EXPECT_ERRNO(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_CHOWN, 0, 0), EPERM);
        return;
    }
    EXPECT_ERRNO(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_CHOWN, 0, 0), EPERM);
    struct sets s = get_sets();
    s.inheritable |= bit(CAP_CHOWN);
    ASSERT_EQ(set_sets(s), 0);
    EXPECT_EQ(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_CHOWN, 0, 0), 0);
    EXPECT_EQ(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_CHOWN, 0, 0), 1);
    EXPECT_EQ(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_LOWER, CAP_CHOWN, 0, 0), 0);
    EXPECT_EQ(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_CHOWN, 0, 0), 0);
}

TEST(ambient_set_shrinks_with_the_inheritable_one)
{
    need_root();
    struct sets s = get_sets();
    s.inheritable |= bit(CAP_CHOWN);
    ASSERT_EQ(set_sets(s), 0);
    ASSERT_EQ(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_CHOWN, 0, 0), 0);
    s.inheritable = 0;
    EXPECT_EQ(set_sets(s), 0);
    EXPECT_EQ(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_CHOWN, 0, 0), 0);
}

/* The line of this name in /proc/self/status of a program that a child with these bits executes. */
static uint64_t sets_after_exec(const char *name, int bits)
{
    int out[2];
    char text[64] = "";
    EXPECT_EQ(pipe(out), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(out[1], 1);
        if (prctl(PR_SET_SECUREBITS, bits) == 0)
            execlp("grep", "grep", name, "/proc/self/status", NULL);
        _exit(1);
    }
    close(out[1]);
    EXPECT_GT(read(out[0], text, sizeof(text) - 1), 0);
    waitpid(pid, NULL, 0);
    close(out[0]);
    return strtoull(text + strcspn(text, "\t"), NULL, 16);
}

TEST(root_that_is_no_root_gets_nothing_by_exec)
{
    need_root();
    EXPECT_EQ(sets_after_exec("CapEff", 0), sets_after_exec("CapBnd", 0));
    EXPECT_EQ(sets_after_exec("CapEff", SECBIT_NOROOT), 0);
    EXPECT_EQ(sets_after_exec("CapPrm", SECBIT_NOROOT | SECBIT_NOROOT_LOCKED), 0);
}
