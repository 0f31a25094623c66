// SPDX-License-Identifier: Apache-2.0
/*
 * Reading, writing and polling both sides of a terminal.
 */
#include "kernel/fs/tty/pair.h"
#include "kernel/proc/process.h"

#define EVENTS_IN  (EPOLLIN | EPOLLRDNORM)
#define EVENTS_OUT (EPOLLOUT | EPOLLWRNORM)

/* ---- slave ---- */

static int slave_open(struct file *f)
{
    return pair_open_slave(f->inode->private, f);
}

static void slave_release(struct file *f)
{
    struct tty *t = f->private;
    if (--t->slave_files == 0) {
        t->slave_closed = true;
        pair_wake_master(t, EVENTS_IN | EPOLLHUP);
    }
    tty_put(t);
}

/* VMIN 0, VTIME set: the first byte may take that long, counted from the call. */
static ssize_t await_first_byte(const struct file *f, unsigned deciseconds)
{
    struct call *c = call_current;
    if (deciseconds == 0)
        return 0;
    if (!c || f->flags & O_NONBLOCK)
        return -EAGAIN;
    if (c->timed_out)
        return 0;
    call_set_timeout(c, deciseconds * NSEC_PER_SEC / 10);
    return -EAGAIN;
}

/* VMIN and VTIME set, and fewer bytes than VMIN are there: the time runs from one byte to the next.
 */
static bool is_interbyte_over(struct tty *t, unsigned deciseconds)
{
    if (t->interbyte_over)
        return true;
    if (!timer_is_armed(&t->interbyte))
        timer_arm(&t->interbyte, clock_monotonic_ns() + deciseconds * NSEC_PER_SEC / 10);
    return false;
}

/* The four cases of termios(3), "Noncanonical mode". 1: read what is there; 0: answer 0; -EAGAIN.
 */
static ssize_t check_raw_read(struct tty *t, const struct file *f, size_t size)
{
    const struct discipline *d = &t->discipline;
    size_t available = discipline_readable(d);
    unsigned min = d->termios.cc[VMIN], time = d->termios.cc[VTIME];
    if (available == 0)
        return min == 0 ? await_first_byte(f, time) : -EAGAIN;
    if (available >= min || available >= size || f->flags & O_NONBLOCK)
        return 1;
    return time > 0 && is_interbyte_over(t, time) ? 1 : -EAGAIN;
}

static ssize_t check_read(struct tty *t, const struct file *f, size_t size)
{
    if (!discipline_is_canonical(&t->discipline))
        return check_raw_read(t, f, size);
    return discipline_readable(&t->discipline) > 0 ? 1 : -EAGAIN;
}

static ssize_t slave_read(struct file *f, struct uio *u, off_t *pos, int flags)
{
    struct tty *t = f->private;
    uint8_t data[DISCIPLINE_INPUT_BYTES];
    if (t->hung_up)
        return 0;
    ssize_t r = tty_check_change(t, SIGTTIN);
    if (r < 0 || u->left == 0)
        return r;
    r = check_read(t, f, u->left);
    if (r <= 0)
        return r;
    size_t consume;
    size_t count = discipline_peek(&t->discipline, data, MIN(u->left, sizeof(data)), &consume);
    r = count > 0 ? uio_copy_out(u, data, count) : 0;
    if (r < 0)
        return r;
    discipline_consume(&t->discipline, (size_t)r < count ? (size_t)r : consume);
    t->interbyte_over = false;
    timer_disarm(&t->interbyte);
    pair_pump_input(t);
    return r;
}

static ssize_t slave_write(struct file *f, struct uio *u, off_t *pos, int flags)
{
    struct tty *t = f->private;
    uint8_t data[DISCIPLINE_CHUNK];
    ssize_t done = 0;
    if (t->hung_up)
        return -EIO;
    if (discipline_has_lflag(&t->discipline, TOSTOP)) {
        long r = tty_check_change(t, SIGTTOU);
        if (r < 0)
            return r;
    }
    discipline_flush_echoes(&t->discipline);
    while (u->left > 0) {
        if (discipline_room(&t->discipline) == 0)
            return done > 0 ? done : -EAGAIN;
        ssize_t n = uio_copy_in(u, data, MIN(u->left, sizeof(data)));
        if (n < 0)
            return done > 0 ? done : n;
        discipline_write(&t->discipline, data, (size_t)n);
        done += n;
    }
    return done;
}

/* Without VTIME a reader of VMIN bytes is told when that many are there. */
static bool is_readable(const struct discipline *d)
{
    size_t wanted = 1;
    if (!discipline_is_canonical(d) && d->termios.cc[VTIME] == 0 && d->termios.cc[VMIN] > 0)
        wanted = d->termios.cc[VMIN];
    return discipline_readable(d) >= wanted;
}

static uint32_t slave_poll(struct file *f, struct poll_table *table)
{
    struct tty *t = f->private;
    uint32_t events = 0;
    poll_table_add(table, &t->slave_wait);
    if (t->hung_up)
        return EVENTS_IN | EVENTS_OUT | EPOLLERR | EPOLLHUP;
    if (is_readable(&t->discipline))
        events |= EVENTS_IN;
    if (discipline_room(&t->discipline) > 0)
        events |= EVENTS_OUT;
    return events;
}

const struct file_ops tty_slave_ops = {
    .open = slave_open,
    .release = slave_release,
    .read = slave_read,
    .write = slave_write,
    .poll = slave_poll,
    .ioctl = tty_slave_ioctl,
    .stream = true,
    .write_all = true,
    .tells_by_signal = true,
};

/* ---- master ---- */

static void master_release(struct file *f)
{
    struct tty *t = f->private;
    pair_hang_up(t);
    tty_put(t);
}

/* Copies output until it or the buffers end. */
static ssize_t copy_output(struct tty *t, struct uio *u)
{
    struct ring *output = &t->discipline.output;
    const uint8_t *data;
    ssize_t done = 0;
    size_t size;
    while (u->left > 0 && (size = ring_front(output, &data)) > 0) {
        ssize_t n = uio_copy_out(u, data, MIN(size, u->left));
        if (n < 0)
            return done > 0 ? done : n;
        ring_drop(output, (size_t)n);
        done += n;
    }
    return done;
}

/* What a master in packet mode is told instead of data: TIOCPKT of ioctl_tty(2). */
static ssize_t read_packet_status(struct tty *t, struct uio *u)
{
    ssize_t n = uio_copy_out(u, &t->packet_status, 1);
    if (n > 0)
        t->packet_status = 0;
    return n;
}

static ssize_t master_read(struct file *f, struct uio *u, off_t *pos, int flags)
{
    struct tty *t = f->private;
    const uint8_t is_data = TIOCPKT_DATA;
    ssize_t header = 0;
    if (u->left == 0)
        return 0;
    if (t->packet && t->packet_status)
        return read_packet_status(t, u);
    if (t->discipline.output.count == 0)
        return t->slave_closed ? -EIO : -EAGAIN;
    if (t->packet)
        header = uio_copy_out(u, &is_data, 1);
    if (header < 0)
        return header;
    ssize_t n = copy_output(t, u);
    if (n < 0)
        return header > 0 ? header : n;
    pair_output_taken(t);
    return header + n;
}

static ssize_t master_write(struct file *f, struct uio *u, off_t *pos, int flags)
{
    struct tty *t = f->private;
    uint8_t data[1024];
    ssize_t done = 0;
    while (u->left > 0) {
        size_t room = MIN(pair_input_room(t), sizeof(data));
        if (room == 0)
            return done > 0 ? done : -EAGAIN;
        ssize_t n = uio_copy_in(u, data, MIN(room, u->left));
        if (n < 0)
            return done > 0 ? done : n;
        ring_put(&t->to_slave, data, (size_t)n);
        pair_pump_input(t);
        done += n;
    }
    return done;
}

static uint32_t master_poll(struct file *f, struct poll_table *table)
{
    struct tty *t = f->private;
    uint32_t events = 0;
    poll_table_add(table, &t->master_wait);
    if (t->discipline.output.count > 0)
        events |= EVENTS_IN;
    if (t->packet && t->packet_status)
        events |= EVENTS_IN | EPOLLPRI;
    if (t->slave_closed)
        events |= EPOLLHUP;
    if (pair_input_room(t) > 0)
        events |= EVENTS_OUT;
    return events;
}

const struct file_ops tty_master_ops = {
    .release = master_release,
    .read = master_read,
    .write = master_write,
    .poll = master_poll,
    .ioctl = tty_master_ioctl,
    .stream = true,
    .write_all = true,
    .tells_by_signal = true,
};

/* ---- /dev/ptmx and /dev/tty ---- */

static int multiplexer_open(struct file *f)
{
    struct tty *t;
    int r = pair_new(call_current ? call_current->thread->cred->fsuid : 0, &t);
    if (r < 0)
        return r;
    f->private = t;
    f->ops = &tty_master_ops;
    return 0;
}

const struct file_ops tty_multiplexer_ops = {
    .open = multiplexer_open,
    .stream = true,
};

static int current_open(struct file *f)
{
    struct tty *t = call_current ? tty_of_process(call_current->thread->process) : NULL;
    return t ? pair_open_slave(t, f) : -ENXIO;
}

const struct file_ops tty_current_ops = {
    .open = current_open,
    .stream = true,
};
