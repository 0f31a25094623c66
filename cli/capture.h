// SPDX-License-Identifier: Apache-2.0
/*
 * Keeps the beginning and the end of a stream of any length, and turns them into text for JSON:
 * valid UTF-8, with U+FFFD for every byte that is none, and a line that says how many bytes were
 * left out.
 */
#pragma once

#include "lib/base/buf.h"

#define CAPTURE_HEAD_BYTES (512 * 1024)
#define CAPTURE_TAIL_BYTES (512 * 1024)

struct capture {
    struct buf head;
    char *tail;          /* a ring of CAPTURE_TAIL_BYTES, made when the head is full */
    uint64_t tail_total; /* bytes that ever went into it */
    uint64_t total_bytes;
    bool failed; /* memory ran out: bytes are missing */
};

void capture_init(struct capture *c);
void capture_done(struct capture *c);

/* A relay_take_fn. */
void capture_take(void *capture, const char *data, size_t size);

/* The text, NUL bytes and all, to be freed with buf_done(). *ret_truncated: something is left out.
 * 0 or -ENOMEM. */
int capture_text(const struct capture *c, struct buf *ret, bool *ret_truncated);
