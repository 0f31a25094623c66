// SPDX-License-Identifier: Apache-2.0
/*
 * The other requests of ioctl_tty(2): flow, flushing, window size, and what only masters know.
 */
#include "kernel/fs/tty/pair.h"
#include "kernel/proc/process.h"

#include <linux/tty.h>

static long answer_int(struct call *c, struct gaddr to, int value)
{
    return call_write(c, to, &value, sizeof(value));
}

static long read_int(struct call *c, struct gaddr from, int *ret)
{
    return call_read(c, ret, from, sizeof(*ret));
}

/* ---- both sides ---- */

static void set_window(struct tty *t, const struct winsize *size)
{
    if (!memcmp(&t->window, size, sizeof(*size)))
        return;
    t->window = *size;
    tty_signal_foreground(t, SIGWINCH);
}

void tty_set_window_size(struct tty *t, uint16_t rows, uint16_t columns)
{
    struct winsize size = {.ws_row = rows, .ws_col = columns};
    set_window(t, &size);
}

static long set_window_request(struct tty *t, struct call *c, struct gaddr from)
{
    struct winsize size;
    int r = call_read(c, &size, from, sizeof(size));
    if (r < 0)
        return r;
    set_window(t, &size);
    return 0;
}

/* Only the one line discipline is there. */
static long set_discipline(struct tty *t, struct call *c, struct gaddr from)
{
    int number;
    long r = tty_check_change(t, SIGTTOU);
    if (r == 0)
        r = read_int(c, from, &number);
    if (r < 0)
        return r;
    return number == N_TTY ? 0 : -EINVAL;
}

static long set_exclusive(struct tty *t, bool from_master, bool on)
{
    if (from_master)
        t->master_exclusive = on;
    else
        t->exclusive = on;
    return 0;
}

/* What means the pair, or the same for either side. -ENOTTY: none of these. */
static long common_ioctl(struct tty *t, bool from_master, struct call *c, unsigned request,
                         struct gaddr argument)
{
    switch (request) {
    case TIOCGWINSZ:
        return call_write(c, argument, &t->window, sizeof(t->window));
    case TIOCSWINSZ:
        return set_window_request(t, c, argument);
    case TIOCEXCL:
    case TIOCNXCL:
        return set_exclusive(t, from_master, request == TIOCEXCL);
    case ABI_TIOCGEXCL:
        return answer_int(c, argument, from_master ? t->master_exclusive : t->exclusive);
    case TIOCGETD:
        return answer_int(c, argument, N_TTY);
    case TIOCSETD:
        return set_discipline(t, c, argument);
    case TIOCOUTQ:
        return answer_int(c, argument, 0);
    case ABI_TIOCGDEV:
        return answer_int(c, argument, (int)tty_device(t));
    case TIOCSTI:
    case TIOCCONS:
    case TIOCVHANGUP:
        return -EPERM;
    case TCSBRK:
    case TCSBRKP:
        return from_master ? 0 : tty_check_change(t, SIGTTOU);
    case TIOCSBRK:
    case TIOCCBRK:
        return 0;
    default:
        return -ENOTTY;
    }
}

static long run_ioctl(struct tty *t, struct file *f, bool from_master, struct call *c,
                      unsigned request, struct gaddr argument)
{
    long r = common_ioctl(t, from_master, c, request, argument);
    if (r == -ENOTTY)
        r = tty_settings_ioctl(t, c, request, argument);
    if (r == -ENOTTY)
        r = tty_session_ioctl(t, f, from_master, c, request, argument);
    return r;
}

/* tty_check_change() wants the call to be parked. */
static long park_background(struct tty *t, struct call *c, long result)
{
    if (result != -EAGAIN)
        return result;
    int r = call_wait_on(c, &t->slave_wait);
    return r < 0 ? r : call_park(c, RESTART_SYS);
}

/* ---- slave ---- */

/* What the slave has written and not read is "output" and "input" here. */
static long flush_slave(struct tty *t, uint64_t queue)
{
    long r = tty_check_change(t, SIGTTOU);
    if (r < 0)
        return r;
    if (queue != TCIFLUSH && queue != TCOFLUSH && queue != TCIOFLUSH)
        return -EINVAL;
    if (queue != TCOFLUSH) {
        ring_drop(&t->to_slave, t->to_slave.count);
        discipline_flush_input(&t->discipline);
        pair_wake_master(t, EPOLLOUT | EPOLLWRNORM);
    }
    if (queue != TCIFLUSH)
        discipline_flush_output(&t->discipline);
    return 0;
}

/* TCIOFF, TCION: sends STOP or START to the terminal; goes past a stop of the output. */
static void send_flow_character(struct tty *t, uint8_t c)
{
    if (c == 0)
        return;
    ring_put(&t->discipline.output, &c, 1);
    pair_wake_master(t, EPOLLIN | EPOLLRDNORM);
}

static long control_slave_flow(struct tty *t, uint64_t action)
{
    struct discipline *d = &t->discipline;
    long r = tty_check_change(t, SIGTTOU);
    if (r < 0)
        return r;
    switch (action) {
    case TCOOFF:
        d->stopped_by_program = true;
        discipline_stop(d);
        return 0;
    case TCOON:
        if (!d->stopped_by_program)
            return 0;
        d->stopped_by_program = false;
        discipline_start(d);
        pair_output_taken(t);
        return 0;
    case TCIOFF:
    case TCION:
        send_flow_character(t, d->termios.cc[action == TCIOFF ? VSTOP : VSTART]);
        return 0;
    default:
        return -EINVAL;
    }
}

static long slave_ioctl(struct tty *t, struct file *f, struct call *c, unsigned request,
                        struct gaddr argument)
{
    switch (request) {
    case FIONREAD:
        return answer_int(c, argument, (int)discipline_readable_bytes(&t->discipline));
    case TCFLSH:
        return flush_slave(t, argument.v);
    case TCXONC:
        return control_slave_flow(t, argument.v);
    case ABI_TIOCGPTPEER:
        return -EIO;
    default:
        return run_ioctl(t, f, false, c, request, argument);
    }
}

long tty_slave_ioctl(struct file *f, struct call *c, unsigned request, struct gaddr argument)
{
    struct tty *t = f->private;
    if (t->hung_up)
        return request == TIOCSPGRP ? -ENOTTY : -EIO;
    return park_background(t, c, slave_ioctl(t, f, c, request, argument));
}

/* ---- master ---- */

/* The other way round: what the slave has written is the master's input. */
static long flush_master(struct tty *t, uint64_t queue)
{
    if (queue != TCIFLUSH && queue != TCOFLUSH && queue != TCIOFLUSH)
        return -EINVAL;
    if (queue != TCOFLUSH) {
        ring_drop(&t->discipline.output, t->discipline.output.count);
        pair_output_taken(t);
    }
    if (queue != TCIFLUSH)
        ring_drop(&t->to_slave, t->to_slave.count);
    pair_wake_master(t, EPOLLOUT | EPOLLWRNORM);
    return 0;
}

static long control_master_flow(struct tty *t, uint64_t action)
{
    const uint8_t start = 'Q' - 0100, stop = 'S' - 0100;
    switch (action) {
    case TCOOFF:
    case TCOON:
        t->master_stopped = action == TCOOFF;
        pair_wake_master(t, EPOLLOUT | EPOLLWRNORM);
        return 0;
    case TCIOFF:
    case TCION:
        ring_put(&t->to_slave, action == TCIOFF ? &stop : &start, 1);
        pair_pump_input(t);
        return 0;
    default:
        return -EINVAL;
    }
}

static long set_packet_mode(struct tty *t, struct call *c, struct gaddr from)
{
    int on;
    long r = read_int(c, from, &on);
    if (r < 0)
        return r;
    if (on && !t->packet)
        t->packet_status = 0;
    t->packet = on;
    return 0;
}

static long set_lock(struct tty *t, struct call *c, struct gaddr from)
{
    int on;
    long r = read_int(c, from, &on);
    if (r == 0)
        t->locked = on;
    return r;
}

/* TIOCGPTPEER: a new descriptor of the slave, whatever /dev/pts looks like to the caller. */
static long open_peer(struct tty *t, struct call *c, uint64_t flags)
{
    const int allowed = O_ACCMODE | O_NOCTTY | O_NONBLOCK;
    struct thread *thread = c->thread;
    struct file *f;
    int r = pair_open_peer(t, (int)flags & allowed, &f);
    if (r < 0)
        return r;
    size_t limit = process_limit(thread->process, RLIMIT_NOFILE);
    r = fdtable_install(thread->files, f, 0, limit, flags & O_CLOEXEC);
    if (r < 0)
        file_put(f);
    return r;
}

/* TIOCSIG: the signals that a character could have made. */
static long send_signal(struct tty *t, uint64_t sig)
{
    if (sig != SIGINT && sig != SIGQUIT && sig != SIGTSTP)
        return -EINVAL;
    tty_signal_foreground(t, (int)sig);
    return 0;
}

static long master_ioctl(struct tty *t, struct file *f, struct call *c, unsigned request,
                         struct gaddr argument)
{
    switch (request) {
    case FIONREAD:
        return answer_int(c, argument, (int)t->discipline.output.count);
    case TCFLSH:
        return flush_master(t, argument.v);
    case TCXONC:
        return control_master_flow(t, argument.v);
    case TIOCPKT:
        return set_packet_mode(t, c, argument);
    case ABI_TIOCGPKT:
        return answer_int(c, argument, t->packet);
    case TIOCSPTLCK:
        return set_lock(t, c, argument);
    case ABI_TIOCGPTLCK:
        return answer_int(c, argument, t->locked);
    case TIOCGPTN:
        return answer_int(c, argument, (int)t->index);
    case ABI_TIOCGPTPEER:
        return open_peer(t, c, argument.v);
    case ABI_TIOCSIG:
        return send_signal(t, argument.v);
    default:
        return run_ioctl(t, f, true, c, request, argument);
    }
}

long tty_master_ioctl(struct file *f, struct call *c, unsigned request, struct gaddr argument)
{
    struct tty *t = f->private;
    return park_background(t, c, master_ioctl(t, f, c, request, argument));
}
