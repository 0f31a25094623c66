// SPDX-License-Identifier: Apache-2.0
/*
 * Runs one sandbox from its start to its end in the calling thread: carries the streams, passes
 * signals on, watches the clock.
 *
 *              start          READY                 EXITED              kernel process gone,
 *   (nothing) ------> RUNNING ------> RUNNING ---------------> LEAVING   all output carried
 *                        |                                       |  \----------------------> over
 *                        | time is up, or a signal to us         | 2 s: killed from outside
 *                        v                                       |
 *                     ENDING  program got the signal ------------+ EXITED
 *                        | 2 s, or a second signal               |
 *                        v                                       |
 *                     KILLING  CONTROL_KILL ---------------------+
 *                        | 1 s: killed from outside
 *
 * While it runs, SIGINT, SIGTERM, SIGHUP and SIGQUIT to this process end the sandbox, SIGUSR1 and
 * SIGUSR2 go to the program, SIGTSTP stops both, and SIGPIPE is ignored; a signal that was ignored
 * before stays so.
 */
#pragma once

#include "sandbox/relay.h"
#include "sandbox/spec.h"

#define SANDBOX_GRACE_MS      2000 /* between a signal that ends the program and its death */
#define SANDBOX_KILL_MS       1000 /* between CONTROL_KILL and the death of the kernel process */
#define SANDBOX_LEAVING_MS    2000 /* between CONTROL_EXITED and the end of the kernel process */
#define SANDBOX_LOG_MAX_BYTES (256 * 1024) /* of the kernel process's standard error */

/* Exit statuses that people know from docker, env(1) and timeout(1). */
#define SANDBOX_STATUS_TIMEOUT 124
#define SANDBOX_STATUS_FAILED  125

enum sandbox_cause {
    SANDBOX_EXITED,   /* the program ended by itself */
    SANDBOX_SIGNALED, /* ... by a signal */
    SANDBOX_TIMED_OUT,
    SANDBOX_KILLED,         /* a signal to this process ended it */
    SANDBOX_NOT_STARTED,    /* the program could not be started: message */
    SANDBOX_KERNEL_FAILURE, /* the sandbox's kernel ended unexpectedly: message */
    SANDBOX_HOST_FAILURE,   /* this side failed, e.g. could not write the output: message */
};

/* "exited", "signaled", "timeout", "killed", "not-started", "kernel-failure", "host-failure" */
const char *sandbox_cause_name(enum sandbox_cause cause);

struct sandbox_outcome {
    enum sandbox_cause cause;
    int exit_status; /* 0 to 255, by the convention: the program's, 124, 125, 126, 127, 128+n */
    int exit_code;   /* the program's own, or -1 */
    int signal;      /* that ended the program, or this run; or 0 */
    int64_t wall_ns, user_ns, system_ns;
    int64_t peak_memory_bytes;
    struct sandbox_error message;
};

struct sandbox_io {
    int input;          /* descriptor to read the program's standard input from; -1: it is empty */
    int output, errors; /* descriptors to write to; -1: the functions get it */
    relay_take_fn take_output, take_errors;
    void *output_userdata, *errors_userdata;
    /* How the descriptors show the output to people; NULL: byte for byte. Borrowed. */
    const struct text_style *output_style, *errors_style;
    int trace;          /* descriptor for the lines of the trace; -1: none */
    int64_t timeout_ns; /* 0: none */
    /* A line for the person who started it: a warning, or what the sandbox's kernel logged. */
    void (*say)(const char *line);
};

/*
 * 0 and *ret when it ran or could at least be tried; negative errno with the reason when nothing
 * was started. With spec->tty, io->input must be a terminal.
 */
int sandbox_run(const struct sandbox_spec *spec, const struct sandbox_io *io,
                struct sandbox_outcome *ret, struct sandbox_error *e);
