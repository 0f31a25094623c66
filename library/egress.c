// SPDX-License-Identifier: Apache-2.0
/*
 * The network policy of a running sandbox, and the record of what it was let do.
 */
#include "lib/base/buf.h"
#include "library/library.h"
#include "sandbox/decisions.h"
#include "sandbox/updates.h"

#include <poll.h>

/* The end of a sandbox whose starter was killed is told by no change of a file for sure. */
#define LOOK_MS 500

/* ---- the policy ---- */

static bool is_zero(const uint64_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (words[i])
            return false;
    return true;
}

_public_ int glovebox_policy_set(const char *name, const struct glovebox_policy *p,
                                 uint64_t *ret_generation, struct glovebox_error *e)
{
    struct sandbox_error s;
    const struct update update = {
        .json = p->json, .size = p->size, .phase = p->phase, .generation = p->generation};
    if (!is_zero(p->reserved, sizeof(p->reserved) / sizeof(p->reserved[0])))
        return library_fail_with(e, -EINVAL,
                                 "policy: %s: what is reserved is not 0; set it to 0, or use the "
                                 "version of the library that knows it",
                                 name);
    if (!p->json && (!p->phase || !p->phase[0]))
        return library_fail_with(
            e, -EINVAL, "policy: %s: there is neither a document nor a phase; give one", name);
    int r = updates_set_policy(name, &update, ret_generation, &s);
    if (r == -EINVAL || r == -EOPNOTSUPP || r == -ESTALE || r == -E2BIG)
        sandbox_error_prefix(&s, r, "policy: %s", name);
    return r < 0 ? library_fail(e, r, &s) : 0;
}

/* ---- the record ---- */

struct glovebox_egress {
    struct decisions_reader reader;
    int watch;       /* -1: nothing is followed */
    struct buf line; /* its end has not come, unless it was told */
    bool is_told;
    char piece[16384];
    size_t at, size; /* of piece */
};

static int open_record(const char *name, int flags, struct glovebox_egress *x,
                       struct sandbox_error *e)
{
    x->watch = -1;
    x->line = BUF_INIT(DECISIONS_LINE_MAX_BYTES + 1);
    x->reader = DECISIONS_READER_CLOSED;
    int r = decisions_reader_open(&x->reader, name, e);
    if (r < 0 || !(flags & GLOVEBOX_FOLLOW))
        return r;
    x->watch = decisions_reader_watch(&x->reader, e);
    return MIN(x->watch, 0);
}

_public_ int glovebox_egress_open(const char *name, int flags, struct glovebox_egress **ret,
                                  struct glovebox_error *e)
{
    struct sandbox_error s;
    struct glovebox_egress *x = calloc(1, sizeof(*x));
    int r = x ? open_record(name, flags, x, &s)
              : sandbox_error_set(&s, -ENOMEM, "egress: out of memory; free some and try again");
    if (r < 0) {
        glovebox_egress_free(x);
        return library_fail(e, r, &s);
    }
    *ret = x;
    return 0;
}

_public_ void glovebox_egress_free(struct glovebox_egress *x)
{
    if (!x)
        return;
    if (x->watch >= 0)
        close(x->watch);
    decisions_reader_close(&x->reader);
    buf_done(&x->line);
    free(x);
}

_public_ int glovebox_egress_fd(const struct glovebox_egress *x)
{
    return x->watch;
}

_public_ const char *glovebox_egress_sandbox(const struct glovebox_egress *x)
{
    return decisions_reader_sandbox(&x->reader);
}

/* What was cut by a kill, or is too long to be a line of ours, is passed by. */
static bool is_line(const struct buf *line)
{
    return !line->failed && line->size >= 2 && line->data[0] == '{' &&
           line->data[line->size - 1] == '}' && !memchr(line->data, '\0', line->size);
}

/* Goes on in the piece that was read: 1: a line is whole; 0; -ENOMEM: it stays where it is, so that
 * no decision is left out. */
static int take_line(struct glovebox_egress *x)
{
    if (x->is_told)
        buf_reset(&x->line);
    x->is_told = false;
    while (x->at < x->size) {
        const char *start = x->piece + x->at, *end = memchr(start, '\n', x->size - x->at);
        size_t size = end ? (size_t)(end - start) : x->size - x->at;
        if (buf_append(&x->line, start, size) == -ENOMEM) {
            x->line.failed = false;
            return -ENOMEM;
        }
        x->at += size + (end ? 1 : 0);
        x->is_told = end && is_line(&x->line);
        if (x->is_told)
            return 1;
        if (end)
            buf_reset(&x->line);
    }
    return 0;
}

/* 0: a line is whole; -EAGAIN, -EPIPE: none is, or comes any more; or negative errno. */
static int read_line(struct glovebox_egress *x)
{
    /* Asked before: what is read after a no is all. */
    bool is_live = x->watch >= 0 && decisions_reader_is_live(&x->reader);
    int r;
    while ((r = take_line(x)) == 0) {
        ssize_t n = decisions_reader_read(&x->reader, x->piece, sizeof(x->piece));
        if (n <= 0)
            return n < 0 ? (int)n : is_live ? -EAGAIN : -EPIPE;
        x->at = 0;
        x->size = (size_t)n;
    }
    return MIN(r, 0);
}

/* Whether the deadline was reached. */
static bool wait_for_more(const struct glovebox_egress *x, int64_t deadline_ms)
{
    int left_ms = library_left(deadline_ms);
    struct pollfd p = {.fd = x->watch, .events = POLLIN};
    if (left_ms == 0)
        return true;
    poll(&p, 1, left_ms > 0 && left_ms < LOOK_MS ? left_ms : LOOK_MS);
    return false;
}

/* What it says is read from the record itself. */
static void forget_changes(const struct glovebox_egress *x)
{
    char events[4096];
    while (x->watch >= 0 && read(x->watch, events, sizeof(events)) > 0)
        ;
}

_public_ int glovebox_egress_next(struct glovebox_egress *x, int timeout_ms, const char **ret_json,
                                  struct glovebox_error *e)
{
    int64_t deadline_ms = library_deadline(timeout_ms);
    for (;;) {
        forget_changes(x);
        int r = read_line(x);
        if (r == 0) {
            *ret_json = x->line.data;
            return 0;
        }
        if (r == -EPIPE)
            return library_fail_with(e, r, "egress: that was all; open it again for what comes");
        if (r != -EAGAIN)
            return library_fail_with(e, r, "egress: %s; try again", strerror(-r));
        if (wait_for_more(x, deadline_ms))
            return library_fail_with(e, r, "egress: nothing was decided; ask again");
    }
}
