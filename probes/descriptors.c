// SPDX-License-Identifier: Apache-2.0
/*
 * The host puts a descriptor of its own at a program's number for the moment of an mmap. No call
 * may ever reach it, and none of the host may have been left open.
 */
#include "probes/canary.h"
#include "probes/support.h"

#include <limits.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define NUMBERS 1024

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

PROBE(find_inherited_descriptors, DESCRIPTORS, .expected = "nothing is open but 0, 1 and 2",
      .after = "CVE-2024-21626: a directory of the host, left open", .outside = OUTSIDE_ESCAPES)
{
    char link[64], target[PATH_MAX];
    for (int fd = 3; fd < NUMBERS; fd++) {
        if (!is_open(fd))
            continue;
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, target, sizeof(target) - 1);
        target[n > 0 ? n : 0] = '\0';
        canary_check_descriptor(fd, "an inherited descriptor");
        probe_escaped("%d is open: %s", fd, target);
    }
}

PROBE(enter_inherited_directories, DESCRIPTORS,
      .expected = "no descriptor leads to a directory of the host",
      .after = "CVE-2024-21626: WORKDIR /proc/self/fd/7", .outside = OUTSIDE_ESCAPES)
{
    char path[64];
    for (int fd = 0; fd < NUMBERS; fd++) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d/secret", fd);
        canary_check_path(path);
        canary_check_at(fd, "secret", 0, "an inherited directory");
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        if (chdir(path) == 0)
            canary_check_path("secret");
    }
}

PROBE(open_the_standard_streams_again, DESCRIPTORS, .expected = "they are files of the sandbox",
      .outside = OUTSIDE_NEVER)
{
    char path[64];
    struct stat own, again;
    for (int fd = 0; fd < 3; fd++) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        int other = open(path, O_RDWR | O_NONBLOCK | O_NOCTTY);
        if (other < 0)
            continue;
        NEED(fstat(fd, &own) == 0 && fstat(other, &again) == 0);
        if (own.st_ino != again.st_ino || own.st_dev != again.st_dev)
            probe_escaped("%d leads to another file", fd);
        close(other);
    }
}

PROBE(look_at_descriptors_of_the_init, DESCRIPTORS, .expected = "none of the kernel's are shown")
{
    char path[64], target[PATH_MAX];
    for (int pid = 1; pid < 8; pid++)
        for (int fd = 0; fd < 64; fd++) {
            snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
            ssize_t n = readlink(path, target, sizeof(target) - 1);
            target[n > 0 ? n : 0] = '\0';
            if (strstr(target, "seccomp") || strstr(target, "/image") || strstr(target, "/store") ||
                strstr(target, "/shadow"))
                probe_escaped("%s is %.80s", path, target);
        }
}

/* A number at which a file was mapped and then closed. */
static int mapped_number(void)
{
    int fd = open(probe_self(), O_RDONLY);
    NEED(fd >= 0 && mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED);
    close(fd);
    return fd;
}

PROBE(use_the_descriptor_of_a_mapping, DESCRIPTORS,
      .expected = "EBADF: the number is not the program's")
{
    int fd = mapped_number(), two[2];
    char data[64];
    struct stat st;
    struct epoll_event event = {.events = EPOLLIN};
    char *const argv[] = {(char *)"probe", NULL};
    NEED(pipe(two) == 0 && dup2(two[0], 100) == 100 && dup2(two[1], 101) == 101);
    close(two[0]);
    close(two[1]);
    NEED(dup2(epoll_create1(0), 102) == 102 && close(3) == 0);
    REFUSED(read(fd, data, 1), EBADF);
    REFUSED(pread(fd, data, 1, 0), EBADF);
    REFUSED(lseek(fd, 0, SEEK_SET), EBADF);
    REFUSED(fstat(fd, &st), EBADF);
    REFUSED(dup(fd), EBADF);
    REFUSED(fcntl(fd, F_DUPFD, 200), EBADF);
    REFUSED(fchdir(fd), EBADF);
    REFUSED(flock(fd, LOCK_EX), EBADF);
    REFUSED(openat(fd, "x", O_RDONLY), EBADF);
    REFUSED(splice(fd, NULL, 101, NULL, 1, 0), EBADF);
    REFUSED(epoll_ctl(102, EPOLL_CTL_ADD, fd, &event), EBADF);
    REFUSED(syscall(SYS_execveat, fd, "", argv, environ, AT_EMPTY_PATH), EBADF);
    REFUSED(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, 300, 0), EBADF);
}

PROBE(map_the_descriptor_of_a_mapping, DESCRIPTORS,
      .expected = "EBADF: what the host left there maps nothing")
{
    int fd = mapped_number();
    REFUSED(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0), EBADF);
    REFUSED(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), EBADF);
    REFUSED(syscall(SYS_mmap, NULL, PAGE, (long)PROT_READ, (long)MAP_SHARED, fd | 1L << 40, 0L),
            EBADF);
}

PROBE(map_one_file_at_another_files_number, DESCRIPTORS,
      .expected = "what is mapped is what is open there now")
{
    for (int i = 0; i < 40; i++) {
        int a = open(probe_self(), O_RDONLY), b;
        NEED(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, a, 0) != MAP_FAILED);
        probe_write_file("own", "mine", 4, 0600);
        NEED((b = open("own", O_RDWR)) >= 0 && dup2(b, a) == a);
        const char *p = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, a, 0);
        NEED(p != MAP_FAILED);
        if (memcmp(p, "mine", 4))
            probe_escaped("another file was mapped");
        munmap((void *)p, PAGE);
        close(a);
        close(b);
    }
}

PROBE(send_the_descriptor_of_a_mapping, DESCRIPTORS,
      .expected = "EBADF: it can't be sent over a socket")
{
    int two[2];
    char c = 'x';
    struct iovec v = {&c, 1};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {.header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
    struct msghdr m = {
        .msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    NEED(socketpair(AF_UNIX, SOCK_DGRAM, 0, two) == 0);
    mapped_number();
    for (int number = 0; number < NUMBERS; number++) {
        if (is_open(number))
            continue;
        memcpy(CMSG_DATA(&control.header), &number, sizeof(number));
        REFUSED(sendmsg(two[0], &m, MSG_DONTWAIT), EBADF);
    }
}

/* ---- while siblings map ---- */

static volatile bool stop;

static void *map_high_numbers(void *seed)
{
    uint32_t state = (uint32_t)(uintptr_t)seed;
    while (!stop) {
        int fd = open(probe_self(), O_RDONLY), high = 100 + (int)(probe_random(&state) % 900);
        dup2(fd, high);
        void *p = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, high, 0);
        close(high);
        close(fd);
        if (p != MAP_FAILED)
            munmap(p, PAGE);
    }
    return NULL;
}

PROBE(use_every_number_while_siblings_map, DESCRIPTORS,
      .expected = "only what is in the program's own table",
      .after = "descriptors that are there for the moment of an mmap")
{
    char data[16];
    struct stat st, self;
    NEED(stat(probe_self(), &self) == 0);
    probe_thread(map_high_numbers, (void *)3);
    probe_thread(map_high_numbers, (void *)4);
    for (int round = 0; round < 12; round++)
        for (int fd = 3; fd < NUMBERS; fd += 3) {
            FAILS(write(fd, "hostile", 7));
            if (fstat(fd, &st) == 0 && (st.st_ino != self.st_ino || st.st_dev != self.st_dev))
                probe_escaped("descriptor %d is a file of somebody else", fd);
            read(fd, data, sizeof(data));
            FAILS(ftruncate(fd, 0));
            syscall(SYS_close_range, (unsigned)fd, (unsigned)fd, 0L);
        }
    stop = true;
    probe_check_kernel();
}

static void *replace_number(void *number)
{
    int fd = (int)(long)number;
    while (!stop) {
        int other = open("/dev/null", O_RDONLY), self = open(probe_self(), O_PATH);
        dup2(other, fd);
        dup2(self, fd);
        mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
        close(other);
        close(self);
    }
    return NULL;
}

PROBE(execute_a_number_that_a_sibling_replaces, DESCRIPTORS,
      .expected = "the program that was asked for, or an error")
{
    char *const argv[] = {(char *)"probe", (char *)SELF_EXIT_TEXT, (char *)"7", NULL};
    for (int i = 0; i < 40; i++) {
        pid_t pid = probe_fork();
        if (pid == 0) {
            int fd = open(probe_self(), O_PATH);
            probe_thread(replace_number, (void *)(long)fd);
            usleep(1000);
            syscall(SYS_execveat, fd, "", argv, environ, AT_EMPTY_PATH);
            _exit(9);
        }
        int status = probe_wait(pid);
        if (status != 7 && status != 9)
            probe_unproved("status %d", status);
    }
    probe_check_kernel();
}

PROBE(execute_every_number, DESCRIPTORS, .expected = "EBADF, or EACCES for what is no program")
{
    char *const argv[] = {(char *)"probe", (char *)SELF_EXIT_TEXT, (char *)"7", NULL};
    mapped_number();
    NEED(dup2(open(probe_self(), O_PATH), 900) == 900);
    NEED(dup2(open("/", O_PATH | O_DIRECTORY), 901) == 901);
    for (int number = 0; number < NUMBERS; number += number < 16 || number > 895 ? 1 : 50) {
        pid_t pid = probe_fork();
        if (pid == 0) {
            syscall(SYS_execveat, number, "", argv, environ, AT_EMPTY_PATH);
            _exit(errno);
        }
        int status = probe_wait(pid), expected = is_open(number) ? EACCES : EBADF;
        struct stat st;
        if (fstat(number, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0111))
            expected = 7;
        if (status != expected)
            probe_unproved("number %d: status %d, where %d must follow", number, status, expected);
    }
}

/* ---- the numbers themselves ---- */

PROBE(close_every_number, DESCRIPTORS, .expected = "the kernel keeps its own and serves on")
{
    NEED(syscall(SYS_close_range, 0L, ~0UL, 0L) == 0);
    for (int fd = 0; fd < NUMBERS; fd++)
        close(fd);
    NEED(open("/dev/null", O_RDWR) == 0);
    NEED(open("/dev/null", O_RDWR) == 1);
    probe_check_kernel();
}

PROBE(duplicate_over_every_number, DESCRIPTORS, .expected = "only the program's own table changes")
{
    struct rlimit limit;
    NEED(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    int null = open("/dev/null", O_RDWR), top = (int)MIN(limit.rlim_cur, (rlim_t)65536);
    for (int fd = 0; fd < top; fd++)
        NEED(fd == null || dup2(null, fd) == fd);
    REFUSED(dup2(null, top), EBADF);
    REFUSED(dup2(null, -1), EBADF);
    REFUSED(dup2(null, INT_MAX), EBADF);
    REFUSED(fcntl(null, F_DUPFD, top), EINVAL);
    REFUSED(dup(null), EMFILE);
    syscall(SYS_close_range, 3L, ~0UL, 0L);
    probe_check_kernel();
}

PROBE(take_a_descriptor_of_another_process, DESCRIPTORS, .expected = "pidfd_getfd is refused",
      .outside = OUTSIDE_ESCAPES)
{
    int pidfd = (int)syscall(SYS_pidfd_open, probe_sleeper(), 0L);
    NEED(pidfd >= 0);
    REFUSED(syscall(438 /* pidfd_getfd */, pidfd, 0L, 0L), EPERM, ENOSYS);
}

PROBE(compare_descriptors_with_other_processes, DESCRIPTORS, .expected = "kcmp is refused",
      .outside = OUTSIDE_MAYBE)
{
    REFUSED(syscall(SYS_kcmp, getpid(), getppid(), 0L, 0L, 0L), EPERM, ENOSYS);
}

PROBE(ask_for_signals_of_the_hosts_files, DESCRIPTORS,
      .expected = "owners are processes of the sandbox")
{
    int two[2];
    NEED(pipe(two) == 0);
    fcntl(two[0], F_SETOWN, (int)canary_number("PID"));
    fcntl(two[0], F_SETOWN, -(int)canary_number("PID"));
    fcntl(two[0], F_SETSIG, SIGKILL);
    fcntl(two[0], F_SETFL, O_ASYNC);
    NEED(write(two[1], "x", 1) == 1);
    /* The caller sees whether the host's process got a signal. */
}
