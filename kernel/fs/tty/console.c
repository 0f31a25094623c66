// SPDX-License-Identifier: Apache-2.0
#include "kernel/fs/tty/pair.h"

int tty_new_host_console(const struct console_options *options, struct file **ret_slave,
                         struct tty **ret_tty)
{
    struct tty *t;
    int r = pair_new(options->uid, &t);
    if (r < 0)
        return r;
    t->locked = false;
    t->window = (struct winsize){.ws_row = options->rows, .ws_col = options->columns};
    r = pair_open_peer(t, O_RDWR | O_NOCTTY, ret_slave);
    if (r < 0) {
        console_hang_up(t);
        return r;
    }
    t->changed = options->changed;
    t->context = options->context;
    *ret_tty = t;
    return 0;
}

size_t console_input(struct tty *t, const void *data, size_t size)
{
    size_t taken = ring_put(&t->to_slave, data, MIN(size, pair_input_room(t)));
    if (taken > 0)
        pair_pump_input(t);
    return taken;
}

size_t console_input_room(const struct tty *t)
{
    return pair_input_room(t);
}

size_t console_output(struct tty *t, void *data, size_t size)
{
    struct ring *output = &t->discipline.output;
    const uint8_t *front;
    size_t done = 0, part;
    while (done < size && (part = ring_front(output, &front)) > 0) {
        part = MIN(part, size - done);
        memcpy((uint8_t *)data + done, front, part);
        ring_drop(output, part);
        done += part;
    }
    if (done > 0)
        pair_output_taken(t);
    return done;
}

bool console_has_output(const struct tty *t)
{
    return t->discipline.output.count > 0;
}

bool console_is_open(const struct tty *t)
{
    return t->slave_files > 0;
}

void console_hang_up(struct tty *t)
{
    pair_hang_up(t);
    tty_put(t);
}
