// SPDX-License-Identifier: Apache-2.0
/*
 * Takes the values of a sandbox's secrets out of what its kernel answers about files
 * (lib/base/files.h): out of names and what belongs to them, and out of bytes that are read. No
 * byte changes its place.
 *
 * Bytes are read at any offset, so the search begins before what is wanted and ends behind it: by
 * scrubber_reach(), so that a value is found which lies across an end, or the file's. What is read
 * for that alone is not given.
 */
#pragma once

#include "lib/base/files.h"
#include "sandbox/scrubber.h"

/* Names of entries or, is_events, of events: text changes in its place. 0; -EPROTO: it is no row of
 * such records; -ENOMEM. */
int files_scrub_records(struct scrubber *s, bool is_events, char *text, size_t size);

/* A part of a file, from its begin to its end; zeroed: there is none. */
struct files_scrub {
    struct scrubber *scrubber; /* NULL: none is under way */
    struct scrub_stream stream;
    struct buf found; /* bytes that are given next */
    int64_t from;     /* where in the file the search began */
    uint64_t asked;   /* bytes from there to the end of what is wanted */
    uint64_t taken;   /* bytes from there */
    uint64_t skipped; /* bytes from there that are not wanted, and did not come out yet */
    uint64_t left;    /* wanted bytes that did not come out yet */
};

/* offset and size: of what is wanted, not negative. scrubber is borrowed to the end. */
void files_scrub_begin(struct files_scrub *f, struct scrubber *scrubber, int64_t offset,
                       uint64_t size);
void files_scrub_end(struct files_scrub *f);

/* What is to be read next, of at most max bytes. *ret_size is 0: no more, it is complete. */
void files_scrub_next(const struct files_scrub *f, size_t max, int64_t *ret_offset,
                      size_t *ret_size);

/*
 * Takes what was read there; is_last: the file ended. Then f->found has the bytes that are to be
 * given, of which there are less than were taken while some may be the beginning of a value; it is
 * emptied by the next one. 0; -ENOMEM, -E2BIG.
 */
int files_scrub_take(struct files_scrub *f, const char *data, size_t size, bool is_last);
