// SPDX-License-Identifier: Apache-2.0
/*
 * What a sandbox may use: one row a limit, from which options, configuration files, the kernel's
 * records, `glovebox inspect` and the words for people are made. docs/threat-model.md says what
 * each is good for.
 */
#pragma once

#include "lib/base/buf.h"

#include <sys/resource.h>

enum sandbox_limit {
    LIMIT_MEMORY,       /* bytes: programs, files in memory, the sandbox's kernel */
    LIMIT_CPUS,         /* thousandths of one processor */
    LIMIT_PIDS,         /* processes and threads */
    LIMIT_DISK,         /* bytes of private files */
    LIMIT_INODES,       /* private files */
    LIMIT_TIMEOUT,      /* of the command */
    LIMIT_LIFETIME,     /* of the sandbox, its start included */
    LIMIT_IDLE,         /* while nothing happens: CONTROL_BY_IDLE */
    LIMIT_GRACE,        /* from SIGTERM to SIGKILL */
    LIMIT_CPU_BUDGET,   /* processor time in all */
    LIMIT_WRITE_BUDGET, /* bytes written in all */
    LIMIT_SEND_BUDGET,  /* bytes sent to the outside in all */
    LIMIT_OUTPUT_RATE,  /* bytes a second over all its streams and terminals */
    LIMIT_OUTPUT,       /* bytes of each stream that are kept for a result */
    LIMIT_SANDBOXES,    /* of one user, at once */
    LIMIT_RATE,         /* that one user makes in a second */
    LIMIT_COUNT,
};

enum limit_unit {
    LIMIT_BYTES,
    LIMIT_NS,
    LIMIT_THOUSANDTHS,
    LIMIT_NUMBER,
};

struct limit_row {
    const char *name;  /* of the option and of the key in a configuration file */
    const char *json;  /* of the member; its unit behind it but for plain numbers */
    const char *words; /* what people call it: "memory limit" */
    enum limit_unit unit;
    uint64_t standard; /* when nobody says anything; 0: none */
    uint64_t least, most;
    bool may_be_none; /* "none" switches it off; else it can only be large */
};

extern const struct limit_row sandbox_limit_rows[LIMIT_COUNT];

struct sandbox_rlimit {
    int resource; /* RLIMIT_ of setrlimit(2) */
    struct rlimit value;
};

/* All zero bytes: no limit at all. */
struct sandbox_limits {
    uint64_t value[LIMIT_COUNT]; /* 0: none; the grace may really be 0 */
    struct sandbox_rlimit rlimits[RLIM_NLIMITS];
    size_t rlimit_count;
};

/* Who holds a sandbox to its limit of memory, processors or processes. */
enum limited_by {
    LIMITED_BY_NOTHING, /* there is no such limit */
    LIMITED_BY_MACHINE, /* it hasn't more than that */
    LIMITED_BY_CGROUP_V1,
    LIMITED_BY_CGROUP_V2,
    LIMITED_BY_KERNEL, /* the sandbox's own, by watching */
};

/* "nothing", "machine", "cgroup v1", "cgroup v2", "watched" */
const char *limited_by_name(enum limited_by by);

struct sandbox_controls {
    enum limited_by memory, cpus, pids;
};

void sandbox_limits_set_standard(struct sandbox_limits *l);

/* Sets the value of a resource, in the place of an earlier one. */
void sandbox_limits_set_rlimit(struct sandbox_limits *l, int resource, struct rlimit value);

/* Number of a resource by its name in docker's --ulimit and limits.conf(5) ("nofile"), or -1. */
int sandbox_rlimit_find(const char *name);
/* The name of a number, or NULL. */
const char *sandbox_rlimit_name(int resource);

/* A value as people read it: "256 MiB", "1.5 s", "2 processors", "512", "none". */
void sandbox_limit_format(enum sandbox_limit which, uint64_t value, char *ret, size_t size);

/* Appends the kernel's records. */
void sandbox_limits_write(const struct sandbox_limits *l, const struct sandbox_controls *controls,
                          struct buf *b);
