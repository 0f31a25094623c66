// SPDX-License-Identifier: Apache-2.0
/*
 * Where groups are made is looked at in folders that look like a machine's; of the real ones, those
 * that this machine lets us make.
 */
#include "sandbox/cgroup.h"
#include "sandbox/clone.h"
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static struct sandbox_limits limits;
static struct cgroup group;

static void make_file(const char *path, const char *text)
{
    char folder[256];
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
        mkdir(folder, 0755);
    }
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0)
        harness_fail(__FILE__, __LINE__, "%s: %s", path, strerror(errno));
}

static void set_limits(void)
{
    sandbox_limits_set_standard(&limits);
    limits.value[LIMIT_CPUS] = 500;
}

TEST(version_1_has_a_group_for_each)
{
    set_limits();
    make_file("memory/user/tasks", "");
    make_file("cpu/tasks", "");
    make_file("pids/tasks", "");
    cgroup_plan(&group, "box", &limits,
                "9:name=systemd:/\n8:pids:/\n4:memory:/user\n2:cpu,cpuacct:/\n0::/\n", ".");
    ASSERT_EQ(group.count, 3);
    EXPECT_STR(group.groups[0].path, "./memory/user/box");
    EXPECT_STR(group.groups[1].path, "./cpu/box");
    EXPECT_STR(group.groups[2].path, "./pids/box");
    EXPECT_EQ(group.groups[0].version, 1);
    EXPECT_EQ(group.groups[2].controllers, 1 << CGROUP_PIDS);
}

/* A container that sees only its own group, and the names of the host. */
TEST(version_1_without_a_namespace)
{
    set_limits();
    make_file("memory/tasks", "");
    cgroup_plan(&group, "box", &limits, "4:memory:/docker/0123\n", ".");
    ASSERT_EQ(group.count, 1);
    EXPECT_STR(group.groups[0].path, "./memory/box");
}

TEST(a_limit_that_the_machine_keeps_needs_no_group)
{
    sandbox_limits_set_standard(&limits);
    limits.value[LIMIT_CPUS] = 1000000;
    cgroup_plan(&group, "box", &limits, "2:cpu:/\n", ".");
    EXPECT_EQ(group.count, 0);
    struct sandbox_controls c;
    cgroup_make(&group, &limits, &c);
    EXPECT_EQ(c.cpus, LIMITED_BY_MACHINE);
    EXPECT_EQ(c.memory, LIMITED_BY_KERNEL);
    EXPECT_EQ(c.pids, LIMITED_BY_KERNEL);
}

/* No processes beside controllers: the group of a shell's unit is no place, its slice is. */
TEST(version_2_goes_up_to_where_controllers_are_handed_down)
{
    set_limits();
    make_file("cgroup.controllers", "cpuset cpu io memory pids\n");
    make_file("user/app/cgroup.procs", "");
    make_file("user/app/cgroup.controllers", "cpu memory pids\n");
    make_file("user/app/cgroup.subtree_control", "memory pids cpu\n");
    make_file("user/app/shell/cgroup.procs", "");
    make_file("user/app/shell/cgroup.controllers", "");
    make_file("user/app/shell/cgroup.subtree_control", "");
    cgroup_plan(&group, "box", &limits, "0::/user/app/shell\n", ".");
    ASSERT_EQ(group.count, 1);
    EXPECT_STR(group.groups[0].path, "././user/app/box");
    EXPECT_EQ(group.groups[0].version, 2);
    EXPECT_EQ(group.groups[0].controllers, 7);
}

/* A unit of systemd, in which the caller is: nothing is written there. */
TEST(version_2_leaves_a_group_with_processes_alone)
{
    char text[16] = "";
    set_limits();
    make_file("cgroup.controllers", "");
    make_file("slice/cgroup.procs", "");
    make_file("slice/cgroup.type", "domain\n");
    make_file("slice/cgroup.controllers", "cpu memory pids\n");
    make_file("slice/cgroup.subtree_control", "memory pids\n");
    make_file("slice/unit/cgroup.procs", "17\n");
    make_file("slice/unit/cgroup.type", "domain\n");
    make_file("slice/unit/cgroup.controllers", "memory pids\n");
    make_file("slice/unit/cgroup.subtree_control", "");
    cgroup_plan(&group, "box", &limits, "0::/slice/unit\n", ".");
    ASSERT_EQ(group.count, 1);
    EXPECT_STR(group.groups[0].path, "././slice/box");
    FILE *f = fopen("slice/unit/cgroup.subtree_control", "r");
    EXPECT_TRUE(f && !fgets(text, sizeof(text), f));
    fclose(f);
    if (geteuid() != 0)
        return;
    /* Nor what others' groups would have too: the processors are looked after otherwise. */
    EXPECT_EQ(group.groups[0].controllers, 1 << CGROUP_MEMORY | 1 << CGROUP_PIDS);
    f = fopen("slice/cgroup.subtree_control", "r");
    EXPECT_TRUE(f && fgets(text, sizeof(text), f));
    EXPECT_STR(text, "memory pids\n");
    fclose(f);
}

TEST(version_2_takes_no_group_of_threads)
{
    set_limits();
    make_file("cgroup.controllers", "");
    make_file("unit/cgroup.procs", "");
    make_file("unit/cgroup.type", "domain threaded\n");
    make_file("unit/cgroup.controllers", "cpu memory pids\n");
    make_file("unit/cgroup.subtree_control", "cpu pids\n");
    cgroup_plan(&group, "box", &limits, "0::/unit\n", ".");
    EXPECT_EQ(group.count, 0);
}

TEST(version_2_hands_controllers_down_when_it_may)
{
    set_limits();
    make_file("cgroup.controllers", "");
    make_file("unit/cgroup.procs", "");
    make_file("unit/cgroup.controllers", "cpu memory pids\n");
    make_file("unit/cgroup.subtree_control", "");
    cgroup_plan(&group, "box", &limits, "0::/unit\n", ".");
    ASSERT_EQ(group.count, 1);
    EXPECT_EQ(group.groups[0].controllers, 7);
    char text[16] = "";
    FILE *f = fopen("unit/cgroup.subtree_control", "r");
    EXPECT_TRUE(f && fgets(text, sizeof(text), f));
    /* One controller a write, so that one that is refused keeps none of the others away. */
    EXPECT_EQ(strncmp(text, "+pids", 5), 0);
}

TEST(version_2_with_fewer_controllers)
{
    set_limits();
    make_file("cgroup.controllers", "");
    make_file("unit/cgroup.procs", "");
    make_file("unit/cgroup.controllers", "memory pids\n");
    make_file("unit/cgroup.subtree_control", "memory pids\n");
    cgroup_plan(&group, "box", &limits, "0::/unit\n", ".");
    ASSERT_EQ(group.count, 1);
    EXPECT_EQ(group.groups[0].controllers, 1 << CGROUP_MEMORY | 1 << CGROUP_PIDS);
}

TEST(version_2_where_nothing_can_be_made)
{
    set_limits();
    make_file("cgroup.controllers", "");
    make_file("unit/cgroup.controllers", "");
    cgroup_plan(&group, "box", &limits, "0::/unit\n", ".");
    EXPECT_EQ(group.count, 0);
    cgroup_plan(&group, "box", &limits, "0::/../outside\n", ".");
    EXPECT_EQ(group.count, 0);
}

TEST(both_versions)
{
    set_limits();
    make_file("memory/tasks", "");
    make_file("unified/cgroup.controllers", "pids\n");
    make_file("unified/cgroup.procs", "");
    make_file("unified/cgroup.subtree_control", "pids\n");
    cgroup_plan(&group, "box", &limits, "4:memory:/\n0::/\n", ".");
    ASSERT_EQ(group.count, 2);
    EXPECT_STR(group.groups[0].path, "./memory/box");
    EXPECT_STR(group.groups[1].path, "./unified/box");
    EXPECT_EQ(group.groups[1].controllers, 1 << CGROUP_PIDS);
}

TEST(lines_that_make_no_sense)
{
    static const char *const texts[] = {"",          "\n\n",         "4",     "4:memory",
                                        "4:memory:", "4:memory:x\n", ":::\n", "4:memory:/a\n:"};
    set_limits();
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        cgroup_plan(&group, "box", &limits, texts[i], "/nonexistent");
    EXPECT_EQ(group.count, 1);
}

/* What stands in folders is no cgroup: every limit falls back to watching, and nothing is left. */
TEST(what_can_not_be_set_is_watched)
{
    struct sandbox_controls c;
    set_limits();
    make_file("memory/tasks", "");
    cgroup_plan(&group, "box", &limits, "4:memory:/\n", ".");
    ASSERT_EQ(group.count, 1);
    cgroup_make(&group, &limits, &c);
    EXPECT_EQ(c.memory, LIMITED_BY_KERNEL);
    EXPECT_EQ(access("memory/box", F_OK), -1);
    struct cgroup_memory m;
    EXPECT_EQ(cgroup_read_memory(&group, &m), -ENOENT);
    EXPECT_EQ(cgroup_read_memory_peak(&group, &m), -ENOENT);
    EXPECT_TRUE(cgroup_remove(&group));
}

TEST(counters_of_version_1)
{
    struct cgroup_memory m;
    make_file("box/memory.usage_in_bytes", "4096\n");
    make_file("box/memory.max_usage_in_bytes", "8192\n");
    make_file("box/memory.failcnt", "17\n");
    make_file("box/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
    group = (struct cgroup){.count = 1};
    group.groups[0] =
        (struct cgroup_group){.version = 1, .controllers = 1, .is_made = true, .join = -1};
    snprintf(group.groups[0].path, PATH_MAX, "box");
    ASSERT_EQ(cgroup_read_memory(&group, &m), 0);
    EXPECT_EQ(m.used_bytes, 4096);
    EXPECT_EQ(m.peak_bytes, 8192);
    EXPECT_EQ(m.limit_hits, 17);
    EXPECT_EQ(m.oom_kills, 2);
}

TEST(counters_of_version_2)
{
    struct cgroup_memory m;
    make_file("box/memory.current", "4096\n");
    make_file("box/memory.events", "low 0\nhigh 1\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n");
    group = (struct cgroup){.count = 1};
    group.groups[0] =
        (struct cgroup_group){.version = 2, .controllers = 1, .is_made = true, .join = -1};
    snprintf(group.groups[0].path, PATH_MAX, "box");
    ASSERT_EQ(cgroup_read_memory(&group, &m), 0);
    EXPECT_EQ(m.used_bytes, 4096);
    EXPECT_EQ(m.peak_bytes, 0);
    EXPECT_EQ(m.limit_hits, 12);
    EXPECT_EQ(m.oom_kills, 2);
}

static int tell_own_group(void *argument)
{
    char path[] = "/proc/self/cgroup", text[4096];
    int fd = open(path, O_RDONLY);
    ssize_t n = read(fd, text, sizeof(text));
    if (n > 0 && write(*(int *)argument, text, (size_t)n) == n)
        _exit(0);
    _exit(1);
}

/* Born in a group of the real unified hierarchy; it need have no controllers for that. */
TEST(a_child_is_born_in_its_group)
{
    static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    char path[256], text[4096] = "";
    int out[2], pidfd, status;
    bool is_made = false;
    for (size_t i = 0; i < ARRAY_SIZE(mounts) && !is_made; i++) {
        snprintf(path, sizeof(path), "%s/cgroup.procs", mounts[i]);
        if (access(path, W_OK) < 0)
            continue;
        snprintf(path, sizeof(path), "%s/glovebox-test-%d", mounts[i], getpid());
        is_made = mkdir(path, 0755) == 0;
    }
    if (!is_made)
        SKIP("no unified hierarchy that may be written to");
    int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    ASSERT_EQ(pipe(out), 0);
    pid_t pid = clone_child(tell_own_group, &out[1], 0, folder, &pidfd);
    close(out[1]);
    EXPECT_GT(pid, 0);
    EXPECT_GT(read(out[0], text, sizeof(text) - 1), 0);
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(strstr(text, "/glovebox-test-") != NULL);
    close(folder);
    EXPECT_TRUE(cgroup_remove_path(path));
    EXPECT_EQ(access(path, F_OK), -1);
}

TEST(a_folder_that_is_no_group_takes_no_child)
{
    int pidfd, out = 2;
    int folder = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    EXPECT_EQ(clone_child(tell_own_group, &out, 0, folder, &pidfd), -EBADF);
    close(folder);
}
