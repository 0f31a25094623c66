// SPDX-License-Identifier: Apache-2.0
/*
 * The data types of SSH (RFC 4251, 5): bytes, numbers, strings with their size before them.
 *
 * A reader that did not find what it was asked for is `failed`, gives nothing from then on, and is
 * looked at once, at the end.
 */
#pragma once

#include "lib/base/buf.h"

/* Borrowed bytes. */
struct ssh_bytes {
    const uint8_t *data;
    size_t size;
};

struct ssh_reader {
    const uint8_t *at;
    size_t left;
    bool failed;
};

#define SSH_READER(bytes, count) ((struct ssh_reader){.at = (bytes), .left = (count)})

/* 0, false and empty when it has failed. A boolean other than 0 and 1 is none. */
uint8_t ssh_read_byte(struct ssh_reader *r);
bool ssh_read_bool(struct ssh_reader *r);
uint32_t ssh_read_u32(struct ssh_reader *r);
struct ssh_bytes ssh_read_string(struct ssh_reader *r);

/* A mpint that is not negative and has no byte too many, without the zero before its top bit. */
struct ssh_bytes ssh_read_unsigned(struct ssh_reader *r);

/* Everything was there, and nothing is left. */
bool ssh_reader_is_done(const struct ssh_reader *r);

bool ssh_is_same(struct ssh_bytes a, struct ssh_bytes b);
bool ssh_is_text(struct ssh_bytes a, const char *text);

/* These append, and fail as buf_append() does. */
void ssh_put_byte(struct buf *b, uint8_t value);
void ssh_put_u32(struct buf *b, uint32_t value);
void ssh_put_string(struct buf *b, const void *data, size_t size);
void ssh_put_text(struct buf *b, const char *text);
/* size bytes, the highest first, as a mpint. */
void ssh_put_unsigned(struct buf *b, const uint8_t *data, size_t size);
