// SPDX-License-Identifier: Apache-2.0
/*
 * Memory that changes while a call looks at it. What is read once is one of the values that were
 * there; what is read twice is an opening.
 */
#include "probes/canary.h"
#include "probes/support.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>

#define ROUNDS 3000

static volatile bool stop;
static char *buffer; /* of 18 pages */

static void *take_away(void *unused _unused_)
{
    uint32_t state = 1;
    while (!stop) {
        size_t page = probe_random(&state) % 16;
        munmap(buffer + page * PAGE, 2 * PAGE);
        mmap(buffer + page * PAGE, 2 * PAGE, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        mprotect(buffer + page * PAGE, PAGE, (int)(probe_random(&state) % 4));
    }
    return NULL;
}

static void check_size(ssize_t n, size_t most)
{
    if (n > (ssize_t)most)
        probe_escaped("%zd bytes of at most %zu", n, most);
}

PROBE(unmap_buffers_during_calls, MEMORY, .expected = "EFAULT, or as much as was there")
{
    int two[2], fd = open(probe_self(), O_RDONLY), dir = open("/proc", O_RDONLY | O_DIRECTORY);
    buffer = probe_pages(18, PROT_READ | PROT_WRITE);
    NEED(pipe2(two, O_NONBLOCK) == 0);
    probe_thread(take_away, NULL);
    for (int i = 0; i < ROUNDS / 2; i++) {
        struct iovec v[3] = {
            {buffer + 100, PAGE}, {buffer + 5 * PAGE, 3 * PAGE}, {buffer, 17 * PAGE}};
        check_size(pread(fd, buffer, 16 * PAGE, 0), 16 * PAGE);
        check_size(writev(two[1], v, 3), 21 * PAGE);
        check_size(readv(two[0], v, 3), 21 * PAGE);
        syscall(SYS_poll, buffer + PAGE - 4, 3L, 0L);
        syscall(SYS_getdents64, dir, buffer, 2 * PAGE);
        syscall(SYS_getcwd, buffer + 3 * PAGE - 1, PAGE);
        lseek(dir, 0, SEEK_SET);
    }
    stop = true;
    probe_check_kernel();
}

/* ---- vectors ---- */

static struct iovec vector[4];
static char small[64];

static void *flip_vector(void *unused _unused_)
{
    uint32_t state = 2;
    while (!stop) {
        struct iovec *v = &vector[probe_random(&state) % 4];
        v->iov_len = probe_random(&state) % 3 ? sizeof(small) : UINT64_MAX - probe_random(&state);
        v->iov_base = probe_random(&state) % 5 ? small : (void *)0xffff888000000000;
        v->iov_len = sizeof(small);
    }
    return NULL;
}

PROBE(race_the_vector_of_a_transfer, MEMORY, .expected = "EFAULT, EINVAL, or one of the vectors")
{
    int two[2];
    NEED(pipe2(two, O_NONBLOCK) == 0);
    for (int i = 0; i < 4; i++)
        vector[i] = (struct iovec){small, sizeof(small)};
    probe_thread(flip_vector, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        check_size(writev(two[1], vector, 4), 1 << 16);
        check_size(readv(two[0], vector, 4), 1 << 16);
        check_size(vmsplice(two[1], vector, 4, SPLICE_F_NONBLOCK), 1 << 16);
    }
    stop = true;
    probe_check_kernel();
}

/* ---- messages ---- */

static struct msghdr message;
static union {
    struct cmsghdr header;
    char space[CMSG_SPACE(8 * sizeof(int))];
} control;

static void *flip_message(void *unused _unused_)
{
    static const size_t lengths[] = {0, 1, 16, 20, 24, 48, UINT64_MAX, INT64_MAX, 1UL << 32, 4096};
    for (unsigned i = 0; !stop; i++) {
        control.header.cmsg_len = lengths[i % ARRAY_SIZE(lengths)];
        message.msg_controllen = lengths[(i / 7) % ARRAY_SIZE(lengths)];
        message.msg_namelen = (socklen_t)lengths[(i / 11) % ARRAY_SIZE(lengths)];
        message.msg_iovlen = i % 13 ? 1 : lengths[i % ARRAY_SIZE(lengths)];
        message.msg_control = i % 5 ? &control : (void *)1;
        __asm__ volatile("" : : : "memory");
    }
    return NULL;
}

PROBE(race_the_header_of_a_message, MEMORY, .expected = "an error, or one of the headers",
      .after = "double fetches of cmsg_len")
{
    int two[2];
    struct iovec v = {small, 1};
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    NEED(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, two) == 0);
    control.header = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    message = (struct msghdr){.msg_name = &name,
                              .msg_iov = &v,
                              .msg_iovlen = 1,
                              .msg_control = &control,
                              .msg_controllen = sizeof(control)};
    probe_thread(flip_message, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        char data[64];
        struct iovec in = {data, sizeof(data)};
        struct msghdr received = {.msg_iov = &in, .msg_iovlen = 1};
        sendmsg(two[0], &message, 0);
        check_size(recvmsg(two[1], &received, 0), sizeof(data));
        recvmsg(two[1], &message, 0);
    }
    stop = true;
    probe_check_kernel();
}

/* ---- small structures ---- */

static union {
    struct rlimit limit;
    struct epoll_event event;
    struct timespec time;
    struct sigaction action;
    struct pollfd polled[8];
    sigset_t set;
    char bytes[256];
} flipping;

static void *flip_structure(void *unused _unused_)
{
    uint32_t state = 4;
    while (!stop)
        flipping.bytes[probe_random(&state) % sizeof(flipping)] = (char)probe_random(&state);
    return NULL;
}

PROBE(race_small_structures, MEMORY, .expected = "EINVAL and kin, or one of the values")
{
    int two[2], epoll = epoll_create1(0);
    struct rlimit before, now;
    NEED(pipe2(two, O_NONBLOCK) == 0 && getrlimit(RLIMIT_NOFILE, &before) == 0);
    probe_become_user();
    probe_thread(flip_structure, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        setrlimit(RLIMIT_FSIZE, &flipping.limit);
        setrlimit(RLIMIT_CORE, &flipping.limit);
        epoll_ctl(epoll, i % 2 ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, two[0], &flipping.event);
        epoll_wait(epoll, &flipping.event, 1, 0);
        syscall(SYS_rt_sigaction, SIGUSR2, &flipping, NULL, 8L);
        syscall(SYS_ppoll, flipping.polled, 8L, &(struct timespec){0}, NULL, 8L);
        syscall(SYS_rt_sigprocmask, SIG_BLOCK, &flipping.set, NULL, 8L);
        syscall(SYS_sched_setaffinity, 0L, 8L, &flipping);
    }
    stop = true;
    NEED(getrlimit(RLIMIT_NOFILE, &now) == 0);
    if (now.rlim_max > before.rlim_max)
        probe_escaped("a hard limit was raised");
}

/* ---- directories that change under a walk ---- */

static void *rename_about(void *unused _unused_)
{
    for (unsigned i = 0; !stop; i++) {
        rename("a/b", "c");
        rename("c", "a/b");
        rename("a", "d");
        rename("d", "a");
        symlink("..", "a/b/up");
        unlink("a/b/up");
        rmdir("a/b/e");
        mkdir("a/b/e", 0700);
    }
    return NULL;
}

PROBE(rename_directories_during_walks, HOST_FILES, .expected = "names of the sandbox, or ENOENT",
      .after = "CVE-2015-2925 and rename races of path walks", .outside = OUTSIDE_ESCAPES)
{
    char path[512], cwd[512];
    const char *secret = canary_path("secret");
    NEED(mkdir("a", 0700) == 0 && mkdir("a/b", 0700) == 0 && mkdir("a/b/e", 0700) == 0);
    probe_thread(rename_about, NULL);
    snprintf(path, sizeof(path), "a/b/../b/up/../../../../../../../../../../..%s", secret);
    for (int i = 0, found = 0; i < ROUNDS || found < 100; i++) {
        int dir = open("a/b/e", O_PATH);
        canary_check_path(path);
        if (dir < 0)
            sched_yield();
        if (dir >= 0) {
            found++;
            snprintf(cwd, sizeof(cwd), "../../../../../../../../../../../..%s", secret);
            canary_check_at(dir, cwd, 0, "a directory that moves");
            close(dir);
        }
        getcwd(cwd, sizeof(cwd));
    }
    stop = true;
    probe_check_kernel();
}

static void *truncate_about(void *fd)
{
    for (unsigned i = 0; !stop; i++) {
        ftruncate((int)(long)fd, 0);
        ftruncate((int)(long)fd, 16 * PAGE);
        fallocate((int)(long)fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, PAGE, 4 * PAGE);
    }
    return NULL;
}

PROBE(truncate_a_file_during_transfers, MEMORY,
      .expected = "short counts, never old bytes of somebody else")
{
    static char data[16 * PAGE];
    int fd = open("file", O_RDWR | O_CREAT, 0600), other = open("other", O_RDWR | O_CREAT, 0600);
    NEED(fd >= 0 && other >= 0);
    probe_thread(truncate_about, (void *)(long)fd);
    for (int i = 0; i < ROUNDS / 3; i++) {
        ssize_t n = pread(fd, data, sizeof(data), 0);
        check_size(n, sizeof(data));
        for (ssize_t at = 0; at < n; at += 512)
            if (data[at] != 0 && data[at] != 'x')
                probe_escaped("byte %zd is 0x%02x", at, (unsigned char)data[at]);
        pwrite(fd, "xxxx", 4, (off_t)(i % 16) * (off_t)PAGE);
        loff_t from = 0, to = 0;
        copy_file_range(fd, &from, other, &to, sizeof(data), 0);
    }
    stop = true;
    probe_check_kernel();
}
