// SPDX-License-Identifier: Apache-2.0
/* /proc: limits, scores, those that are gone, and what is of the whole sandbox. */
#include "tests/sys/procfs_support.h"

#include <poll.h>
#include <sys/epoll.h>

/* ---- limits, scores, cgroup ---- */

TEST(limits_follow_setrlimit)
{
    struct rlimit l = {.rlim_cur = 100, .rlim_max = 200};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &l), 0);
    ASSERT_GT(slurp("/proc/self/limits"), 0);
    EXPECT_TRUE(strstr(text, "Limit                     Soft Limit           Hard Limit           "
                             "Units     \n") == text);
    EXPECT_TRUE(strstr(text, "Max open files            100                  200                  "
                             "files     \n") != NULL);
}

static int write_text(const char *path, const char *data)
{
    int fd = open(path, O_WRONLY);
    if (fd < 0)
        return -1;
    int r = write(fd, data, strlen(data)) == (ssize_t)strlen(data) ? 0 : -1;
    int error = errno;
    close(fd);
    errno = error;
    return r;
}

TEST(oom_score_adj_can_be_raised)
{
    ASSERT_EQ(write_text("/proc/self/oom_score_adj", "500"), 0);
    ASSERT_GT(slurp("/proc/self/oom_score_adj"), 0);
    EXPECT_STR(text, "500\n");
    ASSERT_EQ(write_text("/proc/self/oom_score_adj", "1000\n"), 0);
    ASSERT_GT(slurp("/proc/self/oom_adj"), 0);
    EXPECT_STR(text, "15\n");
    ASSERT_GT(slurp("/proc/self/oom_score"), 0);
    EXPECT_GE(atoi(text), 1000);
}

TEST(oom_score_adj_bad_values)
{
    EXPECT_ERRNO(write_text("/proc/self/oom_score_adj", "1001"), EINVAL);
    EXPECT_ERRNO(write_text("/proc/self/oom_score_adj", "-1001"), EINVAL);
    EXPECT_ERRNO(write_text("/proc/self/oom_score_adj", "x"), EINVAL);
    EXPECT_ERRNO(write_text("/proc/self/oom_score_adj", "99999999999999999999"), ERANGE);
}

TEST(oom_score_adj_cannot_be_lowered_by_users)
{
    if (geteuid() == 0)
        SKIP("root may");
    EXPECT_ERRNO(write_text("/proc/self/oom_score_adj", "-1"), EACCES);
}

TEST(oom_score_adj_is_inherited)
{
    ASSERT_EQ(write_text("/proc/self/oom_score_adj", "77"), 0);
    pid_t pid = start_sleeper();
    ASSERT_GT(slurp_of(pid, "oom_score_adj"), 0);
    EXPECT_STR(text, "77\n");
    end_child(pid);
}

TEST(cgroup_has_a_unified_entry)
{
    ASSERT_GT(slurp("/proc/self/cgroup"), 0);
    EXPECT_TRUE(strstr(text, "0::/") != NULL);
}

TEST(id_maps_are_whole)
{
    unsigned inside, outside, count;
    ASSERT_GT(slurp("/proc/self/uid_map"), 0);
    ASSERT_EQ(sscanf(text, "%u %u %u", &inside, &outside, &count), 3);
    EXPECT_EQ(inside, 0);
    EXPECT_GT(slurp("/proc/self/setgroups"), 0);
}

TEST(small_files_of_a_process)
{
    static const char *const names[] = {"loginuid",      "sessionid",       "schedstat",
                                        "timerslack_ns", "coredump_filter", "wchan",
                                        "mounts",        "mountinfo",       "oom_adj"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        EXPECT_GT(slurp_of(getpid(), names[i]), 0);
    ASSERT_GT(slurp("/proc/self/personality"), 0);
    EXPECT_STR(text, "00000000\n");
}

TEST(children_are_listed)
{
    char path[64], expected[32];
    pid_t pid = start_sleeper();
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
    if (access(path, F_OK) < 0)
        SKIP("the host's kernel has no such file");
    ASSERT_GT(slurp(path), 0);
    snprintf(expected, sizeof(expected), "%d ", pid);
    EXPECT_STR(text, expected);
    end_child(pid);
}

/* ---- zombies and processes that are gone ---- */

TEST(zombie_is_shown)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(3);
    wait_for_zombie(pid);
    char name[16];
    snprintf(name, sizeof(name), "%d", pid);
    EXPECT_TRUE(is_listed("/proc", name));
    ASSERT_GT(slurp_of(pid, "stat"), 0);
    EXPECT_EQ(stat_field(3), 'Z');
    EXPECT_EQ(stat_field(4), getpid());
    EXPECT_EQ(stat_field(52), 3 << 8);
    EXPECT_EQ(stat_field(24), 0);
    ASSERT_GT(slurp_of(pid, "status"), 0);
    EXPECT_TRUE(!strncmp(value_of("State"), "Z (zombie)", 10));
    EXPECT_TRUE(value_of("VmRSS") == NULL);
    EXPECT_EQ(number_of("Uid"), getuid());
    waitpid(pid, NULL, 0);
}

/* While it ends, too; and a zombie is one that can be waited for. */
TEST(process_is_there_until_it_was_waited_for)
{
    static const char *const files[] = {"stat", "status", "statm", "cmdline"};
    for (int i = 0; i < 3000; i++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(0);
        do {
            for (size_t k = 1; k < sizeof(files) / sizeof(files[0]); k++)
                ASSERT_GE(slurp_of(pid, files[k]), 0);
            ASSERT_GT(slurp_of(pid, "stat"), 0);
        } while (stat_field(3) != 'Z');
        ASSERT_EQ(waitpid(pid, NULL, WNOHANG), pid);
    }
}

TEST(zombie_has_no_memory_and_no_files)
{
    char path[64], link[64];
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    wait_for_zombie(pid);
    EXPECT_EQ(slurp_of(pid, "cmdline"), 0);
    EXPECT_EQ(slurp_of(pid, "statm"), 14);
    EXPECT_STR(text, "0 0 0 0 0 0 0\n");
    snprintf(path, sizeof(path), "/proc/%d/exe", pid);
    EXPECT_TRUE(readlink(path, link, sizeof(link)) < 0);
    snprintf(path, sizeof(path), "/proc/%d/fd/0", pid);
    EXPECT_TRUE(readlink(path, link, sizeof(link)) < 0);
    snprintf(path, sizeof(path), "/proc/%d/mounts", pid);
    EXPECT_ERRNO(open(path, O_RDONLY) < 0 ? -1 : slurp(path), EINVAL);
    waitpid(pid, NULL, 0);
}

TEST(open_files_of_a_process_that_is_gone)
{
    char path[64], c;
    pid_t pid = start_sleeper();
    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    int status = open(path, O_RDONLY);
    snprintf(path, sizeof(path), "/proc/%d", pid);
    int directory = open(path, O_RDONLY | O_DIRECTORY);
    ASSERT_GE(status, 0);
    ASSERT_GE(directory, 0);
    end_child(pid);
    EXPECT_ERRNO(read(status, &c, 1), ESRCH);
    EXPECT_ERRNO(openat(directory, "status", O_RDONLY) < 0 ? -1 : 0,
                 errno == ESRCH ? ESRCH : ENOENT);
    EXPECT_ERRNO(access(path, F_OK), ENOENT);
    EXPECT_ERRNO(syscall(SYS_getdents64, directory, text, sizeof(text)), ENOENT);
}

/* ---- other users ---- */

static void as_nobody(void (*run)(pid_t), pid_t pid)
{
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        if (setgid(65534) < 0 || setuid(65534) < 0)
            _exit(1);
        run(pid);
        harness_end_case();
    }
    int status;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

static void look_from_outside(pid_t pid)
{
    char path[64], link[64];
    static const char *const closed[] = {"environ", "maps", "smaps", "auxv", "fd", "io", "mem"};
    for (size_t i = 0; i < sizeof(closed) / sizeof(closed[0]); i++) {
        snprintf(path, sizeof(path), "/proc/%d/%s", pid, closed[i]);
        int fd = open(path, O_RDONLY);
        EXPECT_TRUE(fd < 0 && errno == EACCES);
    }
    snprintf(path, sizeof(path), "/proc/%d/exe", pid);
    EXPECT_ERRNO(readlink(path, link, sizeof(link)), EACCES);
    snprintf(path, sizeof(path), "/proc/%d/cwd", pid);
    EXPECT_ERRNO(readlink(path, link, sizeof(link)), EACCES);
    EXPECT_GT(slurp_of(pid, "stat"), 0);
    EXPECT_EQ(stat_field(48), 0);
    EXPECT_EQ(stat_field(51), 0);
    EXPECT_GT(slurp_of(pid, "status"), 0);
    EXPECT_GT(slurp_of(pid, "cmdline"), 0);
}

TEST(other_users_see_little)
{
    if (geteuid() != 0)
        SKIP("needs a second user");
    pid_t pid = start_sleeper();
    as_nobody(look_from_outside, pid);
    end_child(pid);
}

TEST(user_sees_little_of_the_first_process)
{
    struct stat st;
    ASSERT_EQ(stat("/proc/1", &st), 0);
    if (geteuid() == 0 || st.st_uid == geteuid())
        SKIP("it is ours");
    look_from_outside(1);
}

TEST(directories_belong_to_the_process)
{
    struct stat st;
    ASSERT_EQ(stat("/proc/self", &st), 0);
    EXPECT_EQ(st.st_uid, geteuid());
    EXPECT_EQ(st.st_gid, getegid());
    ASSERT_EQ(stat("/proc/self/environ", &st), 0);
    EXPECT_EQ(st.st_uid, geteuid());
    EXPECT_EQ(st.st_mode, S_IFREG | 0400);
    ASSERT_EQ(stat("/proc/self/fd", &st), 0);
    EXPECT_EQ(st.st_mode, S_IFDIR | 0500);
}

TEST(modes_cannot_be_changed)
{
    EXPECT_ERRNO(chmod("/proc/self/environ", 0644), EPERM);
    EXPECT_ERRNO(chmod("/proc/self", 0777), EPERM);
}

/* ---- mounts ---- */

TEST(mounts_name_the_root_and_proc)
{
    bool root = false, proc = false;
    char source[256], target[256], type[64], options[1024];
    FILE *f = fopen("/proc/mounts", "r");
    ASSERT_TRUE(f != NULL);
    while (fscanf(f, "%255s %255s %63s %1023s %*d %*d", source, target, type, options) == 4) {
        root |= !strcmp(target, "/");
        proc |= !strcmp(target, "/proc") && !strcmp(type, "proc");
        EXPECT_TRUE(!strncmp(options, "rw", 2) || !strncmp(options, "ro", 2));
    }
    fclose(f);
    EXPECT_TRUE(root);
    EXPECT_TRUE(proc);
}

TEST(mounts_can_be_watched)
{
    static const char *const names[] = {"/proc/self/mounts", "/proc/self/mountinfo"};
    int ep = epoll_create1(0);
    ASSERT_GE(ep, 0);
    for (int i = 0; i < 2; i++) {
        struct epoll_event event = {.events = EPOLLIN | EPOLLPRI | EPOLLERR}, told = {0};
        struct pollfd p = {.fd = open(names[i], O_RDONLY), .events = POLLIN | POLLOUT | POLLPRI};
        ASSERT_GE(p.fd, 0);
        EXPECT_EQ(poll(&p, 1, 0), 1);
        EXPECT_EQ(p.revents, POLLIN);
        EXPECT_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, p.fd, &event), 0);
        EXPECT_EQ(epoll_wait(ep, &told, 1, 0), 1);
        EXPECT_EQ(told.events, EPOLLIN);
        close(p.fd);
    }
}

TEST(mountinfo_lines_are_well_formed)
{
    int lines = 0;
    bool found = false;
    struct stat st;
    ASSERT_EQ(stat("/proc", &st), 0);
    ASSERT_GT(slurp("/proc/self/mountinfo"), 0);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), lines++) {
        int id, parent;
        unsigned major_number, minor_number;
        char root[1024], point[1024], options[1024];
        ASSERT_EQ(sscanf(line, "%d %d %u:%u %1023s %1023s %1023s", &id, &parent, &major_number,
                         &minor_number, root, point, options),
                  7);
        EXPECT_TRUE(strstr(line, " - ") != NULL);
        if (!strcmp(point, "/proc") && makedev(major_number, minor_number) == st.st_dev)
            found = true;
    }
    EXPECT_GT(lines, 1);
    EXPECT_TRUE(found);
}

/* ---- the machine ---- */

TEST(cpuinfo_has_all_processors)
{
    int processors = 0;
    ASSERT_GT(slurp("/proc/cpuinfo"), 0);
    for (const char *at = text; (at = strstr(at, "processor\t: ")); at++)
        processors++;
    EXPECT_EQ(processors, sysconf(_SC_NPROCESSORS_ONLN));
    EXPECT_TRUE(strstr(text, "model name\t: ") != NULL);
    EXPECT_TRUE(strstr(text, " sse2 ") != NULL);
}

TEST(meminfo_agrees_with_sysinfo)
{
    struct sysinfo s;
    ASSERT_EQ(sysinfo(&s), 0);
    ASSERT_GT(slurp("/proc/meminfo"), 0);
    EXPECT_EQ(number_of("MemTotal"), (long long)(s.totalram * s.mem_unit / 1024));
    EXPECT_GT(number_of("MemFree"), 0);
    EXPECT_LE(number_of("MemFree"), number_of("MemTotal"));
    EXPECT_LE(number_of("MemAvailable"), number_of("MemTotal"));
    EXPECT_GE(number_of("SwapTotal"), 0);
    EXPECT_EQ(number_of("Hugepagesize"), 2048);
}

/* By which programs take them apart. */
TEST(meminfo_has_blanks_between_names_and_numbers)
{
    ASSERT_GT(slurp("/proc/meminfo"), 0);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        const char *colon = strchr(line, ':');
        ASSERT_TRUE(colon != NULL);
        if (colon[1] != ' ' || !strchr("0123456789", colon[1 + strspn(colon + 1, " ")]))
            EXPECT_STR(line, "NAME: NUMBER");
    }
}

TEST(system_stat_counts_cpus)
{
    int cpus = 0;
    ASSERT_GT(slurp("/proc/stat"), 0);
    EXPECT_TRUE(!strncmp(text, "cpu  ", 5));
    for (const char *at = text; (at = strstr(at, "\ncpu")); at++)
        cpus++;
    EXPECT_EQ(cpus, sysconf(_SC_NPROCESSORS_ONLN));
    const char *boot = strstr(text, "\nbtime ");
    ASSERT_TRUE(boot != NULL);
    long long boot_time = atoll(boot + 7);
    ASSERT_GT(slurp("/proc/uptime"), 0);
    EXPECT_LE(llabs(boot_time + (long long)atof(text) - (long long)time(NULL)), 2);
}

TEST(system_stat_never_goes_back)
{
    unsigned long long user[2], nice_time, system_time[2];
    for (int i = 0; i < 2; i++) {
        ASSERT_GT(slurp("/proc/stat"), 0);
        ASSERT_EQ(sscanf(text, "cpu %llu %llu %llu", &user[i], &nice_time, &system_time[i]), 3);
        end_child(start_sleeper());
        usleep(300000);
    }
    EXPECT_GE(user[1], user[0]);
    EXPECT_GE(system_time[1], system_time[0]);
}

TEST(loadavg_form)
{
    double load[3];
    int running, total, last;
    ASSERT_GT(slurp("/proc/loadavg"), 0);
    ASSERT_EQ(
        sscanf(text, "%lf %lf %lf %d/%d %d", &load[0], &load[1], &load[2], &running, &total, &last),
        6);
    EXPECT_GE(running, 1);
    EXPECT_GE(total, running);
    EXPECT_GE(last, 1);
}

TEST(version_agrees_with_uname)
{
    struct utsname u;
    char expected[256];
    ASSERT_EQ(uname(&u), 0);
    ASSERT_GT(slurp("/proc/version"), 0);
    snprintf(expected, sizeof(expected), "Linux version %s ", u.release);
    EXPECT_TRUE(!strncmp(text, expected, strlen(expected)));
    ASSERT_GT(slurp("/proc/sys/kernel/osrelease"), 0);
    text[strcspn(text, "\n")] = '\0';
    EXPECT_STR(text, u.release);
    ASSERT_GT(slurp("/proc/sys/kernel/ostype"), 0);
    EXPECT_STR(text, "Linux\n");
    ASSERT_GT(slurp("/proc/sys/kernel/hostname"), 0);
    text[strcspn(text, "\n")] = '\0';
    EXPECT_STR(text, u.nodename);
}

TEST(machine_files_are_there)
{
    static const char *const names[] = {"filesystems",  "devices",   "swaps",    "vmstat",
                                        "cgroups",      "cmdline",   "loadavg",  "uptime",
                                        "version",      "net/tcp",   "net/dev",  "net/unix",
                                        "net/udp",      "net/route", "net/snmp", "net/sockstat",
                                        "net/if_inet6", "net/raw",   "net/arp"};
    char path[64];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "/proc/%s", names[i]);
        EXPECT_GT(slurp(path), 0);
    }
    EXPECT_GE(slurp("/proc/locks"), 0);
    EXPECT_GE(slurp("/proc/diskstats"), 0);
    ASSERT_GT(slurp("/proc/filesystems"), 0);
    EXPECT_TRUE(strstr(text, "nodev\tproc\n") != NULL);
    EXPECT_TRUE(strstr(text, "nodev\ttmpfs\n") != NULL);
}

TEST(net_unix_shows_a_listener)
{
    struct stat st;
    char expected[64];
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    struct {
        sa_family_t family;
        char path[20];
    } address = {AF_UNIX, "\0procfs test"};
    ASSERT_EQ(bind(s, (struct sockaddr *)&address, 2 + 12), 0);
    ASSERT_EQ(listen(s, 1), 0);
    ASSERT_EQ(fstat(s, &st), 0);
    ASSERT_GT(slurp("/proc/net/unix"), 0);
    snprintf(expected, sizeof(expected), " 00010000 0001 01 %5lu @procfs test\n",
             (unsigned long)st.st_ino);
    EXPECT_TRUE(strstr(text, expected) != NULL);
}

/* ---- sys ---- */

static long long sysctl_number(const char *name)
{
    char path[128];
    snprintf(path, sizeof(path), "/proc/sys/%s", name);
    return slurp(path) > 0 ? atoll(text) : -1;
}

TEST(sysctl_values)
{
    EXPECT_EQ(sysctl_number("kernel/cap_last_cap"), 40);
    EXPECT_GE(sysctl_number("kernel/pid_max"), 32768);
    EXPECT_GE(sysctl_number("kernel/ngroups_max"), 64);
    EXPECT_EQ(sysctl_number("kernel/ngroups_max"), sysconf(_SC_NGROUPS_MAX));
    EXPECT_GT(sysctl_number("kernel/threads-max"), 100);
    EXPECT_EQ(sysctl_number("kernel/overflowuid"), 65534);
    EXPECT_GE(sysctl_number("kernel/randomize_va_space"), 0);
    EXPECT_GE(sysctl_number("vm/max_map_count"), 65530);
    EXPECT_GE(sysctl_number("vm/overcommit_memory"), 0);
    EXPECT_GE(sysctl_number("vm/mmap_min_addr"), 0);
    EXPECT_GT(sysctl_number("fs/file-max"), 1000);
    EXPECT_GT(sysctl_number("fs/nr_open"), 1000);
    EXPECT_GE(sysctl_number("fs/pipe-max-size"), 65536);
    EXPECT_GT(sysctl_number("fs/inotify/max_user_watches"), 100);
    EXPECT_GE(sysctl_number("net/core/somaxconn"), 128);
    EXPECT_GT(sysctl_number("net/ipv4/ip_local_port_range"), 1023);
    EXPECT_GT(sysctl_number("fs/file-nr"), 0);
}

TEST(sysctl_uuid_differs_and_boot_id_stays)
{
    char a[64], b[64];
    ASSERT_EQ(slurp("/proc/sys/kernel/random/uuid"), 37);
    memcpy(a, text, 38);
    ASSERT_EQ(slurp("/proc/sys/kernel/random/uuid"), 37);
    EXPECT_TRUE(strcmp(a, text) != 0);
    EXPECT_EQ(text[14], '4');
    ASSERT_EQ(slurp("/proc/sys/kernel/random/boot_id"), 37);
    memcpy(b, text, 38);
    ASSERT_EQ(slurp("/proc/sys/kernel/random/boot_id"), 37);
    EXPECT_STR(text, b);
    for (int i = 0; i < 36; i++)
        EXPECT_TRUE(i == 8 || i == 13 || i == 18 || i == 23 ? text[i] == '-'
                                                            : isxdigit((unsigned char)text[i]));
}

TEST(sysctl_cannot_be_written_by_users)
{
    if (geteuid() == 0)
        SKIP("root may on some machines");
    EXPECT_ERRNO(open("/proc/sys/kernel/hostname", O_WRONLY), EACCES);
    EXPECT_ERRNO(open("/proc/sys/kernel/core_pattern", O_WRONLY), EACCES);
    EXPECT_ERRNO(open("/proc/sys/vm/overcommit_memory", O_RDWR), EACCES);
}

TEST(dangerous_files_are_absent)
{
    static const char *const names[] = {"sysrq-trigger",     "kcore", "kmsg",
                                        "kallsyms",          "keys",  "sys/fs/binfmt_misc/register",
                                        "sys/vm/drop_caches"};
    char path[64];
    if (!harness_is_inside())
        SKIP("a whole machine has them");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "/proc/%s", names[i]);
        EXPECT_ERRNO(access(path, F_OK), ENOENT);
    }
}
