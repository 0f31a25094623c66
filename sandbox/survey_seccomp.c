// SPDX-License-Identifier: Apache-2.0
/*
 * Seccomp user notification, tried out as a sandbox's kernel uses it: a child that shares our
 * descriptors installs a filter that hands getppid(2) to us, and calls it; we answer, read its
 * memory and put a descriptor in its table. Then it is sent signals while it calls: Linux that
 * has WAIT_KILLABLE_RECV and not its mend (6.12.117 and 6.18 have it) begins a call anew that was
 * received and answered between the moment in which the caller was woken by a signal and the one in
 * which it looks how far the call has come.
 */
#include "sandbox/host.h"
#include "sandbox/survey.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS      SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

#define CALLS   300 /* enough for a time of one */
#define SIGNALS 3000
#define WAIT_MS 3000
#define SECRET  0x5ec0de5ec0de5ecULL
#define ANSWER  4711

/* Of the last two descriptors below it, or below the limit, the first is the listener. */
#define NUMBERS 902

/* Shared with the child. */
struct trial {
    int listener, placed; /* the numbers that the listener gets, and that a descriptor is put at */
    int install_error;    /* positive errno of the filter */
    bool has_answers;     /* the child got what we answered, each time */
    bool has_placed;      /* ... and our descriptor */
    volatile bool is_installed;
    uint64_t secret;
};

struct outcome {
    int notify_error, wake_error, memory_error, place_error; /* positive errno; 0: works */
    double microseconds;                                     /* of one call */
    int answered, twice; /* calls with a signal; of those, that were begun anew */
    const char *untried; /* why they are fewer than SIGNALS; or NULL */
};

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

static void ignore(int number)
{
    (void)number;
}

_noreturn_ static void be_the_child(struct trial *t)
{
    struct sock_filter code[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr)},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_getppid},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_USER_NOTIF},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    };
    struct sock_fprog program = {ARRAY_SIZE(code), code};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                          SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
                          &program);
    if (fd < 0 || dup3(fd, t->listener, O_CLOEXEC) < 0) {
        t->install_error = errno;
        _exit(1);
    }
    close(fd);
    t->is_installed = true;
    t->has_answers = true;
    for (int i = 0; i < CALLS; i++)
        t->has_answers &= syscall(SYS_getppid, &t->secret) == ANSWER;
    t->has_placed = fcntl(t->placed, F_GETFD) >= 0;
    struct sigaction restart = {.sa_handler = ignore, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &restart, NULL);
    for (long i = 1; i <= SIGNALS; i++)
        syscall(SYS_getppid, i);
    _exit(0);
}

/* Once, while the child waits for its answer: what the kernel does with a task's memory and table.
 */
static void try_services(const struct trial *t, const struct seccomp_notif *n, struct outcome *o)
{
    uint64_t copy = 0;
    struct iovec local = {&copy, sizeof(copy)},
                 remote = {(void *)(uintptr_t)n->data.args[0], sizeof(copy)};
    struct seccomp_notif_addfd add = {.id = n->id,
                                      .flags = SECCOMP_ADDFD_FLAG_SETFD,
                                      .srcfd = STDERR_FILENO,
                                      .newfd = (__u32)t->placed,
                                      .newfd_flags = O_CLOEXEC};
    if (process_vm_readv((pid_t)n->pid, &local, 1, &remote, 1, 0) != sizeof(copy))
        o->memory_error = errno;
    else if (copy != SECRET)
        o->memory_error = EIO;
    if (ioctl(t->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0)
        o->place_error = errno;
}

static void answer_calls(const struct trial *t, struct outcome *o)
{
    int64_t start = 0;
    for (int i = 0; i < CALLS; i++) {
        struct seccomp_notif n = {0};
        struct pollfd p = {.fd = t->listener, .events = POLLIN};
        if (poll(&p, 1, WAIT_MS) != 1 || ioctl(t->listener, SECCOMP_IOCTL_NOTIF_RECV, &n) < 0) {
            o->notify_error = errno ? errno : ETIMEDOUT;
            return;
        }
        if (i == 0)
            try_services(t, &n, o);
        struct seccomp_notif_resp r = {.id = n.id, .val = ANSWER};
        if (ioctl(t->listener, SECCOMP_IOCTL_NOTIF_SEND, &r) < 0) {
            o->notify_error = errno;
            return;
        }
        if (i == 0)
            start = now_ns();
    }
    o->microseconds = (double)(now_ns() - start) / 1000.0 / (CALLS - 1);
}

/* NULL, or why there is none. */
static const char *wait_for_call(const struct trial *t)
{
    struct pollfd p = {.fd = t->listener, .events = POLLIN};
    int ready = poll(&p, 1, WAIT_MS);
    if (ready < 0)
        return strerror(errno);
    return ready == 0              ? "no call came for seconds"
           : !(p.revents & POLLIN) ? "the process that calls has ended"
                                   : NULL;
}

/*
 * The moment is shorter than a microsecond, so it is looked for at a different distance from each
 * signal. Notifications that are gone before they are received are not answered, and come again.
 */
static void answer_under_signals(const struct trial *t, pid_t pid, struct outcome *o)
{
    for (int i = 0; o->answered < SIGNALS; i++) {
        struct seccomp_notif n = {0};
        o->untried = i == 4 * SIGNALS ? "calls were gone before their answers" : wait_for_call(t);
        if (!o->untried && kill(pid, SIGUSR1) < 0)
            o->untried = strerror(errno);
        if (o->untried)
            return;
        int64_t until = now_ns() + i % 100 * 200;
        while (now_ns() < until)
            ;
        if (ioctl(t->listener, SECCOMP_IOCTL_NOTIF_RECV, &n) < 0)
            continue;
        if ((int)n.data.args[0] == o->answered)
            o->twice++;
        struct seccomp_notif_resp r = {.id = n.id, .val = ANSWER};
        if (ioctl(t->listener, SECCOMP_IOCTL_NOTIF_SEND, &r) == 0)
            o->answered = (int)n.data.args[0];
    }
}

static void wait_until_installed(const struct trial *t, pid_t pid)
{
    int64_t until = now_ns() + WAIT_MS * NSEC_PER_MSEC;
    siginfo_t info;
    while (!t->is_installed && now_ns() < until) {
        info.si_pid = 0;
        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid)
            return;
        usleep(200);
    }
}

/* 0, or negative errno when nothing could be tried. */
static int try_notification(struct trial *t, struct outcome *o)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) < 0)
        return -errno;
    t->placed = (int)MIN(files.rlim_cur, (rlim_t)NUMBERS) - 1;
    t->listener = t->placed - 1;
    if (t->listener <= STDERR_FILENO || fcntl(t->listener, F_GETFD) >= 0 ||
        fcntl(t->placed, F_GETFD) >= 0)
        return -EBUSY;
    /* Like fork(2), but for the table of descriptors, in which the listener is to appear. */
    pid_t pid = (pid_t)syscall(SYS_clone, (unsigned long)CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
    if (pid < 0)
        return -errno;
    if (pid == 0)
        be_the_child(t);
    wait_until_installed(t, pid);
    if (t->is_installed) {
        __u64 flags = SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP;
        if (ioctl(t->listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, flags) < 0)
            o->wake_error = errno;
        errno = 0;
        answer_calls(t, o);
        if (!o->notify_error)
            answer_under_signals(t, pid, o);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(t->listener);
    close(t->placed);
    return 0;
}

static void report_calls_run_once(struct survey *s, const struct outcome *o)
{
    static const char name[] = "calls that are run once";
    static const char cost[] = "a program that gets a signal may, very rarely, find that a call of "
                               "its was run twice: bytes written two times";
    struct survey_finding *f;
    if (o->untried)
        f = survey_find(s, name,
                        "could not be tried (%s): %d of %d calls were answered, %d run again",
                        o->untried, o->answered, SIGNALS, o->twice);
    else
        f = survey_find(s, name,
                        "%d of %d with a signal at the moment of the answer were run again",
                        o->twice, SIGNALS);
    if (o->twice)
        survey_lacks(f, SURVEY_DEGRADED, cost,
                     "use Linux 6.18 or newer, or the latest update of this one");
    else if (o->untried)
        survey_lacks(f, SURVEY_DEGRADED, "nobody knows whether signals make calls run twice here",
                     "remove what is named, or try again when the machine is less busy");
}

static void report_notification(struct survey *s, const struct trial *t, const struct outcome *o)
{
    struct survey_finding *f;
    if (!t->is_installed || o->notify_error || !t->has_answers) {
        int error = t->install_error ? t->install_error : o->notify_error;
        f = survey_find(s, "seccomp user notification", "does not work (%s)",
                        error ? strerror(error) : "wrong answers");
        survey_lacks(
            f, SURVEY_MISSING, "no system call could be answered",
            "use Linux 6.6 or newer, and in a container --security-opt seccomp=unconfined");
        return;
    }
    survey_find(s, "seccomp user notification", "works, %.1f us a call", o->microseconds);
    survey_find(s, "calls that signals can't interrupt", "works");
    report_calls_run_once(s, o);
    f = survey_find(s, "quick wake-up of notifications", "%s", o->wake_error ? "none" : "works");
    if (o->wake_error)
        survey_lacks(f, SURVEY_DEGRADED,
                     "each system call takes about ten times as long as it could",
                     "use Linux 6.6 or newer");
    f = survey_find(s, "descriptors for mappings", "%s",
                    o->place_error || !t->has_placed ? "can't be placed" : "can be placed");
    if (o->place_error || !t->has_placed)
        survey_lacks(f, SURVEY_MISSING, "no program could map its libraries",
                     "use Linux 5.19 or newer");
    f = survey_find(s, "memory of other processes", "%s",
                    o->memory_error ? strerror(o->memory_error) : "can be read");
    if (o->memory_error)
        survey_lacks(
            f, SURVEY_MISSING, "no argument of a system call could be read",
            "allow process_vm_readv(2): in a container --security-opt seccomp=unconfined, and "
            "kernel.yama.ptrace_scope below 3");
}

void survey_seccomp(struct survey *s)
{
    struct sandbox_error e;
    struct outcome o = {0};
    if (sandbox_check_seccomp(&e) < 0) {
        survey_lacks_by_error(survey_find(s, "seccomp", "not usable"), SURVEY_MISSING, &e);
        return;
    }
    struct trial *t =
        mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (t == MAP_FAILED)
        return;
    t->secret = SECRET;
    int r = try_notification(t, &o);
    if (r < 0)
        survey_lacks(survey_find(s, "seccomp user notification", "not tried (%s)", strerror(-r)),
                     SURVEY_DEGRADED, "nobody knows whether it works",
                     "close descriptors and try again");
    else
        report_notification(s, t, &o);
    munmap(t, sizeof(*t));
}
