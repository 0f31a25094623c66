// SPDX-License-Identifier: Apache-2.0
/*
 * What the server counts since its start, for Prometheus. Labels are of sets that are known here:
 * nothing that a client or a sandbox chose becomes one.
 */
#pragma once

#include "lib/base/buf.h"

/* Before the jail. starts: of servers by the launcher, before this one. */
void metrics_start(uint64_t starts);

/* A request is over. route: a constant that stays, NULL: there is none for it; status 0: the client
 * was gone before. */
void metrics_count_request(const char *method, const char *route, unsigned status, int64_t took_ns,
                           uint64_t bytes, bool is_stream);

void metrics_count_stream(int change); /* 1: one has begun; -1: it is over */

/* A sandbox was asked for: it runs after so long; or error, a positive errno. */
void metrics_count_creation(int error, int64_t took_ms);

/* One has ended: why, as events say it. */
void metrics_count_end(const char *cause);

/* A connection was none, before anything could be asked. */
void metrics_count_bad_handshake(void);

/* https://prometheus.io/docs/instrumenting/exposition_formats/ 0 or as buf_append(). */
int metrics_write(struct buf *out);
