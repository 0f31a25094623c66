// SPDX-License-Identifier: Apache-2.0
/* /proc: names, reading, and what the files of a process tell. */
#include "tests/sys/procfs_support.h"

#include <sys/auxv.h>

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
    EXPECT_ERRNO(mkdir("/proc/x", 0755), ENOENT);
    EXPECT_ERRNO(open("/proc/x", O_WRONLY | O_CREAT, 0644), ENOENT);
    EXPECT_ERRNO(open("/proc/sys/kernel/x", O_WRONLY | O_CREAT, 0644), ENOENT);
    EXPECT_ERRNO(mkfifo("/proc/self/x", 0644), ENOENT);
    EXPECT_ERRNO(link("/proc/version", "/proc/self/fd/x"), ENOENT);
    EXPECT_ERRNO(symlink("x", "/proc/self/task/y"), ENOENT);
    EXPECT_ERRNO(rename("/proc/stat", "/proc/tats"), ENOENT);
    EXPECT_TRUE(unlink("/proc/stat") < 0);
    EXPECT_TRUE(rmdir("/proc/self/fd") < 0);
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
    harness_wait_until_sleeps(pid);
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
    struct rusage u;
    do {
        for (int i = 0; i < 1000000; i++)
            __asm__ volatile("");
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

/* One buffer after the other, each from where the one before it ended. */
TEST(status_into_several_buffers)
{
    char whole[21] = "", first[8] = "", second[13] = "";
    struct iovec v[2] = {{first, 7}, {second, 13}};
    int fd = open("/proc/self/status", O_RDONLY);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(pread(fd, whole, 20, 3), 20);
    for (int i = 0; i < 2; i++) {
        memset(first, 0, sizeof(first));
        memset(second, 0, sizeof(second));
        if (i == 0) {
            EXPECT_EQ(preadv(fd, v, 2, 3), 20);
            EXPECT_EQ(lseek(fd, 0, SEEK_CUR), 0);
        } else {
            EXPECT_EQ(lseek(fd, 3, SEEK_SET), 3);
            EXPECT_EQ(readv(fd, v, 2), 20);
            EXPECT_EQ(lseek(fd, 0, SEEK_CUR), 23);
        }
        EXPECT_TRUE(!memcmp(first, whole, 7));
        EXPECT_TRUE(!memcmp(second, whole + 7, 13));
    }
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

/* The words of one execve: more than fits into any buffer that is read into at once. */
#define LONG_WORDS 14
#define LONG_BYTES ((size_t)120 * 1024)

static char *long_words[LONG_WORDS + 1];

static void make_long_words(void)
{
    for (int i = 0; i < LONG_WORDS; i++) {
        char *word = malloc(LONG_BYTES);
        ASSERT_TRUE(word != NULL);
        memset(word, 'a' + i, LONG_BYTES - 1);
        word[1] = '=';
        word[LONG_BYTES - 1] = '\0';
        long_words[i] = word;
    }
}

static char long_byte(size_t place)
{
    return long_words[place / LONG_BYTES][place % LONG_BYTES];
}

TEST(long_environ_is_there_as_a_whole)
{
    int out[2], status;
    make_long_words();
    ASSERT_EQ(pipe(out), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char *argv[] = {"cat", "/proc/self/environ", NULL};
        dup2(out[1], 1);
        execve("/bin/cat", argv, long_words);
        _exit(127);
    }
    close(out[1]);
    size_t at = 0;
    for (ssize_t n; (n = read(out[0], text, sizeof(text))) > 0; at += (size_t)n)
        for (ssize_t i = 0; i < n; i++) {
            ASSERT_TRUE(at + (size_t)i < LONG_WORDS * LONG_BYTES);
            ASSERT_EQ(text[i], long_byte(at + (size_t)i));
        }
    EXPECT_EQ(at, LONG_WORDS * LONG_BYTES);
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
}

/* Reads where the other's words are, behind `before` bytes that are something else. */
static void expect_long_words_at(int fd, size_t before)
{
    const size_t places[] = {1000000, 0, 1, 4095, 131072, 131073, LONG_WORDS * LONG_BYTES - 1};
    char piece[100];
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        ASSERT_GT(pread(fd, piece, sizeof(piece), (off_t)(before + places[i])), 0);
        EXPECT_EQ(piece[0], long_byte(places[i]));
    }
    EXPECT_EQ(pread(fd, piece, 1, (off_t)(before + LONG_WORDS * LONG_BYTES)), 0);
    size_t size = 0;
    for (ssize_t n; (n = read(fd, text, sizeof(text))) != 0; size += (size_t)n)
        ASSERT_GT(n, 0);
    EXPECT_EQ(size, before + LONG_WORDS * LONG_BYTES);
}

TEST(long_cmdline_is_there_as_a_whole_and_from_any_place)
{
    static char script[] = "echo; read x";
    char *argv[LONG_WORDS + 4] = {"/bin/sh", "-c", script}, name[64];
    int in[2], out[2];
    make_long_words();
    memcpy(argv + 3, long_words, sizeof(long_words));
    ASSERT_EQ(pipe(in), 0);
    ASSERT_EQ(pipe(out), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[1]);
        execv(argv[0], argv);
        _exit(127);
    }
    ASSERT_EQ(read(out[0], name, 1), 1);
    snprintf(name, sizeof(name), "/proc/%d/cmdline", pid);
    int fd = open(name, O_RDONLY);
    ASSERT_GT(fd, 0);
    expect_long_words_at(fd, sizeof("/bin/sh") + sizeof("-c") + sizeof(script));
    close(fd);
    close(in[1]);
    waitpid(pid, NULL, 0);
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

/* /proc/self/auxv tells what the program itself was told. */
TEST(auxv_is_that_of_the_program)
{
    static const unsigned long types[] = {AT_PHDR,   AT_PHENT, AT_PHNUM, AT_BASE,  AT_ENTRY,
                                          AT_SECURE, AT_UID,   AT_EGID,  AT_PAGESZ};
    unsigned long v[512], found = 0;
    int fd = open("/proc/self/auxv", O_RDONLY);
    ASSERT_GE(fd, 0);
    ssize_t n = read(fd, v, sizeof(v));
    ASSERT_GT(n, 0);
    for (size_t i = 0; i + 1 < (size_t)n / sizeof(v[0]); i += 2) {
        for (size_t k = 0; k < sizeof(types) / sizeof(types[0]); k++) {
            if (v[i] != types[k])
                continue;
            EXPECT_EQ(v[i + 1], getauxval(types[k]));
            found++;
        }
    }
    EXPECT_EQ(found, sizeof(types) / sizeof(types[0]));
}

TEST(zombie_keeps_its_name_and_its_users)
{
    siginfo_t info;
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_NAME, "soon gone");
        _exit(3);
    }
    ASSERT_EQ(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    ASSERT_GT(slurp_of(pid, "comm"), 0);
    EXPECT_STR(text, "soon gone\n");
    ASSERT_GT(slurp_of(pid, "stat"), 0);
    EXPECT_TRUE(strstr(text, " (soon gone) Z ") != NULL);
    ASSERT_GT(slurp("/proc/self/status"), 0);
    char gids[64];
    snprintf(gids, sizeof(gids), "%.*s", (int)strcspn(value_of("Gid"), "\n"), value_of("Gid"));
    ASSERT_GT(slurp_of(pid, "status"), 0);
    EXPECT_EQ(strncmp(value_of("Gid"), gids, strlen(gids)), 0);
    EXPECT_EQ(strncmp(value_of("Name"), "soon gone\n", 10), 0);
    EXPECT_EQ(waitpid(pid, NULL, 0), pid);
}

TEST(zombie_of_another_user_takes_no_signal)
{
    siginfo_t info;
    int status = -1;
    if (geteuid() != 0)
        SKIP("needs root");
    pid_t zombie = fork();
    if (zombie == 0)
        _exit(0);
    ASSERT_EQ(waitid(P_PID, (id_t)zombie, &info, WEXITED | WNOWAIT), 0);
    pid_t other = fork();
    if (other == 0) {
        bool is_refused = setresuid(12345, 12345, 12345) == 0 && kill(zombie, 0) < 0;
        _exit(is_refused && errno == EPERM ? 0 : 1);
    }
    EXPECT_EQ(waitpid(other, &status, 0), other);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(waitpid(zombie, NULL, 0), zombie);
}

TEST(status_shows_the_processors_that_are_allowed)
{
    cpu_set_t all, one;
    int cpu = 0;
    ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
    while (!CPU_ISSET(cpu, &all))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    ASSERT_GT(slurp("/proc/self/status"), 0);
    EXPECT_EQ(number_of("Cpus_allowed_list"), cpu);
    EXPECT_EQ(value_of("Cpus_allowed_list")[strspn(value_of("Cpus_allowed_list"), "0123456789")],
              '\n');
}

/* Chromium asks this way whether it has a single one. */
TEST(links_of_the_task_directory_count_threads)
{
    struct stat st;
    int hold[2];
    pthread_t thread;
    ASSERT_EQ(stat("/proc/self/task", &st), 0);
    EXPECT_EQ(st.st_nlink, 3);
    ASSERT_EQ(pipe(hold), 0);
    ASSERT_EQ(pthread_create(&thread, NULL, wait_on_pipe, &hold[0]), 0);
    ASSERT_EQ(stat("/proc/self/task", &st), 0);
    EXPECT_EQ(st.st_nlink, 4);
    close(hold[1]);
    pthread_join(thread, NULL);
}

TEST(coredump_filter_is_what_was_written)
{
    int fd = open("/proc/self/coredump_filter", O_RDWR), status = -1;
    ASSERT_GE(fd, 0);
    EXPECT_EQ(write(fd, "0x11", 4), 4);
    pid_t child = fork();
    if (child == 0)
        _exit(slurp("/proc/self/coredump_filter") > 0 && !strcmp(text, "00000011\n") ? 0 : 1);
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}
