// SPDX-License-Identifier: Apache-2.0
#include "sandbox/end_watch.h"

#include "lib/text/shown.h"
#include "sandbox/ended.h"
#include "sandbox/registry.h"

#include <stdio.h>
#include <time.h>

#define FIND_TRIES 100

static int find_creation(const char *name, int64_t *ret_ns, struct sandbox_error *e)
{
    struct registry registry;
    _cleanup_free_ char *text = NULL;
    _cleanup_free_ struct record *record = malloc(sizeof(*record));
    int r = registry_open(&registry, e);
    if (r < 0)
        return r;
    /* exec_connect() has the words for one that is not there. */
    if (record && registry_read(&registry, name, &text) == 0) {
        record_parse(text, record);
        *ret_ns = record->created_ns;
    }
    registry_close(&registry);
    return 0;
}

/*
 * Its starter has closed the connection. A process that dies closes its sockets a moment before it
 * lets go of its record, or after.
 */
static int find_soon(const char *name, int64_t created_ns, struct record_end *ret,
                     struct sandbox_error *e)
{
    const struct timespec step = {.tv_nsec = NSEC_PER_MSEC};
    int r = created_ns ? end_find(name, created_ns, ret, e) : -ENOENT;
    for (int i = 0; i < FIND_TRIES && r == -ENOENT && created_ns; i++) {
        nanosleep(&step, NULL);
        r = end_find(name, created_ns, ret, e);
    }
    return r;
}

int end_watch_open(const char *name, struct end_watch *ret, struct sandbox_error *e)
{
    const struct exec_packet p = {.version = EXEC_VERSION, .type = EXEC_WATCH};
    struct end_watch w = END_WATCH_CLOSED;
    int r = find_creation(name, &w.created_ns, e);
    if (r == 0)
        r = w.socket = exec_connect(name, e);
    if (r >= 0)
        r = exec_ask_wait(w.socket, &p, NULL, e);
    if (r < 0) {
        struct record_end end;
        struct sandbox_error ignored;
        /* It was about to end, and took no more questions. */
        bool has_ended = w.socket >= 0 && find_soon(name, w.created_ns, &end, &ignored) == 0;
        base_closep(&w.socket);
        return has_ended ? sandbox_error_set(e, -ENOENT, "%s: it has just ended", name) : r;
    }
    snprintf(w.name, sizeof(w.name), "%s", name);
    *ret = w;
    return 0;
}

void end_watch_close(struct end_watch *w)
{
    base_closep(&w->socket);
    *w = END_WATCH_CLOSED;
}

/* An EXEC_OVER. */
static void take_over(const struct exec_message *m, struct record_end *ret)
{
    size_t size = strnlen(m->text, m->packet.text_size);
    struct record_end end = {.exit_status = m->packet.status & 0xff, .exit_code = -1};
    text_line(m->text, size, end.cause, sizeof(end.cause));
    size = MIN(size + 1, (size_t)m->packet.text_size);
    text_line(m->text + size, m->packet.text_size - size, end.words, sizeof(end.words));
    *ret = end;
}

int end_watch_take(struct end_watch *w, struct exec_message *m, struct record_end *ret,
                   struct sandbox_error *e)
{
    ssize_t n;
    do
        n = exec_receive(w->socket, m);
    while (n > 0 && m->packet.type != EXEC_OVER);
    if (n > 0) {
        take_over(m, ret);
        return 0;
    }
    if (n < 0)
        return n == -EAGAIN ? -EAGAIN
                            : sandbox_error_set(e, (int)n, "%s: %s; is it of this version?",
                                                w->name, strerror((int)-n));
    int r = find_soon(w->name, w->created_ns, ret, e);
    return r == -ENOENT ? sandbox_error_set(e, -EPIPE,
                                            "%s: its starter was killed, and the sandbox with it; "
                                            "nothing was kept of it",
                                            w->name)
                        : r;
}

int end_find(const char *name, int64_t created_ns, struct record_end *ret, struct sandbox_error *e)
{
    struct registry registry;
    char *text = NULL;
    _cleanup_free_ struct record *record = malloc(sizeof(*record));
    int r = registry_open(&registry, e);
    if (r < 0)
        return r;
    /* A stale record becomes one of those that are kept. */
    registry_read(&registry, name, &text);
    free(text);
    r = record ? ended_read(registry.folder, name, created_ns, record) : -ENOMEM;
    if (r == 0)
        *ret = record->end;
    else if (r != -ENOENT)
        sandbox_error_set(e, r, "%s/ended: %s; make it readable", registry.path, strerror(-r));
    registry_close(&registry);
    return r == -ENOENT ? sandbox_error_set(e, r,
                                            "%.*s: nothing is known of a sandbox of this name; "
                                            "glovebox ps -a lists those that are known",
                                            REGISTRY_NAME_MAX_BYTES, name)
                        : r;
}
