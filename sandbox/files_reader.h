// SPDX-License-Identifier: Apache-2.0
/*
 * Reads what a sandbox's kernel answers about files (lib/base/files.h), as from a stranger: a guest
 * that has taken it over decides every byte. What comes out has been checked:
 *
 * - the whole path of a file is absolute; a name in a list is one component; neither has "." or
 * "..", empty components or a NUL in it. Control characters may be: names are any bytes;
 * - a mode is a type and permissions, sizes are not negative, a time has less than a second in ns;
 * - the names of owner and group are printable, or their numbers;
 * - metadata is whole pairs;
 * - the name of an event leads nowhere but down.
 */
#pragma once

#include "lib/base/files.h"

struct files_info {
    uint32_t mode, target_mode; /* of a link that leads nowhere target_mode is 0 */
    uint32_t uid, gid;
    int64_t size, mtime_s;
    uint32_t mtime_ns;
    int error; /* positive: why nothing in this directory is told */
    unsigned level;
    char name[FILES_PATH_MAX_BYTES + 1];
    char target[FILES_PATH_MAX_BYTES + 1]; /* where a link leads in the end; "" */
    char owner[FILES_OWNER_MAX_BYTES + 1], group[FILES_OWNER_MAX_BYTES + 1];
    char metadata[FILES_METADATA_MAX_BYTES]; /* NAME, NUL, VALUE, NUL ... */
    size_t metadata_size;
};

struct files_change {
    enum files_event_type type;
    char name[FILES_PATH_MAX_BYTES + 1];
};

/* What is not read yet of an answer's records; borrowed. */
struct files_records {
    const char *at;
    size_t size;
};

/* The next record: 1; 0: there is none; -EPROTO. ret is undefined unless it is 1. */
int files_read_info(struct files_records *r, struct files_info *ret);
int files_read_change(struct files_records *r, struct files_change *ret);

/* One name of metadata after the other: *at begins at 0; false at the end. */
bool files_next_metadata(const struct files_info *i, size_t *at, const char **ret_name,
                         const char **ret_value);
