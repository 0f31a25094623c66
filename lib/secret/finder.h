// SPDX-License-Identifier: Apache-2.0
/*
 * Finds many strings of bytes at once in a stream, and replaces them (Aho and Corasick, "Efficient
 * string matching", 1975). A finder is compiled once and never changed; a stream is a few words.
 *
 *   struct finder_stream s;
 *   finder_begin(&s, finder, replacements, FINDER_ALL_TAGS);
 *   finder_take(&s, data, size, &out)      as often as there is something
 *   finder_end(&s, &out)
 *   s.seen                                 the tags of what was there
 *
 * What comes out does not depend on how the bytes were cut. It is late by the beginning of a needle
 * that may still become whole, which is less than the longest needle, and nothing else: those bytes
 * are the needle's own, so that a stream keeps no copy. The time is linear in the bytes, whatever
 * they are.
 *
 * Places that are found and overlap are replaced as one: no byte of a needle is left beside the
 * replacement of another. It gets the replacement of the needle that begins first, of these the
 * longest.
 */
#pragma once

#include "lib/base/buf.h"

#define FINDER_TAGS             64
#define FINDER_FILLER           "x"
#define FINDER_ALL_TAGS         UINT64_MAX
#define FINDER_NEEDLES_MAX      4096
#define FINDER_NEEDLE_MAX_BYTES 65535
#define FINDER_TOTAL_MAX_BYTES  (4 * 1024 * 1024) /* of all needles; 24 bytes of memory each */

struct finder_bytes {
    const void *data;
    size_t size;
};

struct finder_needle {
    struct finder_bytes bytes; /* 1 to FINDER_NEEDLE_MAX_BYTES */
    unsigned tag;              /* below FINDER_TAGS */
};

struct finder;

/*
 * The needles are copied. Of equal ones the first counts, with the tags of all. No needles: nothing
 * is found. 0 and *ret, to be freed with finder_free(), which wipes it; -EINVAL: a bound above;
 * -ENOMEM. The memory is as pages.h has it.
 */
int finder_new(const struct finder_needle *needles, size_t count, struct finder **ret);

/* f may be NULL. */
void finder_free(struct finder *f);

/* How many bytes its longest needle has; 0: there are none. */
size_t finder_longest(const struct finder *f);

#define FINDER_PLACES_MAX 8

struct finder_stream {
    uint64_t seen; /* 1 << tag of each needle that was found whole, active or not */
    /* To be set after finder_begin(): what is replaced keeps its size. A longer replacement is cut,
     * a shorter one gets FINDER_FILLER behind it. */
    bool keeps_size;
    /* for finder_take() */
    const struct finder *finder;
    const struct finder_bytes *replacements;
    uint64_t active;
    uint64_t taken; /* bytes */
    uint32_t node;  /* as much of a needle as the last bytes are */
    /*
     * What is to be replaced and can still grow, rising. More than one only while needles are
     * found within what may become a longer one; when there are more, the last ones are taken for
     * one, with what is between them.
     */
    unsigned place_count;
    struct finder_place {
        uint64_t from, to;
        uint32_t needle;
    } places[FINDER_PLACES_MAX];
};

/*
 * replacements[i] is for needle i, borrowed until the end. Needles whose tag is not in active are
 * seen and left as they are. Both f and replacements may be shared by any number of streams.
 */
void finder_begin(struct finder_stream *s, const struct finder *f,
                  const struct finder_bytes *replacements, uint64_t active);

/*
 * Takes all of data and appends to out what is decided; out may be NULL: only look. 0, or what
 * buf_append() gives: the stream can't go on then.
 */
int finder_take(struct finder_stream *s, const void *data, size_t size, struct buf *out);

/* No more bytes come: appends what was kept back. */
int finder_end(struct finder_stream *s, struct buf *out);
