// SPDX-License-Identifier: Apache-2.0
#include "sandbox/port_search.h"

#include "sandbox/port_forward.h"
#include "sandbox/stream_pair.h"

#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#define PIECE_BYTES    (64 * 1024)
#define EVENTS_AT_ONCE 8 /* each at most a piece; and as many are let out after their time */
/* A piece, and what all generations of values may have kept back before it. */
#define FOUND_MAX_BYTES (1 << 20)
#define REST_NS         (50 * NSEC_PER_MSEC) /* until the kernel is told again */

struct end {
    struct port_searched *of;
    int fd; /* -1 */
    uint32_t events;
    bool is_watched;
    bool is_gone; /* who has the other end: nothing can be sent any more */
};

struct way {
    struct buf rest;    /* to be sent; nothing is read before it is */
    bool is_read_whole; /* there is no more to be read */
    bool is_over;       /* and all of it was sent, and that told */
};

struct port_searched {
    struct port_search *search;
    enum { ASKED, CARRIED, CUT, OVER } state;
    const void *client;
    int32_t number;
    struct end asker, program;
    bool is_local; /* asker is AF_UNIX's */
    bool is_reset; /* the program has cut it off */
    struct way in, out;
    struct scrub_stream scrub;
    size_t held_bytes;
    bool has_moved; /* out, since the timer was chosen */
    int64_t deadline_ns;
    struct list link, timer;
};

static char piece[PIECE_BYTES];

static int64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

/* ---- ends ---- */

/* Without events the host tells of its end alone, and not again of one that is known. */
static int watch(struct end *e, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = e};
    bool is_wanted = e->fd >= 0 && (events || !e->is_gone);
    if (e->fd < 0 || (is_wanted == e->is_watched && (!is_wanted || e->events == events)))
        return 0;
    int operation = !is_wanted ? EPOLL_CTL_DEL : e->is_watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (epoll_ctl(e->of->search->epoll, operation, e->fd, &event) < 0)
        return -errno;
    e->is_watched = is_wanted;
    e->events = events;
    return 0;
}

/*
 * is_reset: the other end is told so, if it is of TCP. Never waits, whatever its owner has set. He
 * may have a duplicate, for which the host would go on telling of it.
 */
static void close_end(struct end *e, bool is_reset)
{
    const struct linger linger = {.l_onoff = is_reset};
    if (e->fd < 0)
        return;
    if (e->is_watched)
        epoll_ctl(e->of->search->epoll, EPOLL_CTL_DEL, e->fd, NULL);
    setsockopt(e->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
    close(e->fd);
    e->fd = -1;
    e->is_watched = false;
}

static void set_timer(struct port_searched *c, struct list *timers, int64_t ms)
{
    list_remove(&c->timer);
    if (!timers)
        return;
    c->deadline_ns = now_ns() + ms * NSEC_PER_MSEC;
    list_append(timers, &c->timer);
}

/* ---- the end of a connection ---- */

/* What is still in hand of a batch of events may be about it: it is freed afterwards. */
static void end(struct port_searched *c, bool is_reset)
{
    c->state = OVER;
    close_end(&c->asker, is_reset);
    close_end(&c->program, false);
    set_timer(c, &c->search->over, 0);
}

static void release(struct port_searched *c)
{
    scrub_stream_done(&c->scrub);
    buf_done(&c->in.rest);
    buf_done(&c->out.rest);
    list_remove(&c->timer);
    list_remove(&c->link);
    c->search->count--;
    free(c);
}

static void release_all(struct port_search *s)
{
    while (!list_is_empty(&s->over))
        release(list_first(&s->over, struct port_searched, timer));
}

/*
 * Its end of the pair stays until the kernel has let go of its own: to the program this is to be a
 * reset, not the end that it would see first. From now on that is all that is waited for, also
 * while the kernel can't be told; where it has been seen already, it does not come again.
 */
static void tell_cut(struct port_searched *c)
{
    bool is_told_of_end = watch(&c->program, 0) == 0 && !c->program.is_gone;
    if (!sandbox_send(c->search->sandbox, CONTROL_PORT_CUT, c->number)) {
        set_timer(c, &c->search->untold, REST_NS / NSEC_PER_MSEC);
        return;
    }
    set_timer(c, NULL, 0);
    if (!is_told_of_end)
        end(c, true);
}

static void cut(struct port_searched *c)
{
    c->state = CUT;
    close_end(&c->asker, true);
    buf_done(&c->in.rest);
    buf_done(&c->out.rest);
    tell_cut(c);
}

/* ---- to and fro ---- */

/* 0, also when the rest must wait; or negative errno. */
static int send_rest(struct buf *rest, int fd)
{
    while (rest->size > 0) {
        ssize_t n = send(fd, rest->data, rest->size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? 0 : -errno;
        buf_consume(rest, (size_t)n);
    }
    buf_done(rest);
    return 0;
}

/* As much as can be goes at once, and the rest becomes that of w. Likewise. */
static int send_some(struct way *w, int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t n = send(fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            return -errno;
        if (n < 0)
            return buf_append(&w->rest, data, size);
        data += n;
        size -= (size_t)n;
    }
    return 0;
}

/* Nobody takes more at the end of w: who writes at its beginning is to know. */
static void give_up(struct way *w, const struct end *from)
{
    buf_done(&w->rest);
    w->is_read_whole = w->is_over = true;
    shutdown(from->fd, SHUT_RD);
}

/* What has come of sending to the program. */
static void take_sent_in(struct port_searched *c, int r)
{
    if (r == -EPIPE)
        give_up(&c->in, &c->asker);
    else if (r < 0)
        cut(c);
}

/* ... and to who connected: he of TCP who takes nothing has gone, or reset it. */
static void take_sent_out(struct port_searched *c, int r)
{
    c->has_moved = true;
    if (r == -EPIPE && c->is_local)
        give_up(&c->out, &c->program);
    else if (r < 0)
        cut(c);
}

static void carry_in(struct port_searched *c)
{
    ssize_t n = recv(c->asker.fd, piece, sizeof(piece), MSG_DONTWAIT);
    if (n > 0)
        take_sent_in(c, send_some(&c->in, c->program.fd, piece, (size_t)n));
    else if (n == 0)
        c->in.is_read_whole = true;
    else if (errno != EAGAIN && errno != EINTR)
        cut(c);
}

/* What the search has done with, of which size bytes are new to it; r: what it said. */
static void send_found(struct port_searched *c, int r, size_t size, struct buf *found)
{
    if (r < 0) {
        cut(c);
    } else {
        c->held_bytes += size - found->size;
        take_sent_out(c, send_some(&c->out, c->asker.fd, found->data, found->size));
    }
    buf_reset(found);
}

static struct buf *empty_buffer(void)
{
    static struct buf found = BUF_INIT(FOUND_MAX_BYTES);
    return &found;
}

/* False: there is nothing to be read. */
static bool carry_out(struct port_searched *c)
{
    struct buf *found = empty_buffer();
    ssize_t n = recv(c->program.fd, piece, sizeof(piece), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n > 0) {
        send_found(c, scrub_stream_take(&c->scrub, piece, (size_t)n, found), (size_t)n, found);
    } else {
        c->is_reset = n < 0;
        c->out.is_read_whole = true;
        send_found(c, scrub_stream_end(&c->scrub, found), 0, found);
    }
    return true;
}

/* The time is over, unless there is more by now. */
static void let_out(struct port_searched *c)
{
    struct buf *found = empty_buffer();
    if (!carry_out(c))
        send_found(c, scrub_stream_let_out(&c->scrub, found), 0, found);
}

/* ---- what is next ---- */

/* All that was read of w was sent: its end is told. */
static void end_way(struct way *w, const struct end *to)
{
    if (!w->is_read_whole || w->is_over || w->rest.size > 0)
        return;
    w->is_over = true;
    shutdown(to->fd, SHUT_WR);
}

static void choose_timer(struct port_searched *c)
{
    struct port_search *s = c->search;
    bool rests = c->out.rest.size > 0;
    struct list *timers = NULL;
    if (rests && c->program.is_gone)
        timers = &s->leaving;
    else if (!rests && c->held_bytes > 0)
        timers = &s->held;
    if (timers && list_is_linked(&c->timer) && !c->has_moved)
        return;
    c->has_moved = false;
    set_timer(c, timers, rests ? PORT_SEARCH_LEAVE_MS : PORT_SEARCH_HOLD_MS);
}

static uint32_t wanted(const struct way *from, const struct way *to)
{
    bool reads = !from->is_read_whole && from->rest.size == 0;
    return (reads ? EPOLLIN : 0) | (to->rest.size > 0 ? EPOLLOUT : 0);
}

static void go_on(struct port_searched *c)
{
    if (c->state != CARRIED)
        return;
    end_way(&c->in, &c->program);
    if (c->is_reset && c->out.rest.size == 0) {
        end(c, true);
        return;
    }
    end_way(&c->out, &c->asker);
    if (c->in.is_over && c->out.is_over) {
        end(c, false);
        return;
    }
    choose_timer(c);
    if (watch(&c->asker, wanted(&c->in, &c->out)) < 0 ||
        watch(&c->program, wanted(&c->out, &c->in)) < 0)
        cut(c);
}

/* ---- events ---- */

/* He takes nothing any more. Of TCP this is an error, or both ways have ended, though all that came
 * in need not have been read. */
static void on_asker_gone(struct port_searched *c, uint32_t events)
{
    c->asker.is_gone = true;
    if (!c->is_local && events & EPOLLERR)
        cut(c);
    else if (c->is_local && !c->out.is_over)
        give_up(&c->out, &c->program);
}

static void on_asker(struct port_searched *c, uint32_t events)
{
    if (events & EPOLLOUT)
        take_sent_out(c, send_rest(&c->out.rest, c->asker.fd));
    if (c->state == CARRIED && c->asker.events & events & EPOLLIN)
        carry_in(c);
    if (c->state == CARRIED && events & (EPOLLHUP | EPOLLERR) && !c->asker.is_gone)
        on_asker_gone(c, events);
}

static void on_program(struct port_searched *c, uint32_t events)
{
    if (events & (EPOLLHUP | EPOLLERR) && !c->program.is_gone) {
        c->program.is_gone = true;
        if (!c->in.is_over)
            give_up(&c->in, &c->asker);
    }
    if (events & EPOLLOUT)
        take_sent_in(c, send_rest(&c->in.rest, c->program.fd));
    /* What it has said before it went is there still. */
    if (c->state == CARRIED && c->program.events & events & EPOLLIN)
        carry_out(c);
}

static void on_event(struct end *e, uint32_t events)
{
    struct port_searched *c = e->of;
    /* What it has said, or has room for, may be in hand since before it was cut off. */
    if (c->state == CUT && e == &c->program && events & (EPOLLHUP | EPOLLERR)) {
        end(c, true);
    } else if (c->state == CARRIED) {
        if (e == &c->asker)
            on_asker(c, events);
        else
            on_program(c, events);
        go_on(c);
    }
}

/* ---- the beginning ---- */

static struct port_searched *new_connection(struct port_search *s, int fd, bool is_local)
{
    const int one = 1;
    struct port_searched *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->search = s;
    c->asker = (struct end){.of = c, .fd = fd};
    c->program = (struct end){.of = c, .fd = -1};
    c->is_local = is_local;
    c->in.rest = c->out.rest = BUF_INIT(FOUND_MAX_BYTES);
    scrub_stream_begin_connection(&c->scrub, s->scrubber);
    list_init(&c->timer);
    s->last_number = s->last_number == INT32_MIN ? -1 : s->last_number - 1;
    c->number = s->last_number;
    list_append(&s->all, &c->link);
    s->count++;
    /* A program that waits for nothing is not to wait here either. */
    if (!is_local)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return c;
}

int port_search_begin(struct port_search *s, int *fd, const void *client,
                      struct port_searched **ret, int32_t *ret_number, int *ret_end)
{
    bool is_local = false;
    _cleanup_close_ int ours = -1, theirs = -1;
    int r = s->count >= s->max ? -EUSERS : ports_look_at(*fd, &is_local);
    if (r < 0)
        return r;
    if (!stream_pair_sockets(SOCK_STREAM, &ours, &theirs))
        return -EAGAIN;
    struct port_searched *c = new_connection(s, *fd, is_local);
    if (!c)
        return -ENOMEM;
    *fd = -1; /* transferred */
    c->program.fd = TAKE_FD(ours);
    c->client = client;
    *ret = c;
    *ret_number = c->number;
    *ret_end = TAKE_FD(theirs);
    return 0;
}

void port_search_answer(struct port_searched *c, int error, bool is_refusal)
{
    if (c->state != ASKED)
        return;
    if (error) {
        end(c, is_refusal);
        return;
    }
    c->state = CARRIED;
    go_on(c);
}

void port_search_cut(struct port_search *s, const void *client)
{
    struct port_searched *c;
    list_for_each(c, &s->all, link)
    {
        if (c->client == client && c->state <= CARRIED)
            cut(c);
    }
}

/* ---- the whole ---- */

void port_search_init(struct port_search *s)
{
    *s = (struct port_search){.epoll = -1};
    list_init(&s->all);
    list_init(&s->held);
    list_init(&s->leaving);
    list_init(&s->untold);
    list_init(&s->over);
}

int port_search_open(struct port_search *s, struct sandbox *sandbox, struct scrubber *scrubber)
{
    struct rlimit files = {0};
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (s->epoll < 0 || getrlimit(RLIMIT_NOFILE, &files) < 0)
        return -errno;
    /* Each has two, and the rest of the starter is to have half of them. */
    s->max = MIN(files.rlim_cur / 4, (rlim_t)PORTS_CONNECTIONS_MAX);
    s->sandbox = sandbox;
    s->scrubber = scrubber;
    return 0;
}

int port_search_poll_descriptor(const struct port_search *s)
{
    return s->epoll;
}

/* The first of the list that is due, or NULL. */
static struct port_searched *next_due(const struct list *timers, int64_t now)
{
    struct port_searched *c =
        list_is_empty(timers) ? NULL : list_first(timers, struct port_searched, timer);
    return c && c->deadline_ns <= now ? c : NULL;
}

int64_t port_search_deadline(const struct port_search *s)
{
    const struct list *timers[] = {&s->held, &s->leaving, &s->untold, &s->over};
    int64_t first = 0;
    for (size_t i = 0; i < ARRAY_SIZE(timers); i++) {
        const struct port_searched *c = next_due(timers[i], INT64_MAX);
        if (c && (!first || c->deadline_ns < first))
            first = c->deadline_ns;
    }
    return first;
}

static void check_clock(struct port_search *s)
{
    int64_t now = now_ns();
    struct port_searched *c;
    for (int i = 0; i < EVENTS_AT_ONCE && (c = next_due(&s->held, now)); i++) {
        let_out(c);
        go_on(c);
    }
    while ((c = next_due(&s->leaving, now)))
        end(c, true);
    while ((c = next_due(&s->untold, now)))
        tell_cut(c);
}

void port_search_step(struct port_search *s)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    int n = s->count > 0 ? epoll_wait(s->epoll, events, EVENTS_AT_ONCE, 0) : 0;
    for (int i = 0; i < n; i++)
        on_event(events[i].data.ptr, events[i].events);
    if (s->count > 0)
        check_clock(s);
    release_all(s);
}

void port_search_close(struct port_search *s)
{
    struct port_searched *c;
    list_for_each(c, &s->all, link) end(c, true);
    release_all(s);
    base_closep(&s->epoll);
    s->epoll = -1;
}
