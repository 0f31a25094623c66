// SPDX-License-Identifier: Apache-2.0
/*
 * Text that comes out of the kernel process for people: lines of its log and of the trace. It may
 * hold what a guest chose, so that all of it is made safe to show; and it may be much, so that the
 * log has a ceiling and the trace is taken no faster than it can be written.
 */
#pragma once

#include "lib/base/buf.h"
#include "lib/text/shown.h"
#include "sandbox/outlet.h"

struct notices {
    void (*say)(const char *line);
    /* the log */
    struct buf line;
    uint64_t log_bytes; /* said so far */
    bool is_full;
    char last_line[256]; /* as it was said; "" while there is none */
    /* the trace */
    struct outlet trace;
    struct text_shown shown;
    struct buf pending; /* as it is shown, of which trace_start bytes were written */
    size_t trace_start;
};

/* trace: descriptor, or -1. */
void notices_init(struct notices *n, void (*say)(const char *line), int trace);
void notices_done(struct notices *n);

/* Says one line (without its newline). */
void notices_say(struct notices *n, const char *prefix, const char *text, size_t size);

/* A relay_take_fn: the kernel process's standard error, in pieces of any size. */
void notices_take_log(void *notices, const char *data, size_t size);
/* The last piece, when it had no newline. */
void notices_end_log(struct notices *n);

/* Lines of the trace; no more may come while notices_trace_is_full(). */
void notices_take_trace(struct notices *n, const char *text, size_t size);
bool notices_trace_is_full(const struct notices *n);
void notices_write_trace(struct notices *n, bool polled);
