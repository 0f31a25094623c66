// SPDX-License-Identifier: Apache-2.0
/* The parts of sandbox/execs.h. Not for other rooms. */
#pragma once

#include "sandbox/exec_log.h"
#include "sandbox/exec_messages.h"
#include "sandbox/execs.h"

#include <sys/epoll.h>

/* A descriptor in the epoll set. */
struct exec_source {
    int fd;          /* -1: none */
    uint32_t events; /* that are waited for; 0: it is not in the set */
    void (*ready)(struct execs *x, struct exec_source *s, uint32_t events);
};

int exec_source_watch(struct execs *x, struct exec_source *s, uint32_t events);
/* Takes it out and closes it. */
void exec_source_close(struct execs *x, struct exec_source *s);

struct exec_stream {
    struct exec_source source;
    struct exec *exec;
    uint32_t stream;
    /* Of what was there when the program's end was told: to be read yet, and that it was. */
    int left;
    bool is_empty;
    struct scrub_stream scrub;
    struct buf scrubbed;
};

enum exec_state { EXEC_STARTING, EXEC_RUNNING, EXEC_OVER_WITH };

struct exec {
    struct list link;
    struct execs *execs;
    int32_t number; /* of its CONTROL_EXEC */
    pid_t pid;      /* in the sandbox; 0: not known yet */
    enum exec_state state;
    uint32_t flags;
    char tag[EXEC_TAG_MAX_BYTES + 1];
    char *records; /* for a list; their first EXEC_RECORDS_SHOWN_BYTES */
    size_t records_size;
    struct exec_source input;
    struct buf input_data;
    bool input_ends; /* behind input_data */
    struct exec_stream streams[2];
    struct exec_log log;
    int64_t deadline_ns, grace_ns; /* CLOCK_MONOTONIC; the grace; 0: none */
    int64_t given_up_ns; /* when the kernel should have told its end; 0: it needs not yet */
    bool is_timed_out;
    bool ran_out_of_memory; /* as the host says */
    /* Of the end: */
    int32_t status, failed_status;
    uint32_t reason;
    bool is_failed;     /* it could not start */
    int64_t started_ns; /* CLOCK_MONOTONIC */
    char *failure;      /* and why; NULL: no memory for that */
    uint64_t end;       /* the log's, when all its own output was in it */
    bool is_end_known;  /* ... which it is */
};

struct exec_client {
    struct list link;
    struct exec_source source;
    struct exec *exec;  /* attached to; NULL */
    bool is_told_start; /* STARTED or FAILED was sent */
    bool is_watching;   /* EXEC_WATCH */
    bool wants_usage;   /* has asked EXEC_USAGE, and waits */
    bool reads_log;     /* EXEC_LOGS */
    bool follows_log;
    uint64_t log_offset, log_end; /* the next byte of it; the last, when it does not follow */
    uint64_t offset;              /* of the output that comes next */
    struct exec *fed;             /* EXEC_INPUT is to be answered when this one's has room; NULL */
    struct exec *held; /* its next question is an EXEC_INPUT, which waits for this one's; NULL */
    struct buf unsent; /* whole packets, each with its size in front, that there was no room for */
};

/* ---- exec.c ---- */

/* A new one, whose streams are made and that the kernel has been asked for. fd: its records.
 * 0 or negative errno with the sentence. */
struct exec_order {
    uint32_t flags;
    int64_t timeout_ns, grace_ns;
    const char *tag; /* tag_size bytes */
    size_t tag_size;
    int records;
};
int exec_start(struct execs *x, const struct exec_order *o, struct exec **ret,
               struct sandbox_error *e);

void exec_free(struct exec *x);

/* Appends to its input. 0, or negative errno. */
int exec_feed(struct exec *x, const char *data, size_t size);
void exec_end_input(struct exec *x);
/* Nobody reads these of its streams any more: EXEC_OUT, EXEC_ERR. */
void exec_end_output(struct exec *x, uint32_t streams);
bool exec_has_input_room(const struct exec *x);

/* False: the kernel takes nothing at the moment. */
bool exec_signal(struct exec *x, int sig, uint32_t flags);

/* Reads its streams again where it was held up. */
void exec_resume(struct exec *x);

void exec_note_ended(struct exec *x, int32_t status, uint32_t reason);
void exec_note_failed(struct exec *x, int32_t status, const char *text, size_t size);

/* Its time may be up. */
void exec_check_clock(struct exec *x, int64_t now_ns);

/* When to look at that next, CLOCK_MONOTONIC; 0: never. */
int64_t exec_deadline(const struct exec *x);

/* Ends one that has started when it was given up already. */
void exec_end_late(struct execs *execs, int32_t number);

/* ---- execs.c ---- */

int64_t execs_now_ns(void);
/* When ns from now have gone by, however many they are. */
int64_t execs_in_ns(int64_t ns);

/* The first byte of its output that somebody attached has not got. UINT64_MAX: nobody is. */
uint64_t execs_needed(const struct execs *x, const struct exec *program);

/* There is more for those attached to it, or room for input. */
void execs_wake(struct execs *x, struct exec *program);

/* It is no more. */
void execs_forget(struct execs *x, const struct exec *program);

/* One packet to a client, now or when there is room. False: it is gone, as it takes nothing. */
bool exec_client_send(struct execs *x, struct exec_client *c, const struct exec_packet *p,
                      const char *text);
void exec_client_drop(struct execs *x, struct exec_client *c);

/* Sends what is there for it. */
void exec_client_advance(struct execs *x, struct exec_client *c);

/* ---- exec_questions.c ---- */

/* False: it is to be dropped. fd is the question's. */
bool exec_client_take(struct execs *x, struct exec_client *c, const struct exec_message *m, int fd);

/* Who is gone may have asked more before: what is for the sandbox itself (END, LIFETIME) is done.
 */
void exec_client_hear_out(struct execs *x, struct exec_client *c);

/* Whom INPUT and kin are for, or NULL. */
struct exec *exec_client_target(struct execs *x, const struct exec_client *c,
                                const struct exec_packet *p);

/* ---- exec_events.c ---- */

/* For sandbox/events.h: its start; its end, or that it could not start. */
void exec_tell_start(const struct exec *x);
void exec_tell_end(const struct exec *x);

/* ---- exec_journal.c ---- */

/* An EXEC_LOGS: 0, it will be answered; or a positive errno. */
int exec_journal_ask(struct execs *x, struct exec_client *c, const struct exec_packet *p);

/* Sends what is there for it, as far as there is room. */
void exec_journal_send(struct execs *x, struct exec_client *c);

/* ---- exec_usage.c ---- */

/* An EXEC_USAGE: 0, it will be answered; or a positive errno. */
int exec_usage_ask(struct execs *x, struct exec_client *c);
