// SPDX-License-Identifier: Apache-2.0
/*
 * Prints what programs of a sandbox wrote, each stream to ours of its kind: made safe to show where
 * that is a terminal, as glovebox run does. Where several programs may have written, each line of
 * those that were left to themselves begins with whose it is.
 */
#pragma once

#include "lib/text/shown.h"
#include "sandbox/error.h"
#include "sandbox/journal.h"

struct logs_stream {
    int fd;
    const struct text_style *style; /* NULL: bytes as they are */
    struct text_shown shown;
    struct buf out;
    int32_t pid; /* whose the line is that has not ended */
    bool is_in_line;
};

struct logs_printer {
    struct logs_stream streams[2];
    const char *program; /* a process id or tag: only his, without a prefix; NULL: of all */
    bool times;
    int64_t since_ns; /* CLOCK_REALTIME */
};

void logs_printer_init(struct logs_printer *p, bool raw);

/* Whether it is to be printed. */
bool logs_printer_wants(const struct logs_printer *p, const struct journal_piece *piece);

/* 0, or negative errno: nobody reads, or it can't be written. */
int logs_printer_put(struct logs_printer *p, const struct journal_piece *piece);

/* What was held back comes out. Likewise. */
int logs_printer_end(struct logs_printer *p);
