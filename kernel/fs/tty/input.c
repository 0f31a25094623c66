// SPDX-License-Identifier: Apache-2.0
/*
 * What becomes of the characters that come from the terminal: c_iflag, c_lflag, c_cc of termios(3).
 */
#include "kernel/fs/tty/discipline.h"

#include <signal.h>

static uint8_t at(const struct discipline *d, size_t n)
{
    return d->input[n % DISCIPLINE_INPUT_BYTES];
}

static void enqueue(struct discipline *d, uint8_t c)
{
    if (d->head - d->tail < DISCIPLINE_INPUT_BYTES)
        d->input[d->head++ % DISCIPLINE_INPUT_BYTES] = c;
}

/* With PARMRK a byte that could be taken for the mark of a bad one is doubled. */
static void enqueue_marked(struct discipline *d, uint8_t c)
{
    if (c == 0377 && discipline_has_iflag(d, PARMRK))
        enqueue(d, c);
    enqueue(d, c);
}

/* Ends the line with c; 0 is EOF, which is no byte of it. */
static void end_line(struct discipline *d, uint8_t c)
{
    size_t n = d->head % DISCIPLINE_INPUT_BYTES;
    if (d->head - d->tail == DISCIPLINE_INPUT_BYTES)
        return;
    d->ends[n / 64] |= 1ULL << (n % 64);
    enqueue(d, c);
    d->canonical = d->head;
    d->ops->event(d, DISCIPLINE_READABLE);
}

/*
 * True when one more character can be taken. A line that is full loses its last character to the
 * next one, so that its end still finds a place; complete lines wait for their reader.
 */
static bool make_room(struct discipline *d)
{
    int room = DISCIPLINE_INPUT_BYTES - (int)(d->head - d->tail);
    if (discipline_has_iflag(d, PARMRK))
        room = (room + 2) / 3;
    if (--room > 0)
        return true;
    if (!discipline_is_canonical(d) || d->canonical != d->tail)
        return false;
    if (d->head - d->tail == DISCIPLINE_INPUT_BYTES)
        d->head--;
    return true;
}

static void finish_erasing(struct discipline *d)
{
    if (d->erasing)
        echo_raw(d, '/');
    d->erasing = false;
}

/* Echoes a character that goes into the buffer. */
static void echo_input(struct discipline *d, uint8_t c)
{
    if (d->canonical == d->head)
        echo_begin_line(d);
    echo_char(d, c);
}

static void accept(struct discipline *d, uint8_t c)
{
    if (discipline_has_lflag(d, ECHO)) {
        finish_erasing(d);
        echo_input(d, c);
    }
    enqueue_marked(d, c);
}

static void raise_signal(struct discipline *d, int sig, uint8_t c)
{
    d->ops->signal(d, sig);
    if (!discipline_has_lflag(d, NOFLSH)) {
        echo_clear(d);
        discipline_flush_output(d);
        discipline_flush_input(d);
    }
    if (discipline_has_iflag(d, IXON))
        discipline_start(d);
    if (discipline_has_lflag(d, ECHO))
        echo_char(d, c);
}

/* ---- ERASE, WERASE, KILL ---- */

enum erase_kind { ERASE_CHARACTER, ERASE_WORD, ERASE_LINE };

static bool is_word(uint8_t c)
{
    return (c >= '0' && c <= '9') || c == '_' || discipline_is_upper(c) || discipline_is_lower(c);
}

/* The columns that the line has after its last tab, or since it began. */
static void echo_erased_tab(struct discipline *d)
{
    unsigned columns = 0;
    bool after_tab = false;
    for (size_t n = d->head; n != d->canonical && !after_tab;) {
        uint8_t c = at(d, --n);
        if (c == '\t')
            after_tab = true;
        else if (discipline_is_control(c))
            columns += discipline_has_lflag(d, ECHOCTL) ? 2 : 0;
        else if (!discipline_is_continuation(d, c))
            columns++;
    }
    echo_erase_tab(d, columns, after_tab);
}

static void echo_back_space(struct discipline *d)
{
    echo_raw(d, '\b');
    echo_raw(d, ' ');
    echo_raw(d, '\b');
}

/* ECHOPRT: a printing terminal shows what was erased between '\' and '/'. */
static void echo_erased_on_paper(struct discipline *d, size_t from, size_t to)
{
    if (!d->erasing)
        echo_raw(d, '\\');
    d->erasing = true;
    echo_char(d, at(d, from));
    for (size_t n = from + 1; n != to; n++) {
        echo_raw(d, at(d, n));
        echo_move_back(d);
    }
}

/* The bytes from..to, one character that began with c, are gone from the buffer. */
static void echo_erased(struct discipline *d, enum erase_kind kind, size_t from, size_t to)
{
    uint8_t c = at(d, from);
    if (!discipline_has_lflag(d, ECHO))
        return;
    if (discipline_has_lflag(d, ECHOPRT)) {
        echo_erased_on_paper(d, from, to);
    } else if (kind == ERASE_CHARACTER && !discipline_has_lflag(d, ECHOE)) {
        echo_char(d, d->termios.cc[VERASE]);
    } else if (c == '\t') {
        echo_erased_tab(d);
    } else if (!discipline_is_control(c)) {
        echo_back_space(d);
    } else if (discipline_has_lflag(d, ECHOCTL)) {
        echo_back_space(d);
        echo_back_space(d);
    }
}

/* KILL on a terminal that can't wipe the line out. */
static void kill_line(struct discipline *d)
{
    d->head = d->canonical;
    if (!discipline_has_lflag(d, ECHO))
        return;
    finish_erasing(d);
    echo_char(d, d->termios.cc[VKILL]);
    if (discipline_has_lflag(d, ECHOK))
        echo_raw(d, '\n');
}

static void erase(struct discipline *d, enum erase_kind kind)
{
    const uint32_t wipe = ECHO | ECHOE | ECHOK | ECHOKE;
    bool seen_word = false;
    if (d->head == d->canonical)
        return;
    if (kind == ERASE_LINE && (d->termios.lflag & wipe) != wipe) {
        kill_line(d);
        return;
    }
    while (d->head != d->canonical) {
        size_t end = d->head, start = end;
        do
            start--;
        while (start != d->canonical && discipline_is_continuation(d, at(d, start)));
        uint8_t c = at(d, start);
        /* The rest of a character that is not whole stays. */
        if (discipline_is_continuation(d, c))
            break;
        if (kind == ERASE_WORD && seen_word && !is_word(c))
            break;
        seen_word = seen_word || is_word(c);
        d->head = start;
        echo_erased(d, kind, start, end);
        if (kind == ERASE_CHARACTER)
            break;
    }
    if (d->head == d->canonical && discipline_has_lflag(d, ECHO))
        finish_erasing(d);
}

/* ---- characters with a meaning ---- */

static void reprint(struct discipline *d)
{
    finish_erasing(d);
    echo_char(d, d->termios.cc[VREPRINT]);
    echo_raw(d, '\n');
    for (size_t n = d->canonical; n != d->head; n++)
        echo_char(d, at(d, n));
}

static void begin_literal(struct discipline *d)
{
    d->literal_next = true;
    if (!discipline_has_lflag(d, ECHO))
        return;
    finish_erasing(d);
    if (discipline_has_lflag(d, ECHOCTL)) {
        echo_raw(d, '^');
        echo_raw(d, '\b');
    }
}

/* True when c edits or ends the line. */
static bool edit_line(struct discipline *d, uint8_t c)
{
    bool extended = discipline_has_lflag(d, IEXTEN);
    if (discipline_is_cc(d, VERASE, c)) {
        erase(d, ERASE_CHARACTER);
    } else if (discipline_is_cc(d, VWERASE, c) && extended) {
        erase(d, ERASE_WORD);
    } else if (discipline_is_cc(d, VKILL, c)) {
        erase(d, ERASE_LINE);
    } else if (discipline_is_cc(d, VLNEXT, c) && extended) {
        begin_literal(d);
    } else if (discipline_is_cc(d, VREPRINT, c) && extended && discipline_has_lflag(d, ECHO)) {
        reprint(d);
    } else if (c == '\n') {
        if (discipline_has_lflag(d, ECHO | ECHONL))
            echo_raw(d, '\n');
        end_line(d, c);
    } else if (discipline_is_cc(d, VEOF, c)) {
        end_line(d, 0);
    } else if (discipline_is_cc(d, VEOL, c) || (discipline_is_cc(d, VEOL2, c) && extended)) {
        if (discipline_has_lflag(d, ECHO))
            echo_input(d, c);
        if (c == 0377 && discipline_has_iflag(d, PARMRK))
            enqueue(d, c);
        end_line(d, c);
    } else {
        return false;
    }
    return true;
}

/* True when c started or stopped output. */
static bool control_flow(struct discipline *d, uint8_t c)
{
    if (!discipline_has_iflag(d, IXON))
        return false;
    if (discipline_is_cc(d, VSTART, c)) {
        discipline_start(d);
        discipline_flush_echoes(d);
        return true;
    }
    if (discipline_is_cc(d, VSTOP, c)) {
        discipline_stop(d);
        return true;
    }
    return false;
}

static bool make_signal(struct discipline *d, uint8_t c)
{
    static const struct {
        int index, sig;
    } signals[] = {{VINTR, SIGINT}, {VQUIT, SIGQUIT}, {VSUSP, SIGTSTP}};
    if (!discipline_has_lflag(d, ISIG))
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        if (discipline_is_cc(d, signals[i].index, c)) {
            raise_signal(d, signals[i].sig, c);
            return true;
        }
    }
    return false;
}

static uint8_t strip(const struct discipline *d, uint8_t c)
{
    if (discipline_has_iflag(d, ISTRIP))
        c &= 0x7f;
    if (discipline_has_iflag(d, IUCLC) && discipline_has_lflag(d, IEXTEN) && discipline_is_upper(c))
        c += 'a' - 'A';
    return c;
}

static void receive(struct discipline *d, uint8_t c)
{
    bool mapped = false;
    c = strip(d, c);
    if (discipline_has_lflag(d, EXTPROC)) {
        enqueue(d, c);
        return;
    }
    bool literal = d->literal_next;
    d->literal_next = false;
    if (!literal && (control_flow(d, c) || make_signal(d, c)))
        return;
    if (d->stopped && (d->termios.iflag & (IXON | IXANY)) == (IXON | IXANY)) {
        discipline_start(d);
        discipline_flush_echoes(d);
    }
    if (!literal && c == '\r') {
        if (discipline_has_iflag(d, IGNCR))
            return;
        mapped = discipline_has_iflag(d, ICRNL);
        c = mapped ? '\n' : c;
    } else if (!literal && c == '\n' && discipline_has_iflag(d, INLCR)) {
        c = '\r';
    }
    if (!literal && discipline_is_canonical(d) && edit_line(d, c))
        return;
    /* A newline that was a return moves the cursor, one that was typed so is shown as it came. */
    if (mapped && discipline_has_lflag(d, ECHO)) {
        finish_erasing(d);
        echo_raw(d, '\n');
        enqueue(d, c);
        return;
    }
    accept(d, c);
}

/* Nothing has a meaning: bytes go through as they are. */
static bool is_raw(const struct discipline *d)
{
    const uint32_t iflags = ISTRIP | IUCLC | IGNCR | ICRNL | INLCR | IXON | PARMRK;
    return !(d->termios.iflag & iflags) && !(d->termios.lflag & (ICANON | ISIG | ECHO)) &&
           !d->literal_next;
}

size_t discipline_receive(struct discipline *d, const uint8_t *data, size_t size)
{
    size_t done = 0;
    if (is_raw(d)) {
        for (; done < size && d->head - d->tail < DISCIPLINE_INPUT_BYTES - 1; done++)
            enqueue(d, data[done]);
    } else {
        d->output_before = d->output.count;
        while (done < size && make_room(d))
            receive(d, data[done++]);
        d->output_before = SIZE_MAX;
        discipline_flush_echoes(d);
    }
    if (!discipline_is_canonical(d) && done > 0 && discipline_readable(d) > 0)
        d->ops->event(d, DISCIPLINE_READABLE);
    return done;
}
