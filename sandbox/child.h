// SPDX-License-Identifier: Apache-2.0
/*
 * What happens between clone(2) and execve(2) of a sandbox's kernel or gateway. The child runs on
 * its starter's memory while the starter waits (CLONE_VM | CLONE_VFORK): it writes nothing but its
 * own stack and the two answers in struct child, and allocates nothing.
 */
#pragma once

#include "lib/base/base.h"

#define CHILD_SOURCE_COUNT 9 /* descriptors 0 to 8 of the process */
#define CHILD_JOINS_MAX    3

struct child {
    const char *program;          /* absolute path */
    const char *const *arguments; /* ended by NULL */
    uid_t uid;                    /* what 0 in the new namespace stands for */
    gid_t gid;
    int starter;                     /* pidfd of the starter */
    int sources[CHILD_SOURCE_COUNT]; /* what becomes descriptor 0, 1, ...; -1: stays closed */
    int joins[CHILD_JOINS_MAX];      /* `tasks` of cgroups, for writing */
    size_t join_count;
    /* the answers */
    const char *failed_step; /* NULL: the program runs */
    int error;               /* positive errno of that step */
};

/* For clone(3); argument is a struct child. Does not return when all went well. */
int child_main(void *argument);
