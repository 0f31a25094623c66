// SPDX-License-Identifier: Apache-2.0
/*
 * Scheduling: nice values, policies, CPU masks, I/O priorities. Kept and reported; who runs when is
 * the host's to decide.
 */
#include "kernel/sys/handlers.h"

#include "kernel/core/kernel.h"
#include "kernel/proc/process.h"

#include <linux/capability.h>
#include <sched.h>

#define NICE_MIN (-20)
#define NICE_MAX 19

#define POLICY_DEADLINE      6
#define POLICY_RESET_ON_FORK 0x40000000
#define REALTIME_MIN         1
#define REALTIME_MAX         99

/* What sched_rr_get_interval(2) says of SCHED_OTHER; Linux's depends on load. */
#define SLICE_NS (4 * NSEC_PER_MSEC)

static struct thread *find_thread(struct call *c, pid_t tid)
{
    if (tid == 0)
        return c->thread;
    struct thread *t = thread_find(tid);
    if (!t) {
        process_settle_all();
        t = thread_find(tid);
    }
    return t;
}

/* sched_setscheduler(2) and kin, setpriority(2): the same user, or the capability. */
static bool may_change(const struct call *c, const struct thread *t)
{
    const struct cred *a = c->thread->cred, *b = t->cred;
    return a->euid == b->uid || a->euid == b->euid || cred_has_cap(a, CAP_SYS_NICE);
}

static bool may_lower_nice(const struct call *c, const struct process *p, int nice)
{
    return process_limit(p, RLIMIT_NICE) >= (size_t)(20 - nice) ||
           cred_has_cap(c->thread->cred, CAP_SYS_NICE);
}

/* ---- groups of processes, for priorities ---- */

/*
 * setpriority(2), ioprio_set(2) and their kin name one process, a group, or all of a user. Calls
 * act for each; its result is -ESRCH while there was none.
 */
typedef long (*priority_action)(struct call *c, struct process *p, long so_far);

enum priority_target { TARGET_PROCESS, TARGET_GROUP, TARGET_USER };

static long for_user(struct call *c, uid_t uid, priority_action act)
{
    struct process *p;
    long result = -ESRCH;
    list_for_each(p, &process_all, all_link)
    {
        const struct thread *t = process_leader(p);
        if (t && t->cred && t->cred->uid == uid)
            result = act(c, p, result);
    }
    return result;
}

static long for_target(struct call *c, enum priority_target target, int who, priority_action act)
{
    struct process *p;
    long result = -ESRCH;
    if (target == TARGET_PROCESS) {
        struct thread *t = find_thread(c, who);
        return t ? act(c, t->process, result) : result;
    }
    if (target == TARGET_USER)
        return for_user(c, who ? (uid_t)who : c->thread->cred->uid, act);
    struct process_group *g = who ? process_group_find(who) : c->thread->process->group;
    if (!g)
        return result;
    list_for_each(p, &g->members, group_link)
    {
        if (!list_is_empty(&p->threads))
            result = act(c, p, result);
    }
    return result;
}

/* ---- nice ---- */

static int clamp_nice(int nice)
{
    return MAX(MIN(nice, NICE_MAX), NICE_MIN);
}

/* 40 to 1: the call never answers a negative number that is no error. */
static long higher_priority(struct call *c, struct process *p, long so_far)
{
    return MAX(so_far, 20 - (long)p->nice);
}

long sys_getpriority(struct call *c)
{
    int which = call_int(c, 0);
    if (which < TARGET_PROCESS || which > TARGET_USER)
        return -EINVAL;
    return for_target(c, (enum priority_target)which, call_int(c, 1), higher_priority);
}

static long set_nice(struct call *c, struct process *p, long so_far)
{
    int nice = clamp_nice(call_int(c, 2));
    if (!may_change(c, process_leader(p)))
        return -EPERM;
    if (nice < p->nice && !may_lower_nice(c, p, nice))
        return -EACCES;
    p->nice = nice;
    return so_far == -ESRCH ? 0 : so_far;
}

long sys_setpriority(struct call *c)
{
    int which = call_int(c, 0);
    if (which < TARGET_PROCESS || which > TARGET_USER)
        return -EINVAL;
    return for_target(c, (enum priority_target)which, call_int(c, 1), set_nice);
}

/* ---- policies ---- */

static bool is_realtime(int policy)
{
    return policy == SCHED_FIFO || policy == SCHED_RR;
}

static bool is_policy(int policy)
{
    return policy == SCHED_OTHER || is_realtime(policy) || policy == SCHED_BATCH ||
           policy == SCHED_IDLE || policy == POLICY_DEADLINE;
}

/* policy without flags. Time for others is nobody's to take here: realtime policies are refused. */
static long set_policy(struct call *c, struct thread *t, int policy, int flags, int priority)
{
    if (!is_policy(policy) || priority < 0 || priority > REALTIME_MAX)
        return -EINVAL;
    if (is_realtime(policy) != (priority != 0))
        return -EINVAL;
    if (is_realtime(policy) || policy == POLICY_DEADLINE || !may_change(c, t))
        return -EPERM;
    if ((t->sched_policy & ~POLICY_RESET_ON_FORK) == SCHED_IDLE && policy != SCHED_IDLE &&
        !may_lower_nice(c, t->process, t->process->nice))
        return -EPERM;
    t->sched_policy = policy | flags;
    t->sched_priority = priority;
    return 0;
}

/* The thread and parameter that both calls below name. */
static long read_parameter(struct call *c, int argument, struct thread **ret_thread,
                           struct sched_param *ret_param)
{
    pid_t tid = call_int(c, 0);
    struct gaddr at = call_addr(c, argument);
    if (!at.v || tid < 0)
        return -EINVAL;
    if (call_read(c, ret_param, at, sizeof(*ret_param)) < 0)
        return -EFAULT;
    *ret_thread = find_thread(c, tid);
    return *ret_thread ? 0 : -ESRCH;
}

long sys_sched_setscheduler(struct call *c)
{
    int policy = call_int(c, 1);
    struct thread *t;
    struct sched_param param;
    if (policy < 0)
        return -EINVAL;
    long r = read_parameter(c, 2, &t, &param);
    if (r < 0)
        return r;
    int flags = policy & POLICY_RESET_ON_FORK;
    policy &= ~POLICY_RESET_ON_FORK;
    if (policy == POLICY_DEADLINE) /* what it needs comes with sched_setattr(2) only */
        return -EINVAL;
    return set_policy(c, t, policy, flags, param.sched_priority);
}

long sys_sched_setparam(struct call *c)
{
    struct thread *t;
    struct sched_param param;
    long r = read_parameter(c, 1, &t, &param);
    if (r < 0)
        return r;
    int flags = t->sched_policy & POLICY_RESET_ON_FORK;
    return set_policy(c, t, t->sched_policy & ~POLICY_RESET_ON_FORK, flags, param.sched_priority);
}

long sys_sched_getscheduler(struct call *c)
{
    pid_t tid = call_int(c, 0);
    if (tid < 0)
        return -EINVAL;
    const struct thread *t = find_thread(c, tid);
    return t ? t->sched_policy : -ESRCH;
}

long sys_sched_getparam(struct call *c)
{
    pid_t tid = call_int(c, 0);
    struct gaddr at = call_addr(c, 1);
    if (!at.v || tid < 0)
        return -EINVAL;
    const struct thread *t = find_thread(c, tid);
    if (!t)
        return -ESRCH;
    struct sched_param param = {.sched_priority = t->sched_priority};
    return call_write(c, at, &param, sizeof(param));
}

long sys_sched_get_priority_max(struct call *c)
{
    int policy = call_int(c, 0);
    if (!is_policy(policy))
        return -EINVAL;
    return is_realtime(policy) ? REALTIME_MAX : 0;
}

long sys_sched_get_priority_min(struct call *c)
{
    int policy = call_int(c, 0);
    if (!is_policy(policy))
        return -EINVAL;
    return is_realtime(policy) ? REALTIME_MIN : 0;
}

long sys_sched_rr_get_interval(struct call *c)
{
    pid_t tid = call_int(c, 0);
    if (tid < 0)
        return -EINVAL;
    if (!find_thread(c, tid))
        return -ESRCH;
    struct timespec slice = {0, SLICE_NS};
    return call_write(c, call_addr(c, 1), &slice, sizeof(slice));
}

/* ---- sched_setattr, sched_getattr: struct sched_attr of linux/sched/types.h ---- */

struct attr {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
    uint32_t util_min, util_max;
};
#define ATTR_SIZE_FIRST    48
#define ATTR_FLAGS_KNOWN   0x7fULL
#define ATTR_RESET_ON_FORK 0x01ULL
#define ATTR_KEEP_POLICY   0x08ULL
#define ATTR_KEEP_PARAMS   0x10ULL
#define ATTR_UTIL_CLAMP    0x60ULL

/* Copies what both sides know; bytes that we don't know must be zero: E2BIG, and we tell our size.
 */
static long read_attr(struct call *c, struct gaddr at, struct attr *ret)
{
    static const uint32_t own_size = sizeof(struct attr);
    char bytes[GUEST_PAGE_SIZE] = {0};
    uint32_t size;
    if (call_read(c, &size, at, sizeof(size)) < 0)
        return -EFAULT;
    if (size == 0)
        size = ATTR_SIZE_FIRST;
    bool known = size >= ATTR_SIZE_FIRST && size <= sizeof(bytes);
    if (known && call_read(c, bytes, at, size) < 0)
        return -EFAULT;
    for (size_t i = sizeof(*ret); i < sizeof(bytes); i++)
        known &= bytes[i] == 0;
    if (!known) {
        call_write(c, at, &own_size, sizeof(own_size));
        return -E2BIG;
    }
    memcpy(ret, bytes, sizeof(*ret));
    if ((ret->flags & ATTR_UTIL_CLAMP) && size < sizeof(*ret))
        return -EINVAL;
    return 0;
}

#define DEADLINE_RUNTIME_MIN_NS 1024

/* __checkparam_dl() of Linux, without the range of periods that can be set there. */
static bool is_deadline(const struct attr *a)
{
    uint64_t period = a->period ? a->period : a->deadline;
    return a->runtime >= DEADLINE_RUNTIME_MIN_NS && a->runtime <= a->deadline &&
           a->deadline <= period && period <= INT64_MAX;
}

long sys_sched_setattr(struct call *c)
{
    pid_t tid = call_int(c, 0);
    struct gaddr at = call_addr(c, 1);
    struct attr attr;
    if (!at.v || tid < 0 || call_uint(c, 2))
        return -EINVAL;
    long r = read_attr(c, at, &attr);
    if (r < 0)
        return r;
    if ((int32_t)attr.policy < 0 || (attr.flags & ~ATTR_FLAGS_KNOWN))
        return -EINVAL;
    struct thread *t = find_thread(c, tid);
    if (!t)
        return -ESRCH;
    int policy = attr.flags & (ATTR_KEEP_POLICY | ATTR_KEEP_PARAMS)
                     ? t->sched_policy & ~POLICY_RESET_ON_FORK
                     : (int)attr.policy;
    int nice = clamp_nice(attr.nice);
    bool sets_nice = !(attr.flags & ATTR_KEEP_PARAMS) && !is_realtime(policy);
    if (sets_nice && nice < t->process->nice && !may_lower_nice(c, t->process, nice))
        return -EPERM;
    if (attr.priority > REALTIME_MAX || (policy == POLICY_DEADLINE && !is_deadline(&attr)))
        return -EINVAL;
    r = set_policy(c, t, policy, attr.flags & ATTR_RESET_ON_FORK ? POLICY_RESET_ON_FORK : 0,
                   (int)attr.priority);
    if (r == 0 && sets_nice)
        t->process->nice = nice;
    return r;
}

long sys_sched_getattr(struct call *c)
{
    pid_t tid = call_int(c, 0);
    struct gaddr at = call_addr(c, 1);
    uint32_t size = call_uint(c, 2);
    if (!at.v || tid < 0 || size > GUEST_PAGE_SIZE || size < ATTR_SIZE_FIRST || call_uint(c, 3))
        return -EINVAL;
    const struct thread *t = find_thread(c, tid);
    if (!t)
        return -ESRCH;
    struct attr attr = {
        .size = MIN(size, (uint32_t)sizeof(attr)),
        .policy = (uint32_t)(t->sched_policy & ~POLICY_RESET_ON_FORK),
        .flags = t->sched_policy & POLICY_RESET_ON_FORK ? ATTR_RESET_ON_FORK : 0,
        .nice = t->process->nice,
        .priority = (uint32_t)t->sched_priority,
        .util_max = 1024,
    };
    return call_write(c, at, &attr, attr.size);
}

/* ---- CPU masks ---- */

struct cpu_mask {
    uint64_t word[THREAD_CPUS_MAX / 64];
};

static uint32_t cpu_count(void)
{
    return (uint32_t)MAX(MIN(kernel.config.cpu_count, THREAD_CPUS_MAX), 1);
}

/* cpumask_size() of Linux: whole words. */
static size_t mask_size(void)
{
    return (cpu_count() + 63) / 64 * sizeof(uint64_t);
}

/* Takes the CPUs out of m that the sandbox does not have. False: nothing is left. */
static bool mask_limit(struct cpu_mask *m)
{
    uint64_t any = 0;
    for (uint32_t i = 0; i < THREAD_CPUS_MAX / 64; i++) {
        uint32_t first = i * 64, count = cpu_count();
        if (first >= count)
            m->word[i] = 0;
        else if (count - first < 64)
            m->word[i] &= (1ULL << (count - first)) - 1;
        any |= m->word[i];
    }
    return any;
}

long sys_sched_setaffinity(struct call *c)
{
    struct cpu_mask mask = {{0}};
    size_t size = MIN((size_t)call_uint(c, 1), sizeof(mask));
    if (call_read(c, &mask, call_addr(c, 2), size) < 0)
        return -EFAULT;
    struct thread *t = find_thread(c, call_int(c, 0));
    if (!t)
        return -ESRCH;
    if (!may_change(c, t))
        return -EPERM;
    if (!mask_limit(&mask))
        return -EINVAL;
    memcpy(t->cpus, mask.word, sizeof(t->cpus));
    return 0;
}

long sys_sched_getaffinity(struct call *c)
{
    uint32_t size = call_uint(c, 1);
    struct cpu_mask mask;
    if ((uint64_t)size * 8 < cpu_count() || size % sizeof(uint64_t))
        return -EINVAL;
    const struct thread *t = find_thread(c, call_int(c, 0));
    if (!t)
        return -ESRCH;
    memcpy(mask.word, t->cpus, sizeof(mask));
    if (!mask_limit(&mask)) {
        memset(&mask, 0xff, sizeof(mask));
        mask_limit(&mask);
    }
    size = MIN(size, (uint32_t)mask_size());
    return call_write(c, call_addr(c, 2), &mask, size) < 0 ? -EFAULT : (long)size;
}

/* ---- I/O priorities: linux/ioprio.h ---- */

#define IO_CLASS(value) ((value) >> 13)
#define IO_LEVEL(value) ((value)&7)
enum io_class { IO_NONE, IO_REALTIME, IO_BEST_EFFORT, IO_IDLE };
/* which of ioprio_set(2) is a priority_target and 1. */
#define IO_WHO_FIRST 1

static long check_ioprio(const struct cred *cred, int value)
{
    switch (IO_CLASS(value)) {
    case IO_REALTIME:
        return cred_has_cap(cred, CAP_SYS_ADMIN) || cred_has_cap(cred, CAP_SYS_NICE) ? 0 : -EPERM;
    case IO_BEST_EFFORT:
    case IO_IDLE:
        return 0;
    case IO_NONE:
        return IO_LEVEL(value) ? -EINVAL : 0;
    default:
        return -EINVAL;
    }
}

static long set_ioprio(struct call *c, struct process *p, long so_far)
{
    const struct cred *a = c->thread->cred, *b = process_leader(p)->cred;
    if (b->uid != a->euid && b->uid != a->uid && !cred_has_cap(a, CAP_SYS_NICE))
        return -EPERM;
    p->ioprio = call_int(c, 2);
    return so_far == -ESRCH ? 0 : so_far;
}

long sys_ioprio_set(struct call *c)
{
    long which = (long)call_int(c, 0) - IO_WHO_FIRST;
    long r = check_ioprio(c->thread->cred, call_int(c, 2));
    if (r < 0)
        return r;
    if (which < TARGET_PROCESS || which > TARGET_USER)
        return -EINVAL;
    return for_target(c, (enum priority_target)which, call_int(c, 1), set_ioprio);
}

/* Of several the best: the lowest number, "none" counting as the middle of best effort. */
static long best_ioprio(struct call *c, struct process *p, long so_far)
{
    if (so_far < 0 || p->ioprio == 0)
        return so_far < 0 ? p->ioprio : so_far;
    return so_far == 0 ? p->ioprio : MIN(so_far, (long)p->ioprio);
}

long sys_ioprio_get(struct call *c)
{
    long which = (long)call_int(c, 0) - IO_WHO_FIRST;
    if (which < TARGET_PROCESS || which > TARGET_USER)
        return -EINVAL;
    return for_target(c, (enum priority_target)which, call_int(c, 1), best_ioprio);
}
