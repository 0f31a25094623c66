// SPDX-License-Identifier: Apache-2.0
#include "kernel/proc/budget.h"

#include "kernel/core/kernel.h"
#include "kernel/core/traffic.h"
#include "kernel/host/host.h"
#include "kernel/proc/jobs.h"
#include "kernel/proc/meter.h"
#include "kernel/proc/usage.h"

#include <signal.h>
#include <stdio.h>
#include <sys/sysmacros.h>

#define MEMORY_DEVICES 1 /* the major number of /dev/null and kin */
/* Bytes of them that a nanosecond of processor time can change at the very most. */
#define CHANGED_PER_NS 4
/* An idle sandbox is found out by this part of its time later. */
#define IDLE_PARTS 10
/* Whoever uses less of a processor does nothing. */
#define IDLE_CPU_PART 100

struct traffic traffic;
void (*budget_over)(enum control_reason reason);

static void end_sandbox(enum control_reason reason)
{
    if (budget_over) {
        budget_over(reason);
        return;
    }
    struct process *p = jobs_program ? process_find(jobs_program->pid) : NULL;
    if (!p || p->exiting)
        return;
    p->end_reason = reason;
    process_kill(p, SIGKILL);
}

/* ---- processor time ---- */

static void look_at_cpu(int64_t now_ns, int64_t cpu_ns, struct meter_plan *plan)
{
    int64_t left_ns = (int64_t)kernel.config.cpu_budget_ns - cpu_ns;
    if (left_ns <= 0)
        end_sandbox(CONTROL_BY_CPU_BUDGET);
    meter_want_cpu(plan, MAX(left_ns, (int64_t)0) / (int64_t)(2 * MAX(process_count_tasks(), 1UL)));
}

/* ---- bytes written ---- */

static void count_written(uint64_t bytes)
{
    uint64_t budget = kernel.config.write_budget_bytes;
    traffic.written_bytes += bytes;
    if (budget && traffic.written_bytes > budget)
        end_sandbox(CONTROL_BY_WRITE_BUDGET);
}

/* Where they go to the outside, they have been added by now. */
static void look_at_sent(void)
{
    uint64_t budget = kernel.config.send_budget_bytes;
    if (budget && traffic.sent_bytes > budget)
        end_sandbox(CONTROL_BY_SEND_BUDGET);
}

ssize_t budget_note_written(const struct file *f, ssize_t n)
{
    bool is_memory =
        f && S_ISCHR(f->inode->mode) && gnu_dev_major(f->inode->rdev) == MEMORY_DEVICES;
    if (n > 0 && !is_memory)
        count_written((uint64_t)n);
    if (n > 0)
        look_at_sent();
    return n;
}

void budget_note_mapped(struct address_space *s)
{
    if (!s->changes_files)
        meter_look_soon();
    s->changes_files = true;
}

/* The host counts the pages of files on disk that p has made dirty: through mappings alone. */
static int count_mapped(struct process *p)
{
    char name[64], text[1024];
    snprintf(name, sizeof(name), "%d/io", p->host_pid);
    int r = (int)host->read_proc(name, text, sizeof(text));
    if (r < 0)
        return r;
    uint64_t bytes = (uint64_t)usage_status_number(text, "\nwrite_bytes:");
    if (bytes > p->mapped_written_bytes)
        count_written(bytes - p->mapped_written_bytes);
    p->mapped_written_bytes = MAX(bytes, p->mapped_written_bytes);
    return 0;
}

void budget_note_end(struct process *p)
{
    if (!p->space || !p->space->changes_files)
        return;
    int r = count_mapped(p);
    /* The host has ended it, and keeps nothing of it: as much as it can have been. */
    if ((r == -ENOENT || r == -ESRCH) && kernel.config.write_budget_bytes)
        count_written((uint64_t)meter_unseen_ns(p, clock_monotonic_ns()) * CHANGED_PER_NS);
}

/* Half of what is left can be changed until then, whoever does. */
static int64_t mapped_look_ns(void)
{
    uint64_t budget = kernel.config.write_budget_bytes;
    uint64_t left = budget - MIN(budget, traffic.written_bytes);
    return (int64_t)(left / 2 / CHANGED_PER_NS / MAX(process_count_tasks(), 1UL));
}

static void look_at_mapped(int64_t now_ns, int64_t cpu_ns, struct meter_plan *plan)
{
    struct process *p;
    list_for_each(p, &process_all, all_link)
    {
        if (p->state != PROCESS_ALIVE || p->exiting || !p->space || !p->space->changes_files)
            continue;
        count_mapped(p);
        meter_want_cpu(plan, mapped_look_ns());
    }
}

/* ---- nothing happens ---- */

static struct {
    int64_t since_ns;  /* nothing has happened */
    int64_t looked_ns; /* and then this was what there was */
    int64_t cpu_ns;
    uint64_t stream_bytes;
} quiet;

static void look_at_idle(int64_t now_ns, int64_t cpu_ns, struct meter_plan *plan)
{
    int64_t limit_ns = (int64_t)kernel.config.idle_ns, part_ns = limit_ns / IDLE_PARTS;
    if (now_ns - quiet.looked_ns >= part_ns) {
        bool computes = (cpu_ns - quiet.cpu_ns) > (now_ns - quiet.looked_ns) / IDLE_CPU_PART;
        if (computes || traffic.stream_bytes != quiet.stream_bytes)
            quiet.since_ns = now_ns;
        quiet.looked_ns = now_ns;
        quiet.cpu_ns = cpu_ns;
        quiet.stream_bytes = traffic.stream_bytes;
    }
    if (now_ns - quiet.since_ns >= limit_ns)
        end_sandbox(CONTROL_BY_IDLE);
    meter_want_at(plan, quiet.looked_ns + part_ns);
}

void budget_start(void)
{
    static struct meter_watcher cpu = {.look = look_at_cpu}, mapped = {.look = look_at_mapped},
                                idle = {.look = look_at_idle};
    if (kernel.config.cpu_budget_ns)
        meter_add(&cpu);
    if (kernel.config.write_budget_bytes)
        meter_add(&mapped);
    if (kernel.config.idle_ns) {
        quiet.since_ns = quiet.looked_ns = clock_monotonic_ns();
        meter_add(&idle);
    }
}
