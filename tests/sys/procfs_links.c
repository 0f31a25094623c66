// SPDX-License-Identifier: Apache-2.0
/* /proc/PID: links, descriptors, maps. */
#include "tests/sys/procfs_support.h"

#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

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
    EXPECT_GE(st.st_ino, 10); /* netstat(8) knows no shorter number */
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

/* Of the text of fdinfo of fd: true when it has this piece. */
static bool fdinfo_has(int fd, const char *piece)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
    return slurp(path) > 0 && strstr(text, piece) != NULL;
}

TEST(fdinfo_tells_what_only_some_files_have)
{
    char wanted[128];
    sigset_t set;
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = 0x1234abcd};
    const struct itimerspec later = {{5, 0}, {1000, 0}};
    int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0), ep = epoll_create1(0);
    int counter = eventfd(0x2a, EFD_SEMAPHORE), watch = inotify_init();
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    snprintf(wanted, sizeof(wanted), "Pid:\t%d\nNSpid:\t%d\n", getpid(), getpid());
    EXPECT_TRUE(fdinfo_has(pidfd, wanted));
    EXPECT_TRUE(fdinfo_has(counter, "eventfd-count:               2a\n"));
    ASSERT_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, counter, &event), 0);
    snprintf(wanted, sizeof(wanted), "tfd: %8d events:       19 data:         1234abcd ", counter);
    EXPECT_TRUE(fdinfo_has(ep, wanted));
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    EXPECT_TRUE(fdinfo_has(signalfd(-1, &set, 0), "sigmask:\t0000000000000200\n"));
    EXPECT_EQ(inotify_add_watch(watch, ".", IN_CREATE), 1);
    EXPECT_TRUE(fdinfo_has(watch, "inotify wd:1 ino:"));
    ASSERT_EQ(timerfd_settime(timer, 0, &later, NULL), 0);
    EXPECT_TRUE(fdinfo_has(timer, "clockid: 1\nticks: 0\nsettime flags: 00\n"));
    EXPECT_TRUE(fdinfo_has(timer, "it_interval: (5, 0)\n"));
}

TEST(fdinfo_of_a_process_that_is_gone)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    ASSERT_EQ(waitpid(pid, NULL, 0), pid);
    EXPECT_TRUE(fdinfo_has(pidfd, "Pid:\t-1\n"));
}

TEST(fdinfo_and_proc_tell_of_locks)
{
    char wanted[128], place[64];
    struct stat st;
    int fd = open("locked", O_RDWR | O_CREAT, 0600);
    struct flock part = {.l_type = F_WRLCK, .l_start = 5, .l_len = 3};
    struct flock open_part = {.l_type = F_RDLCK, .l_start = 100};
    ASSERT_EQ(fstat(fd, &st), 0);
    ASSERT_EQ(flock(fd, LOCK_SH), 0);
    ASSERT_EQ(fcntl(fd, F_SETLK, &part), 0);
    ASSERT_EQ(fcntl(fd, F_OFD_SETLK, &open_part), 0);
    snprintf(place, sizeof(place), "%02x:%02x:%lu", major(st.st_dev), minor(st.st_dev),
             (unsigned long)st.st_ino);
    snprintf(wanted, sizeof(wanted), ": FLOCK  ADVISORY  READ %d %s 0 EOF\n", getpid(), place);
    EXPECT_TRUE(fdinfo_has(fd, wanted));
    ASSERT_GT(slurp("/proc/locks"), 0);
    EXPECT_TRUE(strstr(text, wanted) != NULL);
    snprintf(wanted, sizeof(wanted), ": POSIX  ADVISORY  WRITE %d %s 5 7\n", getpid(), place);
    EXPECT_TRUE(fdinfo_has(fd, wanted));
    ASSERT_GT(slurp("/proc/locks"), 0);
    EXPECT_TRUE(strstr(text, wanted) != NULL);
    snprintf(wanted, sizeof(wanted), ": OFDLCK ADVISORY  READ -1 %s 100 EOF\n", place);
    EXPECT_TRUE(fdinfo_has(fd, wanted));
    EXPECT_TRUE(!fdinfo_has(open("locked", O_RDONLY), "OFDLCK"));
    close(fd);
    ASSERT_GE(slurp("/proc/locks"), 0);
    EXPECT_TRUE(strstr(text, place) == NULL);
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
    int local = 0;
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
