// SPDX-License-Identifier: Apache-2.0
/* The parts of serve/serve.h. Not for other rooms. */
#pragma once

#include "lib/base/launch.h"
#include "lib/base/list.h"
#include "sandbox/registry.h"
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

/* ---- courier.c ---- */

/*
 * Delivers an order of lib/base/courier.h, and waits for how it went. 0 and the status of the
 * answer; or negative errno with a sentence. For a child of the launcher.
 */
int courier_deliver(const struct serve *s, const char *order, size_t size, unsigned *ret_status,
                    struct sandbox_error *e);

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

/* The launcher ends: nobody waits for those at work, either, which end by themselves. */
void jobs_done(struct jobs *j);

/* ---- measuring.c: what sandboxes use ---- */

#define MEASURINGS_MAX 16 /* under way; of more it is not known */

struct measuring {
    uint64_t id;
    int socket; /* on which its kernel is asked; -1 */
    int64_t until_ns, kernel_cpu_ns;
    struct launch_usage usage;
};

/* error: a positive errno, or 0. */
typedef void (*measured_fn)(void *userdata, uint64_t id, int error,
                            const struct launch_usage *usage);

/* To be zeroed, but for the last two. */
struct measurings {
    struct measuring items[MEASURINGS_MAX];
    size_t count;
    measured_fn done;
    void *userdata;
};

/* Its kernel has a second to answer; nobody is waited for here. Each ends in done(). */
void measurings_add(struct measurings *all, struct registry *registry, uint64_t id,
                    const char *name);

size_t measurings_fill_poll(const struct measurings *all, struct pollfd p[MEASURINGS_MAX]);
/* For poll(2): -1: no matter. */
int measurings_wait_ms(const struct measurings *all);
/* p: count entries as they were filled, and nothing was added since. */
void measurings_step(struct measurings *all, const struct pollfd *p, size_t count);

/* Who asked is gone. */
void measurings_forget(struct measurings *all);
