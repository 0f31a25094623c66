// SPDX-License-Identifier: Apache-2.0
/*
 * The files in the body of an upload: one (application/octet-stream) or the parts named "file" of a
 * form, each of them compressed or not as a whole (Content-Encoding: gzip). Whoever reads asks for
 * what comes next; nothing is collected but what was given and is not read yet.
 */
#pragma once

#include "server/multipart.h"

#include <zlib.h>

#define UPLOAD_PLAIN_BYTES 65536 /* inflated at a time */

enum upload_event {
    UPLOAD_MORE,  /* give it more, or its end */
    UPLOAD_BEGIN, /* a file; upload_filename() */
    UPLOAD_DATA,
    UPLOAD_END,
    UPLOAD_OVER, /* that was all */
    UPLOAD_BAD,  /* and why */
};

struct upload_source {
    bool is_form, is_gzip, has_inflater, is_ended, is_inflated, has_begun, is_skipping;
    struct multipart form;
    z_stream inflater;
    struct buf given; /* as it came */
    char *plain;      /* UPLOAD_PLAIN_BYTES, inflated */
    const char *at;   /* what is to be read of it, or of given */
    size_t size;
    const char *why;
};

/* 0; -EINVAL: it is of another type or encoding; -ENOMEM. content_encoding may be NULL. */
int upload_source_init(struct upload_source *s, const char *content_type,
                       const char *content_encoding);
void upload_source_done(struct upload_source *s);

/* More of the body, when UPLOAD_MORE was said; and its end. 0 or -ENOMEM. */
int upload_source_give(struct upload_source *s, const char *data, size_t size);
void upload_source_end(struct upload_source *s);

/* What comes next; DATA: *ret has *ret_size bytes, from 1 to data_max, borrowed until the next
 * call. */
enum upload_event upload_source_next(struct upload_source *s, size_t data_max, const char **ret,
                                     size_t *ret_size);

/* Of the file that began; NULL: it has none. */
const char *upload_source_filename(const struct upload_source *s);
