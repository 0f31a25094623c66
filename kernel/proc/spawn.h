// SPDX-License-Identifier: Apache-2.0
/*
 * Starting a program in the sandbox from outside of it: the init forks and executes.
 */
#pragma once

#include "kernel/proc/process.h"

struct spawn {
    struct list link;
    /* What the new process has; counted, given to it. */
    struct fdtable *files;
    struct fs_context *fs;
    struct cred *cred;
    char **argv, **envp; /* borrowed until one of the functions below is called */
    const char *path;    /* what to execute, absolute; likewise */
    /* The process exists (a session leader, before its execve). */
    void (*started)(struct spawn *s, struct process *p);
    /* Or can't be made: error is an errno. */
    void (*failed)(struct spawn *s, int error);
    size_t block_bytes;
};

/* Queues a spawn for the init. 0, -E2BIG. Nothing is called from within. */
int spawn_queue(struct spawn *s);

/* SYS_GLOVEBOX_INIT. */
long sys_glovebox_init(struct call *c);

/* For embryos of the init. */
struct embryo;
void spawn_give(struct embryo *e);
void spawn_born(struct spawn *s, struct process *p);
/* An embryo that is to be dropped, and no process came of it. */
void spawn_lost(struct spawn *s);
