// SPDX-License-Identifier: Apache-2.0
/*
 * Mild bombs: what a program can make grow has an end, one thing after the other, and the kernel
 * serves on beyond it.
 */
#include "probes/support.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <time.h>

/* More than any limit that is to be found. */
#define FOR_EVER 200000

/* Goes on until make() says no; it must say one of these, and before the count is reached. */
static void grow(int (*make)(int i), int count, const int *expected)
{
    for (int i = 0; i < count; i++) {
        errno = 0;
        if (make(i) >= 0)
            continue;
        for (; *expected; expected++)
            if (errno == *expected)
                return;
        probe_unproved("the end comes with %s after %d", strerror(errno), i);
    }
    probe_escaped("%d of them, and no end", count);
}
#define GROWS(make, count, ...) grow(make, count, (const int[]){__VA_ARGS__, 0})

static void use_limit(__rlimit_resource_t which, rlim_t value)
{
    struct rlimit limit;
    NEED(getrlimit(which, &limit) == 0);
    limit.rlim_cur = MIN(value, limit.rlim_max);
    NEED(setrlimit(which, &limit) == 0);
}

/* As many descriptors as it may have, so that something else is reached first. */
static void use_all_descriptors(void)
{
    struct rlimit limit;
    NEED(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    NEED(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

#define BOMB(name_, expected_, ...) PROBE(name_, LIMITS, .expected = expected_, ##__VA_ARGS__)

/* ---- descriptors ---- */

static int open_null(int i _unused_)
{
    return open("/dev/null", O_RDONLY);
}

BOMB(open_files_without_an_end, "EMFILE or ENFILE")
{
    use_all_descriptors();
    GROWS(open_null, 1100000, EMFILE, ENFILE);
    syscall(SYS_close_range, 3L, ~0UL, 0L);
    probe_check_kernel();
}

static int make_pipe(int i _unused_)
{
    int two[2];
    return pipe(two);
}

BOMB(make_pipes_without_an_end, "EMFILE or ENFILE")
{
    GROWS(make_pipe, FOR_EVER, EMFILE, ENFILE);
    syscall(SYS_close_range, 3L, ~0UL, 0L);
    probe_check_kernel();
}

static int make_full_pipe(int i _unused_)
{
    static char data[65536];
    int two[2];
    if (pipe2(two, O_NONBLOCK) < 0)
        return -1;
    fcntl(two[1], F_SETPIPE_SZ, 1 << 20);
    while (write(two[1], data, sizeof(data)) > 0)
        ;
    return 0;
}

BOMB(fill_pipes_without_an_end, "EMFILE or ENFILE, with little memory in them")
{
    GROWS(make_full_pipe, FOR_EVER, EMFILE, ENFILE);
    syscall(SYS_close_range, 3L, ~0UL, 0L);
    probe_check_kernel();
}

BOMB(make_a_pipe_larger_than_any, "EPERM or EBUSY for users, a bound for root")
{
    int two[2];
    NEED(pipe(two) == 0);
    FAILS(fcntl(two[1], F_SETPIPE_SZ, 0x7fffffff));
    FAILS(fcntl(two[1], F_SETPIPE_SZ, -1));
    if (!probe_is_root())
        REFUSED(fcntl(two[1], F_SETPIPE_SZ, (1 << 20) + 1), EPERM, EBUSY);
}

static int make_sockets(int i _unused_)
{
    static char data[4096];
    int two[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, two) < 0)
        return -1;
    for (int n = 0; n < 64; n++)
        send(two[0], data, sizeof(data), 0);
    return 0;
}

BOMB(fill_sockets_without_an_end, "EMFILE, ENFILE, ENOBUFS or ENOMEM")
{
    GROWS(make_sockets, FOR_EVER, EMFILE, ENFILE, ENOBUFS, ENOMEM);
    syscall(SYS_close_range, 3L, ~0UL, 0L);
    probe_check_kernel();
}

static int make_epoll(int i _unused_)
{
    return epoll_create1(0);
}

static int make_eventfd(int i _unused_)
{
    return eventfd(0, 0);
}

static int make_timerfd(int i _unused_)
{
    struct itimerspec t = {{0, 1000000}, {0, 1000000}};
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    if (fd >= 0)
        timerfd_settime(fd, 0, &t, NULL);
    return fd;
}

static int make_memory_file(int i _unused_)
{
    int fd = memfd_create("bomb", 0);
    return fd < 0 ? -1 : ftruncate(fd, 1L << 40) < 0 && errno != EFBIG && errno != ENOSPC ? -1 : fd;
}

BOMB(make_event_files_without_an_end, "EMFILE or ENFILE")
{
    static int (*const makers[])(int) = {make_epoll, make_eventfd, make_timerfd, make_memory_file};
    for (size_t i = 0; i < ARRAY_SIZE(makers); i++) {
        GROWS(makers[i], FOR_EVER, EMFILE, ENFILE, ENOMEM);
        syscall(SYS_close_range, 3L, ~0UL, 0L);
    }
    probe_check_kernel();
}

static int make_inotify(int i _unused_)
{
    return inotify_init1(0);
}

BOMB(make_inotify_instances_without_an_end, "EMFILE at /proc/sys/fs/inotify/max_user_instances")
{
    GROWS(make_inotify, FOR_EVER, EMFILE);
    syscall(SYS_close_range, 3L, ~0UL, 0L);
}

static int watcher = -1;

static int add_watch(int i)
{
    char name[32];
    snprintf(name, sizeof(name), "d%d", i);
    if (mkdir(name, 0700) < 0)
        return -1;
    return inotify_add_watch(watcher, name, IN_ALL_EVENTS);
}

BOMB(add_inotify_watches_without_an_end, "ENOSPC at max_user_watches")
{
    watcher = inotify_init1(IN_NONBLOCK);
    NEED(watcher >= 0);
    GROWS(add_watch, FOR_EVER, ENOSPC);
    close(watcher);
    probe_check_kernel();
}

BOMB(overflow_a_queue_of_events, "IN_Q_OVERFLOW, and no more than max_queued_events")
{
    static char data[1 << 20];
    int fd = inotify_init1(IN_NONBLOCK), file = open("file", O_RDWR | O_CREAT, 0600);
    bool overflowed = false;
    NEED(fd >= 0 && inotify_add_watch(fd, ".", IN_ALL_EVENTS) >= 0);
    for (int i = 0; i < 25000; i++) {
        int other = open(i % 2 ? "file" : "other", O_RDWR | O_CREAT, 0600);
        write(other, "x", 1);
        close(other);
    }
    ssize_t n;
    unsigned count = 0;
    while ((n = read(fd, data, sizeof(data))) > 0)
        for (char *at = data; at < data + n; count++) {
            const struct inotify_event *e = (void *)at;
            overflowed |= (e->mask & IN_Q_OVERFLOW) != 0;
            at += sizeof(*e) + e->len;
        }
    close(file);
    if (!overflowed)
        probe_escaped("%u events and no overflow", count);
}

/* ---- processes ---- */

static int make_process(int i _unused_)
{
    pid_t pid = fork();
    while (pid == 0)
        pause();
    return pid;
}

BOMB(fork_without_an_end, "EAGAIN at RLIMIT_NPROC or at the sandbox's limit")
{
    if (probe_is_root())
        probe_become_user();
    GROWS(make_process, 5000, EAGAIN);
    /* A call that is answered while all of them are there. */
    NEED(open("/dev/null", O_RDONLY) >= 0);
}

static int make_zombie(int i _unused_)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    return pid;
}

BOMB(leave_dead_children_without_an_end, "EAGAIN: they count until they are waited for")
{
    if (probe_is_root())
        probe_become_user();
    use_limit(RLIMIT_NPROC, 200);
    GROWS(make_zombie, 5000, EAGAIN);
}

static void *wait_for_ever(void *unused _unused_)
{
    for (;;)
        pause();
    return NULL;
}

static int make_thread(int i _unused_)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 65536);
    int error = pthread_create(&thread, &attributes, wait_for_ever, NULL);
    errno = error;
    return error ? -1 : 0;
}

BOMB(make_threads_without_an_end, "EAGAIN")
{
    if (probe_is_root())
        probe_become_user();
    GROWS(make_thread, 5000, EAGAIN, ENOMEM);
    NEED(open("/dev/null", O_RDONLY) >= 0);
}

static void fork_storm(void *unused _unused_)
{
    int64_t until = probe_now_ms() + 700;
    setpgid(0, 0);
    while (probe_now_ms() < until)
        fork();
    pause();
}

BOMB(fork_in_every_child, "the kernel serves others meanwhile, and all of them can be killed",
     .after = "fork bombs")
{
    probe_become_user();
    use_limit(RLIMIT_NPROC, 150);
    pid_t pid = probe_fork();
    if (pid == 0)
        fork_storm(NULL);
    int64_t until = probe_now_ms() + 1000;
    while (probe_now_ms() < until) {
        int fd = open("/dev/null", O_RDONLY);
        NEED(fd >= 0);
        close(fd);
    }
    for (int i = 0; i < 100 && kill(-pid, SIGKILL) == 0; i++)
        usleep(10000);
    NEED(kill(-pid, 0) < 0 || probe_wait(pid) == 128 + SIGKILL);
}

/* ---- locks, queues, timers, signals ---- */

static int lock_file = -1;

static int add_lock(int i)
{
    struct flock l = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 2L * (FOR_EVER - i), .l_len = 1};
    return fcntl(lock_file, F_SETLK, &l);
}

BOMB(lock_ranges_without_an_end, "ENOLCK")
{
    lock_file = open("file", O_RDWR | O_CREAT, 0600);
    NEED(lock_file >= 0);
    GROWS(add_lock, FOR_EVER, ENOLCK);
    probe_check_kernel();
}

static int queue_signal(int i)
{
    return sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = i});
}

BOMB(queue_signals_without_an_end, "EAGAIN at RLIMIT_SIGPENDING")
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    NEED(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
    GROWS(queue_signal, FOR_EVER, EAGAIN);
}

static int make_timer(int i _unused_)
{
    struct sigevent e = {.sigev_notify = SIGEV_NONE};
    timer_t timer;
    struct itimerspec t = {{0, 1000000}, {0, 1000000}};
    if (timer_create(CLOCK_MONOTONIC, &e, &timer) < 0)
        return -1;
    return timer_settime(timer, 0, &t, NULL);
}

BOMB(make_timers_without_an_end, "EAGAIN")
{
    GROWS(make_timer, FOR_EVER, EAGAIN);
    probe_check_kernel();
}

static int epoll = -1;

static int watch_number(int i _unused_)
{
    struct epoll_event e = {.events = EPOLLIN};
    int fd = eventfd(0, 0);
    return fd < 0 ? -1 : epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e);
}

BOMB(watch_files_without_an_end, "EMFILE, ENFILE or ENOSPC")
{
    use_all_descriptors();
    epoll = epoll_create1(0);
    GROWS(watch_number, 1100000, EMFILE, ENFILE, ENOSPC);
    syscall(SYS_close_range, 3L, ~0UL, 0L);
    probe_check_kernel();
}

static int nest(int i _unused_)
{
    struct epoll_event e = {.events = EPOLLIN};
    int outer = epoll_create1(0);
    if (outer < 0 || epoll_ctl(outer, EPOLL_CTL_ADD, epoll, &e) < 0)
        return -1;
    epoll = outer;
    return 0;
}

BOMB(nest_epolls_without_an_end, "EINVAL or ELOOP past a depth of five",
     .after = "wakeups that recurse")
{
    struct epoll_event e = {.events = EPOLLIN};
    epoll = epoll_create1(0);
    GROWS(nest, 100, EINVAL, ELOOP);
    int a = epoll_create1(0), b = epoll_create1(0);
    NEED(epoll_ctl(a, EPOLL_CTL_ADD, b, &e) == 0);
    REFUSED(epoll_ctl(b, EPOLL_CTL_ADD, a, &e), ELOOP, EINVAL);
    REFUSED(epoll_ctl(a, EPOLL_CTL_ADD, a, &e), EINVAL);
}

BOMB(poll_more_files_than_there_can_be, "EINVAL")
{
    struct rlimit limit;
    NEED(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    struct pollfd *many = calloc(2000000, sizeof(*many));
    NEED(many);
    REFUSED(poll(many, MIN(limit.rlim_cur + 1, (rlim_t)2000000), 0), EINVAL);
    struct iovec *v = calloc(2000, sizeof(*v));
    NEED(v);
    REFUSED(writev(1, v, 1025), EINVAL);
    REFUSED(readv(0, v, -1), EINVAL);
}

/* ---- System V ---- */

static int identifiers[FOR_EVER];
static unsigned identifier_count;

static int keep(int id)
{
    if (id >= 0 && identifier_count < FOR_EVER)
        identifiers[identifier_count++] = id;
    return id;
}

static int make_segment(int i _unused_)
{
    return keep(shmget(IPC_PRIVATE, 1 << 20, IPC_CREAT | 0600));
}

BOMB(make_segments_without_an_end, "ENOSPC or ENOMEM")
{
    identifier_count = 0;
    GROWS(make_segment, FOR_EVER, ENOSPC, ENOMEM);
    while (identifier_count > 0)
        shmctl(identifiers[--identifier_count], IPC_RMID, NULL);
    REFUSED(shmget(IPC_PRIVATE, 1UL << 50, IPC_CREAT | 0600), EINVAL, ENOSPC, ENOMEM);
    probe_check_kernel();
}

static int make_semaphores(int i _unused_)
{
    return keep(semget(IPC_PRIVATE, 250, IPC_CREAT | 0600));
}

BOMB(make_semaphores_without_an_end, "ENOSPC")
{
    identifier_count = 0;
    GROWS(make_semaphores, FOR_EVER, ENOSPC);
    while (identifier_count > 0)
        semctl(identifiers[--identifier_count], 0, IPC_RMID);
    probe_check_kernel();
}

static int make_queue(int i _unused_)
{
    static struct {
        long type;
        char text[8000];
    } m = {.type = 1};
    int id = keep(msgget(IPC_PRIVATE, IPC_CREAT | 0600));
    return id < 0 ? -1 : msgsnd(id, &m, sizeof(m.text), IPC_NOWAIT);
}

BOMB(fill_message_queues_without_an_end, "ENOSPC, EAGAIN or ENOMEM")
{
    identifier_count = 0;
    GROWS(make_queue, FOR_EVER, ENOSPC, EAGAIN, ENOMEM);
    while (identifier_count > 0)
        msgctl(identifiers[--identifier_count], IPC_RMID, NULL);
    probe_check_kernel();
}

/* ---- files ---- */

BOMB(reserve_the_whole_disk, "ENOSPC or EFBIG, at once", .after = "filling the host's disk")
{
    int fd = open("file", O_RDWR | O_CREAT, 0600);
    struct stat st;
    NEED(fd >= 0);
    REFUSED(fallocate(fd, 0, 0, 1L << 50), ENOSPC, EFBIG, EDQUOT);
    REFUSED(fallocate(fd, 0, 0, 1L << 42), ENOSPC, EFBIG, EDQUOT);
    REFUSED(fallocate(fd, 0, INT64_MAX - 4096, 4096), EFBIG, ENOSPC, EDQUOT);
    REFUSED(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 1L << 45), ENOSPC, EFBIG, EDQUOT);
    NEED(fstat(fd, &st) == 0);
    if (st.st_blocks > 1 << 21)
        probe_escaped("%ld blocks are taken", (long)st.st_blocks);
}

BOMB(make_a_file_of_any_size, "EFBIG or EINVAL past what a file can be; holes cost nothing")
{
    int fd = open("file", O_RDWR | O_CREAT, 0600);
    struct stat st;
    NEED(fd >= 0);
    REFUSED(ftruncate(fd, -1), EINVAL);
    REFUSED(pwrite(fd, "x", 1, INT64_MAX), EFBIG, EINVAL, EOVERFLOW);
    REFUSED(lseek(fd, -1, SEEK_SET), EINVAL);
    ftruncate(fd, INT64_MAX);
    ftruncate(fd, 1L << 42);
    pwrite(fd, "x", 1, (1L << 41) + 5);
    NEED(fstat(fd, &st) == 0);
    if (st.st_blocks > 1 << 21)
        probe_escaped("%ld blocks for a hole", (long)st.st_blocks);
    NEED(ftruncate(fd, 0) == 0);
}

BOMB(write_past_its_limit_of_size, "EFBIG, and SIGXFSZ")
{
    int fd = open("file", O_RDWR | O_CREAT, 0600);
    signal(SIGXFSZ, SIG_IGN);
    use_limit(RLIMIT_FSIZE, 4096);
    NEED(fd >= 0 && pwrite(fd, "x", 1, 4095) == 1);
    REFUSED(pwrite(fd, "x", 1, 4096), EFBIG);
    REFUSED(ftruncate(fd, 4097), EFBIG);
    REFUSED(fallocate(fd, 0, 4096, 1), EFBIG);
}

BOMB(use_names_that_are_too_long, "ENAMETOOLONG")
{
    static char name[8192];
    memset(name, 'n', sizeof(name) - 1);
    REFUSED(open(name, O_CREAT | O_WRONLY, 0600), ENAMETOOLONG);
    name[256] = '\0';
    REFUSED(mkdir(name, 0700), ENAMETOOLONG);
    for (size_t i = 0; i + 1 < sizeof(name); i++)
        name[i] = i % 2 ? '/' : '.';
    name[sizeof(name) - 1] = '\0';
    REFUSED(open(name, O_RDONLY), ENAMETOOLONG);
    REFUSED(symlink(name, "link"), ENAMETOOLONG);
}

BOMB(nest_directories_deeply, "ENAMETOOLONG or ENOSPC at some depth, and they can be removed")
{
    int depth = 0;
    while (depth < 3000 && mkdir("d", 0700) == 0 && chdir("d") == 0)
        depth++;
    char cwd[PATH_MAX];
    getcwd(cwd, sizeof(cwd));
    while (depth-- > 0)
        NEED(chdir("..") == 0 && rmdir("d") == 0);
}

static int make_name(int i)
{
    char name[32];
    snprintf(name, sizeof(name), "f%d", i);
    int fd = open(name, O_CREAT | O_WRONLY | O_EXCL, 0600);
    if (fd >= 0)
        close(fd);
    return fd;
}

BOMB(make_names_by_the_thousand, "they are found and removed as quickly as few")
{
    for (int i = 0; i < 8000; i++)
        NEED(make_name(i) >= 0);
    REFUSED(open("f8000", O_RDONLY), ENOENT);
    for (int i = 0; i < 8000; i++) {
        char name[32];
        snprintf(name, sizeof(name), "f%d", i);
        NEED(unlink(name) == 0);
    }
}

static int add_attribute(int i)
{
    static char value[4000];
    char name[64];
    snprintf(name, sizeof(name), "user.a%d", i);
    return setxattr("file", name, value, sizeof(value), 0);
}

BOMB(attach_attributes_without_an_end, "ENOSPC, E2BIG or EDQUOT")
{
    static char huge[1 << 20];
    probe_write_file("file", "x", 1, 0600);
    REFUSED(setxattr("file", "user.huge", huge, sizeof(huge), 0), E2BIG, ENOSPC, ERANGE);
    GROWS(add_attribute, FOR_EVER, ENOSPC, E2BIG, EDQUOT);
}

static int make_terminal(int i _unused_)
{
    return open("/dev/ptmx", O_RDWR | O_NOCTTY);
}

BOMB(make_terminals_without_an_end, "ENOSPC or EMFILE")
{
    GROWS(make_terminal, FOR_EVER, ENOSPC, EMFILE, EIO);
    syscall(SYS_close_range, 3L, ~0UL, 0L);
    probe_check_kernel();
}

static int fill_dev(int i)
{
    char name[64];
    static char data[65536];
    snprintf(name, sizeof(name), "/dev/glovebox-%d", i);
    int fd = open(name, O_CREAT | O_WRONLY, 0600);
    ssize_t n = fd < 0 ? -1 : write(fd, data, sizeof(data));
    int error = errno;
    close(fd);
    errno = error;
    return n == (ssize_t)sizeof(data) ? 0 : -1;
}

BOMB(fill_the_directory_of_devices, "ENOSPC, or EACCES for users")
{
    GROWS(fill_dev, 5000, ENOSPC, EACCES, EPERM);
    for (int i = 0; i < 5000; i++) {
        char name[64];
        snprintf(name, sizeof(name), "/dev/glovebox-%d", i);
        if (unlink(name) < 0)
            break;
    }
}

/* ---- memory and time ---- */

BOMB(reserve_more_memory_than_there_is, "ENOMEM")
{
    REFUSED(mmap(NULL, 1UL << 47, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            ENOMEM);
    REFUSED(mmap(NULL, UINT64_MAX - PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), ENOMEM);
    use_limit(RLIMIT_AS, 1UL << 30);
    REFUSED(mmap(NULL, 1UL << 31, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            ENOMEM);
    probe_check_kernel();
}

static void fill_memory(void *size)
{
    for (uintptr_t at = 0; at < (uintptr_t)size; at += 1 << 20) {
        char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
            _exit(1);
        memset(p, 'x', 1 << 20);
    }
}

/* Only where that is little: it would be the machine's memory otherwise. */
#define LITTLE_KIB (320UL << 10)

BOMB(fill_more_memory_than_the_limit, "it is ended, or gets ENOMEM; the sandbox lives on")
{
    char text[4096];
    NEED(probe_read_file("/proc/meminfo", text, sizeof(text)) > 0);
    const char *line = strstr(text, "MemTotal:");
    unsigned long kib = line ? strtoul(line + 9, NULL, 10) : 0;
    if (kib == 0 || kib > LITTLE_KIB)
        probe_skip("the limit is %lu MiB; give --memory 256M to try it", kib >> 10);
    int status = probe_run_child(fill_memory, (void *)((kib + (64UL << 10)) << 10));
    if (status == 0)
        probe_escaped("it has more than %lu MiB", kib >> 10);
    probe_check_kernel();
}

static void burn(void *unused _unused_)
{
    for (volatile unsigned long i = 0;; i++)
        ;
}

BOMB(run_past_its_limit_of_time, "SIGXCPU or SIGKILL")
{
    pid_t pid = probe_fork();
    if (pid == 0) {
        use_limit(RLIMIT_CPU, 1);
        burn(NULL);
    }
    int status = probe_wait(pid);
    if (status != 128 + SIGXCPU && status != 128 + SIGKILL)
        probe_unproved("status %d", status);
}

static void *read_from_nobody(void *fd)
{
    char c;
    read((int)(long)fd, &c, 1);
    return NULL;
}

BOMB(leave_many_calls_waiting, "others are served at once",
     .after = "calls that nobody answers slow the host's list")
{
    int two[2];
    NEED(pipe(two) == 0);
    for (int i = 0; i < 200; i++)
        probe_thread(read_from_nobody, (void *)(long)two[0]);
    for (int i = 0; i < 2000; i++)
        NEED(getppid() > 0);
    probe_check_kernel();
}

static int trigger = -1;

static void *close_under_way(void *fd)
{
    char c = 'x';
    usleep(500);
    close((int)(long)fd);
    write(trigger, &c, 1);
    return NULL;
}

/* All ways to wait on a descriptor that a sibling closes. */
BOMB(close_what_others_wait_for, "they go on as on Linux; nobody hangs for ever")
{
    for (int i = 0; i < 60; i++) {
        int two[2], sockets[2];
        NEED(pipe(two) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
        trigger = two[1];
        probe_thread(close_under_way, (void *)(long)(i % 2 ? two[0] : sockets[0]));
        char c;
        struct pollfd p = {.fd = two[0], .events = POLLIN};
        if (i % 3 == 0)
            poll(&p, 1, 100);
        else
            read(two[0], &c, 1);
        close(sockets[1]);
        close(two[1]);
    }
    probe_check_kernel();
}
