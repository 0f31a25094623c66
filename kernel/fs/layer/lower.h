// SPDX-License-Identifier: Apache-2.0
/*
 * Objects of a read-only host directory, known by the place they have there. Each is opened when it
 * is needed, relative to its directory's descriptor, one component at a time, and never through a
 * symbolic or magic link.
 */
#pragma once

#include "kernel/fs/filesystems.h"
#include "kernel/fs/layer/fdcache.h"
#include "kernel/host/hostfd.h"

#include <sys/stat.h>

#define LOWER_DEPTH_MAX 1024

struct lower {
    size_t refs;
    struct lower *parent; /* counted; NULL: a root, whose descriptor was handed over */
    struct cached_fd fd;  /* of a directory: O_PATH; of a file: O_RDONLY */
    bool is_dir;
    bool public_only; /* what not everybody on the host may read can't be opened; inherited */
    const struct lower_view *view; /* of a directory of which not all shows; NULL */
    unsigned depth;
    char name[];
};

/* fd is taken over, on failure (NULL) too. */
struct lower *lower_new_root(struct hostfd fd, bool is_dir);
struct lower *lower_new(struct lower *parent, const char *name, bool is_dir);
struct lower *lower_get(struct lower *l);
void lower_put(struct lower *l);

/* A descriptor of l, good until the next call of this header; or -errno. */
int lower_open(struct lower *l);

/* Whether the last components of its path, below its root, are those of end: "dir/name". */
bool lower_ends_with(const struct lower *l, const char *end);

/* The stat of a name in directory l: 0, -ENOENT also for what is not shown (devices, sockets). */
int lower_stat(struct lower *l, const char *name, struct stat *ret);
ssize_t lower_readlink(struct lower *link, char *buffer, size_t size);

/*
 * Calls `entry` for each name of l but "." and ".." until it answers an error. d_type is DT_REG,
 * DT_DIR or DT_LNK.
 */
int lower_list(struct lower *l,
               int (*entry)(void *context, const char *name, uint64_t ino, uint8_t d_type),
               void *context);
