// SPDX-License-Identifier: Apache-2.0
/*
 * The lines of an answer of /execute: one JSON object each. In strings there is nothing raw that
 * any reader takes for the end of a line: also not U+0085, U+2028 and U+2029. No I/O.
 */
#pragma once

#include "lib/base/buf.h"

#define INTERPRETER_LINE_MAX_BYTES (7u << 20)

/* What was written to stdout (or stderr); what is no UTF-8 in it becomes U+FFFD. */
void events_add_text(struct buf *out, bool is_err, const char *text, size_t size, int64_t wall_ns);
void events_add_error(struct buf *out, const char *name, const char *value, const char *traceback);
void events_add_count(struct buf *out, uint64_t count);
void events_add_end(struct buf *out);
void events_add_keepalive(struct buf *out);

enum events_said {
    EVENTS_RESULT, /* appended */
    EVENTS_ERROR,  /* likewise */
    EVENTS_END,    /* of the cell, on this stream; nothing was appended */
    EVENTS_NONE,   /* it is none of the messages that there are: nothing was appended */
};

/*
 * A message of a driver (interpreter/README.md) as a line: of its members those that are known and
 * of their type, nothing else. NULL for text stands for one that was too long. *ret_number is set
 * for EVENTS_END: of the latest cell, 0 when it has none.
 */
enum events_said events_add_message(struct buf *out, const char *text, size_t size,
                                    uint32_t *ret_number);
