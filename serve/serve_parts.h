// SPDX-License-Identifier: Apache-2.0
/* The parts of serve/serve.h. Not for other rooms. */
#pragma once

#include "lib/base/list.h"
#include "serve/serve.h"

#include <poll.h>

/* ---- server_child.c ---- */

struct server_child {
    pid_t pid;
    int pidfd, channel; /* -1: it doesn't run */
};

#define SERVER_CHILD_NONE ((struct server_child){.pidfd = -1, .channel = -1})

/* 0, or negative errno with the sentence. */
int server_child_start(const struct serve *s, struct server_child *ret, struct sandbox_error *e);

/* Ends it, when it still runs, and takes its status as wait4(2) has it. */
int server_child_end(struct server_child *c);

/* One message. 0; negative errno: it takes nothing. */
int server_child_send(const struct server_child *c, const struct launch_packet *p, const void *data,
                      int fd);

/* ---- settings.c ---- */

/* Whether SIGHUP has something to open anew. */
bool settings_exist(const struct serve *s);

/* Opens what the options name, and sends it. 0, or negative errno with the sentence. */
int settings_send(const struct serve *s, const struct server_child *c, struct sandbox_error *e);

/* ---- job.c: what takes a while, each by a child of this process ---- */

#define JOBS_MAX 8 /* at work; others wait for their turn */

/* How one went; text: a name or a sentence. type: what was asked for. */
typedef void (*job_done_fn)(void *userdata, enum launch_type type, uint64_t id, int error,
                            const char *text);

struct jobs {
    const struct serve *serve;
    struct list waiting, working;
    size_t working_count;
    job_done_fn done;
    void *userdata;
};

void jobs_init(struct jobs *j, const struct serve *s, job_done_fn done, void *userdata);

/* LAUNCH_CREATE or LAUNCH_POLICY, with the records of lib/base/launch.h. 0, -ENOMEM, or -EINVAL:
 * they are none. */
int jobs_add(struct jobs *j, const struct launch_packet *p, const char *records);

size_t jobs_fill_poll(const struct jobs *j, struct pollfd p[JOBS_MAX]);
void jobs_step(struct jobs *j, const struct pollfd *p, size_t count);

/* Who asked is gone: those that wait are dropped, those at work are finished for nobody. */
void jobs_forget(struct jobs *j);
