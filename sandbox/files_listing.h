// SPDX-License-Identifier: Apache-2.0
/*
 * What is in a directory of a sandbox, put together from the answers to a FILES_LIST and sorted as
 * a walk tells it: the names of each directory in the order of their bytes, and what is in one
 * right behind it.
 */
#pragma once

#include "sandbox/files_reader.h"

struct files_listed {
    char *path;   /* whole, below what was asked for */
    char *target; /* "" */
    char *owner, *group;
    char *metadata;
    size_t metadata_size;
    uint32_t mode, target_mode, uid, gid;
    int64_t size, mtime_s;
    uint32_t mtime_ns;
};

struct files_listing;

/* entries_max: how many are taken. NULL when out of memory. */
struct files_listing *files_listing_new(size_t entries_max);
void files_listing_free(struct files_listing *l);

/*
 * Takes the records of one answer: 0; -EPROTO: they are none; -E2BIG: they are too many; -ENOMEM.
 */
int files_listing_take(struct files_listing *l, struct files_records records);

/*
 * When that was all: what is in the directory, sorted, borrowed until it is freed. path: of the
 * directory itself, as the sandbox resolved it.
 */
const struct files_listed *files_listing_end(struct files_listing *l, size_t *ret_count,
                                             const char **ret_path);
