// SPDX-License-Identifier: Apache-2.0
/*
 * What programs of a sandbox wrote that nobody follows.
 */
#include "library/library.h"
#include "sandbox/logs_ask.h"

#include <fcntl.h>

/* Heads and tags of pieces of one byte included. */
#define KEPT_MAX_BYTES (64u << 20)

struct glovebox_logs {
    struct buf kept; /* what there was when it was opened, as records */
    size_t at;
    int socket; /* what follows; -1: nothing does */
    struct exec_message message;
    char tag[JOURNAL_TAG_MAX + 1];
};

/* A logs_see_fn. */
static int keep(void *userdata, const struct journal_piece *piece)
{
    struct buf *kept = userdata;
    buf_append(kept, &piece->head, sizeof(piece->head));
    buf_append(kept, piece->tag, piece->head.tag_size);
    return buf_append(kept, piece->data, piece->head.size);
}

static int open_logs(const char *name, int flags, struct glovebox_logs *l, struct sandbox_error *e)
{
    uint64_t next;
    l->socket = -1;
    l->kept = BUF_INIT(KEPT_MAX_BYTES);
    int r = logs_read(name, keep, &l->kept, &next, e);
    if (r < 0 || !(flags & GLOVEBOX_FOLLOW) || next == UINT64_MAX)
        return r;
    l->socket = logs_follow(name, next, e);
    if (l->socket == -ENOENT) /* it has ended meanwhile */
        l->socket = -1;
    else if (l->socket < 0)
        return l->socket;
    else if (fcntl(l->socket, F_SETFL, O_NONBLOCK) < 0)
        return sandbox_error_set(e, -errno, "%s: %s; try again", name, strerror(errno));
    return 0;
}

_public_ int glovebox_logs_open(const char *name, int flags, struct glovebox_logs **ret,
                                struct glovebox_error *e)
{
    struct sandbox_error s;
    struct glovebox_logs *l = calloc(1, sizeof(*l));
    int r = l ? open_logs(name, flags, l, &s)
              : sandbox_error_set(&s, -ENOMEM, "%s: out of memory; free some and try again", name);
    if (r < 0) {
        glovebox_logs_free(l);
        return library_fail(e, r, &s);
    }
    *ret = l;
    return 0;
}

_public_ void glovebox_logs_free(struct glovebox_logs *l)
{
    if (!l)
        return;
    if (l->socket >= 0)
        close(l->socket);
    buf_done(&l->kept);
    free(l);
}

_public_ int glovebox_logs_fd(const struct glovebox_logs *l)
{
    return l->socket;
}

static void tell(struct glovebox_logs *l, const struct journal_piece *piece,
                 struct glovebox_logged *ret)
{
    memcpy(l->tag, piece->tag, piece->head.tag_size);
    l->tag[piece->head.tag_size] = '\0';
    *ret = (struct glovebox_logged){.time_ms = piece->head.time_ns / NSEC_PER_MSEC,
                                    .pid = piece->head.pid,
                                    .stream = piece->head.stream == EXEC_ERR ? 2 : 1,
                                    .offset = piece->head.offset,
                                    .tag = l->tag,
                                    .data = piece->data,
                                    .size = piece->head.size};
}

_public_ int glovebox_logs_next(struct glovebox_logs *l, int timeout_ms,
                                struct glovebox_logged *ret, struct glovebox_error *e)
{
    int64_t deadline_ms = library_deadline(timeout_ms);
    struct journal_piece piece;
    uint64_t next;
    size_t used =
        l->at < l->kept.size ? journal_read(l->kept.data + l->at, l->kept.size - l->at, &piece) : 0;
    l->at += used;
    int r = used > 0 ? 0 : l->socket < 0 ? -EPIPE : -EAGAIN;
    while (r == -EAGAIN) {
        r = logs_take(l->socket, &l->message, &piece, &next);
        if (r == -EAGAIN && library_wait(l->socket, deadline_ms) < 0)
            return library_fail_with(e, r, "logs: nothing was written; ask again");
    }
    if (r == -EPIPE)
        return library_fail_with(e, r, "logs: that was all; open them again for what comes");
    if (r < 0)
        return library_fail_with(e, r, "logs: %s; try again", strerror(-r));
    tell(l, &piece, ret);
    return 0;
}
