// SPDX-License-Identifier: Apache-2.0
/*
 * What a driver of interpreter/ writes to one of its streams, taken apart: text of its cell, and
 * frames that bear the cell's mark (interpreter/README.md). All of it is a stranger's: what is no
 * whole and right frame with that mark is text. No I/O.
 */
#pragma once

#include "lib/base/buf.h"

#define FRAME_MARK_SIZE          32 /* digits of hex */
#define FRAME_HEAD_BYTES         (2 + FRAME_MARK_SIZE + 1 + 4)
#define FRAME_PAYLOAD_MAX        4032
#define FRAMES_MESSAGE_MAX_BYTES (6u << 20) /* drivers send at most 5 MiB */

struct frames {
    char mark[FRAME_MARK_SIZE + 1];                  /* "": none, and all is text */
    char held[FRAME_HEAD_BYTES + FRAME_PAYLOAD_MAX]; /* what may be the beginning of a frame */
    size_t held_size;
    struct buf message; /* of several frames, so far */
    bool has_begun;
    void (*text)(void *userdata, const char *data, size_t size);
    /* A message; data NULL: one that was too long. */
    void (*said)(void *userdata, const char *data, size_t size);
    void *userdata;
};

/* Takes bytes. What they complete is told in order; text as soon as it can be nothing else. */
void frames_take(struct frames *f, const char *data, size_t size);

/* Another mark from now on; what was held back is text. mark NULL: none. */
void frames_begin(struct frames *f, const char *mark);

/* There is no room for the message that has begun: it is told as one that was too long. */
void frames_drop(struct frames *f);

void frames_done(struct frames *f);
