// SPDX-License-Identifier: Apache-2.0
/*
 * What a running sandbox uses at this moment, as its machine sees it: from its cgroup where it has
 * one, else from /proc.
 */
#pragma once

#include "sandbox/record.h"

struct sandbox_usage {
    uint64_t memory_bytes, peak_memory_bytes; /* peak 0: nobody has counted */
    uint64_t cache_bytes;                     /* of memory_bytes: files'; 0 where it is estimated */
    bool is_memory_estimated;    /* the private memory of the processes, without files in memory */
    unsigned processes, threads; /* of programs: without the kernel and the init */
    int64_t cpu_ns;              /* of those that live, and of the kernel */
    int64_t kernel_cpu_ns;       /* of that: the kernel's */
    uint64_t oom_kills;
};

/* 0, or -ESRCH when it has just ended. */
int usage_read(const struct record *r, struct sandbox_usage *ret);

/* The fields of a line of /proc/PID/stat that are used. False when the line makes no sense. */
struct usage_stat {
    uint64_t cpu_ticks;
    unsigned threads;
};
bool usage_parse_stat(const char *line, struct usage_stat *ret);
