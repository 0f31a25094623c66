// SPDX-License-Identifier: Apache-2.0
/*
 * The specification of a sandbox as its starter wrote it: lib/base/control.h.
 */
#pragma once

#include "lib/base/base.h"

struct spec_mount {
    const char *guest, *host;
    bool read_only;
};

struct spec_tmpfs {
    const char *guest;
    uint64_t max_bytes; /* UINT64_MAX: only the budget */
};

/* Strings lie in `text` and live as long as the spec. */
struct spec {
    char *text;
    const char *image; /* "host", or an absolute directory */
    const char *workdir, *user, *hostname, *store;
    char **argv, **envp; /* NULL-terminated */
    size_t argc, envc;
    struct spec_mount *mounts;
    size_t mount_count;
    struct spec_tmpfs *tmpfs;
    size_t tmpfs_count;
    bool tty, trace, null_input;
    unsigned rows, columns;
    uint64_t memory_bytes, disk_bytes;
    unsigned cpus;
};

/* Reads and checks the records from fd. 0; -EINVAL with *ret_bad naming the record; -E2BIG,
 * -ENOMEM. */
int spec_read(int fd, struct spec *ret, const char **ret_bad);
