// SPDX-License-Identifier: Apache-2.0
/*
 * The host layer on Linux.
 *
 * host calls: clock_gettime close ioctl openat pidfd_send_signal ppoll pread64 prlimit64
 * process_vm_readv process_vm_writev read rt_sigreturn tgkill timer_create timer_settime tkill
 */
#include "kernel/host/host.h"
#include "kernel/host/newer.h"
#include "kernel/host/overlap.h"
#include "kernel/host/spare.h"
#include "kernel/host/watch.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

const struct host_ops *host = &host_linux;

static struct hostfd listener_fd = {-1};
static struct hostfd proc_fd = {-1};
static struct hostfd tasks_pidns = {-1}; /* not open: this host says too little about it */

/*
 * All requests but the receive take a lock that every calling task takes too. Where they meet, the
 * ticker's signal ends the wait for it with EINTR, and nothing was done: an answer that is not sent
 * again leaves its task waiting for ever. A descriptor that is placed twice is as good as once.
 */
static int ask_listener(unsigned long request, const void *argument)
{
    while (ioctl(listener_fd.n, request, argument) < 0)
        if (errno != EINTR)
            return -errno;
    return 0;
}

/* A host older than Linux 6.6 does not know the request: it always wakes its own way, and slower.
 */
static void set_wake_up(uintptr_t flags)
{
    ask_listener(SECCOMP_IOCTL_NOTIF_SET_FLAGS, (const void *)flags);
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

static bool call_is_there(void)
{
    struct pollfd listener = {.fd = listener_fd.n, .events = POLLIN};
    return ppoll(&listener, 1, &(struct timespec){0}, NULL) > 0 && (listener.revents & POLLIN);
}

static unsigned calls_since_tick;

static int receive_now(struct seccomp_notif *ret)
{
    bool overlaps = overlap_now(), was_there = overlaps && call_is_there();
    memset(ret, 0, sizeof(*ret)); /* the host insists */
    if (ioctl(listener_fd.n, SECCOMP_IOCTL_NOTIF_RECV, ret) < 0)
        return -errno;
    calls_since_tick++;
    overlap_received((pid_t)ret->pid, ret->id, was_there, overlaps ? now_ns() : 0);
    return 0;
}

/*
 * Two ways to wait. The plain one is epoll on the listener and all watches, then the receive: right
 * whenever something else may come. While tasks call all the time and nobody waits for anything
 * else, the epoll is a tenth of a call's cost: then the receive itself waits, and a ticker's signal
 * ends it every HOST_TICK_NS for a look at the rest. A tick that finds no call since the last one
 * stops the ticker, so that an idle kernel sleeps in epoll; nothing else does, since calls that go
 * by turns one way and the other would start and stop it each time. A signal that comes just before
 * the receive begins is lost, but the next one is not.
 */
static timer_t ticker;
static bool is_ticking, look_around;
static bool is_idle; /* the last wait was long enough for a call, and none came */

static void on_tick(int sig)
{
}

static void set_ticker(int64_t period_ns)
{
    const struct itimerspec t = {{0, period_ns}, {0, period_ns}};
    timer_settime(ticker, 0, &t, NULL);
    is_ticking = period_ns > 0;
}

static int make_ticker(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    const struct sigaction action = {.sa_handler = on_tick}; /* no SA_RESTART: it is to interrupt */
    if (sigaction(SIGALRM, &action, NULL) < 0 || timer_create(CLOCK_MONOTONIC, &event, &ticker) < 0)
        return -errno;
    return 0;
}

static bool is_far(int64_t deadline_ns)
{
    return deadline_ns == INT64_MAX || deadline_ns - now_ns() > 2 * HOST_TICK_NS;
}

static void note_tick(void)
{
    if (calls_since_tick == 0)
        set_ticker(0);
    calls_since_tick = 0;
}

static int receive_directly(struct seccomp_notif *ret)
{
    if (!is_ticking)
        set_ticker(HOST_TICK_NS);
    int r = receive_now(ret);
    if (r == -EINTR)
        note_tick();
    /* -ENOENT: one caller died, or all of them; then only a look tells. */
    look_around = r == -EINTR || r == -ENOENT;
    return r;
}

/*
 * Since Linux 6.11 the last task leaves the filter while it ends, before its pidfd tells so. What
 * the ends of the tasks set off must not be lost, so they are waited for, but not for ever.
 */
#define DESERTED_NS (10 * NSEC_PER_SEC)
static int64_t deserted_until_ns;

static int receive_when_deserted(int64_t deadline_ns)
{
    uint32_t events;
    if (now_ns() >= deserted_until_ns)
        return -ENODEV;
    int r = host_watch_wait(HOSTFD_NONE, MIN(deadline_ns, deserted_until_ns), &events);
    return r < 0 ? r : -EINTR;
}

static int linux_receive(struct seccomp_notif *ret, int64_t deadline_ns, bool prompt)
{
    uint32_t events;
    if (deserted_until_ns)
        return receive_when_deserted(deadline_ns);
    if (!prompt && !look_around && !is_idle && host_watch_is_quiet() && is_far(deadline_ns))
        return receive_directly(ret);
    /* Between two receives that wait themselves a look is only a look. */
    bool is_look = look_around && is_ticking && !prompt;
    int r = host_watch_wait(listener_fd, is_look ? 0 : deadline_ns, &events);
    look_around = false;
    if (r == -EINTR && is_ticking)
        note_tick();
    if (r < 0)
        return r;
    is_idle = !is_look && !(events & EPOLLIN);
    if (events & EPOLLIN)
        return receive_now(ret);
    if (events & EPOLLHUP) {
        if (is_ticking)
            set_ticker(0);
        deserted_until_ns = now_ns() + DESERTED_NS;
    }
    return -EINTR;
}

int host_linux_start(struct hostfd listener, struct hostfd proc_dir, pid_t first)
{
    char name[32];
    if (!hostfd_is_open(host_watch_epoll()))
        return -EMFILE;
    listener_fd = listener;
    proc_fd = proc_dir;
    snprintf(name, sizeof(name), "%d/ns/pid", first);
    tasks_pidns.n = openat(proc_fd.n, name, O_RDONLY | O_CLOEXEC);
    set_wake_up(SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
    int r = spare_start(proc_dir);
    return r < 0 ? r : make_ticker();
}

static int send_answer(const struct seccomp_notif_resp *answer)
{
    bool apart = overlap_answered(answer->id, overlap_now() ? now_ns() : 0);
    if (apart)
        set_wake_up(0);
    int r = ask_listener(SECCOMP_IOCTL_NOTIF_SEND, answer);
    if (apart)
        set_wake_up(SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
    return r;
}

static int linux_answer(uint64_t id, int64_t result)
{
    struct seccomp_notif_resp answer = {.id = id};
    /* The top page of values is errors, as in the host's own calling convention. */
    if (result < 0 && result >= -4095)
        answer.error = (int32_t)result;
    else
        answer.val = result;
    return send_answer(&answer);
}

static int linux_run(uint64_t id)
{
    struct seccomp_notif_resp answer = {.id = id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    return send_answer(&answer);
}

static int linux_place_fd(uint64_t id, struct hostfd fd, int number)
{
    struct seccomp_notif_addfd add = {
        .id = id,
        .flags = SECCOMP_ADDFD_FLAG_SETFD,
        .srcfd = (uint32_t)fd.n,
        .newfd = (uint32_t)number,
        .newfd_flags = O_CLOEXEC,
    };
    return ask_listener(SECCOMP_IOCTL_NOTIF_ADDFD, &add);
}

static bool linux_is_valid(uint64_t id)
{
    return ask_listener(SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

static ssize_t linux_read_memory(pid_t host_tid, void *dst, uint64_t src, size_t size)
{
    struct iovec local = {dst, size}, remote = {(void *)(uintptr_t)src, size};
    ssize_t n = process_vm_readv(host_tid, &local, 1, &remote, 1, 0);
    return n < 0 ? -errno : n;
}

static ssize_t linux_write_memory(pid_t host_tid, uint64_t dst, const void *src, size_t size)
{
    struct iovec local = {(void *)src, size}, remote = {(void *)(uintptr_t)dst, size};
    ssize_t n = process_vm_writev(host_tid, &local, 1, &remote, 1, 0);
    return n < 0 ? -errno : n;
}

static int linux_signal_thread(pid_t host_pid, pid_t host_tid, int sig)
{
    long r =
        host_pid ? syscall(SYS_tgkill, host_pid, host_tid, sig) : syscall(SYS_tkill, host_tid, sig);
    return r < 0 ? -errno : 0;
}

static int linux_signal_process(struct hostfd pidfd, int sig)
{
    return syscall(SYS_pidfd_send_signal, pidfd.n, sig, NULL, 0) < 0 ? -errno : 0;
}

static int linux_limit(pid_t host_pid, int resource, uint64_t soft)
{
    struct rlimit limit;
    if (prlimit(host_pid, (enum __rlimit_resource)resource, NULL, &limit) < 0)
        return -errno;
    /* The hard one stays: the kernel's own bookkeeping says whether it may be raised again. */
    limit.rlim_cur = MIN((rlim_t)soft, limit.rlim_max);
    return prlimit(host_pid, (enum __rlimit_resource)resource, &limit, NULL) < 0 ? -errno : 0;
}

/*
 * The mark is the soft RLIMIT_LOCKS: getrlimit(2) has it without any effect since Linux 2.4.25, and
 * the tasks' own calls about limits never reach the host.
 */
static int linux_get_mark(pid_t host_pid, uint64_t *ret)
{
    struct rlimit limit;
    if (prlimit(host_pid, RLIMIT_LOCKS, NULL, &limit) < 0)
        return -errno;
    *ret = limit.rlim_cur;
    return 0;
}

static int linux_set_mark(pid_t host_pid, uint64_t mark)
{
    struct rlimit limit;
    /* The hard one is the kernel's own in all tasks. */
    if (getrlimit(RLIMIT_LOCKS, &limit) < 0)
        return -errno;
    limit.rlim_cur = mark;
    return prlimit(host_pid, RLIMIT_LOCKS, &limit, NULL) < 0 ? -errno : 0;
}

static pid_t linux_id_inside(pid_t host_tid)
{
    if (!hostfd_is_open(tasks_pidns))
        return -ENOTTY;
    int id = ioctl(tasks_pidns.n, NS_GET_PID_IN_PIDNS, host_tid);
    return id < 0 ? -errno : id;
}

/* As clock_getcpuclockid(3) makes it, which asks the host about the process first. */
#define PROCESS_CLOCK(pid) ((clockid_t)(~(unsigned)(pid) << 3 | 2))

static int linux_cpu_time(pid_t host_pid, int64_t *ret_ns)
{
    struct timespec t;
    if (clock_gettime(PROCESS_CLOCK(host_pid), &t) < 0)
        return -errno;
    *ret_ns = t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
    return 0;
}

static int linux_how_ended(struct hostfd pidfd, int *ret_status)
{
    struct pidfd_info_exit info;
    int r, tries = 2;
    /* ESRCH means that it had no status and then was no more. One that tells has reaped it just
     * between the two, and has it now. */
    do {
        info = (struct pidfd_info_exit){.mask = PIDFD_INFO_EXIT};
        r = ioctl(pidfd.n, PIDFD_GET_INFO_EXIT, &info);
    } while (r < 0 && errno == ESRCH && --tries > 0);
    if (r < 0)
        return -ENODATA;
    if (!(info.mask & PIDFD_INFO_EXIT))
        return -EAGAIN;
    *ret_status = info.exit_code & 0xff7f;
    return 0;
}

static int open_proc(const char *name)
{
    return spare_open(proc_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

static void close_proc(int fd)
{
    close(fd);
    spare_refill();
}

static ssize_t linux_read_proc(const char *name, char *buffer, size_t size)
{
    int fd = open_proc(name);
    if (fd < 0)
        return fd;
    size_t done = 0;
    ssize_t n = 0;
    while (done + 1 < size && (n = read(fd, buffer + done, size - 1 - done)) > 0)
        done += (size_t)n;
    int error = errno;
    close_proc(fd);
    if (n < 0)
        return -error;
    buffer[done] = '\0';
    return (ssize_t)done;
}

static ssize_t linux_read_proc_part(const char *name, uint64_t offset, char *buffer, size_t size)
{
    int fd = open_proc(name);
    if (fd < 0)
        return fd;
    size_t done = 0;
    ssize_t n = 0;
    while (done < size && (n = pread(fd, buffer + done, size - done, (off_t)(offset + done))) > 0)
        done += (size_t)n;
    int error = errno;
    close_proc(fd);
    return n < 0 ? -error : (ssize_t)done;
}

/* Stays open, so it is none of the spare ones. */
static int linux_open_proc(const char *name, struct hostfd *ret)
{
    int fd = openat(proc_fd.n, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -errno;
    ret->n = fd;
    return 0;
}

static ssize_t linux_count_proc_lines(const char *name)
{
    char piece[16384];
    int fd = open_proc(name);
    if (fd < 0)
        return fd;
    ssize_t n, lines = 0;
    while ((n = read(fd, piece, sizeof(piece))) > 0)
        for (ssize_t i = 0; i < n; i++)
            lines += piece[i] == '\n';
    int error = errno;
    close_proc(fd);
    return n < 0 ? -error : lines;
}

const struct host_ops host_linux = {
    .receive = linux_receive,
    .answer = linux_answer,
    .run = linux_run,
    .place_fd = linux_place_fd,
    .is_valid = linux_is_valid,
    .read_memory = linux_read_memory,
    .write_memory = linux_write_memory,
    .signal_thread = linux_signal_thread,
    .signal_process = linux_signal_process,
    .limit = linux_limit,
    .get_mark = linux_get_mark,
    .set_mark = linux_set_mark,
    .id_inside = linux_id_inside,
    .cpu_time = linux_cpu_time,
    .how_ended = linux_how_ended,
    .set_alarm = host_alarm_set,
    .clear_alarm = host_alarm_clear,
    .read_proc = linux_read_proc,
    .read_proc_part = linux_read_proc_part,
    .open_proc = linux_open_proc,
    .count_proc_lines = linux_count_proc_lines,
};
