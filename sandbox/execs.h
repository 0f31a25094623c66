// SPDX-License-Identifier: Apache-2.0
/*
 * Programs that are started in a running sandbox from outside, as far as its starter goes: it
 * takes questions over a socket in the registry's private folder (sandbox/exec_messages.h), makes
 * the streams, lets the sandbox's kernel start the program (CONTROL_EXEC), keeps what it writes and
 * hands it to whoever is attached.
 *
 * Whoever connects is of the same user, as the host says. Nobody is waited for, and everything that
 * can grow has its limit in sandbox/exec_messages.h.
 *
 * The kernel process may have been taken over by a guest: of its packets about programs nothing is
 * believed but that they are about one that runs.
 *
 *   exec.c     one program: its streams, its time, its end
 *   execs.c    the programs of a sandbox, and those who are attached
 *   exec_questions.c   what is asked
 *   exec_usage.c   what the sandbox uses
 *   exec_journal.c   what its programs wrote that nobody follows
 *   exec_events.c   what is told of them elsewhere
 */
#pragma once

#include "lib/base/control.h"
#include "lib/base/list.h"
#include "sandbox/journal.h"
#include "sandbox/registry.h"
#include "sandbox/scrubber.h"
#include "sandbox/start.h"

/* What execs asks of the loop that it is part of. */
struct execs_owner {
    /* A question EXEC_END; who: for the cause in words. */
    void (*end)(void *userdata, bool at_once, const char *who);
    /* EXEC_LIFETIME: ns from now, 0: none. */
    void (*set_lifetime)(void *userdata, int64_t ns);
    void *userdata;
};

struct execs {
    int listener, epoll; /* -1 */
    struct sandbox *sandbox;
    const struct sandbox_spec *spec;
    const struct strv *env; /* of programs that are started; borrowed, set before execs_open() */
    const struct registry *registry;
    struct scrubber *scrubber;
    struct execs_owner owner;
    struct list programs; /* struct exec */
    size_t running, ended;
    struct list clients; /* struct exec_client */
    size_t client_count;
    int32_t last_number;
    bool is_ready;            /* the kernel takes CONTROL_EXEC */
    bool is_ending;           /* and all programs are killed just now */
    bool is_deaf;             /* no descriptor is left for who connects */
    bool has_closed;          /* ... since when perhaps one is */
    int64_t deaf_until_ns;    /* ... at the latest, CLOCK_MONOTONIC */
    uint64_t delivered_bytes; /* to all who are attached */
    struct journal journal;
    bool is_over;        /* nothing more is written */
    int32_t usage_asked; /* number of the CONTROL_USAGE that is under way; 0 */
    int32_t last_usage;
};

void execs_init(struct execs *x);

/* Listens for the sandbox that r has entered. 0, or negative errno with the sentence. */
int execs_open(struct execs *x, const struct registry *r, struct sandbox *s,
               const struct sandbox_spec *spec, struct sandbox_error *e);

/* For the loop: readable when there is something to do; until when to wait at most (CLOCK_MONOTONIC
 * ns, 0: no matter). */
int execs_poll_descriptor(const struct execs *x);
int64_t execs_deadline(const struct execs *x);
void execs_step(struct execs *x);

/* A CONTROL_EXEC_STARTED, _FAILED or _ENDED. */
void execs_take(struct execs *x, const struct control_packet *p, const char *text);

/* Output for EXEC_LOGS. */
void execs_keep_output(struct execs *x, const struct journal_source *from, const char *data,
                       size_t size);

/* With the kernel gone: something may still have to be read of those with EXEC_LOG. */
bool execs_have_rest(const struct execs *x);

/* All output has come. */
void execs_end_output(struct execs *x);

/* A CONTROL_USED. */
void execs_take_usage(struct execs *x, const struct control_packet *p, const char *text);

/* The kernel is there (CONTROL_READY). */
void execs_ready(struct execs *x);

/* The sandbox is about to end: no further program is started. */
void execs_refuse(struct execs *x);

/* ... and now: whoever is killed from now on is so with it. */
void execs_expect_end(struct execs *x);

/* The process of that id was killed since the sandbox's memory was used up. */
void execs_note_memory(struct execs *x, int32_t pid);

/* To the groups of all that run, and SIGCONT. False: none does. */
bool execs_signal_all(struct execs *x, int sig);

/* The kernel process is gone, and with it all programs: what they wrote is handed out, then their
 * end is told. Others may still ask for the sandbox's own. */
void execs_kernel_gone(struct execs *x);

/* Nobody waits for anything that is still to be handed out. */
bool execs_is_quiet(const struct execs *x);

/* The sandbox has ended: who watches is told; and all is closed. status, cause, words: EXEC_OVER.
 */
void execs_close(struct execs *x, int status, const char *cause, const char *words);
