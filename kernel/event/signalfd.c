// SPDX-License-Identifier: Apache-2.0
#include "kernel/event/signalfd.h"

#include "kernel/event/anon.h"
#include "kernel/proc/process.h"
#include "lib/base/buf.h"

#include <sys/signalfd.h>

struct signalfd {
    sigmask_t mask;
    struct waitq wait; /* for a change of the mask */
};

/* The thread whose signals are meant. Files are read and polled in handlers only. */
static struct thread *reader(void)
{
    return call_current ? call_current->thread : NULL;
}

/* Which members of the siginfo mean something: siginfo_layout() of Linux. */
static void fill_by_code(struct signalfd_siginfo *s, const siginfo_t *info)
{
    bool is_fault = s->ssi_signo == SIGSEGV || s->ssi_signo == SIGBUS || s->ssi_signo == SIGILL ||
                    s->ssi_signo == SIGFPE || s->ssi_signo == SIGTRAP;
    if (info->si_code == SI_TIMER) {
        s->ssi_tid = (uint32_t)info->si_timerid;
        s->ssi_overrun = (uint32_t)info->si_overrun;
        s->ssi_ptr = (uint64_t)(uintptr_t)info->si_value.sival_ptr;
        s->ssi_int = info->si_value.sival_int;
    } else if (info->si_code == SI_SIGIO || (s->ssi_signo == SIGPOLL && info->si_code > 0)) {
        s->ssi_band = (uint32_t)info->si_band;
        s->ssi_fd = info->si_fd;
    } else if (is_fault && info->si_code > 0) {
        s->ssi_addr = (uint64_t)(uintptr_t)info->si_addr;
        s->ssi_addr_lsb = (uint16_t)info->si_addr_lsb;
    } else if (s->ssi_signo == SIGCHLD && info->si_code > 0) {
        s->ssi_pid = (uint32_t)info->si_pid;
        s->ssi_uid = info->si_uid;
        s->ssi_status = info->si_status;
        s->ssi_utime = (uint64_t)info->si_utime;
        s->ssi_stime = (uint64_t)info->si_stime;
    } else {
        s->ssi_pid = (uint32_t)info->si_pid;
        s->ssi_uid = info->si_uid;
        if (info->si_code < 0) {
            s->ssi_ptr = (uint64_t)(uintptr_t)info->si_value.sival_ptr;
            s->ssi_int = info->si_value.sival_int;
        }
    }
}

static ssize_t signalfd_file_read(struct file *f, struct uio *u, off_t *pos, int flags)
{
    const struct signalfd *s = f->private;
    struct thread *t = reader();
    ssize_t done = 0;
    siginfo_t info;
    if (u->left < sizeof(struct signalfd_siginfo))
        return -EINVAL;
    while (t && u->left >= sizeof(struct signalfd_siginfo) && signal_take(t, s->mask, &info)) {
        struct signalfd_siginfo out = {
            .ssi_signo = (uint32_t)info.si_signo,
            .ssi_errno = info.si_errno,
            .ssi_code = info.si_code,
        };
        fill_by_code(&out, &info);
        if (uio_copy_out(u, &out, sizeof(out)) != sizeof(out))
            return done > 0 ? done : -EFAULT;
        done += (ssize_t)sizeof(out);
    }
    return done > 0 ? done : -EAGAIN;
}

static uint32_t signalfd_file_poll(struct file *f, struct poll_table *table)
{
    struct signalfd *s = f->private;
    struct thread *t = reader();
    poll_table_add(table, &s->wait);
    if (!t)
        return 0;
    /*
     * An epoll item keeps these queues after the call. The leader's is added because it lives as
     * long as the process, whichever thread looks later.
     */
    struct thread *leader = process_leader(t->process);
    poll_table_add(table, &t->signals.wait);
    if (leader && leader != t)
        poll_table_add(table, &leader->signals.wait);
    return signal_pending(t) & s->mask ? EPOLLIN : 0;
}

static void signalfd_file_release(struct file *f)
{
    free(f->private);
}

static void signalfd_file_describe(struct file *f, struct buf *b)
{
    const struct signalfd *s = f->private;
    buf_printf(b, "sigmask:\t%016llx\n", (unsigned long long)s->mask);
}

static const struct file_ops signalfd_ops = {
    .release = signalfd_file_release,
    .read = signalfd_file_read,
    .lseek = anon_lseek,
    .stream = true,
    .poll = signalfd_file_poll,
    .describe = signalfd_file_describe,
};

int signalfd_create_file(sigmask_t mask, int flags, struct file **ret)
{
    struct signalfd *s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    s->mask = mask & ~SIGMASK_UNBLOCKABLE;
    waitq_init(&s->wait);
    int r = file_new_anonymous("anon_inode:[signalfd]", ANON_MODE, O_RDWR | (flags & O_NONBLOCK),
                               &signalfd_ops, s, ret);
    if (r < 0)
        free(s);
    return r;
}

bool signalfd_set_mask(struct file *f, sigmask_t mask)
{
    if (f->ops != &signalfd_ops)
        return false;
    struct signalfd *s = f->private;
    s->mask = mask & ~SIGMASK_UNBLOCKABLE;
    waitq_wake(&s->wait, 0);
    return true;
}
