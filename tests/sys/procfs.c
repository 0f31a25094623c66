// SPDX-License-Identifier: Apache-2.0
/*
 * /proc as programs use it: proc(5). What is asked of a process is asked of this one or its
 * children.
 */
#include "tests/harness/harness.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

static char text[1 << 20];

/* The whole file into `text`, NUL-terminated: size, or -1. */
static ssize_t slurp(const char *path)
{
    int fd = open(path, O_RDONLY);
    size_t done = 0;
    ssize_t n = -1;
    if (fd < 0)
        return -1;
    while (done < sizeof(text) - 1 && (n = read(fd, text + done, sizeof(text) - 1 - done)) > 0)
        done += (size_t)n;
    int error = errno;
    close(fd);
    errno = error;
    text[done] = '\0';
    return n < 0 ? -1 : (ssize_t)done;
}

static ssize_t slurp_of(pid_t pid, const char *name)
{
    char path[128];
    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    return slurp(path);
}

/* Field n (from 1) of a stat line in `text`; the name counts as field 2. */
static long long stat_field(int n)
{
    char *at = strrchr(text, ')');
    if (!at)
        return -1;
    at += 2;
    for (int i = 3; i < n; i++) {
        at = strchr(at, ' ');
        if (!at)
            return -1;
        at++;
    }
    return n == 3 ? *at : strtoll(at, NULL, 10);
}

/* What follows "key:" at the start of a line of `text`; NULL: there is none. */
static const char *value_of(const char *key)
{
    size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, key, length) && line[length] == ':')
            return line + length + 1 + strspn(line + length + 1, " \t");
    }
    return NULL;
}

static long long number_of(const char *key)
{
    const char *value = value_of(key);
    return value ? strtoll(value, NULL, 10) : -1;
}

static bool is_listed(const char *directory, const char *name)
{
    DIR *d = opendir(directory);
    bool found = false;
    for (struct dirent *e; d && (e = readdir(d));)
        found |= !strcmp(e->d_name, name);
    if (d)
        closedir(d);
    return found;
}

/* A child that sleeps until it is killed. */
static pid_t start_sleeper(void)
{
    int ready[2];
    char c;
    if (pipe(ready) < 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(ready[1]);
    if (read(ready[0], &c, 1) != 1)
        pid = -1;
    close(ready[0]);
    return pid;
}

static void end_child(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void wait_for_zombie(pid_t pid)
{
    siginfo_t info;
    ASSERT_EQ(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

/* ---- self ---- */

TEST(self_is_this_process)
{
    char link[64] = "", pid[16];
    snprintf(pid, sizeof(pid), "%d", getpid());
    ASSERT_GT(readlink("/proc/self", link, sizeof(link) - 1), 0);
    EXPECT_STR(link, pid);
}

TEST(self_is_who_looks)
{
    pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
        char link[64] = "";
        ssize_t n = readlink("/proc/self", link, sizeof(link) - 1);
        _exit(n > 0 && atoi(link) == getpid() ? 0 : 1);
    }
    int status;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
}

static void *compare_thread_self(void *ret)
{
    char link[64] = "", expected[64];
    snprintf(expected, sizeof(expected), "%d/task/%ld", getpid(), syscall(SYS_gettid));
    ssize_t n = readlink("/proc/thread-self", link, sizeof(link) - 1);
    *(bool *)ret = n > 0 && !strcmp(link, expected);
    return NULL;
}

TEST(thread_self_is_this_thread)
{
    bool same = false;
    pthread_t t;
    ASSERT_EQ(pthread_create(&t, NULL, compare_thread_self, &same), 0);
    pthread_join(t, NULL);
    EXPECT_TRUE(same);
    same = false;
    compare_thread_self(&same);
    EXPECT_TRUE(same);
}

TEST(proc_is_a_proc)
{
    struct statfs st;
    struct stat s;
    ASSERT_EQ(statfs("/proc", &st), 0);
    EXPECT_EQ(st.f_type, PROC_SUPER_MAGIC);
    ASSERT_EQ(stat("/proc", &s), 0);
    EXPECT_EQ(s.st_ino, 1);
    EXPECT_TRUE(S_ISDIR(s.st_mode));
    EXPECT_EQ(s.st_mode & 07777, 0555);
}

/* ---- names ---- */

TEST(unknown_names_are_not_there)
{
    EXPECT_ERRNO(open("/proc/nonsense", O_RDONLY), ENOENT);
    EXPECT_ERRNO(open("/proc/self/nonsense", O_RDONLY), ENOENT);
    EXPECT_ERRNO(open("/proc/sys/kernel/nonsense", O_RDONLY), ENOENT);
    EXPECT_ERRNO(open("/proc/4194304999", O_RDONLY), ENOENT);
    EXPECT_ERRNO(open("/proc/0", O_RDONLY), ENOENT);
    EXPECT_ERRNO(open("/proc/-1", O_RDONLY), ENOENT);
    EXPECT_ERRNO(open("/proc/stat/x", O_RDONLY), ENOTDIR);
}

TEST(pid_with_leading_zero_is_not_there)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/0%d", getpid());
    EXPECT_ERRNO(open(path, O_RDONLY), ENOENT);
}

TEST(nothing_can_be_made_or_removed)
{
    EXPECT_TRUE(mkdir("/proc/x", 0755) < 0);
    EXPECT_TRUE(open("/proc/x", O_WRONLY | O_CREAT, 0644) < 0);
    EXPECT_TRUE(unlink("/proc/stat") < 0);
    EXPECT_TRUE(rmdir("/proc/self/fd") < 0);
    EXPECT_TRUE(rename("/proc/stat", "/proc/tats") < 0);
    EXPECT_TRUE(symlink("x", "/proc/y") < 0);
    EXPECT_TRUE(access("/proc/stat", F_OK) == 0);
}

TEST(processes_are_listed)
{
    char pid[16];
    snprintf(pid, sizeof(pid), "%d", getpid());
    EXPECT_TRUE(is_listed("/proc", pid));
    EXPECT_TRUE(is_listed("/proc", "self"));
    EXPECT_TRUE(is_listed("/proc", "meminfo"));
    EXPECT_TRUE(is_listed("/proc", "1"));
    EXPECT_TRUE(is_listed("/proc", "."));
    EXPECT_TRUE(is_listed("/proc", ".."));
}

TEST(child_is_listed_at_once)
{
    int hold[2];
    char name[16], c;
    ASSERT_EQ(pipe(hold), 0);
    pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
        close(hold[1]);
        _exit(read(hold[0], &c, 1) == 0 ? 0 : 1);
    }
    snprintf(name, sizeof(name), "%d", pid);
    EXPECT_TRUE(is_listed("/proc", name));
    close(hold[1]);
    waitpid(pid, NULL, 0);
    EXPECT_TRUE(!is_listed("/proc", name));
}

TEST(pids_are_listed_in_order_and_once)
{
    pid_t children[8];
    for (int i = 0; i < 8; i++)
        children[i] = start_sleeper();
    DIR *d = opendir("/proc");
    ASSERT_TRUE(d != NULL);
    long last = 0;
    int seen = 0;
    for (struct dirent *e; (e = readdir(d));) {
        if (!isdigit((unsigned char)e->d_name[0]))
            continue;
        long pid = atol(e->d_name);
        EXPECT_GT(pid, last);
        EXPECT_EQ(e->d_type, DT_DIR);
        last = pid;
        for (int i = 0; i < 8; i++)
            seen += pid == children[i];
    }
    closedir(d);
    EXPECT_EQ(seen, 8);
    for (int i = 0; i < 8; i++)
        end_child(children[i]);
}

TEST(listing_goes_on_after_small_buffers)
{
    char buffer[128];
    int fd = open("/proc", O_RDONLY | O_DIRECTORY), names = 0, whole = 0;
    ASSERT_GE(fd, 0);
    for (long n; (n = syscall(SYS_getdents64, fd, buffer, sizeof(buffer))) > 0;)
        for (long at = 0; at < n; names++)
            at += ((struct dirent64 *)(buffer + at))->d_reclen;
    ASSERT_EQ(lseek(fd, 0, SEEK_SET), 0);
    for (long n; (n = syscall(SYS_getdents64, fd, text, sizeof(text))) > 0;)
        for (long at = 0; at < n; whole++)
            at += ((struct dirent64 *)(text + at))->d_reclen;
    EXPECT_GT(whole, 20);
    EXPECT_LE(abs(names - whole), 4); /* others may come and go */
}

TEST(listed_and_real_inode_numbers_agree)
{
    DIR *d = opendir("/proc/self");
    struct stat st;
    int compared = 0;
    ASSERT_TRUE(d != NULL);
    for (struct dirent *e; (e = readdir(d));) {
        if (strcmp(e->d_name, "status") && strcmp(e->d_name, "maps"))
            continue;
        ASSERT_EQ(fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW), 0);
        EXPECT_EQ(st.st_ino, e->d_ino);
        compared++;
    }
    closedir(d);
    EXPECT_EQ(compared, 2);
}

TEST(files_are_the_same_each_time)
{
    struct stat a, b;
    ASSERT_EQ(stat("/proc/meminfo", &a), 0);
    ASSERT_EQ(stat("/proc/meminfo", &b), 0);
    EXPECT_EQ(a.st_ino, b.st_ino);
    EXPECT_EQ(a.st_dev, b.st_dev);
    EXPECT_EQ(a.st_size, 0);
    EXPECT_EQ(a.st_mode, S_IFREG | 0444);
}

TEST(thread_number_leads_to_its_process)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%ld/status", syscall(SYS_gettid));
    ASSERT_GT(slurp(path), 0);
    EXPECT_EQ(number_of("Tgid"), getpid());
}

/* ---- reading ---- */

TEST(read_in_pieces_gives_the_whole)
{
    static char pieces[65536];
    size_t done = 0;
    ssize_t n;
    int fd = open("/proc/self/limits", O_RDONLY);
    ASSERT_GE(fd, 0);
    while (done < sizeof(pieces) - 1 && (n = read(fd, pieces + done, 7)) > 0)
        done += (size_t)n;
    pieces[done] = '\0';
    ASSERT_GT(slurp("/proc/self/limits"), 0);
    EXPECT_STR(pieces, text);
}

TEST(pread_in_the_middle)
{
    char part[16] = "";
    ASSERT_GT(slurp("/proc/version"), 20);
    int fd = open("/proc/version", O_RDONLY);
    EXPECT_EQ(pread(fd, part, 7, 6), 7);
    EXPECT_TRUE(!memcmp(part, text + 6, 7));
    EXPECT_EQ(lseek(fd, 0, SEEK_CUR), 0);
}

TEST(read_past_the_end_is_empty)
{
    char c;
    int fd = open("/proc/version", O_RDONLY);
    EXPECT_EQ(pread(fd, &c, 1, 100000), 0);
    EXPECT_EQ(lseek(fd, 100000, SEEK_SET), 100000);
    EXPECT_EQ(read(fd, &c, 1), 0);
}

TEST(rewind_reads_a_new_state)
{
    char a[64] = "", b[64] = "";
    int fd = open("/proc/uptime", O_RDONLY);
    ASSERT_GT(read(fd, a, sizeof(a) - 1), 0);
    usleep(30000);
    ASSERT_EQ(lseek(fd, 0, SEEK_SET), 0);
    ASSERT_GT(read(fd, b, sizeof(b) - 1), 0);
    EXPECT_TRUE(strcmp(a, b) != 0);
}

TEST(lseek_negative_is_refused)
{
    int fd = open("/proc/self/status", O_RDONLY);
    EXPECT_ERRNO(lseek(fd, -1, SEEK_SET), EINVAL);
    EXPECT_ERRNO(lseek(fd, 0, 77), EINVAL);
}

TEST(read_into_bad_memory)
{
    int fd = open("/proc/self/status", O_RDONLY);
    EXPECT_ERRNO(syscall(SYS_read, fd, 8L, 100), EFAULT);
}

TEST(read_of_a_directory)
{
    char c;
    int fd = open("/proc/self", O_RDONLY);
    EXPECT_ERRNO(read(fd, &c, 1), EISDIR);
}

TEST(files_cannot_be_mapped)
{
    int fd = open("/proc/self/status", O_RDONLY);
    EXPECT_TRUE(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED);
}

/* ---- stat, status, statm ---- */

TEST(stat_has_52_fields)
{
    int fields = 0;
    ASSERT_GT(slurp("/proc/self/stat"), 0);
    for (const char *at = strrchr(text, ')'); at && *at; at++)
        fields += *at == ' ';
    EXPECT_EQ(fields + 2, 52);
    EXPECT_EQ(atoi(text), getpid());
    EXPECT_EQ(stat_field(3), 'R');
    EXPECT_EQ(stat_field(4), getppid());
    EXPECT_EQ(stat_field(5), getpgrp());
    EXPECT_EQ(stat_field(6), getsid(0));
    EXPECT_EQ(stat_field(20), 1);
    EXPECT_GT(stat_field(23), 0);
    EXPECT_GT(stat_field(24), 0);
}

TEST(stat_start_time_is_near_uptime)
{
    ASSERT_GT(slurp("/proc/uptime"), 0);
    long long uptime = (long long)(atof(text) * 100);
    ASSERT_GT(slurp("/proc/self/stat"), 0);
    EXPECT_LE(stat_field(22), uptime + 100);
    EXPECT_GE(stat_field(22), uptime - 6000);
}

TEST(stat_shows_a_sleeping_child)
{
    pid_t pid = start_sleeper();
    ASSERT_GT(pid, 0);
    usleep(20000);
    ASSERT_GT(slurp_of(pid, "stat"), 0);
    EXPECT_EQ(stat_field(3), 'S');
    EXPECT_EQ(stat_field(4), getpid());
    end_child(pid);
}

TEST(stat_shows_a_stopped_child)
{
    pid_t pid = start_sleeper();
    int status;
    kill(pid, SIGSTOP);
    ASSERT_EQ(waitpid(pid, &status, WUNTRACED), pid);
    ASSERT_GT(slurp_of(pid, "stat"), 0);
    EXPECT_EQ(stat_field(3), 'T');
    ASSERT_GT(slurp_of(pid, "status"), 0);
    EXPECT_TRUE(!strncmp(value_of("State"), "T (stopped)", 11));
    end_child(pid);
}

TEST(stat_counts_cpu_time)
{
    volatile unsigned long x = 0;
    struct rusage u;
    do {
        for (int i = 0; i < 1000000; i++)
            x += (unsigned long)i;
        getrusage(RUSAGE_SELF, &u);
    } while (u.ru_utime.tv_sec == 0 && u.ru_utime.tv_usec < 60000);
    ASSERT_GT(slurp("/proc/self/stat"), 0);
    EXPECT_GE(stat_field(14) + stat_field(15), 4);
}

TEST(stat_name_with_parentheses)
{
    ASSERT_EQ(prctl(PR_SET_NAME, "a) R (b"), 0);
    ASSERT_GT(slurp("/proc/self/stat"), 0);
    EXPECT_TRUE(strstr(text, " (a) R (b) ") != NULL);
    EXPECT_EQ(stat_field(4), getppid());
}

TEST(status_names_who_it_is)
{
    umask(0027);
    ASSERT_GT(slurp("/proc/self/status"), 0);
    EXPECT_EQ(number_of("Tgid"), getpid());
    EXPECT_EQ(number_of("Pid"), getpid());
    EXPECT_EQ(number_of("PPid"), getppid());
    EXPECT_EQ(number_of("TracerPid"), 0);
    EXPECT_EQ(number_of("Uid"), getuid());
    EXPECT_EQ(number_of("Gid"), getgid());
    EXPECT_EQ(number_of("Threads"), 1);
    EXPECT_TRUE(!strncmp(value_of("Umask"), "0027\n", 5));
    EXPECT_TRUE(!strncmp(value_of("State"), "R (running)", 11));
    EXPECT_GT(number_of("FDSize"), 2);
}

TEST(status_counts_memory)
{
    size_t size = 16 << 20;
    ASSERT_GT(slurp("/proc/self/status"), 0);
    long long before = number_of("VmRSS");
    char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_TRUE(p != MAP_FAILED);
    memset(p, 1, size);
    ASSERT_GT(slurp("/proc/self/status"), 0);
    EXPECT_GE(number_of("VmRSS"), before + 15 * 1024);
    EXPECT_GE(number_of("VmHWM"), number_of("VmRSS"));
    EXPECT_GE(number_of("VmSize"), number_of("VmRSS"));
    EXPECT_GE(number_of("VmPeak"), number_of("VmSize"));
}

TEST(status_shows_signals)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGHUP, SIG_IGN);
    signal(SIGTERM, exit);
    kill(getpid(), SIGUSR2);
    ASSERT_GT(slurp("/proc/self/status"), 0);
    EXPECT_EQ(strtoull(value_of("SigBlk"), NULL, 16) & 0xa00, 0xa00);
    EXPECT_EQ(strtoull(value_of("SigIgn"), NULL, 16) & 0x1, 0x1);
    EXPECT_EQ(strtoull(value_of("SigCgt"), NULL, 16) & 0x4000, 0x4000);
    EXPECT_EQ(strtoull(value_of("ShdPnd"), NULL, 16), 0x800);
}

static void *wait_on_pipe(void *fd)
{
    char c;
    return read(*(int *)fd, &c, 1) == 1 ? NULL : fd;
}

TEST(threads_are_counted_and_listed)
{
    int hold[2], entries = 0;
    pthread_t threads[3];
    ASSERT_EQ(pipe(hold), 0);
    for (int i = 0; i < 3; i++)
        ASSERT_EQ(pthread_create(&threads[i], NULL, wait_on_pipe, &hold[0]), 0);
    ASSERT_GT(slurp("/proc/self/status"), 0);
    EXPECT_EQ(number_of("Threads"), 4);
    DIR *d = opendir("/proc/self/task");
    ASSERT_TRUE(d != NULL);
    for (struct dirent *e; (e = readdir(d));)
        entries += isdigit((unsigned char)e->d_name[0]) != 0;
    closedir(d);
    EXPECT_EQ(entries, 4);
    close(hold[1]);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

TEST(task_of_another_process_is_not_there)
{
    char path[64];
    pid_t pid = start_sleeper();
    snprintf(path, sizeof(path), "/proc/self/task/%d", pid);
    EXPECT_ERRNO(access(path, F_OK), ENOENT);
    end_child(pid);
}

TEST(statm_agrees_with_status)
{
    ASSERT_GT(slurp("/proc/self/statm"), 0);
    long pages[7];
    ASSERT_EQ(sscanf(text, "%ld %ld %ld %ld %ld %ld %ld", &pages[0], &pages[1], &pages[2],
                     &pages[3], &pages[4], &pages[5], &pages[6]),
              7);
    ASSERT_GT(slurp("/proc/self/status"), 0);
    EXPECT_LE(llabs(pages[0] * 4 - number_of("VmSize")), 64);
    EXPECT_EQ(pages[4], 0);
    EXPECT_EQ(pages[6], 0);
}

/* ---- command line, environment, name ---- */

TEST(cmdline_is_separated_by_zeros)
{
    pid_t pid = fork();
    int out[2];
    ASSERT_EQ(pipe(out), 0);
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    pid = fork();
    if (pid == 0) {
        dup2(out[1], 1);
        execlp("cat", "cat", "/proc/self/cmdline", "--", (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    ssize_t n = read(out[0], text, sizeof(text));
    waitpid(pid, NULL, 0);
    static const char expected[] = "cat\0/proc/self/cmdline\0--";
    ASSERT_EQ(n, (ssize_t)sizeof(expected));
    EXPECT_TRUE(!memcmp(text, expected, sizeof(expected)));
}

TEST(environ_is_that_of_exec)
{
    int out[2];
    ASSERT_EQ(pipe(out), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char *argv[] = {"cat", "/proc/self/environ", NULL}, *envp[] = {"A=1", "B=two", NULL};
        dup2(out[1], 1);
        execve("/bin/cat", argv, envp);
        _exit(127);
    }
    close(out[1]);
    ssize_t n = read(out[0], text, sizeof(text));
    waitpid(pid, NULL, 0);
    static const char expected[] = "A=1\0B=two";
    ASSERT_EQ(n, (ssize_t)sizeof(expected));
    EXPECT_TRUE(!memcmp(text, expected, sizeof(expected)));
}

TEST(script_shows_its_interpreter)
{
    int out[2];
    FILE *f = fopen("script", "w");
    ASSERT_TRUE(f != NULL);
    fputs("#!/bin/cat -u\n", f);
    fclose(f);
    ASSERT_EQ(chmod("script", 0755), 0);
    ASSERT_EQ(pipe(out), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(out[1], 1);
        execl("./script", "anything", "/proc/self/cmdline", (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    size_t done = 0;
    for (ssize_t n; (n = read(out[0], text + done, sizeof(text) - done)) > 0;)
        done += (size_t)n;
    waitpid(pid, NULL, 0);
    static const char expected[] = "#!/bin/cat -u\n/bin/cat\0-u\0./script\0/proc/self/cmdline";
    ASSERT_EQ(done, sizeof(expected));
    EXPECT_TRUE(!memcmp(text, expected, sizeof(expected)));
}

TEST(comm_follows_prctl)
{
    ASSERT_EQ(prctl(PR_SET_NAME, "new name"), 0);
    ASSERT_EQ(slurp("/proc/self/comm"), 9);
    EXPECT_STR(text, "new name\n");
    ASSERT_GT(slurp("/proc/self/status"), 0);
    EXPECT_TRUE(!strncmp(value_of("Name"), "new name\n", 9));
}

TEST(comm_can_be_written)
{
    char name[16];
    int fd = open("/proc/self/comm", O_WRONLY);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(write(fd, "0123456789abcdefghi", 19), 19);
    ASSERT_EQ(prctl(PR_GET_NAME, name), 0);
    EXPECT_STR(name, "0123456789abcde");
}

TEST(comm_of_another_process_is_not_ours)
{
    char path[64];
    pid_t pid = start_sleeper();
    snprintf(path, sizeof(path), "/proc/%d/comm", pid);
    int fd = open(path, O_WRONLY);
    ASSERT_GE(fd, 0);
    EXPECT_ERRNO(write(fd, "x", 1), EINVAL);
    end_child(pid);
}

/* ---- links ---- */

TEST(exe_is_the_program)
{
    struct stat a, b;
    char link[4096] = "";
    ASSERT_GT(readlink("/proc/self/exe", link, sizeof(link) - 1), 0);
    EXPECT_TRUE(link[0] == '/');
    ASSERT_EQ(stat("/proc/self/exe", &a), 0);
    ASSERT_EQ(stat(link, &b), 0);
    EXPECT_EQ(a.st_ino, b.st_ino);
    EXPECT_EQ(a.st_dev, b.st_dev);
    ASSERT_EQ(lstat("/proc/self/exe", &a), 0);
    EXPECT_EQ(a.st_mode, S_IFLNK | 0777);
}

TEST(exe_can_be_executed)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, 1);
        execl("/proc/self/exe", "self", "--list", (char *)NULL);
        _exit(127);
    }
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
}

TEST(exe_cannot_be_written)
{
    int fd = open("/proc/self/exe", O_RDWR);
    EXPECT_TRUE(fd < 0 && (errno == ETXTBSY || errno == EACCES || errno == EROFS));
}

TEST(cwd_follows_chdir)
{
    char link[4096] = "", cwd[4096];
    struct stat st;
    ASSERT_EQ(mkdir("sub", 0755), 0);
    ASSERT_EQ(chdir("sub"), 0);
    ASSERT_TRUE(getcwd(cwd, sizeof(cwd)) != NULL);
    ASSERT_GT(readlink("/proc/self/cwd", link, sizeof(link) - 1), 0);
    EXPECT_STR(link, cwd);
    ASSERT_EQ(rmdir("../sub"), 0);
    memset(link, 0, sizeof(link));
    ASSERT_GT(readlink("/proc/self/cwd", link, sizeof(link) - 1), 0);
    EXPECT_TRUE(strstr(link, "/sub (deleted)") != NULL);
    EXPECT_EQ(stat("/proc/self/cwd", &st), 0);
}

TEST(root_is_the_root)
{
    char link[64] = "";
    struct stat a, b;
    ASSERT_GT(readlink("/proc/self/root", link, sizeof(link) - 1), 0);
    EXPECT_STR(link, "/");
    ASSERT_EQ(stat("/proc/self/root/", &a), 0);
    ASSERT_EQ(stat("/", &b), 0);
    EXPECT_EQ(a.st_ino, b.st_ino);
}

/* ---- fd, fdinfo ---- */

static void fd_link(int fd, char *ret, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(path, ret, size - 1);
    ret[n > 0 ? n : 0] = '\0';
}

TEST(fd_link_of_a_file)
{
    char link[4096], cwd[2048], expected[4096];
    int fd = open("file", O_RDWR | O_CREAT, 0600);
    ASSERT_TRUE(getcwd(cwd, sizeof(cwd)) != NULL);
    fd_link(fd, link, sizeof(link));
    snprintf(expected, sizeof(expected), "%s/file", cwd);
    EXPECT_STR(link, expected);
    ASSERT_EQ(rename("file", "other"), 0);
    fd_link(fd, link, sizeof(link));
    snprintf(expected, sizeof(expected), "%s/other", cwd);
    EXPECT_STR(link, expected);
    ASSERT_EQ(unlink("other"), 0);
    fd_link(fd, link, sizeof(link));
    snprintf(expected, sizeof(expected), "%s/other (deleted)", cwd);
    EXPECT_STR(link, expected);
}

TEST(fd_link_of_anonymous_objects)
{
    char link[256], expected[256];
    struct stat st;
    int fds[2];
    ASSERT_EQ(pipe(fds), 0);
    ASSERT_EQ(fstat(fds[0], &st), 0);
    snprintf(expected, sizeof(expected), "pipe:[%lu]", (unsigned long)st.st_ino);
    fd_link(fds[0], link, sizeof(link));
    EXPECT_STR(link, expected);
    fd_link(fds[1], link, sizeof(link));
    EXPECT_STR(link, expected);
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    ASSERT_EQ(fstat(s, &st), 0);
    snprintf(expected, sizeof(expected), "socket:[%lu]", (unsigned long)st.st_ino);
    fd_link(s, link, sizeof(link));
    EXPECT_STR(link, expected);
    fd_link(eventfd(0, 0), link, sizeof(link));
    EXPECT_STR(link, "anon_inode:[eventfd]");
    fd_link(memfd_create("some name", 0), link, sizeof(link));
    EXPECT_STR(link, "/memfd:some name (deleted)");
}

TEST(fd_link_modes_tell_the_access)
{
    char path[64];
    struct stat st;
    static const struct {
        int flags;
        mode_t mode;
    } cases[] = {{O_RDONLY, 0500}, {O_WRONLY, 0300}, {O_RDWR, 0700}};
    for (int i = 0; i < 3; i++) {
        int fd = open("file", cases[i].flags | O_CREAT, 0600);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        ASSERT_EQ(lstat(path, &st), 0);
        EXPECT_EQ(st.st_mode, S_IFLNK | cases[i].mode);
        EXPECT_EQ(st.st_size, 64);
    }
}

TEST(fd_directory_lists_what_is_open)
{
    char name[16], path[64];
    int fd = open("file", O_RDWR | O_CREAT, 0600);
    snprintf(name, sizeof(name), "%d", fd);
    EXPECT_TRUE(is_listed("/proc/self/fd", name));
    EXPECT_TRUE(is_listed("/proc/self/fdinfo", name));
    close(fd);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    EXPECT_ERRNO(access(path, F_OK), ENOENT);
    EXPECT_ERRNO(open("/proc/self/fd/999", O_RDONLY), ENOENT);
    EXPECT_ERRNO(open("/proc/self/fd/01", O_RDONLY), ENOENT);
}

TEST(fd_directory_in_the_order_of_numbers)
{
    for (int i = 0; i < 40; i++)
        ASSERT_GE(open("/dev/null", O_RDONLY), 0);
    DIR *d = opendir("/proc/self/fd");
    ASSERT_TRUE(d != NULL);
    int last = -1, count = 0;
    for (struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] == '.')
            continue;
        EXPECT_GT(atoi(e->d_name), last);
        EXPECT_EQ(e->d_type, DT_LNK);
        last = atoi(e->d_name);
        count++;
    }
    EXPECT_GE(count, 40);
    closedir(d);
}

TEST(fd_reopens_the_object)
{
    char path[64], data[4] = "";
    int fd = open("file", O_RDWR | O_CREAT, 0600);
    ASSERT_EQ(write(fd, "abc", 3), 3);
    ASSERT_EQ(unlink("file"), 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int again = open(path, O_RDONLY);
    ASSERT_GE(again, 0);
    EXPECT_EQ(read(again, data, 3), 3); /* a position of its own */
    EXPECT_STR(data, "abc");
    EXPECT_ERRNO(write(again, "x", 1), EBADF);
}

TEST(fd_reopen_asks_for_permission)
{
    char path[64];
    if (geteuid() == 0)
        SKIP("root may open anything");
    int fd = open("file", O_RDONLY | O_CREAT, 0400);
    ASSERT_GE(fd, 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    EXPECT_ERRNO(open(path, O_RDWR), EACCES);
}

TEST(fd_reopens_a_pipe_end)
{
    int fds[2];
    char path[64], data[4] = "";
    ASSERT_EQ(pipe(fds), 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[0]);
    int writer = open(path, O_WRONLY); /* the other direction of the same pipe */
    ASSERT_GE(writer, 0);
    EXPECT_EQ(write(writer, "hey", 3), 3);
    EXPECT_EQ(read(fds[0], data, 3), 3);
    EXPECT_STR(data, "hey");
}

TEST(fd_of_a_socket_cannot_be_opened)
{
    char path[64];
    int fds[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[0]);
    EXPECT_ERRNO(open(path, O_RDWR), ENXIO);
}

TEST(fd_of_a_directory_is_a_way)
{
    char path[64];
    struct stat st;
    ASSERT_EQ(mkdir("d", 0755), 0);
    ASSERT_EQ(mkdir("d/e", 0755), 0);
    int fd = open("d", O_RDONLY | O_DIRECTORY);
    snprintf(path, sizeof(path), "/proc/self/fd/%d/e", fd);
    EXPECT_EQ(stat(path, &st), 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d/../d", fd);
    EXPECT_EQ(stat(path, &st), 0);
}

TEST(fd_link_with_nofollow)
{
    char path[64];
    int fd = open("file", O_RDWR | O_CREAT, 0600);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    EXPECT_ERRNO(open(path, O_RDONLY | O_NOFOLLOW), ELOOP);
    EXPECT_GE(open(path, O_PATH | O_NOFOLLOW), 0);
}

TEST(fdinfo_tells_position_and_flags)
{
    char path[64];
    int fd = open("file", O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ASSERT_EQ(write(fd, "hello", 5), 5);
    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
    ASSERT_GT(slurp(path), 0);
    EXPECT_EQ(number_of("pos"), 5);
    unsigned long flags = strtoul(value_of("flags"), NULL, 8);
    EXPECT_EQ(flags & O_ACCMODE, O_RDWR);
    EXPECT_TRUE(flags & O_APPEND);
    EXPECT_TRUE(flags & O_CLOEXEC);
    EXPECT_GE(number_of("mnt_id"), 0);
    fcntl(fd, F_SETFD, 0);
    ASSERT_GT(slurp(path), 0);
    EXPECT_TRUE(!(strtoul(value_of("flags"), NULL, 8) & O_CLOEXEC));
}

/* ---- maps ---- */

static bool map_line_of(const void *address, char *ret, size_t size)
{
    if (slurp("/proc/self/maps") <= 0)
        return false;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        unsigned long start, end;
        if (sscanf(line, "%lx-%lx ", &start, &end) == 2 && (unsigned long)address >= start &&
            (unsigned long)address < end) {
            snprintf(ret, size, "%s", line);
            return true;
        }
    }
    return false;
}

TEST(maps_are_in_order)
{
    unsigned long last = 0, start, end;
    int lines = 0;
    ASSERT_GT(slurp("/proc/self/maps"), 0);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), lines++) {
        char permissions[5];
        unsigned long offset, inode;
        unsigned major_number, minor_number;
        ASSERT_EQ(sscanf(line, "%lx-%lx %4s %lx %x:%x %lu", &start, &end, permissions, &offset,
                         &major_number, &minor_number, &inode),
                  7);
        EXPECT_TRUE(start >= last);
        EXPECT_TRUE(end > start);
        last = end;
    }
    EXPECT_GT(lines, 5);
}

TEST(maps_name_stack_heap_and_program)
{
    char line[4096], exe[4096] = "";
    int local;
    ASSERT_TRUE(map_line_of(&local, line, sizeof(line)));
    EXPECT_TRUE(strstr(line, "[stack]") != NULL);
    ASSERT_TRUE(sbrk(4096) != (void *)-1);
    ASSERT_TRUE(map_line_of((char *)sbrk(0) - 1, line, sizeof(line)));
    EXPECT_TRUE(strstr(line, "[heap]") != NULL);
    ASSERT_TRUE(map_line_of((void *)map_line_of, line, sizeof(line)));
    ASSERT_GT(readlink("/proc/self/exe", exe, sizeof(exe) - 1), 0);
    EXPECT_TRUE(strstr(line, exe) != NULL);
    EXPECT_TRUE(strstr(line, " r-xp ") != NULL);
}

TEST(maps_show_a_mapped_file)
{
    char line[4096], cwd[2048], expected[4096];
    struct stat st;
    int fd = open("mapped", O_RDWR | O_CREAT, 0600);
    ASSERT_EQ(ftruncate(fd, 16384), 0);
    ASSERT_EQ(fstat(fd, &st), 0);
    char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096);
    ASSERT_TRUE(p != MAP_FAILED);
    ASSERT_TRUE(map_line_of(p, line, sizeof(line)));
    unsigned long start, end, offset, inode;
    unsigned major_number, minor_number;
    char permissions[5];
    ASSERT_EQ(sscanf(line, "%lx-%lx %4s %lx %x:%x %lu", &start, &end, permissions, &offset,
                     &major_number, &minor_number, &inode),
              7);
    EXPECT_EQ(start, (unsigned long)p);
    EXPECT_EQ(end - start, 8192);
    EXPECT_STR(permissions, "rw-s");
    EXPECT_EQ(offset, 4096);
    EXPECT_EQ(inode, st.st_ino);
    EXPECT_EQ(makedev(major_number, minor_number), st.st_dev);
    ASSERT_TRUE(getcwd(cwd, sizeof(cwd)) != NULL);
    snprintf(expected, sizeof(expected), " %s/mapped", cwd);
    EXPECT_TRUE(strstr(line, expected) != NULL);
    ASSERT_EQ(unlink("mapped"), 0);
    ASSERT_TRUE(map_line_of(p, line, sizeof(line)));
    EXPECT_TRUE(strstr(line, "/mapped (deleted)") != NULL);
}

TEST(maps_show_protection)
{
    char line[4096];
    char *p = mmap(NULL, 12288, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_EQ(mprotect(p + 4096, 4096, PROT_NONE), 0);
    ASSERT_TRUE(map_line_of(p + 4096, line, sizeof(line)));
    EXPECT_TRUE(strstr(line, " ---p ") != NULL);
    ASSERT_EQ(munmap(p + 4096, 4096), 0);
    EXPECT_TRUE(!map_line_of(p + 4096, line, sizeof(line)));
}

/* More text than a kernel may keep for its readers: those who read on late still get all of it. */
TEST(many_readers_of_a_long_text)
{
    enum { PIECES = 3000, READERS = 60 };
    int fds[READERS];
    char *p = mmap(NULL, PIECES * 8192UL, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_TRUE(p != MAP_FAILED);
    for (int i = 0; i < PIECES; i++)
        ASSERT_EQ(mprotect(p + i * 8192UL, 4096, PROT_READ), 0);
    for (int i = 0; i < READERS; i++) {
        fds[i] = open("/proc/self/maps", O_RDONLY);
        ASSERT_GE(fds[i], 0);
        ASSERT_EQ(read(fds[i], text, 100), 100);
    }
    ASSERT_GT(slurp("/proc/self/maps"), 100000);
    ssize_t whole = (ssize_t)strlen(text), done = 100, n;
    while ((n = read(fds[0], text, sizeof(text))) > 0)
        done += n;
    EXPECT_EQ(n, 0);
    EXPECT_EQ(done, whole);
}

TEST(smaps_has_the_same_mappings)
{
    char first[256] = "";
    ASSERT_GT(slurp("/proc/self/smaps"), 0);
    long long resident = 0;
    for (const char *at = text; (at = strstr(at, "\nRss:")); at++)
        resident += atoll(at + 5);
    EXPECT_GT(resident, 0);
    EXPECT_GT(number_of("Size"), 0);
    EXPECT_TRUE(value_of("VmFlags") != NULL);
    sscanf(text, "%255s", first);
    ASSERT_GT(slurp("/proc/self/maps"), 0);
    EXPECT_TRUE(!strncmp(text, first, strlen(first)));
}

TEST(mem_is_of_no_use)
{
    if (!harness_is_inside())
        SKIP("Linux has it");
    EXPECT_ERRNO(open("/proc/self/mem", O_RDWR), EACCES);
    EXPECT_ERRNO(open("/proc/self/mem", O_RDONLY), EACCES);
}

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
