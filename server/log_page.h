// SPDX-License-Identifier: Apache-2.0
/*
 * A page of a sandbox's log: of the lines that are put into it, in whatever order, the first (or
 * the last) so many of those that are wanted. It never holds more than twice as many.
 *
 * A line's place is its time and, in one millisecond, its number: what happened comes before what
 * was printed. So a page that ends in the middle of a millisecond can be gone on from.
 */
#pragma once

#include "server/json.h"

#define LOG_PAGE_MAX 1000

enum log_kind { LOG_EVENT = 1, LOG_PRINTED };

struct log_place {
    int64_t at_ms;
    unsigned kind;   /* enum log_kind; 0: before (backward: behind) all of that millisecond */
    uint64_t number; /* of events; or the byte of the journal with which a line begins */
};

struct log_wish {
    struct log_place from; /* the page begins behind it, or, backward, before it */
    size_t limit;          /* at most LOG_PAGE_MAX */
    bool is_backward;
    char *search; /* only lines with that; NULL: all */
    size_t level; /* the lowest */
};

/* Reads a query; w is zeroed, and to be freed in any case. NULL, or the sentence. */
const char *log_wish_read(const char *query, struct log_wish *w);
void log_wish_done(struct log_wish *w);

struct log_line {
    struct log_place place;
    const char *level; /* "debug", "info", "warn", "error" */
    const char *event; /* a constant: "created", ..., or "stdout", "stderr" */
    int32_t pid;       /* of who printed it; 0: nobody */
    const char *tag;   /* likewise, safe to show; "" */
    const char *text;  /* safe to show */
};

struct log_entry;

struct log_page {
    const struct log_wish *wish; /* borrowed */
    struct log_entry *entries[2 * LOG_PAGE_MAX + 2];
    size_t count;
    bool is_failed; /* memory ran out: it is not whole */
};

void log_page_init(struct log_page *p, const struct log_wish *w);
void log_page_done(struct log_page *p);

/* Copies the line, where it is wanted. */
void log_page_put(struct log_page *p, const struct log_line *l);

/* What is answered; NULL: no memory. next: the cursor of the page behind it, or "". */
#define LOG_CURSOR_SIZE 48
json_t *log_page_make(struct log_page *p, char next[LOG_CURSOR_SIZE]);
