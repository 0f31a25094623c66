// SPDX-License-Identifier: Apache-2.0
/*
 * Reads what a sandbox says of files that are copied out (lib/base/copy.h), as from a stranger: a
 * guest decides what is in them, and one that has taken over its kernel decides every byte. What
 * reaches a sink has been checked:
 *
 * - a name is one component: not empty, without '/' or NUL, not "." or ".."; the root's is empty;
 * - directories are left in order, and are at most COPY_DEPTH_MAX in one another;
 * - bytes of a file come in ascending order and within its size;
 * - a mode has permissions only, no set-user-ID, set-group-ID or sticky bit; a time is between 1970
 *   and now;
 * - a symbolic link can't lead out of what is copied, whatever other links are in it: its target is
 *   relative, ".." are only at its beginning, and no more of them than there are directories;
 * - the numbers of entries and bytes are within the limits, with those that are left out.
 *
 * What is left out is said, a bounded number of times, by names that are safe to show.
 */
#pragma once

#include "lib/base/buf.h"
#include "lib/base/copy.h"
#include "sandbox/error.h"

#include <time.h>

#define COPY_LINES_MAX 20 /* that say what was left out; then their number */

struct copy_entry {
    const char *name; /* borrowed; "": what was asked for itself */
    unsigned mode;    /* 0777 at most */
    struct timespec mtime;
    int64_t size;       /* of a file */
    const char *target; /* of a link; borrowed */
};

/*
 * Where it goes. All return 0, or a negative errno with the sentence in e: the copy is over; all
 * but leave also a positive errno: the entry is left out, with what is in it. Then the sink has let
 * go of it.
 */
struct copy_sink {
    int (*begin_directory)(void *userdata, const struct copy_entry *d, struct sandbox_error *e);
    int (*leave)(void *userdata, struct sandbox_error *e);
    int (*begin_file)(void *userdata, const struct copy_entry *f, struct sandbox_error *e);
    int (*data)(void *userdata, int64_t offset, const void *data, size_t size,
                struct sandbox_error *e);
    /* size: how much there was of it; is_whole: false: it could not be read to its end. */
    int (*end_file)(void *userdata, int64_t size, bool is_whole, struct sandbox_error *e);
    int (*link)(void *userdata, const struct copy_entry *l, struct sandbox_error *e);
    bool writes_holes; /* a hole takes room: it counts as bytes */
};

struct copy_limits {
    uint64_t bytes, entries;
};

struct copy_reader {
    const struct copy_sink *sink;
    void *userdata;
    const char *title; /* what was asked for, for people */
    void (*say)(const char *line);
    struct copy_limits limits;
    uint64_t bytes, entries, left_out;
    size_t depth;  /* directories that began */
    size_t passed; /* depth from which on all is left out; 0: nothing is */
    bool has_root, is_in_file, is_file_passed, is_over;
    int64_t file_pos, file_size;
    char file_name[COPY_NAME_MAX_BYTES + 1];
    int64_t now_s;
    struct buf path; /* of the directories, each with a '/' */
};

/* All of it is borrowed until copy_reader_done(). */
void copy_reader_init(struct copy_reader *r, const struct copy_sink *sink, void *userdata,
                      const struct copy_limits *limits, const char *title,
                      void (*say)(const char *line));
void copy_reader_done(struct copy_reader *r);

/*
 * Takes one packet. 0, and is_over when it was the last; or negative errno and "REASON; NEXT STEP":
 * -EPROTO: it is none; -EFBIG, -E2BIG: a limit; what the kernel or the sink said.
 */
int copy_reader_take(struct copy_reader *r, const void *data, size_t size, struct sandbox_error *e);

/* Says how many more were left out than was said. */
void copy_reader_end(struct copy_reader *r);

/* Whether a link with that target, with so many copied directories around it, stays in them. */
bool copy_link_stays(const char *target, size_t depth);
