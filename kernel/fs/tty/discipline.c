// SPDX-License-Identifier: Apache-2.0
#include "kernel/fs/tty/discipline.h"

/* Settings of a new pty's slave: tty_std_termios of Linux's sources, without HUPCL. */
static const struct abi_termios2 new_termios = {
    .iflag = ICRNL | IXON,
    .oflag = OPOST | ONLCR,
    .cflag = B38400 | CS8 | CREAD,
    .lflag = ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN,
    .cc =
        {
            [VINTR] = 'C' - 0100,
            [VQUIT] = '\\' - 0100,
            [VERASE] = 0177,
            [VKILL] = 'U' - 0100,
            [VEOF] = 'D' - 0100,
            [VMIN] = 1,
            [VSTART] = 'Q' - 0100,
            [VSTOP] = 'S' - 0100,
            [VSUSP] = 'Z' - 0100,
            [VREPRINT] = 'R' - 0100,
            [VDISCARD] = 'O' - 0100,
            [VWERASE] = 'W' - 0100,
            [VLNEXT] = 'V' - 0100,
        },
    .ispeed = 38400,
    .ospeed = 38400,
};

static size_t slot(size_t n)
{
    return n % DISCIPLINE_INPUT_BYTES;
}

static bool is_end(const struct discipline *d, size_t n)
{
    return d->ends[slot(n) / 64] >> (slot(n) % 64) & 1;
}

void discipline_init(struct discipline *d, const struct discipline_ops *ops)
{
    memset(d, 0, sizeof(*d));
    d->ops = ops;
    d->termios = new_termios;
    ring_init(&d->output, d->output_data, sizeof(d->output_data));
    d->output_before = SIZE_MAX;
}

bool discipline_is_canonical(const struct discipline *d)
{
    return (d->termios.lflag & (ICANON | EXTPROC)) == ICANON;
}

/* The buffer goes from lines to bytes or back: what is in it is then one line, or just bytes. */
static void change_mode(struct discipline *d)
{
    memset(d->ends, 0, sizeof(d->ends));
    d->canonical = d->tail;
    if (discipline_is_canonical(d) && d->head != d->tail) {
        size_t last = slot(d->head - 1);
        d->ends[last / 64] |= 1ULL << (last % 64);
        d->canonical = d->head;
    }
    d->erasing = false;
    d->literal_next = false;
}

void discipline_set_termios(struct discipline *d, const struct abi_termios2 *termios)
{
    struct abi_termios2 old = d->termios;
    d->termios = *termios;
    if ((old.lflag ^ d->termios.lflag) & (ICANON | EXTPROC))
        change_mode(d);
    /* Nobody could start what STOP has stopped once the characters mean nothing any more. */
    if ((old.iflag & IXON) && !discipline_has_iflag(d, IXON) && !d->stopped_by_program) {
        discipline_start(d);
        discipline_flush_echoes(d);
    }
}

size_t discipline_readable(const struct discipline *d)
{
    return (discipline_is_canonical(d) ? d->canonical : d->head) - d->tail;
}

size_t discipline_readable_bytes(const struct discipline *d)
{
    size_t count = discipline_readable(d);
    if (!discipline_is_canonical(d))
        return count;
    for (size_t n = d->tail; n != d->canonical; n++)
        if (is_end(d, n) && d->input[slot(n)] == 0)
            count--;
    return count;
}

/* How many bytes of the buffer a read of size gets in canonical mode, and takes out. */
static size_t measure_line(const struct discipline *d, size_t size, size_t *ret_consume)
{
    size_t available = discipline_readable(d);
    /* One more than fits, as an EOF character that follows needs no room. */
    size_t limit = size < available ? size + 1 : available;
    for (size_t i = 0; i < limit; i++) {
        if (!is_end(d, d->tail + i))
            continue;
        if (d->input[slot(d->tail + i)] == 0) {
            *ret_consume = i + 1;
            return i;
        }
        return *ret_consume = MIN(size, i + 1);
    }
    return *ret_consume = MIN(size, available);
}

size_t discipline_peek(const struct discipline *d, void *data, size_t size, size_t *ret_consume)
{
    size_t count;
    if (discipline_is_canonical(d))
        count = measure_line(d, size, ret_consume);
    else
        count = *ret_consume = MIN(size, d->head - d->tail);
    size_t start = slot(d->tail), first = MIN(count, DISCIPLINE_INPUT_BYTES - start);
    memcpy(data, d->input + start, first);
    memcpy((uint8_t *)data + first, d->input, count - first);
    return count;
}

void discipline_consume(struct discipline *d, size_t size)
{
    size = MIN(size, discipline_readable(d));
    for (size_t i = 0; i < size; i++, d->tail++)
        d->ends[slot(d->tail) / 64] &= ~(1ULL << (slot(d->tail) % 64));
    if (!discipline_is_canonical(d))
        d->canonical = d->tail;
}

void discipline_flush_input(struct discipline *d)
{
    d->head = d->tail = d->canonical = 0;
    d->erasing = false;
    memset(d->ends, 0, sizeof(d->ends));
    d->ops->event(d, DISCIPLINE_INPUT_FLUSHED);
}

void discipline_flush_output(struct discipline *d)
{
    ring_keep(&d->output, MIN((size_t)DISCIPLINE_OUTPUT_DELIVERED, d->output_before));
    d->ops->event(d, DISCIPLINE_OUTPUT_FLUSHED);
}

void discipline_stop(struct discipline *d)
{
    if (d->stopped)
        return;
    d->stopped = true;
    d->ops->event(d, DISCIPLINE_STOPPED);
}

void discipline_start(struct discipline *d)
{
    if (!d->stopped || d->stopped_by_program)
        return;
    d->stopped = false;
    d->ops->event(d, DISCIPLINE_STARTED);
}

int discipline_check(const struct discipline *d)
{
    if (d->canonical - d->tail > d->head - d->tail || d->head - d->tail > DISCIPLINE_INPUT_BYTES)
        return 1;
    if (!discipline_is_canonical(d)) {
        if (d->canonical != d->tail)
            return 2;
        for (size_t i = 0; i < ARRAY_SIZE(d->ends); i++)
            if (d->ends[i])
                return 2;
    } else if (d->canonical != d->tail && !is_end(d, d->canonical - 1)) {
        return 3;
    }
    return d->output.count > DISCIPLINE_OUTPUT_BYTES + DISCIPLINE_OUTPUT_SLACK ? 4 : 0;
}
