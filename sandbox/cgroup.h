// SPDX-License-Identifier: Apache-2.0
/*
 * The control groups of one sandbox: cgroups(7), and Documentation/admin-guide of Linux,
 * cgroup-v2.rst and cgroup-v1/memory.rst.
 *
 * Each controller is where this machine has it: in a hierarchy of its own (v1), or in the unified
 * one (v2). A group is made below the group that this process is in, so that whatever bounds this
 * process bounds the sandbox too. Version 2 allows no processes beside groups with controllers;
 * there it is the nearest group above that may be written to and can hand the controllers down
 * (of a delegated systemd unit: the unit's).
 *
 *   cgroup_plan()      which groups there will be; nothing is made
 *   cgroup_make()      makes them, with their limits; what can't be made is left to be watched
 *   cgroup_remove()    after the last process
 *
 * The kernel process joins before its first instruction: with CLONE_INTO_CGROUP (v2), or by writing
 * to `tasks` (v1). Both spare it cgroup.procs, where the host waits milliseconds for a grace period
 * of RCU.
 */
#pragma once

#include "sandbox/limit_table.h"

#include <limits.h>

#define CGROUP_GROUPS_MAX 3

enum cgroup_controller { CGROUP_MEMORY, CGROUP_CPU, CGROUP_PIDS, CGROUP_CONTROLLER_COUNT };

struct cgroup_group {
    unsigned version;     /* 1 or 2 */
    unsigned controllers; /* bits: 1 << CGROUP_MEMORY, ... */
    char path[PATH_MAX];
    bool is_made;
    int join; /* v1: tasks, for writing; v2: the directory; -1 */
};

struct cgroup {
    struct cgroup_group groups[CGROUP_GROUPS_MAX];
    size_t count;
};

#define CGROUP_NONE ((struct cgroup){.count = 0})

/*
 * Decides which groups hold the limits. name: of the groups, below their parents. text is
 * /proc/self/cgroup and root the directory of the mounts; NULL for those of this machine.
 */
void cgroup_plan(struct cgroup *c, const char *name, const struct sandbox_limits *l,
                 const char *text, const char *root);

/*
 * Makes what was planned and sets the limits; *ret says how each is enforced now. Never fails:
 * what can't be made is LIMITED_BY_KERNEL.
 */
void cgroup_make(struct cgroup *c, const struct sandbox_limits *l, struct sandbox_controls *ret);

/* Lifts the limit of processors: who is held back can't even die. */
void cgroup_unthrottle(const struct cgroup *c);

/* The directory to clone into, or -1. */
int cgroup_clone_target(const struct cgroup *c);

/* Removes the group that is one, for want of clone3(2). */
void cgroup_forgo_unified(struct cgroup *c);

/* Closes what was for joining. */
void cgroup_close(struct cgroup *c);

struct cgroup_memory {
    uint64_t used_bytes, peak_bytes; /* 0: not known */
    uint64_t cache_bytes;            /* of used: files' */
    uint64_t oom_kills;              /* processes that the host's OOM killer took in it */
    uint64_t limit_hits;             /* times that it was full */
};

/* 0, or negative errno when memory is in no group of ours. */
int cgroup_read_memory(const struct cgroup *c, struct cgroup_memory *ret);

/* Sets peak_bytes and oom_kills alone, which the machine has at hand. 0 or negative errno as above.
 */
int cgroup_read_memory_peak(const struct cgroup *c, struct cgroup_memory *ret);

/* Removes the groups. False when one is still there; it then has processes. */
bool cgroup_remove(struct cgroup *c);

/* Removes one that a dead starter left. True when it is gone. */
bool cgroup_remove_path(const char *path);
