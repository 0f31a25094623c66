// SPDX-License-Identifier: Apache-2.0
/*
 * What the registry keeps of one sandbox: lines KEY=VALUE in a file of at most RECORD_MAX_BYTES,
 * written by its starter and read by whoever may look into the user's runtime folder. A value has
 * no newline in it; of keys that are not known nothing is thought.
 */
#pragma once

#include "lib/seal/report.h"
#include "sandbox/cgroup.h"
#include "sandbox/label.h"

#define RECORD_MAX_BYTES         32768
#define RECORD_COMMAND_MAX_BYTES 512
#define RECORD_EGRESS_MAX_BYTES  96

/* What came of it. */
struct record_end {
    int64_t ended_ns;    /* CLOCK_REALTIME; 0: it has not ended */
    bool is_found_later; /* it had ended before that, nobody knows when */
    char cause[16];      /* outcome.h */
    char words[256], message[1024];
    char report[17];
    int exit_status, exit_code, signal;
    int64_t wall_ns, user_ns, system_ns, kernel_ns; /* and the next line: as in outcome.h */
    uint64_t peak_memory_bytes, memory_kills, written_bytes;
};

struct record {
    pid_t starter, pid;                     /* pid: the kernel process; 0: not started yet */
    int64_t created_ns;                     /* CLOCK_REALTIME */
    char command[RECORD_COMMAND_MAX_BYTES]; /* its beginning, words apart by blanks, escaped */
    char labels[LABELS_TEXT_MAX_BYTES];
    struct sandbox_limits limits;
    struct sandbox_controls controls;
    pid_t gateway;                        /* 0: the sandbox has none */
    char egress[RECORD_EGRESS_MAX_BYTES]; /* the policy that it began with, in a few words */
    bool is_forgotten;                    /* nothing is to be kept of it */
    struct record_end end;
    struct cgroup cgroup;
    struct seal_report seal; /* of the kernel process */
};

/* The lines of what is known before the start: all but pid and controls. */
void record_write(const struct record *r, struct buf *b);
/* The lines that follow when it runs. */
void record_write_started(const struct record *r, struct buf *b);

/* The lines about the seal. */
void record_write_seal(const struct record *r, struct buf *b);

/* The lines about its end. */
void record_write_end(const struct record *r, struct buf *b);

/* Reads text, which is changed. What is missing or makes no sense is 0. */
void record_parse(char *text, struct record *ret);
