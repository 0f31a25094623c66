// SPDX-License-Identifier: Apache-2.0
/*
 * Files on their way into a running sandbox of the caller's (sandbox/files_ask.h): made with the
 * rights of its root, they belong to the user that it was started with. Permissions and times are
 * kept, no set-user-ID bit and its kin. What is there is replaced; directories are added to.
 *
 * What is left out is said, a bounded number of times, by names that are safe to show.
 */
#pragma once

#include "sandbox/files_ask.h"

#define COPY_IN_LINES_MAX 20 /* that say what was left out; then their number */
#define COPY_IN_DEPTH_MAX 256

struct copy_in {
    struct files_connection connection;
    const char *sandbox;
    void (*say)(const char *line);
    bool makes_parents;              /* directories that are missing on the way are made */
    uint64_t bytes_max, entries_max; /* more is refused */
    uint64_t bytes, entries, left_out;
};

/* sandbox and say are borrowed. 0, to be ended with copy_in_done(), or negative errno and the
 * sentence. */
int copy_in_init(struct copy_in *c, const char *sandbox, void (*say)(const char *line),
                 struct sandbox_error *e);
void copy_in_done(struct copy_in *c);

/* What is to be made, and where from. */
struct copy_in_file {
    const char *path; /* in the sandbox, absolute */
    unsigned mode;
    int64_t mtime_s;
    uint32_t mtime_ns;
};

/* Up to size bytes of it, 0 at its end, or negative errno with the sentence. */
typedef ssize_t (*copy_in_read_fn)(void *userdata, char *data, size_t size,
                                   struct sandbox_error *e);

/*
 * Each makes one: 0; a positive errno: the sandbox has something in its place, or does not allow
 * it, and it was left out and said; or negative errno with the sentence, and all is over.
 */
int copy_in_file(struct copy_in *c, const struct copy_in_file *f, copy_in_read_fn read,
                 void *userdata, struct sandbox_error *e);
int copy_in_directory(struct copy_in *c, const struct copy_in_file *f, struct sandbox_error *e);
int copy_in_link(struct copy_in *c, const char *path, const char *target, struct sandbox_error *e);

/* Says that something was left out. */
void copy_in_leave_out(struct copy_in *c, const char *name, const char *reason);

/* Says how many more than were named. */
void copy_in_end(struct copy_in *c);

/* What path leads to in the sandbox: 0 and its mode, a positive errno, or negative as above. */
int copy_in_stat(struct copy_in *c, const char *path, mode_t *ret_mode, struct sandbox_error *e);

/*
 * The file or tree at source of this machine: as target's child of its name when target is a
 * directory, else as target. follows: a link at its end. A source that ends in "/.": what is in it.
 */
int copy_in_tree(struct copy_in *c, const char *source, bool follows, const char *target,
                 struct sandbox_error *e);

/* What is in the tar archive that fd gives, into the directory target. */
int copy_in_archive(struct copy_in *c, int fd, const char *target, struct sandbox_error *e);
