// SPDX-License-Identifier: Apache-2.0
/*
 * What happens to a user's sandboxes, as their starters write it down in his runtime folder:
 *
 *   events/log, events/log.old     lines, each a JSON object; the latest are the last
 *
 * Lines are appended with one write, so that nobody waits for anybody. The one after which the log
 * has more than EVENTS_MAX_BYTES makes it log.old, whose lines are gone then. What can't be written
 * is lost: no sandbox is held up for it.
 *
 *   {"time_ms": since 1970, "type": "start" | "end" | "exec-start" | "exec-end", "sandbox": NAME,
 *    "command": ..., "pid": in the sandbox, "tag": ..., "cause": ..., "words": ..., "status": ...,
 *    "wall_ms": ...}                                          with what is known, the rest is
 * absent
 */
#pragma once

#include "lib/base/buf.h"
#include "sandbox/error.h"

#define EVENTS_FOLDER         "events"
#define EVENTS_MAX_BYTES      (1u << 20)
#define EVENTS_LINE_MAX_BYTES 16384

struct event {
    const char *type, *sandbox;
    const char *command, *tag, *cause, *words; /* any bytes; NULL or "": none */
    int pid;                                   /* 0: it is about the sandbox */
    int status;                                /* as glovebox run's; -1: none */
    int64_t wall_ns;                           /* -1: none */
};

/* runtime: the user's runtime folder. */
void events_note(int runtime, const struct event *e);

/* ---- reading ---- */

struct events_reader {
    int folder, watch; /* watch: inotify's, to be polled for more; -1 */
    int log, old;      /* -1 */
    struct buf log_line, old_line;
    struct buf *given;     /* the line of it was told; NULL */
    int64_t look_until_ns; /* for starters that were killed */
};

#define EVENTS_CLOSED ((struct events_reader){.folder = -1, .watch = -1, .log = -1, .old = -1})

/* From the first line that is there. 0 or negative errno with the sentence. */
int events_open(struct events_reader *r, struct sandbox_error *e);
/* Of the runtime folder that is at path. */
int events_open_in(struct events_reader *r, int runtime, const char *path, struct sandbox_error *e);
void events_close(struct events_reader *r);

/*
 * The next line, without its end: 0 and *ret, of *ret_size bytes and borrowed until the next call;
 * -EAGAIN: there is none yet; or negative errno. Lines of two sandboxes may change places.
 */
int events_next(struct events_reader *r, const char **ret, size_t *ret_size);

/* When the watch is readable, and after events_wait_ms() (-1: no matter) without that. */
void events_look(struct events_reader *r);
int events_wait_ms(const struct events_reader *r);
