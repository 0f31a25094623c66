// SPDX-License-Identifier: Apache-2.0
/*
 * host calls: clock_getres read rt_sigprocmask signalfd4 timer_create timer_delete timer_settime
 */
#include "kernel/host/alarm.h"

#include "kernel/host/watch.h"

#include <signal.h>
#include <sys/signalfd.h>

void (*host_alarm_fired)(void);

static struct host_watch watch = {.fd = {-1}};

static int signal_number(void)
{
    return SIGRTMIN;
}

/* A timer that goes off again before it was read counts its overruns, and queues nothing more. */
static void on_signals(struct host_watch *w, uint32_t events)
{
    struct signalfd_siginfo info[64];
    if (read(w->fd.n, info, sizeof(info)) > 0 && host_alarm_fired)
        host_alarm_fired();
}

static int start(void)
{
    sigset_t set;
    if (hostfd_is_open(watch.fd))
        return 0;
    sigemptyset(&set);
    sigaddset(&set, signal_number());
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return -errno;
    watch.fd.n = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (!hostfd_is_open(watch.fd))
        return -errno;
    watch.ready = on_signals;
    watch.patient = true;
    int r = host_watch_add(&watch, EPOLLIN);
    if (r < 0)
        hostfd_close(&watch.fd);
    return r;
}

static int make(struct host_alarm *a, pid_t host_pid)
{
    clockid_t clock = CLOCK_PROCESS_CPUTIME_ID;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal_number()};
    int r = host_pid ? clock_getcpuclockid(host_pid, &clock) : 0;
    if (r != 0)
        return -r;
    if (timer_create(clock, &event, &a->timer) < 0)
        return errno == EINVAL ? -ESRCH : -errno;
    a->is_made = true;
    return 0;
}

int host_alarm_set(struct host_alarm *a, pid_t host_pid, int64_t period_ns)
{
    const struct timespec period = {period_ns / NSEC_PER_SEC, period_ns % NSEC_PER_SEC};
    const struct itimerspec value = {period, period};
    if (a->is_made && a->period_ns == period_ns)
        return 0;
    int r = start();
    if (r == 0 && !a->is_made)
        r = make(a, host_pid);
    if (r < 0)
        return r;
    if (timer_settime(a->timer, 0, &value, NULL) < 0)
        return -errno;
    a->period_ns = period_ns;
    return 0;
}

void host_alarm_clear(struct host_alarm *a)
{
    if (a->is_made)
        timer_delete(a->timer);
    *a = (struct host_alarm){0};
}
