// SPDX-License-Identifier: Apache-2.0
/*
 * The text of a stranger made fit to be looked at: on a terminal, in a log, by a language model.
 *
 * It takes bytes of any kind in pieces of any size, and writes valid UTF-8 in which everything can
 * be seen and nothing acts. The result does not depend on where the pieces were cut, the state has
 * a fixed size, and nothing is allocated.
 *
 *   in                                 out
 *   newline, tab                       as they are; \n and \t where all must be one line
 *   carriage returns before a newline  nothing
 *   other carriage returns             \r; see text_style_terminal
 *   other controls, backspace, DEL     \x08
 *   C1 controls                        \u009b; \x9b for a byte that is no part of a character
 *   ill-formed UTF-8                   U+FFFD, see utf8.h
 *   what nobody can see (unseen.h)     \u202e, \U000e0041
 *   terminal sequences                 by style, below
 *   a line that is too long            its beginning, and how much was left out
 *
 * The escapes are those of C, so that printf(1), bash and Python read them. A backslash stays one:
 * the text is for reading, and whoever needs the bytes has to keep them.
 *
 * Terminal sequences are told apart as ECMA-48 does, with introducers of 7 and 8 bits. None is ever
 * swallowed without its end: one that is malformed, is longer than TEXT_SEQUENCE_MAX_BYTES, or
 * ends with the stream is shown, its controls escaped. So there is nothing that could hide what
 * comes after it.
 *
 *   TEXT      a sequence may begin           SEQUENCE  bytes of it are held
 *   TEXT ---- ESC, CSI, OSC, ... ----------> SEQUENCE
 *   SEQUENCE  complete: kept, removed or shown, by style --------------> TEXT
 *   SEQUENCE  malformed or too long: shown; the character is taken anew -> TEXT
 */
#pragma once

#include "lib/base/buf.h"
#include "lib/text/utf8.h"

#define TEXT_SEQUENCE_MAX_BYTES 256

enum text_sequences {
    TEXT_SEQUENCES_SHOWN,   /* all are */
    TEXT_SEQUENCES_COLOURS, /* harmless parts of SGR are written anew, others are shown */
    TEXT_SEQUENCES_REMOVED, /* all but those that are malformed or too long */
};

struct text_style {
    enum text_sequences sequences;
    bool is_one_line;
    bool is_rewritten;     /* a carriage return goes back to the start of the line */
    size_t line_max_bytes; /* that are written of one line; 0: any number, else at least 256 */
};

/*
 * A terminal that knows colours. A carriage return erases the line and begins it anew with a
 * visible \r: progress bars stay one line, never a mixture of what was written before and after,
 * and a line that was written over says so. No other sequence than that and SGR comes out; when the
 * text ends in colour, so does a reset.
 */
extern const struct text_style text_style_terminal;

/* A terminal without any sequences (TERM=dumb), or a log: lines of any length. */
extern const struct text_style text_style_plain;

/* A language model: without terminal sequences, and lines of bounded length. */
extern const struct text_style text_style_model;

enum text_state {
    TEXT_STATE_TEXT,
    TEXT_STATE_ESCAPE,        /* ESC, and bytes that belong between it and the final one */
    TEXT_STATE_CSI,           /* a control sequence: parameters */
    TEXT_STATE_STRING,        /* OSC, DCS, APC, PM, SOS */
    TEXT_STATE_STRING_ESCAPE, /* ESC in it: of a string terminator, or of another sequence */
};

/* Opaque, but for the two counts at its end. */
struct text_shown {
    const struct text_style *style;
    enum text_state state;
    char held[TEXT_SEQUENCE_MAX_BYTES]; /* of the sequence */
    size_t held_size;
    char partial[TEXT_UTF8_MAX_BYTES]; /* a character whose end has not come */
    size_t partial_size;
    uint32_t pending; /* what the next character decides about: \r, a joiner, a selector; or 0 */
    uint32_t last;    /* the character before it, when it can be seen */
    bool is_coloured;
    size_t line_bytes;      /* written of this line */
    uint64_t cut_bytes;     /* of the input, left out of this line */
    char *out;              /* while a call runs */
    size_t out_size;        /* likewise */
    uint64_t removed_bytes; /* of terminal sequences */
    uint64_t omitted_bytes; /* of lines that were too long */
};

/* Room that a call with that many bytes needs at most. */
#define TEXT_SHOWN_MAX_BYTES(size) (8 * ((size) + TEXT_SEQUENCE_MAX_BYTES + 16))

/* style is borrowed for as long as the state is used. */
void text_shown_init(struct text_shown *s, const struct text_style *style);

/* Writes what is known of the text so far to out, and returns how many bytes that are. */
size_t text_shown_feed(struct text_shown *s, const char *data, size_t size, char *out);

/* What was held back. Room for TEXT_SHOWN_MAX_BYTES(0); the state begins anew, the counts stay. */
size_t text_shown_end(struct text_shown *s, char *out);

/* The same, appended to b, which may fail as buf_append() does. */
void text_shown_append_some(struct text_shown *s, struct buf *b, const char *data, size_t size);

/* Likewise of a whole text, with its end. */
void text_shown_append(struct text_shown *s, struct buf *b, const char *data, size_t size);

/*
 * A name or message that a stranger had a say in, as one line for messages, tables and logs: with
 * nothing in it but characters that can be seen. Writes at most capacity - 1 bytes and a NUL; what
 * does not fit ends in "...", never within a character. capacity is at least 16. Returns the bytes.
 */
size_t text_line(const char *text, size_t size, char *ret, size_t capacity);
