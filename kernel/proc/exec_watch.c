// SPDX-License-Identifier: Apache-2.0
#include "kernel/proc/exec_watch.h"

#include "kernel/guest/numbers.h"
#include "kernel/host/host.h"
#include "kernel/proc/exec.h"

#include <stdio.h>
#include <sys/syscall.h>

#define FIRST_NS    (10 * NSEC_PER_MSEC)
#define DISTANCE_NS (100 * NSEC_PER_MSEC) /* at most */

enum whereabouts { IS_IN_EXEC, IS_IN_OTHER_CALL, IS_RUNNING };

/* From /proc/TID/syscall, proc(5). The new program's first call is the stub's. */
static enum whereabouts whereabouts(const struct thread *t)
{
    char name[32], text[256], *end;
    snprintf(name, sizeof(name), "%d/syscall", t->host_tid);
    if (host->read_proc(name, text, sizeof(text)) < 0)
        return IS_IN_EXEC; /* it has the leader's number by now */
    if (!strncmp(text, "running", strlen("running")))
        return IS_RUNNING;
    long nr = strtol(text, &end, 10);
    bool other =
        end > text && nr >= 0 && nr != SYS_execve && nr != SYS_execveat && nr != SYS_GLOVEBOX_EXEC;
    return other ? IS_IN_OTHER_CALL : IS_IN_EXEC;
}

/* ---- /proc/TID/stat, proc_pid_stat(5) ---- */

#define STAT_UTIME    14
#define STAT_STIME    15
#define STAT_PENDING  31 /* signals up to 31 */
#define STAT_BLOCKED  32
#define STAT_SIGCATCH 34

struct sight {
    unsigned long pending, blocked, caught;
    int64_t cpu_ns;
};

/* A field after the second, which is the name and may hold anything. */
static unsigned long stat_field(const char *text, int number)
{
    const char *at = strrchr(text, ')');
    for (int field = 2; at && field < number; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoul(at + 1, NULL, 10) : 0;
}

static int see(const char *name, struct sight *ret)
{
    char text[1024];
    ssize_t n = host->read_proc(name, text, sizeof(text));
    if (n < 0)
        return (int)n;
    unsigned long ticks = stat_field(text, STAT_UTIME) + stat_field(text, STAT_STIME);
    *ret = (struct sight){
        .pending = stat_field(text, STAT_PENDING),
        .blocked = stat_field(text, STAT_BLOCKED),
        .caught = stat_field(text, STAT_SIGCATCH),
        .cpu_ns = (int64_t)ticks * (NSEC_PER_SEC / sysconf(_SC_CLK_TCK)),
    };
    return 0;
}

bool exec_has_happened(const struct thread *t, bool *ret_blocks)
{
    char name[32];
    struct sight s;
    snprintf(name, sizeof(name), "%d/stat", t->host_tid);
    if (see(name, &s) < 0)
        return false;
    *ret_blocks = s.blocked != 0;
    return s.caught == 0;
}

/* ---- looks ---- */

static bool deaf_has_failed(struct exec_watch *w, int64_t cpu_ns)
{
    if (!w->is_deaf)
        w->deaf_from_ns = cpu_ns;
    w->is_deaf = true;
    return cpu_ns - w->deaf_from_ns >= EXEC_DEAF_NS;
}

static bool has_failed(struct exec_watch *w)
{
    const struct thread *t = w->thread;
    const pid_t host_pid = t->process->host_pid;
    char name[64];
    struct sight s;
    enum whereabouts now = whereabouts(t);
    if (now != IS_RUNNING)
        return now == IS_IN_OTHER_CALL;
    if (!w->was_kicked) {
        w->was_kicked = host->signal_thread(host_pid, t->host_tid, SIGNAL_KICK) == 0;
        return false;
    }
    snprintf(name, sizeof(name), "%d/task/%d/stat", host_pid, t->host_tid);
    if (see(name, &s) < 0 || s.caught == 0)
        return false;
    if (s.blocked & SIGMASK(SIGNAL_KICK))
        return deaf_has_failed(w, s.cpu_ns);
    if (s.pending & SIGMASK(SIGNAL_KICK))
        return false;
    /* The host reads a line field by field: its exec may have come to its end in the middle. */
    return see(name, &s) == 0 && s.caught != 0;
}

static void on_look(struct timer *timer)
{
    struct exec_watch *w = container_of(timer, struct exec_watch, timer);
    if (has_failed(w)) {
        exec_cancel(w->thread);
        return;
    }
    w->distance_ns = MIN(2 * w->distance_ns, DISTANCE_NS);
    timer_arm(timer, clock_monotonic_ns() + w->distance_ns);
}

int exec_watch_start(struct exec_watch *w, struct thread *t)
{
    *w = (struct exec_watch){
        .timer = TIMER_INIT(on_look),
        .thread = t,
        .distance_ns = FIRST_NS,
    };
    return timer_arm(&w->timer, clock_monotonic_ns() + w->distance_ns);
}

void exec_watch_end(struct exec_watch *w)
{
    timer_disarm(&w->timer);
}
