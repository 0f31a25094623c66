// SPDX-License-Identifier: Apache-2.0
/*
 * What would change the machine: clocks, mounts, namespaces, filters, the kernel's log. Mostly
 * refused, in the order of Linux's checks, since programs probe by which error comes.
 */
#include "kernel/sys/handlers.h"

#include "kernel/proc/process.h"

#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/klog.h>
#include <sys/timex.h>

/* ---- clocks ---- */

long sys_clock_settime(struct call *c)
{
    struct timespec t;
    /* Only this one can be set at all. */
    if (call_int(c, 0) != CLOCK_REALTIME)
        return -EINVAL;
    if (call_read(c, &t, call_addr(c, 1), sizeof(t)) < 0)
        return -EFAULT;
    if (t.tv_sec < 0 || t.tv_nsec < 0 || t.tv_nsec >= NSEC_PER_SEC)
        return -EINVAL;
    return -EPERM;
}

long sys_settimeofday(struct call *c)
{
    struct timeval t;
    struct timezone zone;
    if (c->arg[0]) {
        if (call_read(c, &t, call_addr(c, 0), sizeof(t)) < 0)
            return -EFAULT;
        if (t.tv_sec < 0 || t.tv_usec < 0 || t.tv_usec >= 1000000)
            return -EINVAL;
    }
    if (c->arg[1] && call_read(c, &zone, call_addr(c, 1), sizeof(zone)) < 0)
        return -EFAULT;
    return -EPERM;
}

/* ntp_adjtime(3) with no modes: what an undisciplined clock looks like. */
static long read_clock_discipline(struct call *c, struct gaddr at)
{
    struct timex t;
    if (call_read(c, &t, at, sizeof(t)) < 0)
        return -EFAULT;
    if (t.modes)
        return -EPERM;
    int64_t now = clock_realtime_ns();
    memset(&t, 0, sizeof(t));
    t.status = STA_UNSYNC;
    t.maxerror = t.esterror = 16000000;
    t.constant = 2;
    t.precision = 1;
    t.tolerance = 500 << 16;
    t.tick = 10000;
    t.time.tv_sec = now / NSEC_PER_SEC;
    t.time.tv_usec = now % NSEC_PER_SEC / NSEC_PER_USEC;
    return call_write(c, at, &t, sizeof(t)) < 0 ? -EFAULT : TIME_ERROR;
}

long sys_adjtimex(struct call *c)
{
    return read_clock_discipline(c, call_addr(c, 0));
}

long sys_clock_adjtime(struct call *c)
{
    int clock = call_int(c, 0);
    if (clock == CLOCK_REALTIME)
        return read_clock_discipline(c, call_addr(c, 1));
    return clock >= 0 && clock <= CLOCK_TAI ? -EOPNOTSUPP : -EINVAL;
}

/* ---- the kernel's log: syslog(2), empty ---- */

enum log_action {
    LOG_CLOSE,
    LOG_OPEN,
    LOG_READ,
    LOG_READ_ALL,
    LOG_READ_CLEAR,
    LOG_CLEAR,
    LOG_CONSOLE_OFF,
    LOG_CONSOLE_ON,
    LOG_CONSOLE_LEVEL,
    LOG_SIZE_UNREAD,
    LOG_SIZE_BUFFER,
};

long sys_syslog(struct call *c)
{
    int action = call_int(c, 0), length = call_int(c, 2);
    bool anyone = action == LOG_READ_ALL || action == LOG_SIZE_BUFFER;
    if (!anyone && !cred_has_cap(c->thread->cred, CAP_SYSLOG))
        return -EPERM;
    switch (action) {
    case LOG_READ:
    case LOG_READ_ALL:
    case LOG_READ_CLEAR:
        if (!c->arg[1] || length < 0)
            return -EINVAL;
        /* The first waits for a line, and there will be none. */
        return action == LOG_READ && length > 0 ? call_park(c, RESTART_SYS) : 0;
    case LOG_CONSOLE_LEVEL:
        return length < 1 || length > 8 ? -EINVAL : 0;
    case LOG_CLOSE:
    case LOG_OPEN:
    case LOG_CLEAR:
    case LOG_CONSOLE_OFF:
    case LOG_CONSOLE_ON:
    case LOG_SIZE_UNREAD:
        return 0;
    case LOG_SIZE_BUFFER:
        return GUEST_PAGE_SIZE;
    default:
        return -EINVAL;
    }
}

/* ---- mounts and namespaces ---- */

long sys_mount(struct call *c)
{
    return -EPERM;
}

long sys_umount2(struct call *c)
{
    return -EPERM;
}

long sys_pivot_root(struct call *c)
{
    return -EPERM;
}

#define UNSHARE_NAMESPACES                                                                        \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | \
     CLONE_NEWNET | 0x80u /* CLONE_NEWTIME */)
#define UNSHARE_SINGLE_THREADED (CLONE_THREAD | CLONE_SIGHAND | CLONE_VM)

static bool is_alone(const struct thread *t)
{
    const struct process *p = t->process;
    return p->threads.next == p->threads.prev && p->actions->refs == 1 && p->space->refs == 1;
}

long sys_unshare(struct call *c)
{
    struct thread *t = c->thread;
    uint64_t flags = c->arg[0];
    uint64_t known =
        UNSHARE_NAMESPACES | UNSHARE_SINGLE_THREADED | CLONE_FS | CLONE_FILES | CLONE_SYSVSEM;
    if (flags & ~known)
        return -EINVAL;
    /* There is nothing to do for these, and it can't be done for one of several threads. */
    if ((flags & UNSHARE_SINGLE_THREADED) && !is_alone(t))
        return -EINVAL;
    if (flags & UNSHARE_NAMESPACES)
        return -EPERM;
    struct fs_context *fs = NULL;
    if ((flags & CLONE_FS) && t->fs->refs > 1) {
        fs = fs_context_copy(t->fs);
        if (!fs)
            return -ENOMEM;
    }
    if ((flags & CLONE_FILES) && t->files->refs > 1) {
        struct fdtable *files = fdtable_copy(t->files);
        if (!files) {
            fs_context_put(fs);
            return -ENOMEM;
        }
        fdtable_put(t->files);
        t->files = files;
    }
    if (fs) {
        fs_context_put(t->fs);
        t->fs = fs;
    }
    /* The host's descriptor tables, where mmap(2) puts files, must part as ours did. */
    return flags ? CALL_HOST : 0;
}

/* ---- seccomp ---- */

static long is_action_available(struct call *c)
{
    uint32_t action;
    if (call_read(c, &action, call_addr(c, 2), sizeof(action)) < 0)
        return -EFAULT;
    switch (action) {
    case SECCOMP_RET_KILL_PROCESS:
    case SECCOMP_RET_KILL_THREAD:
    case SECCOMP_RET_TRAP:
    case SECCOMP_RET_ERRNO:
    case SECCOMP_RET_USER_NOTIF:
    case SECCOMP_RET_TRACE:
    case SECCOMP_RET_LOG:
    case SECCOMP_RET_ALLOW:
        return 0;
    default:
        return -EOPNOTSUPP;
    }
}

long sys_seccomp(struct call *c)
{
    static const struct seccomp_notif_sizes sizes = {
        .seccomp_notif = sizeof(struct seccomp_notif),
        .seccomp_notif_resp = sizeof(struct seccomp_notif_resp),
        .seccomp_data = sizeof(struct seccomp_data),
    };
    if (call_uint(c, 1))
        return -EINVAL;
    switch (call_uint(c, 0)) {
    case SECCOMP_GET_ACTION_AVAIL:
        return is_action_available(c);
    case SECCOMP_GET_NOTIF_SIZES:
        return call_write(c, call_addr(c, 2), &sizes, sizeof(sizes));
    default:
        return -EINVAL;
    }
}
