// SPDX-License-Identifier: Apache-2.0
/*
 * Routes to the host's files. The host has a file that says GLOVEBOX_CANARY_TEXT at
 * GLOVEBOX_CANARY, which is not in the sandbox: no name may lead to it.
 */
#include "tests/security/hostile.h"

#include <dirent.h>
#include <limits.h>

static const char *canary(void)
{
    const char *path = getenv("GLOVEBOX_CANARY");
    if (!path)
        SKIP("no canary: run by run_test.py");
    return path;
}

/* Whether the name leads to the canary's text. */
static bool shows(const char *name)
{
    char text[256] = "";
    int fd = open(name, O_RDONLY | O_NONBLOCK);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    return n > 0 && strstr(text, getenv("GLOVEBOX_CANARY_TEXT"));
}

static const char *const prefixes[] = {
    "",
    "/..",
    "/../../../../../../../../../..",
    "/proc/self/root",
    "/proc/self/root/..",
    "/proc/1/root",
    "/proc/1/cwd",
    "/proc/self/cwd/../../../../..",
    "/proc/self/task/1/root",
    "/proc/thread-self/root/../..",
    "/dev/fd/0/..",
    "/proc/self/fd/0/../../../..",
    "/proc/self/exe/../..",
    "/old",
    "/image",
    "/host/0/..",
    "/store",
    "/shadow/root/../..",
    "/sys/../..",
    "/dev/shm/../../..",
};

TEST(names_that_climb)
{
    char name[PATH_MAX];
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
        snprintf(name, sizeof(name), "%s%s", prefixes[i], canary());
        if (shows(name))
            harness_fail(__FILE__, __LINE__, "%s leads to the host", name);
    }
}

TEST(links_that_climb)
{
    char target[PATH_MAX];
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
        snprintf(target, sizeof(target), "%s%s", prefixes[i], canary());
        unlink("link");
        ASSERT_EQ(symlink(target, "link"), 0);
        EXPECT_TRUE(!shows("link"));
    }
}

TEST(directories_of_the_host_above_descriptors)
{
    static const char *const names[] = {"/",    "/proc", "/proc/self", "/proc/1", "/dev",
                                        "/sys", "/tmp",  "/usr",       "."};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char up[PATH_MAX] = "";
        int dir = open(names[i], O_RDONLY | O_DIRECTORY);
        if (dir < 0)
            continue;
        for (int n = 0; n < 20; n++)
            strcat(up, "../");
        strcat(up, canary() + 1);
        EXPECT_EQ(openat(dir, up, O_RDONLY), -1);
        close(dir);
    }
}

TEST(a_root_that_moves)
{
    char up[PATH_MAX] = "";
    for (int n = 0; n < 40; n++)
        strcat(up, "../");
    strcat(up, canary() + 1);
    ASSERT_EQ(mkdir("inner", 0700), 0);
    int outside = open("/", O_RDONLY | O_DIRECTORY);
    ASSERT_EQ(chroot("inner"), 0);
    EXPECT_TRUE(!shows(up));
    ASSERT_EQ(fchdir(outside), 0);
    EXPECT_TRUE(!shows(up));
}

TEST(descriptors_of_processes)
{
    char name[PATH_MAX], target[PATH_MAX];
    for (int pid = 1; pid < 10; pid++)
        for (int fd = 0; fd < 20; fd++) {
            snprintf(name, sizeof(name), "/proc/%d/fd/%d", pid, fd);
            ssize_t n = readlink(name, target, sizeof(target) - 1);
            target[n > 0 ? n : 0] = '\0';
            EXPECT_TRUE(!strstr(target, "/image") && !strstr(target, "/store") &&
                        !strstr(target, "seccomp"));
        }
}

TEST(settings_of_the_host)
{
    static const char *const names[] = {
        "/proc/sys/kernel/core_pattern",
        "/proc/sysrq-trigger",
        "/proc/sys/kernel/modprobe",
        "/sys/fs/cgroup/release_agent",
        "/sys/kernel/uevent_helper",
        "/proc/sys/fs/binfmt_misc/register",
        "/dev/mem",
        "/dev/kmsg",
        "/dev/kvm",
        "/dev/sda",
        "/proc/kcore",
        "/proc/kallsyms",
        "/proc/kmsg",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        int fd = open(names[i], O_WRONLY);
        if (fd < 0)
            continue;
        EXPECT_EQ(write(fd, "|/tmp/hostile", 13), -1);
        close(fd);
    }
}

TEST(devices_of_its_own)
{
    static const unsigned devices[][2] = {{8, 0}, {1, 1}, {1, 2}, {10, 232}, {10, 200}, {5, 0}};
    for (size_t i = 0; i < sizeof(devices) / sizeof(*devices); i++) {
        unlink("node");
        if (syscall(SYS_mknod, "node", S_IFBLK | 0666L, devices[i][0] << 8 | devices[i][1]) == 0)
            EXPECT_EQ(open("node", O_RDONLY), -1);
        unlink("node");
        if (syscall(SYS_mknod, "node", S_IFCHR | 0666L, devices[i][0] << 8 | devices[i][1]) == 0) {
            int fd = open("node", O_RDWR);
            char c;
            EXPECT_TRUE(fd < 0 || devices[i][0] == 5 || read(fd, &c, 1) <= 0);
        }
    }
}
