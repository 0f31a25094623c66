// SPDX-License-Identifier: Apache-2.0
/*
 * What all processes of the sandbox use together. To ask the host costs a small file a process, so
 * the answer is kept for SAMPLE_NS: a guest that reads /proc/meminfo in a loop can't make the
 * kernel busy with anything else for it.
 */
#include "kernel/fs/proc/proc.h"

#include "kernel/core/kernel.h"
#include "kernel/proc/account.h"

#define SAMPLE_NS (250 * NSEC_PER_MSEC)

#define LOAD_COUNT 3
static const int64_t load_window_ns[LOAD_COUNT] = {60 * NSEC_PER_SEC, 300 * NSEC_PER_SEC,
                                                   900 * NSEC_PER_SEC};

static struct proc_usage current;
static int64_t sampled_ns, previous_cpu_ns;
static bool sampled;

static void add_process(struct process *p, struct proc_usage *u)
{
    struct pseudo_node n = {.pid = p->pid, .identity = (uint64_t)p->start_ns};
    struct host_stat h;
    u->last_pid = MAX(u->last_pid, p->pid);
    if (p->state == PROCESS_ZOMBIE) {
        u->user_ns +=
            p->usage.ru_utime.tv_sec * NSEC_PER_SEC + p->usage.ru_utime.tv_usec * NSEC_PER_USEC;
        u->system_ns +=
            p->usage.ru_stime.tv_sec * NSEC_PER_SEC + p->usage.ru_stime.tv_usec * NSEC_PER_USEC;
        return;
    }
    if (proc_host_stat(&n, &h) == 0) {
        int64_t tick_ns = NSEC_PER_SEC / PROC_TICKS_PER_SECOND;
        u->user_ns += (int64_t)h.field[HOST_STAT_UTIME] * tick_ns;
        u->system_ns += (int64_t)h.field[HOST_STAT_STIME] * tick_ns;
        u->page_faults += h.field[HOST_STAT_MINFLT] + h.field[HOST_STAT_MAJFLT];
        u->major_faults += h.field[HOST_STAT_MAJFLT];
        u->running += proc_state(&n, h.state) == 'R';
    }
}

/*
 * The load is the CPU time per time, averaged with the weight that Linux gives: e^(-dt/window),
 * here 1/(1 + dt/window), which is the same for small steps and needs no exponential.
 */
static void update_load(struct proc_usage *u, int64_t now_ns)
{
    int64_t dt = now_ns - (sampled ? sampled_ns : kernel.boot_monotonic_ns);
    int64_t cpu_ns = u->user_ns + u->system_ns;
    if (dt <= 0)
        return;
    double busy = (double)MAX(cpu_ns - previous_cpu_ns, (int64_t)0) / (double)dt;
    for (int i = 0; i < LOAD_COUNT; i++) {
        double keep = 1.0 / (1.0 + (double)dt / (double)load_window_ns[i]);
        u->load[i] = current.load[i] * keep + busy * (1.0 - keep);
    }
    previous_cpu_ns = cpu_ns;
}

const struct proc_usage *proc_usage_now(void)
{
    int64_t now_ns = clock_monotonic_ns();
    if (sampled && now_ns - sampled_ns < SAMPLE_NS)
        return &current;
    struct account_totals ended = account_totals();
    struct proc_usage u = {.user_ns = ended.user_ns, .system_ns = ended.system_ns};
    struct process *p;
    memcpy(u.load, current.load, sizeof(u.load));
    list_for_each(p, &process_all, all_link)
    {
        add_process(p, &u);
    }
    /* Counters never go back, whatever was read between a process's end and its being counted. */
    u.user_ns = MAX(u.user_ns, current.user_ns);
    u.system_ns = MAX(u.system_ns, current.system_ns);
    u.page_faults = MAX(u.page_faults, current.page_faults);
    u.major_faults = MAX(u.major_faults, current.major_faults);
    u.last_pid = MAX(u.last_pid, current.last_pid);
    update_load(&u, now_ns);
    current = u;
    sampled_ns = now_ns;
    sampled = true;
    return &current;
}

const struct memory_use *proc_memory_now(void)
{
    return memory_use_recent(SAMPLE_NS);
}

uint64_t proc_memory_used_bytes(void)
{
    return MIN(proc_memory_now()->total_bytes, kernel.config.memory_bytes);
}

int64_t proc_cpu_user_ns(void)
{
    return proc_usage_now()->user_ns;
}

int64_t proc_cpu_system_ns(void)
{
    return proc_usage_now()->system_ns;
}

void proc_load_average(unsigned long ret[3])
{
    const struct proc_usage *u = proc_usage_now();
    for (int i = 0; i < LOAD_COUNT; i++)
        ret[i] = (unsigned long)(u->load[i] * 65536.0);
}
