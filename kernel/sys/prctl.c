// SPDX-License-Identifier: Apache-2.0
/*
 * prctl(2): a table of what the sandbox knows; all else is EINVAL, as options that a kernel was
 * built without are.
 */
#include "kernel/sys/handlers.h"

#include "kernel/proc/credentials.h"
#include "kernel/proc/signal_queue.h"

#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>

/* Of a newer linux/prctl.h than Debian 12 has. */
#ifndef PR_SET_VMA
#define PR_SET_VMA           0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

static bool are_zero(const struct call *c, int from)
{
    for (int i = from; i < 5; i++) {
        if (c->arg[i])
            return false;
    }
    return true;
}

static long write_int(struct call *c, int value)
{
    return call_write(c, call_addr(c, 1), &value, sizeof(value));
}

static bool is_cap(uint64_t cap)
{
    return cap < 64 && (CAP_ALL >> cap & 1);
}

/* ---- the process and its name ---- */

static long set_name(struct call *c)
{
    char name[sizeof(c->thread->name)];
    ssize_t n = guest_read_string(call_memory(c), name, call_addr(c, 1), sizeof(name));
    if (n == -EFAULT)
        return -EFAULT;
    /* A longer one is cut. */
    name[sizeof(name) - 1] = '\0';
    memset(c->thread->name, 0, sizeof(c->thread->name));
    memcpy(c->thread->name, name, strlen(name));
    return 0;
}

static long get_name(struct call *c)
{
    return call_write(c, call_addr(c, 1), c->thread->name, sizeof(c->thread->name));
}

static long set_death_signal(struct call *c)
{
    if (c->arg[1] > SIGNAL_COUNT)
        return -EINVAL;
    c->thread->process->parent_death_signal = (int)c->arg[1];
    return 0;
}

static long get_death_signal(struct call *c)
{
    return write_int(c, c->thread->process->parent_death_signal);
}

static long set_dumpable(struct call *c)
{
    /* 2, readable by root only, is the system's to set. */
    if (c->arg[1] > 1)
        return -EINVAL;
    c->thread->process->space->dumpable = c->arg[1] == 1;
    return 0;
}

static long get_dumpable(struct call *c)
{
    return c->thread->process->space->dumpable;
}

static long set_subreaper(struct call *c)
{
    c->thread->process->subreaper = c->arg[1] != 0;
    return 0;
}

static long get_subreaper(struct call *c)
{
    return write_int(c, c->thread->process->subreaper);
}

static long set_timer_slack(struct call *c)
{
    c->thread->timer_slack_ns = (int64_t)c->arg[1] > 0 ? c->arg[1] : 0;
    return 0;
}

static long get_timer_slack(struct call *c)
{
    uint64_t slack = c->thread->timer_slack_ns;
    return slack ? (long)MIN(slack, (uint64_t)INT64_MAX) : (long)TIMER_SLACK_DEFAULT_NS;
}

static long set_thp_disable(struct call *c)
{
    if (!are_zero(c, 2))
        return -EINVAL;
    c->thread->process->thp_disabled = c->arg[1] != 0;
    return 0;
}

static long get_thp_disable(struct call *c)
{
    return are_zero(c, 1) ? c->thread->process->thp_disabled : -EINVAL;
}

/* Names of anonymous mappings are for who reads /proc/PID/maps; the host would show them, not we.
 */
static long set_vma(struct call *c)
{
    return c->arg[1] == PR_SET_VMA_ANON_NAME ? 0 : -EINVAL;
}

static long get_seccomp(struct call *c)
{
    return 0;
}

static long get_timing(struct call *c)
{
    return PR_TIMING_STATISTICAL;
}

static long set_timing(struct call *c)
{
    return c->arg[1] == PR_TIMING_STATISTICAL ? 0 : -EINVAL;
}

/* ---- privileges ---- */

static long set_no_new_privs(struct call *c)
{
    if (c->arg[1] != 1 || !are_zero(c, 2))
        return -EINVAL;
    struct cred *new = cred_copy(c->thread->cred);
    if (!new)
        return -ENOMEM;
    new->no_new_privs = true;
    thread_set_cred(c->thread, new);
    return 0;
}

static long get_no_new_privs(struct call *c)
{
    return are_zero(c, 1) ? c->thread->cred->no_new_privs : -EINVAL;
}

static long change_securebits(struct call *c, uint32_t bits)
{
    struct cred *new = cred_copy(c->thread->cred);
    if (!new)
        return -ENOMEM;
    new->securebits = bits;
    thread_set_cred(c->thread, new);
    return 0;
}

static long set_keepcaps(struct call *c)
{
    uint32_t bits = c->thread->cred->securebits;
    if (c->arg[1] > 1)
        return -EINVAL;
    if (bits & SECBIT_KEEP_CAPS_LOCKED)
        return -EPERM;
    bits &= ~(uint32_t)SECBIT_KEEP_CAPS;
    return change_securebits(c, c->arg[1] ? bits | SECBIT_KEEP_CAPS : bits);
}

static long get_keepcaps(struct call *c)
{
    return (c->thread->cred->securebits & SECBIT_KEEP_CAPS) != 0;
}

static long set_securebits(struct call *c)
{
    const struct cred *old = c->thread->cred;
    uint64_t bits = c->arg[1], known = SECURE_ALL_BITS | SECURE_ALL_LOCKS;
    uint64_t locks = old->securebits & SECURE_ALL_LOCKS;
    bool locked_changed = (locks >> 1) & (old->securebits ^ bits);
    if (locked_changed || (locks & ~bits) || (bits & ~known) || !cred_has_cap(old, CAP_SETPCAP))
        return -EPERM;
    return change_securebits(c, (uint32_t)bits);
}

static long get_securebits(struct call *c)
{
    return c->thread->cred->securebits;
}

static long read_bounding(struct call *c)
{
    if (!is_cap(c->arg[1]))
        return -EINVAL;
    return c->thread->cred->cap_bounding >> c->arg[1] & 1;
}

static long drop_bounding(struct call *c)
{
    if (!cred_has_cap(c->thread->cred, CAP_SETPCAP))
        return -EPERM;
    if (!is_cap(c->arg[1]))
        return -EINVAL;
    struct cred *new = cred_copy(c->thread->cred);
    if (!new)
        return -ENOMEM;
    new->cap_bounding &= ~(1ULL << c->arg[1]);
    thread_set_cred(c->thread, new);
    return 0;
}

static long change_ambient(struct call *c, uint64_t set)
{
    struct cred *new = cred_copy(c->thread->cred);
    if (!new)
        return -ENOMEM;
    new->cap_ambient = set;
    thread_set_cred(c->thread, new);
    return 0;
}

static long ambient(struct call *c)
{
    const struct cred *cred = c->thread->cred;
    uint64_t command = c->arg[1], cap = c->arg[2];
    if (command == PR_CAP_AMBIENT_CLEAR_ALL)
        return are_zero(c, 2) ? change_ambient(c, 0) : -EINVAL;
    if (!is_cap(cap) || !are_zero(c, 3))
        return -EINVAL;
    uint64_t bit = 1ULL << cap;
    switch (command) {
    case PR_CAP_AMBIENT_IS_SET:
        return (cred->cap_ambient & bit) != 0;
    case PR_CAP_AMBIENT_LOWER:
        return change_ambient(c, cred->cap_ambient & ~bit);
    case PR_CAP_AMBIENT_RAISE:
        if (!(cred->cap_permitted & cred->cap_inheritable & bit) ||
            (cred->securebits & SECBIT_NO_CAP_AMBIENT_RAISE))
            return -EPERM;
        return change_ambient(c, cred->cap_ambient | bit);
    default:
        return -EINVAL;
    }
}

/* ---- the table ---- */

struct option {
    int number;
    long (*act)(struct call *c);
};

static const struct option options[] = {
    {PR_SET_NAME, set_name},
    {PR_GET_NAME, get_name},
    {PR_SET_PDEATHSIG, set_death_signal},
    {PR_GET_PDEATHSIG, get_death_signal},
    {PR_SET_DUMPABLE, set_dumpable},
    {PR_GET_DUMPABLE, get_dumpable},
    {PR_SET_CHILD_SUBREAPER, set_subreaper},
    {PR_GET_CHILD_SUBREAPER, get_subreaper},
    {PR_SET_TIMERSLACK, set_timer_slack},
    {PR_GET_TIMERSLACK, get_timer_slack},
    {PR_SET_THP_DISABLE, set_thp_disable},
    {PR_GET_THP_DISABLE, get_thp_disable},
    {PR_SET_VMA, set_vma},
    {PR_GET_SECCOMP, get_seccomp},
    {PR_GET_TIMING, get_timing},
    {PR_SET_TIMING, set_timing},
    {PR_SET_NO_NEW_PRIVS, set_no_new_privs},
    {PR_GET_NO_NEW_PRIVS, get_no_new_privs},
    {PR_SET_KEEPCAPS, set_keepcaps},
    {PR_GET_KEEPCAPS, get_keepcaps},
    {PR_SET_SECUREBITS, set_securebits},
    {PR_GET_SECUREBITS, get_securebits},
    {PR_CAPBSET_READ, read_bounding},
    {PR_CAPBSET_DROP, drop_bounding},
    {PR_CAP_AMBIENT, ambient},
};

long sys_prctl(struct call *c)
{
    int number = call_int(c, 0);
    for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
        if (options[i].number == number)
            return options[i].act(c);
    }
    return -EINVAL;
}
