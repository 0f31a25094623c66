// SPDX-License-Identifier: Apache-2.0
/*
 * How a sandbox ended: one cause, always, from what the sandbox's kernel said, what the host's
 * counters say, and what this side did. Never from a guess: a SIGKILL whose sender nobody
 * can name stays a signal from outside.
 */
#pragma once

#include "lib/base/control.h"
#include "sandbox/error.h"
#include "sandbox/limit_table.h"

/* Exit statuses that people know from docker, env(1) and timeout(1). */
#define SANDBOX_STATUS_TIMEOUT 124
#define SANDBOX_STATUS_FAILED  125

enum sandbox_cause {
    SANDBOX_EXITED,         /* the program ended by itself */
    SANDBOX_SIGNALED,       /* ... by a signal */
    SANDBOX_TIMED_OUT,      /* LIMIT_TIMEOUT */
    SANDBOX_LIFETIME,       /* LIMIT_LIFETIME */
    SANDBOX_IDLE,           /* LIMIT_IDLE */
    SANDBOX_MEMORY,         /* LIMIT_MEMORY: the main program, or the kernel, was killed for it */
    SANDBOX_DISK,           /* the machine's disk was full, where no call could fail */
    SANDBOX_BUDGET,         /* LIMIT_CPU_BUDGET, LIMIT_WRITE_BUDGET or LIMIT_SEND_BUDGET: message */
    SANDBOX_POLICY,         /* its network policy wants it ended for what a program did: message */
    SANDBOX_KILLED,         /* a signal to this process ended it */
    SANDBOX_NOT_STARTED,    /* the program could not be started: message */
    SANDBOX_KERNEL_FAILURE, /* the sandbox's kernel ended unexpectedly: message, report */
    SANDBOX_HOST_FAILURE,   /* this side or the machine failed, e.g. to take the output: message */
};

/*
 * "exited", "signaled", "timeout", "lifetime", "idle", "memory", "disk", "budget", "policy",
 * "killed", "not-started", "kernel-failure", "host-failure"
 */
const char *sandbox_cause_name(enum sandbox_cause cause);

struct sandbox_outcome {
    enum sandbox_cause cause;
    int exit_status; /* 0 to 255, by the convention: the program's, 124, 125, 126, 127, 128+n */
    int exit_code;   /* the program's own, or -1 */
    int refused;     /* negative errno: there was no place for it, or no such name; or 0 */
    int signal;      /* that ended the program, with SANDBOX_KILLED was sent to this side; or 0 */
    int64_t wall_ns;
    int64_t user_ns, system_ns;  /* -1: its kernel did not come to say, also of the two below */
    int64_t kernel_ns;           /* processor time of the sandbox's kernel, not in the other two */
    int64_t peak_memory_bytes;   /* of the largest process; 0: not known */
    uint64_t total_memory_bytes; /* the most that all of the sandbox used at once; 0: not known */
    uint64_t memory_kills;       /* processes that ended since memory_bytes were reached */
    uint64_t written_bytes;      /* as LIMIT_WRITE_BUDGET counts them; 0, too */
    char name[64];               /* of the sandbox; "": it got none */
    char report[17];             /* number of a report on a failed kernel, or "" */
    char words[256];             /* the cause, as a person would say it */
    struct sandbox_limits limits;
    struct sandbox_controls controls;
    struct sandbox_error message; /* what went wrong and what to do; "" when nothing did */
};

/* What is known when the main program has ended, or the kernel process has without a word. */
struct end_facts {
    int wait_status;
    enum control_reason reason;
    /* The host's OOM killer took a process and that hasn't explained another end. */
    bool is_out_of_memory;
    bool is_at_limit; /* ... since the sandbox was at its limit */
};

/*
 * What follows "ended by SIGKILL" where the host ended a program: where from, or, with the reason
 * that the host did not say so, what else it may have been; "" with another reason.
 */
const char *outcome_sender(uint32_t reason);

/* The main program has ended. */
void outcome_note_exit(struct sandbox_outcome *o, const struct end_facts *f);

/* The kernel process ended first. log: its last line, or "". */
void outcome_note_kernel(struct sandbox_outcome *o, const struct end_facts *f, const char *log);

/* Another process than the main one has ended: the beginning of a line, which its name follows. */
void outcome_describe_casualty(const struct sandbox_limits *l, const struct end_facts *f, int pid,
                               char *ret, size_t size);

/* What the kernel process counted, in a packet that has it. */
void outcome_note_totals(struct sandbox_outcome *o, const struct control_packet *p);

/* The kernel process could not start the program: a status, and text, any bytes. */
void outcome_note_failure(struct sandbox_outcome *o, int status, const char *text, size_t size);

/*
 * This side ends it for a limit of time: in the end by SIGKILL, unless outcome_note_program knows
 * better.
 */
void outcome_note_limit(struct sandbox_outcome *o, enum sandbox_limit which);

/* This side ends it for a violation of its policy: whose, any bytes. */
void outcome_note_policy(struct sandbox_outcome *o, const char *secret, size_t size);

/* What the main program made of it, when this side has ended the sandbox. */
void outcome_note_program(struct sandbox_outcome *o, int wait_status);

/* A signal to this process ends it: who sent it, "" when nobody knows. */
void outcome_note_signal(struct sandbox_outcome *o, int sig, const char *sender);

/* The end has come: chooses the exit status, and words where nobody has found better ones. */
void outcome_finish(struct sandbox_outcome *o);
