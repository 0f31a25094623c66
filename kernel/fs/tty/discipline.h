// SPDX-License-Identifier: Apache-2.0
/*
 * The line discipline of a terminal: termios(3), and what Linux's N_TTY makes of it.
 *
 * Between the terminal (the master of a pty, the host's user) and the programs (the slave) it edits
 * lines, echoes, turns characters into signals and flow control, and processes output:
 *
 *   terminal --receive()--> input line buffer --peek(), consume()--> program reads
 *                 | echo
 *                 v
 *   terminal <-- output ring <----------------- write() <----------- program writes
 *
 * It knows nothing of files, processes or waiting: it calls struct discipline_ops to say what has
 * happened. All buffers are of fixed size.
 *
 * Invariants (discipline_check):
 *   1. tail <= canonical <= head, head - tail <= DISCIPLINE_INPUT_BYTES (all three count from the
 * last flush; the byte n lies at input[n % DISCIPLINE_INPUT_BYTES])
 *   2. without canonical mode: canonical == tail and no byte of the buffer is marked as an end
 *   3. in canonical mode the bytes before `canonical` are whole lines: the last of them is marked
 *   4. the output ring holds at most DISCIPLINE_OUTPUT_BYTES + DISCIPLINE_OUTPUT_SLACK bytes
 */
#pragma once

#include "abi/termios.h"
#include "kernel/fs/tty/ring.h"

#define DISCIPLINE_INPUT_BYTES  4096 /* N_TTY_BUF_SIZE: a line with its end has at most as many */
#define DISCIPLINE_ECHO_COUNT   4096
#define DISCIPLINE_OUTPUT_BYTES 20480 /* writers wait from here on */
/* One chunk of output is processed to its end once there was room at all: tabs are eight columns.
 */
#define DISCIPLINE_CHUNK        256
#define DISCIPLINE_OUTPUT_SLACK (DISCIPLINE_CHUNK * 8)
/*
 * What Linux has moved on to the master's side at once, so that a flush of the output does not
 * reach it any more.
 */
#define DISCIPLINE_OUTPUT_DELIVERED 4095

struct discipline;

/* What has happened; the bits of an event. */
#define DISCIPLINE_READABLE       (1u << 0) /* there is (more) to read */
#define DISCIPLINE_OUTPUT         (1u << 1) /* the output ring has got bytes */
#define DISCIPLINE_STOPPED        (1u << 2) /* output was stopped, was started again */
#define DISCIPLINE_STARTED        (1u << 3)
#define DISCIPLINE_INPUT_FLUSHED  (1u << 4)
#define DISCIPLINE_OUTPUT_FLUSHED (1u << 5)

struct discipline_ops {
    /* SIGINT, SIGQUIT or SIGTSTP for the foreground group. */
    void (*signal)(struct discipline *d, int sig);
    void (*event)(struct discipline *d, uint32_t events);
};

struct discipline {
    const struct discipline_ops *ops;
    struct abi_termios2 termios;

    uint8_t input[DISCIPLINE_INPUT_BYTES];
    uint64_t
        ends[DISCIPLINE_INPUT_BYTES / 64]; /* bit n % size: byte n ends a line; a 0 there is EOF */
    size_t head, tail, canonical;
    bool literal_next; /* the character after LNEXT */
    bool erasing;      /* ECHOPRT: between '\' and '/' */

    uint16_t echo[DISCIPLINE_ECHO_COUNT]; /* ECHO_* of output.c, not yet put out */
    size_t echo_start, echo_count;

    struct ring output;
    uint8_t output_data[DISCIPLINE_OUTPUT_BYTES + DISCIPLINE_OUTPUT_SLACK];
    size_t output_before;      /* bytes in the ring before the characters that are gone through */
    unsigned column;           /* where the cursor of the terminal is */
    unsigned canonical_column; /* where the line that is edited began */
    bool stopped;              /* by STOP, or by TCOOFF */
    bool stopped_by_program;   /* TCOOFF: START does not start it again */
};

/* Settings of a new terminal, as Linux has them for ptys. */
void discipline_init(struct discipline *d, const struct discipline_ops *ops);

/* Takes over new settings (all of them are valid) with their effects on what is buffered. */
void discipline_set_termios(struct discipline *d, const struct abi_termios2 *termios);

/* ICANON, unless EXTPROC says that the terminal itself edits lines. */
bool discipline_is_canonical(const struct discipline *d);

/*
 * Characters from the terminal. The number taken: less than size once the buffer is full of what
 * was not read yet. (In canonical mode characters past the longest line are dropped.)
 */
size_t discipline_receive(struct discipline *d, const uint8_t *data, size_t size);

/* Bytes that a read may get now; in canonical mode of all complete lines, their ends included. */
size_t discipline_readable(const struct discipline *d);
/* For FIONREAD: as discipline_readable(), but EOF characters are no bytes. */
size_t discipline_readable_bytes(const struct discipline *d);

/*
 * Copies what a read of size bytes gets, 0 for EOF; *ret_consume is what discipline_consume() is
 * then to be told to take out of the buffer. Something is readable, size is not 0.
 */
size_t discipline_peek(const struct discipline *d, void *data, size_t size, size_t *ret_consume);
void discipline_consume(struct discipline *d, size_t size);

/* Bytes that may be written now; 0 also while output is stopped. */
size_t discipline_room(const struct discipline *d);

/* Processes output of a program: at most DISCIPLINE_CHUNK bytes, and only when there is room. */
void discipline_write(struct discipline *d, const uint8_t *data, size_t size);

/* Puts out echoes that had no room; called when room was made. */
void discipline_flush_echoes(struct discipline *d);

/* Drops what was not read; what was written and is not on its way to the terminal yet. */
void discipline_flush_input(struct discipline *d);
void discipline_flush_output(struct discipline *d);

/* TCXONC's TCOOFF and TCOON, and the STOP and START characters. */
void discipline_stop(struct discipline *d);
void discipline_start(struct discipline *d);

/* The first invariant of those above that is broken, or 0. For tests. */
int discipline_check(const struct discipline *d);

/* ---- between discipline.c, input.c and output.c ---- */

/* Queues an echo: shown as ^X when it is a control character and ECHOCTL is set; as it is. */
void echo_char(struct discipline *d, uint8_t c);
void echo_raw(struct discipline *d, uint8_t c);
/* The line that is edited begins at the column where the cursor will then be. */
void echo_begin_line(struct discipline *d);
/* The byte before was a continuation of a character: it took no column. */
void echo_move_back(struct discipline *d);
/* Takes back a tab: columns were used since the one before (after_tab) or since the line began. */
void echo_erase_tab(struct discipline *d, unsigned columns, bool after_tab);
void echo_clear(struct discipline *d);

static inline bool discipline_has_iflag(const struct discipline *d, uint32_t flag)
{
    return d->termios.iflag & flag;
}
static inline bool discipline_has_oflag(const struct discipline *d, uint32_t flag)
{
    return d->termios.oflag & flag;
}
static inline bool discipline_has_lflag(const struct discipline *d, uint32_t flag)
{
    return d->termios.lflag & flag;
}

/* c is the control character of this index (VINTR, ...); 0 disables one. */
static inline bool discipline_is_cc(const struct discipline *d, int index, uint8_t c)
{
    return c != 0 && d->termios.cc[index] == c;
}

/* With IUTF8: a byte inside of a character. */
static inline bool discipline_is_continuation(const struct discipline *d, uint8_t c)
{
    return discipline_has_iflag(d, IUTF8) && (c & 0xc0) == 0x80;
}

static inline bool discipline_is_control(uint8_t c)
{
    return c < 0x20 || c == 0x7f;
}

/* Letters as Linux's own table has them (lib/ctype.c of its sources): those of Latin-1 count. */
static inline bool discipline_is_upper(uint8_t c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 0xc0 && c <= 0xde && c != 0xd7);
}
static inline bool discipline_is_lower(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 0xdf && c != 0xf7);
}
