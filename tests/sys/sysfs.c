// SPDX-License-Identifier: Apache-2.0
/*
 * /sys as programs use it to size themselves: sysfs(5), cgroups(7). What is asked for is what is
 * the same on any machine; what a sandbox lacks on purpose is asked for inside only.
 */
#include "tests/sys/procfs_support.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>

#define CPU  "/sys/devices/system/cpu/"
#define NODE "/sys/devices/system/node/"

/* A list such as "0-3,8": how many. */
static int count_list(const char *list)
{
    int count = 0;
    while (*list && *list != '\n') {
        char *end;
        long first = strtol(list, &end, 10), last = first;
        if (end == list)
            return -1;
        if (*end == '-')
            last = strtol(end + 1, &end, 10);
        count += (int)(last - first + 1);
        list = *end == ',' ? end + 1 : end;
    }
    return count;
}

static int count_names(const char *directory, const char *prefix)
{
    DIR *d = opendir(directory);
    int count = 0;
    if (!d)
        return -1;
    for (struct dirent *e; (e = readdir(d));)
        count += e->d_name[0] != '.' && !strncmp(e->d_name, prefix, strlen(prefix));
    closedir(d);
    return count;
}

TEST(sys_is_a_sysfs)
{
    struct statfs st;
    ASSERT_EQ(statfs("/sys", &st), 0);
    EXPECT_EQ(st.f_type, SYSFS_MAGIC);
}

TEST(online_cpus)
{
    ASSERT_GT(slurp(CPU "online"), 0);
    EXPECT_EQ(count_list(text), sysconf(_SC_NPROCESSORS_ONLN));
    EXPECT_EQ(text[strlen(text) - 1], '\n');
    ASSERT_GT(slurp(CPU "possible"), 0);
    EXPECT_GE(count_list(text), sysconf(_SC_NPROCESSORS_ONLN));
    ASSERT_GT(slurp(CPU "present"), 0);
    EXPECT_GE(count_list(text), sysconf(_SC_NPROCESSORS_ONLN));
    EXPECT_GE(sysconf(_SC_NPROCESSORS_CONF), sysconf(_SC_NPROCESSORS_ONLN));
}

TEST(cpu_directories)
{
    ASSERT_GT(slurp(CPU "present"), 0);
    int present = count_list(text);
    int found = 0;
    char path[128];
    for (int i = 0; i < present; i++) {
        snprintf(path, sizeof(path), CPU "cpu%d", i);
        found += access(path, F_OK) == 0;
    }
    EXPECT_EQ(found, present);
    snprintf(path, sizeof(path), CPU "cpu%d", present);
    EXPECT_ERRNO(access(path, F_OK), ENOENT);
    EXPECT_ERRNO(access(CPU "cpu", F_OK), ENOENT);
    EXPECT_ERRNO(access(CPU "cpu00", F_OK), ENOENT);
    EXPECT_ERRNO(access(CPU "cpux", F_OK), ENOENT);
}

TEST(cpu_topology)
{
    ASSERT_GT(slurp(CPU "cpu0/topology/core_id"), 0);
    EXPECT_EQ(atoi(text), 0);
    ASSERT_GT(slurp(CPU "cpu0/topology/physical_package_id"), 0);
    EXPECT_GE(atoi(text), 0);
    ASSERT_GT(slurp(CPU "cpu0/topology/thread_siblings_list"), 0);
    EXPECT_GE(count_list(text), 1);
    ASSERT_GT(slurp(CPU "cpu0/topology/core_siblings_list"), 0);
    EXPECT_GE(count_list(text), 1);
    ASSERT_GT(slurp(CPU "cpu0/topology/thread_siblings"), 0);
    EXPECT_TRUE(strtoul(text + strlen(text) - 2, NULL, 16) & 1);
}

TEST(cpu_is_on_its_node)
{
    struct stat a, b;
    if (access(NODE "node0", F_OK) < 0)
        SKIP("no NUMA nodes");
    ASSERT_EQ(stat(CPU "cpu0/node0", &a), 0);
    ASSERT_EQ(stat(NODE "node0", &b), 0);
    EXPECT_EQ(a.st_ino, b.st_ino);
}

TEST(cpu_caches)
{
    if (access(CPU "cpu0/cache/index0", F_OK) < 0)
        SKIP("the machine shows none");
    ASSERT_GT(slurp(CPU "cpu0/cache/index0/level"), 0);
    EXPECT_EQ(atoi(text), 1);
    ASSERT_GT(slurp(CPU "cpu0/cache/index0/coherency_line_size"), 0);
    EXPECT_EQ(atoi(text), 64);
    ASSERT_GT(slurp(CPU "cpu0/cache/index0/size"), 0);
    EXPECT_TRUE(strchr(text, 'K') != NULL);
}

TEST(kernel_max_is_above_what_is_possible)
{
    ASSERT_GT(slurp(CPU "possible"), 0);
    int possible = count_list(text);
    ASSERT_GT(slurp(CPU "kernel_max"), 0);
    EXPECT_GE(atoi(text) + 1, possible);
}

TEST(node_files)
{
    if (access(NODE "node0", F_OK) < 0)
        SKIP("no NUMA nodes");
    ASSERT_GT(slurp(NODE "online"), 0);
    EXPECT_GE(count_list(text), 1);
    ASSERT_GT(slurp(NODE "node0/cpulist"), 0);
    EXPECT_GE(count_list(text), 1);
    ASSERT_GT(slurp(NODE "node0/distance"), 0);
    EXPECT_EQ(atoi(text), 10);
    ASSERT_GT(slurp(NODE "node0/meminfo"), 0);
    EXPECT_TRUE(strstr(text, "Node 0 MemTotal:") != NULL);
}

TEST(huge_pages)
{
    if (access("/sys/kernel/mm/transparent_hugepage", F_OK) < 0)
        SKIP("the host's kernel has none");
    ASSERT_GT(slurp("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size"), 0);
    EXPECT_EQ(atoi(text), 2097152);
    ASSERT_GT(slurp("/sys/kernel/mm/transparent_hugepage/enabled"), 0);
    EXPECT_TRUE(strchr(text, '[') && strchr(text, ']'));
    ASSERT_GT(slurp("/sys/kernel/mm/transparent_hugepage/defrag"), 0);
    EXPECT_TRUE(strchr(text, '[') && strchr(text, ']'));
}

TEST(loopback_interface)
{
    ASSERT_GT(slurp("/sys/class/net/lo/mtu"), 0);
    EXPECT_EQ(atoi(text), 65536);
    ASSERT_GT(slurp("/sys/class/net/lo/address"), 0);
    EXPECT_STR(text, "00:00:00:00:00:00\n");
    ASSERT_GT(slurp("/sys/class/net/lo/type"), 0);
    EXPECT_EQ(atoi(text), 772);
    ASSERT_GT(slurp("/sys/class/net/lo/ifindex"), 0);
    EXPECT_EQ(atoi(text), 1);
    ASSERT_GT(slurp("/sys/class/net/lo/statistics/rx_bytes"), 0);
}

TEST(class_net_holds_links)
{
    struct stat st;
    char link[256] = "";
    ASSERT_EQ(lstat("/sys/class/net/lo", &st), 0);
    EXPECT_TRUE(S_ISLNK(st.st_mode));
    ASSERT_GT(readlink("/sys/class/net/lo", link, sizeof(link) - 1), 0);
    EXPECT_STR(link, "../../devices/virtual/net/lo");
    EXPECT_EQ(chdir("/sys/class/net/lo/subsystem"), 0);
    EXPECT_TRUE(getcwd(link, sizeof(link)) != NULL);
    EXPECT_STR(link, "/sys/class/net");
}

TEST(standard_directories)
{
    static const char *const names[] = {"block",    "bus", "class",  "dev",   "devices",
                                        "firmware", "fs",  "kernel", "module"};
    char path[64];
    struct stat st;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "/sys/%s", names[i]);
        ASSERT_EQ(stat(path, &st), 0);
        EXPECT_TRUE(S_ISDIR(st.st_mode));
        EXPECT_EQ(st.st_uid, 0);
    }
}

TEST(no_devices_inside)
{
    if (!harness_is_inside())
        SKIP("a whole machine has some");
    EXPECT_EQ(count_names("/sys/block", ""), 0);
    EXPECT_EQ(count_names("/sys/module", ""), 0);
    EXPECT_EQ(count_names("/sys/class/net", ""), 1);
    EXPECT_EQ(count_names(CPU, "cpu0"), 1);
}

TEST(nothing_can_be_changed)
{
    EXPECT_TRUE(mkdir("/sys/x", 0755) < 0);
    EXPECT_TRUE(open("/sys/x", O_WRONLY | O_CREAT, 0644) < 0);
    EXPECT_TRUE(unlink(CPU "online") < 0);
    EXPECT_TRUE(open(CPU "online", O_WRONLY) < 0 || geteuid() == 0);
    EXPECT_EQ(access(CPU "online", R_OK), 0);
}

TEST(writing_is_refused_inside)
{
    if (!harness_is_inside())
        SKIP("root may on a whole machine");
    int fd = open(CPU "online", O_WRONLY);
    EXPECT_TRUE(fd < 0 && (errno == EROFS || errno == EACCES));
    fd = open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDWR);
    EXPECT_TRUE(fd < 0 && (errno == EROFS || errno == EACCES));
    EXPECT_TRUE(access(CPU "online", W_OK) < 0);
}

TEST(read_in_pieces)
{
    char pieces[256] = "";
    size_t done = 0;
    ASSERT_GT(slurp("/sys/class/net/lo/address"), 0);
    int fd = open("/sys/class/net/lo/address", O_RDONLY);
    for (ssize_t n; (n = read(fd, pieces + done, 3)) > 0;)
        done += (size_t)n;
    EXPECT_STR(pieces, text);
    char c;
    EXPECT_EQ(pread(fd, &c, 1, 1000), 0);
    EXPECT_EQ(pread(fd, &c, 1, 2), 1);
    EXPECT_EQ(c, ':');
}

TEST(names_stay_what_they_are)
{
    struct stat a, b;
    ASSERT_EQ(stat(CPU "online", &a), 0);
    ASSERT_EQ(stat(CPU "online", &b), 0);
    EXPECT_EQ(a.st_ino, b.st_ino);
    EXPECT_EQ(a.st_mode & S_IFMT, S_IFREG);
    ASSERT_EQ(stat(CPU "possible", &b), 0);
    EXPECT_TRUE(a.st_ino != b.st_ino);
    EXPECT_EQ(a.st_dev, b.st_dev);
    EXPECT_ERRNO(open(CPU "online/x", O_RDONLY), ENOTDIR);
    EXPECT_ERRNO(open(CPU "nonsense", O_RDONLY), ENOENT);
}

/* ---- the limits, as container tools put them ---- */

static void need_cgroup(void)
{
    struct statfs st;
    if (statfs("/sys/fs/cgroup", &st) < 0 || st.f_type != CGROUP2_SUPER_MAGIC)
        SKIP("no unified hierarchy here");
    if (!harness_is_inside())
        SKIP("the root group of a whole machine has no limits");
}

TEST(cgroup_directory_is_there)
{
    struct stat st;
    if (stat("/sys/fs/cgroup", &st) < 0)
        SKIP("no control groups here");
    EXPECT_TRUE(S_ISDIR(st.st_mode));
}

TEST(cgroup_memory_max_is_the_memory)
{
    struct sysinfo s;
    need_cgroup();
    ASSERT_EQ(sysinfo(&s), 0);
    ASSERT_GT(slurp("/sys/fs/cgroup/memory.max"), 0);
    EXPECT_EQ(strtoull(text, NULL, 10) / 4096, s.totalram * s.mem_unit / 4096);
    ASSERT_GT(slurp("/sys/fs/cgroup/memory.current"), 0);
    EXPECT_GT(strtoull(text, NULL, 10), 0);
    ASSERT_GT(slurp("/sys/fs/cgroup/memory.stat"), 0);
    EXPECT_TRUE(!strncmp(text, "anon ", 5));
}

TEST(cgroup_cpu_max_is_the_cpus)
{
    long quota, period;
    need_cgroup();
    ASSERT_GT(slurp("/sys/fs/cgroup/cpu.max"), 0);
    ASSERT_EQ(sscanf(text, "%ld %ld", &quota, &period), 2);
    EXPECT_EQ(quota / period, sysconf(_SC_NPROCESSORS_ONLN));
    ASSERT_GT(slurp("/sys/fs/cgroup/cpu.stat"), 0);
    EXPECT_TRUE(!strncmp(text, "usage_usec ", 11));
}

TEST(cgroup_pids)
{
    need_cgroup();
    ASSERT_GT(slurp("/sys/fs/cgroup/pids.max"), 0);
    EXPECT_GT(atoi(text), 10);
    ASSERT_GT(slurp("/sys/fs/cgroup/pids.current"), 0);
    EXPECT_GE(atoi(text), 2);
}

TEST(cgroup_procs_has_this_process)
{
    char pid[16];
    need_cgroup();
    snprintf(pid, sizeof(pid), "\n%d\n", getpid());
    ASSERT_GT(slurp("/sys/fs/cgroup/cgroup.procs"), 0);
    EXPECT_TRUE(strstr(text, pid) != NULL);
    ASSERT_GT(slurp("/sys/fs/cgroup/cgroup.controllers"), 0);
    EXPECT_TRUE(strstr(text, "memory") != NULL);
}

TEST(cgroup_cannot_be_changed)
{
    need_cgroup();
    EXPECT_TRUE(mkdir("/sys/fs/cgroup/x", 0755) < 0);
    EXPECT_TRUE(open("/sys/fs/cgroup/memory.max", O_WRONLY) < 0);
    EXPECT_TRUE(open("/sys/fs/cgroup/cgroup.procs", O_WRONLY) < 0);
}
