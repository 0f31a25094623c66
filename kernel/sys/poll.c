// SPDX-License-Identifier: Apache-2.0
/*
 * poll(2), ppoll(2).
 *
 * The array is copied in once, at the first run; only `revents` is written back, since another
 * thread may be changing the rest for its next call.
 */
#include "kernel/event/poll.h"
#include "kernel/proc/process.h"
#include "kernel/sys/args.h"
#include "kernel/sys/handlers.h"
#include "kernel/sys/waiting.h"

#include <poll.h>

struct poll_state {
    struct poll_hold hold;
    struct gaddr at;
    size_t count;
    struct pollfd *fds;
    short *given; /* the revents that the task had there: only changes are written */
    struct waiting_left left;
    bool answered;
};

static void poll_release(struct call *c)
{
    struct poll_state *s = c->state;
    poll_hold_done(&s->hold);
    if (!s->answered)
        waiting_write_left_at_release(c, s->left);
    free(s->fds);
    free(s->given);
    free(s);
}

static int read_fds(const struct call *c, struct poll_state *s)
{
    if (s->count == 0)
        return 0;
    s->fds = calloc(s->count, sizeof(*s->fds));
    s->given = calloc(s->count, sizeof(*s->given));
    if (!s->fds || !s->given)
        return -ENOMEM;
    int r = call_read(c, s->fds, s->at, s->count * sizeof(*s->fds));
    if (r < 0)
        return r;
    for (size_t i = 0; i < s->count; i++)
        s->given[i] = s->fds[i].revents;
    return 0;
}

/* The first run's part. The state is released with the call, whatever comes. */
static int poll_begin(struct call *c, struct poll_state **ret)
{
    size_t count = c->arg[1];
    size_t limit = process_limit(c->thread->process, RLIMIT_NOFILE);
    /* The number of fds is an unsigned int. */
    count = (uint32_t)count;
    if (count > MIN(limit, (size_t)FD_LIMIT))
        return -EINVAL;
    struct poll_state *s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    s->at = call_addr(c, 0);
    s->count = count;
    c->state = s;
    c->release = poll_release;
    *ret = s;
    return read_fds(c, s);
}

static long look(struct call *c, struct poll_state *s)
{
    long ready = 0;
    for (size_t i = 0; i < s->count; i++) {
        struct pollfd *p = &s->fds[i];
        p->revents = 0;
        if (p->fd < 0)
            continue;
        struct file *f = args_file(c, p->fd);
        uint32_t wanted = (uint16_t)p->events | EPOLLERR | EPOLLHUP;
        p->revents = f ? (short)(file_poll(f, NULL) & wanted) : POLLNVAL;
        ready += p->revents != 0;
    }
    return ready;
}

static int write_revents(const struct call *c, const struct poll_state *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const short *revents = &s->fds[i].revents;
        if (*revents == s->given[i])
            continue;
        uint64_t offset = i * sizeof(struct pollfd) + offsetof(struct pollfd, revents);
        int r = call_write(c, gaddr_plus(s->at, offset), revents, sizeof(*revents));
        if (r < 0)
            return r;
    }
    return 0;
}

static long poll_park(struct call *c, struct poll_state *s)
{
    for (size_t i = 0; i < s->count; i++) {
        struct file *f = s->fds[i].fd < 0 ? NULL : args_file(c, s->fds[i].fd);
        int r = f ? poll_hold_file(&s->hold, c, f, s->count) : 0;
        if (r < 0)
            return r;
    }
    return call_park(c, RESTART_NOHAND);
}

static long poll_run(struct call *c, struct poll_state *s)
{
    poll_hold_clear(&s->hold);
    long ready = look(c, s);
    bool wait = !c->timed_out && c->deadline_ns > clock_monotonic_ns();
    /* A signal that the temporary mask lets through comes before a timeout of 0: do_poll() of
     * Linux. */
    if (ready == 0 && (wait || (!c->timed_out && signal_is_deliverable(c->thread))))
        return poll_park(c, s);
    int r = write_revents(c, s);
    waiting_write_left(c, s->left);
    s->answered = true;
    return r < 0 ? r : ready;
}

long sys_poll(struct call *c)
{
    struct poll_state *s = c->state;
    if (!s) {
        int r = poll_begin(c, &s);
        if (r < 0)
            return r;
        call_set_timeout(c, waiting_from_ms(call_int(c, 2)));
    }
    return poll_run(c, s);
}

static int ppoll_begin(struct call *c, struct poll_state **ret)
{
    int64_t timeout;
    int r = waiting_read_timespec(c, call_addr(c, 2), &timeout);
    if (r == 0)
        r = waiting_begin_mask(c, call_addr(c, 3), c->arg[4]);
    if (r == 0)
        r = poll_begin(c, ret);
    if (r < 0)
        return r;
    call_set_timeout(c, timeout);
    if (timeout > 0)
        (*ret)->left.at = call_addr(c, 2);
    return 0;
}

long sys_ppoll(struct call *c)
{
    struct poll_state *s = c->state;
    if (!s) {
        int r = ppoll_begin(c, &s);
        if (r < 0)
            return r;
    }
    return poll_run(c, s);
}
