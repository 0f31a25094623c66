// SPDX-License-Identifier: Apache-2.0
/* host calls: recvfrom sendto */
#include "kernel/boot/console.h"

#include "kernel/core/kernel.h"
#include "kernel/core/outflow.h"
#include "kernel/core/traffic.h"

#include <sys/socket.h>

#define PIECE    4096
#define DRAIN_MS 2000

struct console {
    struct tty *tty; /* NULL once it was hung up */
    struct host_watch watch;
    bool input_ended; /* the starter's side is gone */
    bool is_held;     /* output waits until more may go (core/outflow.h) */
    struct wait_entry outflow;
    struct outflow_turn turn;
    /* Output that was taken from the pty and not yet by the socket. */
    char pending[PIECE];
    size_t pending_size, pending_at;
    void (*done)(void *context); /* set: it is to end when there is no output any more */
    void *context;
};

struct tty *console_tty(const struct console *c)
{
    return c ? c->tty : NULL;
}

static void update_watch(struct console *c)
{
    uint32_t events = 0;
    if (!c->input_ended && !c->done && console_input_room(c->tty) > 0)
        events |= EPOLLIN;
    if (c->pending_at < c->pending_size && !c->is_held)
        events |= EPOLLOUT;
    host_watch_change(&c->watch, events);
}

/* False when the socket takes no more for now, or no more may go. */
static bool move_output(struct console *c, bool is_last)
{
    for (;;) {
        if (c->pending_at == c->pending_size) {
            c->pending_at = 0;
            c->pending_size = console_output(c->tty, c->pending, sizeof(c->pending));
            if (c->pending_size == 0)
                return true;
        }
        c->is_held = true; /* before it is asked: then it may be woken at once */
        size_t room = is_last ? SIZE_MAX : outflow_room(&c->turn);
        if (room == 0)
            return false;
        c->is_held = false;
        size_t size = MIN(c->pending_size - c->pending_at, room);
        ssize_t n =
            send(c->watch.fd.n, c->pending + c->pending_at, size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            outflow_leave(&c->turn);
            return errno != EAGAIN;
        }
        c->pending_at += (size_t)n;
        outflow_take(&c->turn, (size_t)n);
        traffic.stream_bytes += (uint64_t)n;
    }
}

static void move_input(struct console *c)
{
    char data[PIECE];
    size_t room = console_input_room(c->tty);
    ssize_t n = recv(c->watch.fd.n, data, MIN(room, sizeof(data)), MSG_DONTWAIT);
    if (n > 0) {
        traffic.stream_bytes += (uint64_t)n;
        console_input(c->tty, data, (size_t)n);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        c->input_ended = true;
}

/* Nobody is there any more to read or to type: the programs see a hang-up. */
static void hang_up(struct console *c)
{
    struct tty *t = c->tty;
    waitq_remove(&c->outflow);
    outflow_leave(&c->turn);
    host_watch_remove(&c->watch);
    hostfd_close(&c->watch.fd);
    c->tty = NULL;
    console_hang_up(t);
}

static void end(struct console *c)
{
    void (*done)(void *context) = c->done;
    void *context = c->context;
    if (c->tty)
        hang_up(c);
    free(c);
    done(context);
}

static void on_ready(struct host_watch *w, uint32_t events)
{
    struct console *c = container_of(w, struct console, watch);
    if ((events & (EPOLLIN | EPOLLHUP)) && !c->input_ended && console_input_room(c->tty) > 0)
        move_input(c);
    bool is_empty = move_output(c, c->done || c->input_ended);
    if (c->done && (is_empty || c->input_ended))
        end(c);
    else if (c->input_ended)
        hang_up(c);
    else
        update_watch(c);
}

static void on_outflow(struct wait_entry *e, uint32_t events)
{
    struct console *c = container_of(e, struct console, outflow);
    (void)events;
    if (!c->is_held)
        return;
    c->is_held = false;
    host_watch_change(&c->watch, c->watch.events | EPOLLOUT);
}

/* Called from within the pty's own work: the socket is looked at in the next round. */
static void on_changed(struct tty *t, void *context)
{
    struct console *c = context;
    if (t != c->tty)
        return;
    if (console_has_output(t) && !c->is_held)
        host_watch_change(&c->watch, c->watch.events | EPOLLOUT);
    else if (!c->input_ended)
        host_watch_change(&c->watch, c->watch.events | EPOLLIN);
}

int console_open(struct hostfd socket, unsigned rows, unsigned columns, uid_t uid,
                 struct console **ret, struct file **ret_slave)
{
    struct console *c = calloc(1, sizeof(*c));
    if (!c)
        return -ENOMEM;
    const struct console_options options = {.rows = (uint16_t)rows,
                                            .columns = (uint16_t)columns,
                                            .uid = uid,
                                            .changed = on_changed,
                                            .context = c};
    c->watch = (struct host_watch){.fd = socket, .ready = on_ready};
    c->outflow.wake = on_outflow;
    int r = host_watch_add(&c->watch, EPOLLIN);
    if (r == 0) {
        r = tty_new_host_console(&options, ret_slave, &c->tty);
        if (r < 0)
            host_watch_remove(&c->watch);
    }
    if (r < 0) {
        free(c);
        return r;
    }
    waitq_add(outflow_queue(), &c->outflow);
    *ret = c;
    return 0;
}

void console_drain(struct console *c)
{
    if (!console_tty(c))
        return;
    while (!move_output(c, true))
        if (!host_watch_wait_room(c->watch.fd, DRAIN_MS))
            return;
}

void console_finish(struct console *c, void (*done)(void *context), void *context)
{
    c->done = done;
    c->context = context;
    if (c->tty)
        host_watch_change(&c->watch, EPOLLOUT);
    else
        end(c);
}
