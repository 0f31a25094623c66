// SPDX-License-Identifier: Apache-2.0
/*
 * A body of type multipart/form-data (RFC 7578), read piece by piece: whoever
 * reads asks for what comes next and may stop at any time, so that nothing is
 * collected but the head of a part.
 *
 * What is read in two ways by others is refused: a part without a name, two
 * names, a line of a head that is no field, a body that ends before its last
 * boundary.
 */
#pragma once

#include "lib/base/buf.h"

#define MULTIPART_BOUNDARY_MAX 70    /* RFC 2046 */
#define MULTIPART_HEAD_MAX     16384 /* of one part */

enum multipart_event {
    MULTIPART_MORE,  /* all is consumed */
    MULTIPART_BEGIN, /* name and filename are those of a part */
    MULTIPART_DATA,  /* bytes of it */
    MULTIPART_END,
    MULTIPART_BAD,
};

struct multipart {
    char delimiter[4 + MULTIPART_BOUNDARY_MAX + 1]; /* CR LF "--" boundary */
    size_t delimiter_size;
    enum multipart_state {
        MULTIPART_PREAMBLE,
        MULTIPART_BODY,
        MULTIPART_AFTER, /* the delimiter: its line's end, or "--" */
        MULTIPART_HEAD,
        MULTIPART_OVER,
    } state;
    size_t matched;       /* bytes of the delimiter that came last */
    size_t owed_at, owed; /* of those that were none after all, where they begin and end */
    bool is_in_part;
    struct buf head;
    char after[2];
    size_t after_size;
    char *name, *filename; /* of the part; filename NULL: it has none */
};

/* content_type: of the request. 0; -EINVAL: it is none, or has no boundary. */
int multipart_init(struct multipart *m, const char *content_type);
void multipart_done(struct multipart *m);

/*
 * What comes next in *at, which is moved on behind what was consumed, *size
 * with it. DATA: *ret has *ret_size bytes, at most data_max, borrowed until the
 * next call.
 */
enum multipart_event multipart_next(struct multipart *m, const char **at, size_t *size,
                                    size_t data_max, const char **ret, size_t *ret_size);

/* The last boundary came. */
bool multipart_is_over(const struct multipart *m);
