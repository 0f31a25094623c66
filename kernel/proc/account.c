// SPDX-License-Identifier: Apache-2.0
#include "kernel/proc/account.h"

#include "kernel/core/kernel.h"
#include "kernel/host/host.h"
#include "kernel/proc/meter.h"
#include "kernel/proc/usage.h"

#include <stdio.h>

static struct account_totals totals;

static int64_t timeval_ns(struct timeval t)
{
    return t.tv_sec * NSEC_PER_SEC + t.tv_usec * NSEC_PER_USEC;
}

static struct timeval ns_timeval(int64_t ns)
{
    return (struct timeval){ns / NSEC_PER_SEC, ns % NSEC_PER_SEC / NSEC_PER_USEC};
}

/*
 * What a shorter process used is not asked for in full: most are short, and the two files of /proc
 * that say it cost as much as the fork. It is the clock tick of the times in them.
 */
#define BRIEF_NS (10 * NSEC_PER_MSEC)

static ssize_t read_own(const struct process *p, const char *what, char *text, size_t size)
{
    char name[32];
    snprintf(name, sizeof(name), "%d/%s", p->host_pid, what);
    return host->read_proc(name, text, size);
}

/* The second number of /proc/PID/statm, in pages: what it holds at its end. */
static long resident_kib(const struct process *p)
{
    char text[128], *end;
    if (read_own(p, "statm", text, sizeof(text)) < 0)
        return 0;
    strtol(text, &end, 10);
    return strtol(end, NULL, 10) * (GUEST_PAGE_SIZE / 1024);
}

/* False, and nothing changed, when it is gone. */
static bool sample(const struct process *p, struct rusage *ret)
{
    int64_t total_ns, system_ns = 0;
    if (host->cpu_time(p->host_pid, &total_ns) < 0)
        return false;
    /* The host, too, takes all of it for the program's own when no tick has said more. */
    if (total_ns < BRIEF_NS)
        ret->ru_maxrss = resident_kib(p);
    else if (process_usage(p, ret) == 0) /* in whole ticks: only how the time is divided is kept */
        system_ns = MIN(timeval_ns(ret->ru_stime), total_ns);
    ret->ru_utime = ns_timeval(total_ns - system_ns);
    ret->ru_stime = ns_timeval(system_ns);
    return true;
}

static void add_to_totals(struct account_totals *t, const struct rusage *usage)
{
    t->user_ns += timeval_ns(usage->ru_utime);
    t->system_ns += timeval_ns(usage->ru_stime);
    t->peak_memory_bytes = MAX(t->peak_memory_bytes, (int64_t)usage->ru_maxrss * 1024);
}

bool account_sample(struct process *p)
{
    bool is_there = sample(p, &p->usage);
    if (!is_there)
        p->usage.ru_utime = ns_timeval(account_cpu_ns(p));
    add_to_totals(&totals, &p->usage);
    return is_there;
}

int64_t account_cpu_ns(struct process *p)
{
    int64_t now_ns = clock_monotonic_ns(), cpu_ns;
    if (host->cpu_time(p->host_pid, &cpu_ns) < 0)
        return p->seen_cpu_ns + meter_unseen_ns(p, now_ns);
    p->seen_cpu_ns = cpu_ns;
    p->seen_ns = now_ns;
    return cpu_ns;
}

void account_add_unseen(int64_t ns)
{
    totals.user_ns += ns;
}

static void add_time(struct timeval *sum, struct timeval t)
{
    *sum = ns_timeval(timeval_ns(*sum) + timeval_ns(t));
}

static void add_usage(struct rusage *sum, const struct rusage *usage)
{
    add_time(&sum->ru_utime, usage->ru_utime);
    add_time(&sum->ru_stime, usage->ru_stime);
    sum->ru_maxrss = MAX(sum->ru_maxrss, usage->ru_maxrss);
    sum->ru_minflt += usage->ru_minflt;
    sum->ru_majflt += usage->ru_majflt;
    sum->ru_nvcsw += usage->ru_nvcsw;
    sum->ru_nivcsw += usage->ru_nivcsw;
}

struct rusage account_whole(const struct process *p)
{
    struct rusage whole = p->usage;
    add_usage(&whole, &p->children_usage);
    return whole;
}

void account_add_to_parent(const struct process *child)
{
    const struct rusage whole = account_whole(child);
    add_usage(&child->parent->children_usage, &whole);
    io_count_add(&child->parent->io, &child->io);
}

struct account_totals account_totals(void)
{
    return totals;
}

struct account_totals account_totals_with_living(void)
{
    struct account_totals sum = totals;
    const struct process *p;
    list_for_each(p, &process_all, all_link)
    {
        struct rusage usage = {0};
        if (p->state == PROCESS_ALIVE && !p->exiting && p != process_init && sample(p, &usage))
            add_to_totals(&sum, &usage);
    }
    return sum;
}
