// SPDX-License-Identifier: Apache-2.0
/*
 * Output processing (c_oflag) with the column of the cursor, and echoes.
 *
 * Echoes wait in a queue of their own: they are put out when the characters that were received
 * together have been gone through, and stay there while output is stopped or its ring is full. How
 * many columns a tab took is known only when it is put out, so the queue holds operations, not
 * bytes.
 */
#include "kernel/fs/tty/discipline.h"

#define ECHO_CONTROL    0x100u /* | byte: shown as ^X */
#define ECHO_BEGIN_LINE 0x200u
#define ECHO_MOVE_BACK  0x300u
#define ECHO_ERASE_TAB  0x400u /* | columns | ECHO_AFTER_TAB */
#define ECHO_AFTER_TAB  0x80u
#define ECHO_KIND       0xff00u

#define TAB_COLUMNS 8

static void put(struct discipline *d, const void *data, size_t size)
{
    ring_put(&d->output, data, size);
}

static void put_newline(struct discipline *d)
{
    if (discipline_has_oflag(d, ONLRET))
        d->column = 0;
    if (discipline_has_oflag(d, ONLCR)) {
        d->column = d->canonical_column = 0;
        put(d, "\r\n", 2);
        return;
    }
    d->canonical_column = d->column;
    put(d, "\n", 1);
}

static void put_return(struct discipline *d)
{
    if (discipline_has_oflag(d, ONOCR) && d->column == 0)
        return;
    if (discipline_has_oflag(d, OCRNL)) {
        if (discipline_has_oflag(d, ONLRET))
            d->column = d->canonical_column = 0;
        put(d, "\n", 1);
        return;
    }
    d->column = d->canonical_column = 0;
    put(d, "\r", 1);
}

static void put_tab(struct discipline *d)
{
    unsigned spaces = TAB_COLUMNS - d->column % TAB_COLUMNS;
    d->column += spaces;
    if ((d->termios.oflag & TABDLY) == TAB3)
        put(d, "        ", spaces);
    else
        put(d, "\t", 1);
}

/* One character with OPOST. */
static void put_processed(struct discipline *d, uint8_t c)
{
    switch (c) {
    case '\n':
        put_newline(d);
        return;
    case '\r':
        put_return(d);
        return;
    case '\t':
        put_tab(d);
        return;
    case '\b':
        if (d->column > 0)
            d->column--;
        break;
    default:
        if (discipline_is_control(c))
            break;
        if (discipline_has_oflag(d, OLCUC) && discipline_is_lower(c))
            c -= 'a' - 'A';
        if (!discipline_is_continuation(d, c))
            d->column++;
        break;
    }
    put(d, &c, 1);
}

static void put_char(struct discipline *d, uint8_t c)
{
    if (discipline_has_oflag(d, OPOST))
        put_processed(d, c);
    else
        put(d, &c, 1);
}

size_t discipline_room(const struct discipline *d)
{
    if (d->stopped || d->output.count >= DISCIPLINE_OUTPUT_BYTES)
        return 0;
    return DISCIPLINE_OUTPUT_BYTES - d->output.count;
}

void discipline_write(struct discipline *d, const uint8_t *data, size_t size)
{
    discipline_flush_echoes(d);
    for (size_t i = 0; i < size; i++)
        put_char(d, data[i]);
    if (size > 0)
        d->ops->event(d, DISCIPLINE_OUTPUT);
}

/* ---- echoes ---- */

static void push_echo(struct discipline *d, unsigned op)
{
    if (d->echo_count == DISCIPLINE_ECHO_COUNT) {
        d->echo_start++;
        d->echo_count--;
    }
    d->echo[(d->echo_start + d->echo_count) % DISCIPLINE_ECHO_COUNT] = (uint16_t)op;
    d->echo_count++;
}

void echo_char(struct discipline *d, uint8_t c)
{
    bool shown = discipline_has_lflag(d, ECHOCTL) && discipline_is_control(c) && c != '\t';
    push_echo(d, shown ? ECHO_CONTROL | c : c);
}

void echo_raw(struct discipline *d, uint8_t c)
{
    push_echo(d, c);
}

void echo_begin_line(struct discipline *d)
{
    push_echo(d, ECHO_BEGIN_LINE);
}

void echo_move_back(struct discipline *d)
{
    push_echo(d, ECHO_MOVE_BACK);
}

void echo_erase_tab(struct discipline *d, unsigned columns, bool after_tab)
{
    push_echo(d, ECHO_ERASE_TAB | columns % TAB_COLUMNS | (after_tab ? ECHO_AFTER_TAB : 0));
}

void echo_clear(struct discipline *d)
{
    d->echo_start = d->echo_count = 0;
}

static void put_erase_tab(struct discipline *d, unsigned columns)
{
    if (!(columns & ECHO_AFTER_TAB))
        columns += d->canonical_column;
    for (unsigned back = TAB_COLUMNS - columns % TAB_COLUMNS; back > 0; back--) {
        put(d, "\b", 1);
        if (d->column > 0)
            d->column--;
    }
}

static void put_echo(struct discipline *d, unsigned op)
{
    uint8_t c = op & 0xff;
    switch (op & ECHO_KIND) {
    case ECHO_CONTROL:
        c ^= 0100;
        put(d, "^", 1);
        put(d, &c, 1);
        d->column += 2;
        break;
    case ECHO_BEGIN_LINE:
        d->canonical_column = d->column;
        break;
    case ECHO_MOVE_BACK:
        if (d->column > 0)
            d->column--;
        break;
    case ECHO_ERASE_TAB:
        put_erase_tab(d, c);
        break;
    default:
        /* Linux's queue marks its operations with this byte; as itself it goes past the processing.
         */
        if (c == 0377) {
            put(d, &c, 1);
            d->column++;
        } else {
            put_char(d, c);
        }
        break;
    }
}

void discipline_flush_echoes(struct discipline *d)
{
    bool any = false;
    while (d->echo_count > 0 && discipline_room(d) > 0) {
        put_echo(d, d->echo[d->echo_start % DISCIPLINE_ECHO_COUNT]);
        d->echo_start++;
        d->echo_count--;
        any = true;
    }
    if (d->echo_count == 0)
        d->echo_start = 0;
    if (any)
        d->ops->event(d, DISCIPLINE_OUTPUT);
}
