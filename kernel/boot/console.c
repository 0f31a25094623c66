// SPDX-License-Identifier: Apache-2.0
/* host calls: recvfrom sendto */
#include "kernel/boot/console.h"

#include "kernel/boot/control.h"
#include "kernel/core/kernel.h"
#include "kernel/core/traffic.h"

#include <sys/socket.h>

#define PIECE    4096
#define DRAIN_MS 2000

static struct tty *console;
static struct host_watch watch;
static bool input_ended; /* the starter's side is gone */

struct tty *console_tty(void)
{
    return console;
}

/* Output that was taken from the pty and not yet by the socket. */
static char pending[PIECE];
static size_t pending_size, pending_at;

static void update_watch(void)
{
    uint32_t events = 0;
    if (!input_ended && console_input_room(console) > 0)
        events |= EPOLLIN;
    if (pending_at < pending_size)
        events |= EPOLLOUT;
    host_watch_change(&watch, events);
}

/* False when the socket takes no more for now. */
static bool move_output(void)
{
    for (;;) {
        if (pending_at == pending_size) {
            pending_at = 0;
            pending_size = console_output(console, pending, sizeof(pending));
            if (pending_size == 0)
                return true;
        }
        ssize_t n = send(watch.fd.n, pending + pending_at, pending_size - pending_at,
                         MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno != EAGAIN;
        pending_at += (size_t)n;
        traffic.stream_bytes += (uint64_t)n;
    }
}

static void move_input(void)
{
    char data[PIECE];
    size_t room = console_input_room(console);
    ssize_t n = recv(watch.fd.n, data, MIN(room, sizeof(data)), MSG_DONTWAIT);
    if (n > 0) {
        traffic.stream_bytes += (uint64_t)n;
        console_input(console, data, (size_t)n);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        input_ended = true;
}

/* Nobody is there any more to read or to type: the programs see a hang-up. */
static void hang_up(void)
{
    struct tty *t = console;
    host_watch_remove(&watch);
    console = NULL;
    control_forget_console();
    console_hang_up(t);
}

static void on_ready(struct host_watch *w, uint32_t events)
{
    if ((events & (EPOLLIN | EPOLLHUP)) && !input_ended && console_input_room(console) > 0)
        move_input();
    move_output();
    if (input_ended)
        hang_up();
    else
        update_watch();
}

/* Called from within the pty's own work: the socket is looked at in the next round. */
static void on_changed(struct tty *t, void *context)
{
    if (t != console)
        return;
    if (console_has_output(t))
        host_watch_change(&watch, watch.events | EPOLLOUT);
    else if (!input_ended)
        host_watch_change(&watch, watch.events | EPOLLIN);
}

int console_start(unsigned rows, unsigned columns, uid_t uid, struct file **ret_slave)
{
    const struct console_options options = {
        .rows = (uint16_t)rows, .columns = (uint16_t)columns, .uid = uid, .changed = on_changed};
    watch.fd.n = CONTROL_STDIN_FD;
    watch.ready = on_ready;
    int r = host_watch_add(&watch, EPOLLIN);
    if (r < 0)
        return r;
    return tty_new_host_console(&options, ret_slave, &console);
}

void console_drain(void)
{
    if (!console)
        return;
    while (!move_output())
        if (!host_watch_wait_room(watch.fd, DRAIN_MS))
            return;
}
