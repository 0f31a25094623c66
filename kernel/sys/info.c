// SPDX-License-Identifier: Apache-2.0
/*
 * System calls that say what the machine and the caller are like: uname(2), sysinfo(2), limits,
 * usage, random bytes. Scheduling is in sched.c, prctl(2) in prctl.c, what needs an administrator
 * in admin.c.
 */
#include "kernel/sys/handlers.h"

#include "kernel/arch/x86_64/arch.h"
#include "kernel/core/kernel.h"
#include "kernel/core/release.h"
#include "kernel/fs/proc/proc.h"
#include "kernel/proc/limits.h"
#include "kernel/proc/usage.h"

#include <linux/capability.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/sysinfo.h>
#include <sys/times.h>
#include <sys/utsname.h>

/* ---- the machine ---- */

long sys_uname(struct call *c)
{
    struct utsname u;
    memset(&u, 0, sizeof(u));
    snprintf(u.sysname, sizeof(u.sysname), "%s", KERNEL_OSTYPE);
    snprintf(u.nodename, sizeof(u.nodename), "%s", kernel.config.hostname);
    snprintf(u.release, sizeof(u.release), "%s", KERNEL_RELEASE);
    snprintf(u.version, sizeof(u.version), "%s", KERNEL_VERSION);
    snprintf(u.machine, sizeof(u.machine), "%s", ARCH_MACHINE);
    snprintf(u.domainname, sizeof(u.domainname), "%s",
             kernel.config.domainname[0] ? kernel.config.domainname : "(none)");
    return call_write(c, call_addr(c, 0), &u, sizeof(u));
}

static long set_host_name(struct call *c, char *name, size_t size)
{
    char new[sizeof(kernel.config.hostname)];
    int length = call_int(c, 1);
    if (!cred_has_cap(c->thread->cred, CAP_SYS_ADMIN))
        return -EPERM;
    if (length < 0 || (size_t)length >= size)
        return -EINVAL;
    memset(new, 0, sizeof(new));
    if (call_read(c, new, call_addr(c, 0), (size_t)length) < 0)
        return -EFAULT;
    memcpy(name, new, size);
    return 0;
}

_Static_assert(sizeof(kernel.config.hostname) == sizeof(kernel.config.domainname), "one buffer");

long sys_sethostname(struct call *c)
{
    return set_host_name(c, kernel.config.hostname, sizeof(kernel.config.hostname));
}

long sys_setdomainname(struct call *c)
{
    return set_host_name(c, kernel.config.domainname, sizeof(kernel.config.domainname));
}

long sys_sysinfo(struct call *c)
{
    struct sysinfo s;
    uint64_t total = kernel.config.memory_bytes;
    memset(&s, 0, sizeof(s));
    s.uptime = (clock_monotonic_ns() - kernel.boot_monotonic_ns) / NSEC_PER_SEC;
    proc_load_average(s.loads);
    s.totalram = total;
    s.freeram = total - MIN(proc_memory_used_bytes(), total);
    s.procs = (unsigned short)MIN(thread_total, (size_t)UINT16_MAX);
    s.mem_unit = 1;
    return call_write(c, call_addr(c, 0), &s, sizeof(s));
}

/* Where a task runs is the host's: the first CPU of the only node. */
long sys_getcpu(struct call *c)
{
    static const unsigned first;
    for (int i = 0; i < 2; i++) {
        if (c->arg[i] && call_write(c, call_addr(c, i), &first, sizeof(first)) < 0)
            return -EFAULT;
    }
    return 0;
}

#define PERSONALITY_QUERY 0xffffffffu
#define PERSONALITY_LINUX 0u

long sys_personality(struct call *c)
{
    uint32_t wanted = call_uint(c, 0);
    if (wanted != PERSONALITY_QUERY && wanted != PERSONALITY_LINUX)
        return -EINVAL;
    return PERSONALITY_LINUX;
}

/* ---- random bytes ---- */

/* More than anybody asks for at once; a longer answer would keep the other tasks waiting. */
#define RANDOM_MAX_BYTES (1024 * 1024)

long sys_getrandom(struct call *c)
{
    char bytes[16384];
    unsigned flags = call_uint(c, 2);
    size_t size = MIN(c->arg[1], (uint64_t)RANDOM_MAX_BYTES), done = 0;
    if (flags & ~(unsigned)(GRND_NONBLOCK | GRND_RANDOM | GRND_INSECURE))
        return -EINVAL;
    if ((flags & GRND_RANDOM) && (flags & GRND_INSECURE))
        return -EINVAL;
    while (done < size) {
        size_t chunk = MIN(size - done, sizeof(bytes));
        kernel_random(bytes, chunk);
        ssize_t n =
            guest_write_some(call_memory(c), gaddr_plus(call_addr(c, 0), done), bytes, chunk);
        if (n < 0)
            return done ? (long)done : n;
        done += (size_t)n;
        if ((size_t)n < chunk)
            break;
    }
    return (long)done;
}

/* ---- usage ---- */

#define CLOCK_TICK_NS (10 * NSEC_PER_MSEC) /* USER_HZ is 100 */

static clock_t timeval_ticks(struct timeval t)
{
    return (t.tv_sec * NSEC_PER_SEC + t.tv_usec * NSEC_PER_USEC) / CLOCK_TICK_NS;
}

long sys_times(struct call *c)
{
    const struct process *p = c->thread->process;
    struct gaddr at = call_addr(c, 0);
    if (at.v) {
        int64_t user = 0, system = 0;
        process_cpu_time(p, &user, &system);
        struct tms t = {
            .tms_utime = user / CLOCK_TICK_NS,
            .tms_stime = system / CLOCK_TICK_NS,
            .tms_cutime = timeval_ticks(p->children_usage.ru_utime),
            .tms_cstime = timeval_ticks(p->children_usage.ru_stime),
        };
        if (call_write(c, at, &t, sizeof(t)) < 0)
            return -EFAULT;
    }
    return clock_monotonic_ns() / CLOCK_TICK_NS;
}

long sys_getrusage(struct call *c)
{
    struct rusage u;
    memset(&u, 0, sizeof(u));
    switch (call_int(c, 0)) {
    case RUSAGE_SELF:
        process_usage(c->thread->process, &u);
        break;
    case RUSAGE_THREAD:
        thread_usage(c->thread, &u);
        break;
    case RUSAGE_CHILDREN:
        u = c->thread->process->children_usage;
        break;
    default:
        return -EINVAL;
    }
    return call_write(c, call_addr(c, 1), &u, sizeof(u));
}

/* ---- limits ---- */

static int read_limit(struct call *c, int argument, struct rlimit *ret)
{
    return call_read(c, ret, call_addr(c, argument), sizeof(*ret));
}

long sys_getrlimit(struct call *c)
{
    struct rlimit old;
    int r = limits_change(c->thread->process, c->thread->cred, call_uint(c, 0), NULL, &old);
    return r < 0 ? r : call_write(c, call_addr(c, 1), &old, sizeof(old));
}

long sys_setrlimit(struct call *c)
{
    struct rlimit new;
    if (read_limit(c, 1, &new) < 0)
        return -EFAULT;
    return limits_change(c->thread->process, c->thread->cred, call_uint(c, 0), &new, NULL);
}

/* prlimit(2): all ids of the target are the caller's real ones, or the capability. */
static bool may_limit(const struct call *c, struct process *p)
{
    const struct cred *a = c->thread->cred;
    if (p == c->thread->process)
        return true;
    const struct cred *b = process_leader(p)->cred;
    bool same = a->uid == b->uid && a->uid == b->euid && a->uid == b->suid && a->gid == b->gid &&
                a->gid == b->egid && a->gid == b->sgid;
    return same || cred_has_cap(a, CAP_SYS_RESOURCE);
}

static struct process *limited_process(struct call *c, pid_t pid)
{
    if (pid == 0)
        return c->thread->process;
    struct thread *t = thread_find(pid);
    if (!t) {
        process_settle_all();
        t = thread_find(pid);
    }
    return t ? t->process : NULL;
}

long sys_prlimit64(struct call *c)
{
    struct gaddr new_at = call_addr(c, 2), old_at = call_addr(c, 3);
    struct rlimit new, old;
    if (new_at.v && read_limit(c, 2, &new) < 0)
        return -EFAULT;
    struct process *p = limited_process(c, call_int(c, 0));
    if (!p)
        return -ESRCH;
    if (!may_limit(c, p))
        return -EPERM;
    int r = limits_change(p, c->thread->cred, call_uint(c, 1), new_at.v ? &new : NULL, &old);
    if (r < 0)
        return r;
    return old_at.v ? call_write(c, old_at, &old, sizeof(old)) : 0;
}
