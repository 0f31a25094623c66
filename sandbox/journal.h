// SPDX-License-Identifier: Apache-2.0
/*
 * What the main program of a sandbox wrote, and programs that were left to themselves: the latest
 * JOURNAL_KEPT_BYTES of it, in the order in which it came, with the time. Bytes are numbered from
 * 0, of all of them together. Who writes much drives out what was there before, whosever it was.
 *
 * Behind the sandbox's end the last of it stays, as records, with what is kept of it (ended.h):
 *
 *   a struct journal_head, the tag, the bytes; and so on
 */
#pragma once

#include "lib/base/buf.h"
#include "lib/base/list.h"

#define JOURNAL_KEPT_BYTES (256u << 10)
#define JOURNAL_TAG_MAX    255

struct journal {
    struct list entries;
    uint64_t start, end; /* of the bytes that are kept */
    size_t memory;       /* that they take */
};

/* Whose it is, and where he wrote it. */
struct journal_source {
    int32_t pid;     /* in the sandbox; 0: the main program's */
    uint32_t stream; /* EXEC_OUT, EXEC_ERR */
    const char *tag; /* "": none */
};

/* Of one piece. */
struct journal_head {
    int64_t time_ns; /* CLOCK_REALTIME, of its first byte */
    uint64_t offset;
    int32_t pid;
    uint32_t stream;
    uint32_t tag_size, size;
};

struct journal_piece {
    struct journal_head head;
    const char *tag, *data; /* not ended by a NUL */
};

void journal_init(struct journal *j);
void journal_done(struct journal *j);

/* What there is no memory for is lost, which the numbers tell. */
void journal_append(struct journal *j, const struct journal_source *from, const char *data,
                    size_t size);

/* What lies at *offset, or at the first byte that is kept behind it, which *offset becomes. False:
 * nothing yet. Borrowed until something is appended. */
bool journal_at(const struct journal *j, uint64_t *offset, struct journal_piece *ret);

/* Appends the last records that fit into max bytes. */
void journal_write(const struct journal *j, struct buf *b, size_t max);

/* The record at the start of text: how many bytes it takes and *ret, borrowed; 0: there is none, or
 * it makes no sense. */
size_t journal_read(const char *text, size_t size, struct journal_piece *ret);
