// SPDX-License-Identifier: Apache-2.0
/*
 * The specification of a sandbox as its starter wrote it: lib/base/control.h.
 */
#pragma once

#include "lib/base/base.h"

#include <sys/resource.h>

struct spec_mount {
    const char *guest, *host;
    bool read_only;
};

struct spec_tmpfs {
    const char *guest;
    uint64_t max_bytes; /* UINT64_MAX: only the budget */
};

struct spec_rlimit {
    int resource;
    struct rlimit value;
};

/* Units stand in the names; 0: none. */
struct spec_limits {
    uint64_t memory_bytes, disk_bytes, inodes;
    uint64_t cpu_budget_ns, write_budget_bytes, send_budget_bytes, idle_ns;
    uint64_t output_rate; /* bytes a second */
    unsigned pids, cpu_thousandths;
    /* Nobody but this process enforces it. */
    bool watch_memory, watch_pids, watch_cpu;
    struct spec_rlimit rlimits[RLIM_NLIMITS];
    size_t rlimit_count;
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
    bool waits;              /* there is no main program: argc is 0 */
    bool has_gateway;        /* the channel is open: lib/base/gateway.h */
    const char *known_hosts; /* there is an agent of SSH; for ssh_known_hosts; NULL: none */
    const char *ca;          /* certificate of the authority to trust, PEM; NULL: none */
    uint32_t ca_subject_hash;
    uint32_t allow_missing; /* bits by enum seal_control */
    bool speculation_barriers;
    unsigned rows, columns;
    unsigned cpus; /* that programs are told of */
    struct spec_limits limits;
};

/* Reads and checks the records from fd. 0; -EINVAL with *ret_bad naming the record; -E2BIG,
 * -ENOMEM. */
int spec_read(int fd, struct spec *ret, const char **ret_bad);

/* Likewise what a CONTROL_EXEC says of one program. */
int spec_read_command(int fd, struct spec *ret, const char **ret_bad);

void spec_done(struct spec *s);
