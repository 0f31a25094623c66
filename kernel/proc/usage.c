// SPDX-License-Identifier: Apache-2.0
#include "kernel/proc/usage.h"

#include "kernel/host/host.h"

#include <stdio.h>

/* Numbers of fields in /proc/PID/stat; the first after the name is 3. */
#define STAT_FIRST  3
#define STAT_MINFLT 10
#define STAT_MAJFLT 12
#define STAT_UTIME  14
#define STAT_STIME  15

struct stat_fields {
    uint64_t field[STAT_STIME + 1];
};

/* The name, which a task chose, ends at the last parenthesis. */
static int parse_stat(const char *text, struct stat_fields *ret)
{
    struct stat_fields f = {{0}};
    const char *at = strrchr(text, ')');
    if (!at || at[1] != ' ' || !at[2])
        return -EINVAL;
    at += 3; /* the state, a letter */
    for (int i = STAT_FIRST + 1; i <= STAT_STIME; i++) {
        char *end;
        f.field[i] = strtoull(at, &end, 10);
        if (end == at)
            return -EINVAL;
        at = end;
    }
    *ret = f;
    return 0;
}

static int read_stat(const char *name, struct stat_fields *ret)
{
    char text[1024];
    ssize_t n = host->read_proc(name, text, sizeof(text));
    return n < 0 ? (int)n : parse_stat(text, ret);
}

static int64_t ticks_ns(uint64_t ticks)
{
    return (int64_t)ticks * (NSEC_PER_SEC / sysconf(_SC_CLK_TCK));
}

static void process_name(const struct process *p, const char *what, char name[64])
{
    snprintf(name, 64, "%d/%s", p->host_pid, what);
}

static void thread_name(const struct thread *t, const char *what, char name[64])
{
    snprintf(name, 64, "%d/task/%d/%s", t->process->host_pid, t->host_tid, what);
}

static int cpu_time(const char *name, int64_t *ret_user_ns, int64_t *ret_system_ns)
{
    struct stat_fields f;
    int r = read_stat(name, &f);
    if (r < 0)
        return r;
    *ret_user_ns = ticks_ns(f.field[STAT_UTIME]);
    *ret_system_ns = ticks_ns(f.field[STAT_STIME]);
    return 0;
}

int process_cpu_time(const struct process *p, int64_t *ret_user_ns, int64_t *ret_system_ns)
{
    char name[64];
    process_name(p, "stat", name);
    return cpu_time(name, ret_user_ns, ret_system_ns);
}

int thread_cpu_time(const struct thread *t, int64_t *ret_user_ns, int64_t *ret_system_ns)
{
    char name[64];
    thread_name(t, "stat", name);
    return cpu_time(name, ret_user_ns, ret_system_ns);
}

struct timeval usage_timeval(int64_t ns)
{
    return (struct timeval){ns / NSEC_PER_SEC, ns % NSEC_PER_SEC / NSEC_PER_USEC};
}

int usage_read_status(pid_t host_tid, const char **ret)
{
    static char text[USAGE_STATUS_MAX_BYTES];
    char name[64];
    snprintf(name, sizeof(name), "%d/status", host_tid);
    ssize_t n = host->read_proc(name, text, sizeof(text));
    if (n < 0)
        return (int)n;
    *ret = text;
    return 0;
}

/* The number in the line of /proc/PID/status that begins with key; 0 when there is none. */
long usage_status_number(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    return at ? strtol(at + strlen(key), NULL, 10) : 0;
}

static int fill(const char *stat_name, pid_t host_tid, struct rusage *ret)
{
    struct stat_fields f;
    const char *status = "";
    struct rusage u;
    int r = read_stat(stat_name, &f);
    if (r < 0)
        return r;
    usage_read_status(host_tid, &status);
    memset(&u, 0, sizeof(u));
    u.ru_utime = usage_timeval(ticks_ns(f.field[STAT_UTIME]));
    u.ru_stime = usage_timeval(ticks_ns(f.field[STAT_STIME]));
    u.ru_minflt = (long)f.field[STAT_MINFLT];
    u.ru_majflt = (long)f.field[STAT_MAJFLT];
    u.ru_maxrss = usage_status_number(status, "\nVmHWM:");
    u.ru_nvcsw = usage_status_number(status, "\nvoluntary_ctxt_switches:");
    u.ru_nivcsw = usage_status_number(status, "\nnonvoluntary_ctxt_switches:");
    *ret = u;
    return 0;
}

int process_usage(const struct process *p, struct rusage *ret)
{
    char stat_name[64];
    if (p->state == PROCESS_ZOMBIE) {
        *ret = p->usage;
        return 0;
    }
    process_name(p, "stat", stat_name);
    return fill(stat_name, p->host_pid, ret);
}

int thread_usage(const struct thread *t, struct rusage *ret)
{
    char stat_name[64];
    thread_name(t, "stat", stat_name);
    return fill(stat_name, t->host_tid, ret);
}

uint64_t process_page_faults(const struct process *p)
{
    char name[64] = "self/stat";
    struct stat_fields f;
    if (p)
        process_name(p, "stat", name);
    return read_stat(name, &f) < 0 ? 0 : f.field[STAT_MINFLT];
}

bool thread_is_running(const struct thread *t)
{
    char name[64], text[1024];
    thread_name(t, "stat", name);
    const char *state = host->read_proc(name, text, sizeof(text)) < 0 ? NULL : strrchr(text, ')');
    return state && !strncmp(state, ") R", 3);
}
