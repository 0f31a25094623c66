// SPDX-License-Identifier: Apache-2.0
#include "kernel/host/overlap.h"

#define TASKS 8
/* An answer that lies further back says nothing: the task may have ended, or sleep on a futex. */
#define RECENT_CALLS 256
#define SCORE_ALONE  8 /* taken away while tasks seem to take turns; */
#define SCORE_PAUSE  2 /* and while they run side by side: one of two may compute for a while */
#define SCORE_ENTER  192
#define SCORE_MAX    1024

struct task {
    pid_t tid;
    bool is_running; /* out of the kernel, as far as that is known */
    uint64_t id;     /* of its last call */
    uint64_t answered_at;
    int64_t let_go_ns, worked_ns; /* 0: not known */
};

static struct task tasks[TASKS];
static uint64_t calls;
static uint64_t awaited; /* the last call, if the kernel slept until it came */
static unsigned score;
static bool overlaps;

static struct task *find_or_replace(pid_t tid)
{
    struct task *oldest = &tasks[0];
    for (size_t i = 0; i < TASKS; i++) {
        if (tasks[i].tid == tid)
            return &tasks[i];
        if (tasks[i].answered_at < oldest->answered_at)
            oldest = &tasks[i];
    }
    *oldest = (struct task){.tid = tid};
    return oldest;
}

static bool another_runs(const struct task *caller)
{
    for (size_t i = 0; i < TASKS; i++)
        if (&tasks[i] != caller && tasks[i].is_running &&
            calls - tasks[i].answered_at < RECENT_CALLS)
            return true;
    return false;
}

void overlap_received(pid_t tid, uint64_t id, bool was_there, int64_t now_ns)
{
    struct task *caller = find_or_replace(tid);
    caller->is_running = false;
    caller->id = id;
    caller->worked_ns = overlaps && caller->let_go_ns ? now_ns - caller->let_go_ns : 0;
    awaited = was_there ? 0 : id;
    calls++;
    if (another_runs(caller))
        score = MIN(score + 1, (unsigned)SCORE_MAX);
    else
        score -= MIN(score, (unsigned)(overlaps ? SCORE_PAUSE : SCORE_ALONE));
    overlaps = overlaps ? score > 0 : score >= SCORE_ENTER;
}

bool overlap_answered(uint64_t id, int64_t now_ns)
{
    for (size_t i = 0; i < TASKS; i++) {
        if (tasks[i].id != id)
            continue;
        tasks[i].is_running = true;
        tasks[i].answered_at = calls;
        tasks[i].let_go_ns = overlaps ? now_ns : 0;
        return overlaps && id != awaited && tasks[i].worked_ns >= OVERLAP_APART_NS;
    }
    return false;
}

bool overlap_now(void)
{
    return overlaps;
}
