// SPDX-License-Identifier: Apache-2.0
/*
 * The access log: a line for each request, to a descriptor that the launcher gives. A reader that
 * is slow, or a disk that is full, holds nothing up: LOG_WAITING_MAX bytes wait in memory, then
 * lines are lost, and the next one that is written says how many.
 *
 *   {"time":"2026-01-02T03:04:05.678Z","level":"info","request":"5f3a9c1e-1","client":"127.0.0.1:4711","key":1,
 *    "keyName":"owner","sandbox":null,"method":"GET","path":"/sandboxes","status":200,
 *    "bytes":512,"ms":1.25,"cut":false}
 *
 * Its level is "error" where the server could not do what it should have (500, 503, 507), "warn"
 * for all else that was refused or did not work, and for what it says to the person who runs it;
 * with which it ends, that is an "error".
 *
 * No credentials: neither fields of a request nor its query, where signatures are, and what looks
 * like an API key in a path is masked. All that a client chose is cut to LOG_PATH_MAX and escaped,
 * so that a line is one line of ASCII, and at most LOG_LINE_MAX.
 */
#pragma once

#include "lib/base/base.h"

#define LOG_LINE_MAX    4096 /* PIPE_BUF: a pipe takes it whole */
#define LOG_PATH_MAX    512
#define LOG_WAITING_MAX (256 * 1024)

struct log_entry {
    int64_t began_ms;          /* CLOCK_REALTIME */
    const char *request;       /* its id */
    const char *client;        /* address and port */
    int64_t key;               /* 0: none was shown, or none that is valid */
    const char *sandbox;       /* whose port was asked; "": none */
    const char *method, *path; /* NULL: what came was no request */
    unsigned status;           /* 0: the client went away before there was an answer */
    uint64_t bytes;            /* of the answer, with its head */
    int64_t took_ns;
    bool is_cut; /* less than all of the answer was sent */
};

/* Writes to fd, which is taken, from now on; what waits goes there too. */
void log_open(int fd, bool is_text);

void log_request(const struct log_entry *e);

/* Something for the person who runs the server; level: "warn" or "error". */
void log_say(const char *level, const char *text);

/* Writes what can be written now. Called after each turn of the loop. */
void log_flush(void);

/* Lines that were lost since the start. */
uint64_t log_lost(void);
