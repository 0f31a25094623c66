// SPDX-License-Identifier: Apache-2.0
/*
 * select(2), pselect6(2).
 *
 * Sets are copied in once and written back as whole words, only by a call that succeeds; the bits
 * past the size of the descriptor table are not looked at and not touched: core_sys_select() of
 * Linux.
 */
#include "kernel/event/poll.h"
#include "kernel/proc/process.h"
#include "kernel/sys/args.h"
#include "kernel/sys/handlers.h"
#include "kernel/sys/waiting.h"

#define SET_COUNT 3
#define WORD_BITS 64

/* NR_OPEN_DEFAULT of Linux: no table is smaller. */
#define TABLE_MIN 64

/* What makes a descriptor ready for reading, writing, exceptions. */
static const uint32_t set_events[SET_COUNT] = {
    EPOLLRDNORM | EPOLLRDBAND | EPOLLIN | EPOLLHUP | EPOLLERR,
    EPOLLWRBAND | EPOLLWRNORM | EPOLLOUT | EPOLLERR,
    EPOLLPRI,
};

struct select_state {
    struct poll_hold hold;
    int count;                   /* descriptors below this are looked at */
    struct gaddr at[SET_COUNT];  /* 0: no such set */
    uint64_t *wanted[SET_COUNT]; /* in one allocation, with `ready` */
    uint64_t *ready[SET_COUNT];
    struct waiting_left left;
    bool answered;
};

static void select_release(struct call *c)
{
    struct select_state *s = c->state;
    poll_hold_done(&s->hold);
    if (!s->answered)
        waiting_write_left_at_release(c, s->left);
    free(s->wanted[0]);
    free(s);
}

static size_t words_of(const struct select_state *s)
{
    return ((size_t)s->count + WORD_BITS - 1) / WORD_BITS;
}

static bool is_set(const uint64_t *set, int fd)
{
    return set[fd / WORD_BITS] >> (fd % WORD_BITS) & 1;
}

static bool is_wanted(const struct select_state *s, int fd)
{
    return is_set(s->wanted[0], fd) || is_set(s->wanted[1], fd) || is_set(s->wanted[2], fd);
}

/* -EBADF: a set names a descriptor that is not open. */
static int check_open(const struct call *c, const struct select_state *s)
{
    for (int fd = 0; fd < s->count; fd++)
        if (is_wanted(s, fd) && !args_any_file(c, fd))
            return -EBADF;
    return 0;
}

static int read_sets(const struct call *c, struct select_state *s)
{
    size_t words = words_of(s);
    uint64_t *all = calloc(2 * SET_COUNT * MAX(words, 1UL), sizeof(*all));
    if (!all)
        return -ENOMEM;
    for (int i = 0; i < SET_COUNT; i++) {
        s->wanted[i] = all + (size_t)i * words;
        s->ready[i] = all + (size_t)(SET_COUNT + i) * words;
    }
    for (int i = 0; i < SET_COUNT; i++) {
        if (s->at[i].v == 0 || words == 0)
            continue;
        int r = call_read(c, s->wanted[i], s->at[i], words * sizeof(*all));
        if (r < 0)
            return r;
    }
    return check_open(c, s);
}

static int select_begin(struct call *c, struct select_state **ret)
{
    int count = call_int(c, 0);
    int table = (int)MAX(c->thread->files->capacity, (size_t)TABLE_MIN);
    if (count < 0)
        return -EINVAL;
    struct select_state *s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    s->count = MIN(count, table);
    for (int i = 0; i < SET_COUNT; i++)
        s->at[i] = call_addr(c, i + 1);
    c->state = s;
    c->release = select_release;
    *ret = s;
    return read_sets(c, s);
}

static long look(struct call *c, struct select_state *s)
{
    long ready = 0;
    memset(s->ready[0], 0, SET_COUNT * words_of(s) * sizeof(uint64_t));
    for (int fd = 0; fd < s->count; fd++) {
        if (!is_wanted(s, fd))
            continue;
        struct file *f = args_file(c, fd);
        /* Closed meanwhile by another thread: it is ready for all, since nothing would block. */
        uint32_t events = f ? file_poll(f, NULL) : UINT32_MAX;
        for (int i = 0; i < SET_COUNT; i++) {
            if (!is_set(s->wanted[i], fd) || !(events & set_events[i]))
                continue;
            s->ready[i][fd / WORD_BITS] |= 1ULL << (fd % WORD_BITS);
            ready++;
        }
    }
    return ready;
}

static int write_sets(const struct call *c, const struct select_state *s)
{
    for (int i = 0; i < SET_COUNT; i++) {
        if (s->at[i].v == 0 || s->count == 0)
            continue;
        int r = call_write(c, s->at[i], s->ready[i], words_of(s) * sizeof(uint64_t));
        if (r < 0)
            return r;
    }
    return 0;
}

static long select_park(struct call *c, struct select_state *s)
{
    for (int fd = 0; fd < s->count; fd++) {
        struct file *f = is_wanted(s, fd) ? args_file(c, fd) : NULL;
        int r = f ? poll_hold_file(&s->hold, c, f, (size_t)s->count) : 0;
        if (r < 0)
            return r;
    }
    return call_park(c, RESTART_NOHAND);
}

static long select_run(struct call *c, struct select_state *s)
{
    poll_hold_clear(&s->hold);
    long ready = look(c, s);
    bool wait = !c->timed_out && c->deadline_ns > clock_monotonic_ns();
    if (ready == 0 && (wait || (!c->timed_out && signal_is_deliverable(c->thread))))
        return select_park(c, s);
    int r = write_sets(c, s);
    waiting_write_left(c, s->left);
    s->answered = true;
    return r < 0 ? r : ready;
}

/* Both calls' end of the first run. */
static long select_start(struct call *c, int64_t timeout, bool is_timeval)
{
    struct select_state *s;
    int r = select_begin(c, &s);
    if (r < 0)
        return r;
    call_set_timeout(c, timeout);
    if (timeout > 0)
        s->left = (struct waiting_left){.at = call_addr(c, 4), .is_timeval = is_timeval};
    return select_run(c, s);
}

long sys_select(struct call *c)
{
    int64_t timeout;
    if (c->state)
        return select_run(c, c->state);
    int r = waiting_read_timeval(c, call_addr(c, 4), &timeout);
    return r < 0 ? r : select_start(c, timeout, true);
}

long sys_pselect6(struct call *c)
{
    struct {
        uint64_t mask, size;
    } pack = {0, 0};
    int64_t timeout;
    if (c->state)
        return select_run(c, c->state);
    int r = 0;
    if (call_addr(c, 5).v != 0)
        r = call_read(c, &pack, call_addr(c, 5), sizeof(pack));
    if (r == 0)
        r = waiting_read_timespec(c, call_addr(c, 4), &timeout);
    if (r == 0)
        r = waiting_begin_mask(c, gaddr_at(pack.mask), pack.size);
    return r < 0 ? r : select_start(c, timeout, false);
}
