// SPDX-License-Identifier: Apache-2.0
/* host calls: madvise */
#include "kernel/proc/memory_limit.h"

#include "kernel/core/kernel.h"
#include "kernel/proc/jobs.h"
#include "kernel/proc/memory_use.h"
#include "kernel/proc/meter.h"
#include "lib/base/control.h"

#include <malloc.h>
#include <signal.h>

/* What was admitted is filled at least this fast, and seen then. */
#define PROMISE_PER_SECOND (128LL << 20)
/* An eighth of the limit is not far past it. */
#define OVER_PART 8
/* So little is not worth a look. */
#define ADMITTED_BYTES (4UL << 20)
/* oom_score_adj of those that are spared while there is another one; proc_pid_oom_score_adj(5). */
#define SCORE_ADJ_EXEMPT (-1000)
/* A process that is killed takes a while to give its memory back. */
#define DYING_NS (20 * NSEC_PER_MSEC)
/* After so long another one has to go too. */
#define DYING_MAX_NS NSEC_PER_SEC

static uint64_t promised_bytes; /* admitted, and maybe not filled yet */
static int64_t promised_until_ns;
static int64_t killed_ns; /* when the last victim was chosen; 0: it is gone */

/* ---- the victim ---- */

/* A point of oom_score_adj is a thousandth of the limit. */
static int64_t badness(const struct process *p)
{
    int64_t adjusted = (int64_t)(kernel.config.memory_bytes / 1000) * p->oom_score_adj;
    int64_t held = (int64_t)memory_use_of(p);
    /* Between equals the sandbox goes on. */
    if (p == jobs_program)
        held -= held / 16;
    return held + adjusted;
}

static bool can_be_victim(const struct process *p, bool even_exempt)
{
    return p != process_init && p->state == PROCESS_ALIVE && !p->exiting && p->space &&
           (even_exempt || p->oom_score_adj > SCORE_ADJ_EXEMPT);
}

static struct process *find_victim(bool even_exempt)
{
    struct process *p, *worst = NULL;
    int64_t most = INT64_MIN;
    list_for_each(p, &process_all, all_link)
    {
        if (!can_be_victim(p, even_exempt) || badness(p) <= most)
            continue;
        most = badness(p);
        worst = p;
    }
    return worst;
}

static void kill_for_memory(struct process *p)
{
    p->end_reason = CONTROL_BY_MEMORY;
    process_kill(p, SIGKILL);
}

/* With those that share its memory: it comes back with the last of them. */
static void kill_victim(int64_t now_ns)
{
    struct process *victim = find_victim(false), *p;
    if (!victim)
        victim = find_victim(true);
    if (!victim)
        return;
    const struct address_space *space = victim->space;
    killed_ns = now_ns;
    list_for_each(p, &process_all, all_link)
    {
        if (p->space == space && can_be_victim(p, true))
            kill_for_memory(p);
    }
}

static bool is_dying(int64_t now_ns)
{
    const struct process *p;
    if (killed_ns == 0 || now_ns - killed_ns > DYING_MAX_NS)
        return false;
    list_for_each(p, &process_all, all_link)
    {
        if (p->state == PROCESS_ALIVE && p->end_reason == CONTROL_BY_MEMORY)
            return true;
    }
    killed_ns = 0;
    return false;
}

/* ---- looks ---- */

/* Bytes that were free at the last look, and the processor time then. */
static uint64_t free_bytes;
static int64_t looked_cpu_ns;

static uint64_t room_of(const struct memory_use *u)
{
    uint64_t limit = kernel.config.memory_bytes;
    return limit - MIN(u->total_bytes + u->copied_bytes, limit);
}

/* What this process keeps for speed alone, and what it has freed. */
static void give_back_own(void)
{
    dentry_trim(0);
    malloc_trim(0);
}

static struct memory_use measure(void)
{
    struct memory_use u = memory_use_measure(kernel.config.memory_bytes);
    if (u.total_bytes <= kernel.config.memory_bytes ||
        u.kernel_bytes <= kernel.config.memory_bytes / 4)
        return u;
    give_back_own();
    return memory_use_measure(kernel.config.memory_bytes);
}

/*
 * Memory is measured again when processor time enough to fill half of what was free has passed. An
 * alarm says so at the latest when each of twice as many processes has used its part of the other
 * half.
 */
static void look(int64_t now_ns, int64_t cpu_ns, struct meter_plan *plan)
{
    static size_t process_count = 1;
    uint64_t filled_bytes =
        (uint64_t)MAX(cpu_ns - looked_cpu_ns, (int64_t)0) * MEMORY_FILLED_PER_NS;
    if (filled_bytes >= free_bytes / 2) {
        const struct memory_use u = measure();
        bool is_over = u.total_bytes > kernel.config.memory_bytes;
        if (is_over && !u.is_unsure && !is_dying(now_ns))
            kill_victim(now_ns);
        if (is_over || u.is_unsure)
            meter_want_at(plan, now_ns + DYING_NS);
        looked_cpu_ns = cpu_ns;
        free_bytes = room_of(&u);
        process_count = MAX(u.process_count, (size_t)1);
    }
    meter_want_cpu(plan, (int64_t)(free_bytes / 2 / MEMORY_FILLED_PER_NS / (2 * process_count)));
    /* So many could pass the limit by far, each within its tick, and no alarm would tell. */
    uint64_t in_ticks = process_count * METER_TICK_NS * MEMORY_FILLED_PER_NS;
    if (in_ticks > free_bytes + kernel.config.memory_bytes / OVER_PART)
        meter_want_at(plan, now_ns + METER_CLOCK_NS);
}

static struct meter_watcher watcher = {.look = look};

void memory_limit_start(void)
{
    if (kernel.config.watch_memory)
        meter_add(&watcher);
}

bool memory_limit_admits(uint64_t bytes)
{
    if (!kernel.config.watch_memory || bytes <= ADMITTED_BYTES)
        return true;
    const struct memory_use u = measure();
    int64_t now_ns = clock_monotonic_ns();
    if (now_ns > promised_until_ns)
        promised_bytes = 0;
    uint64_t room = room_of(&u) - MIN(room_of(&u), promised_bytes);
    if (bytes > room)
        return false;
    promised_bytes += bytes;
    promised_until_ns =
        MAX(promised_until_ns, now_ns) + (int64_t)bytes / PROMISE_PER_SECOND * NSEC_PER_SEC;
    return true;
}
