// SPDX-License-Identifier: Apache-2.0
/*
 * The life of a sandbox that runs: until when, and how it ended.
 */
#include "lib/text/shown.h"
#include "library/library.h"
#include "sandbox/exec_ask.h"

#include <fcntl.h>
#include <stdio.h>

struct glovebox_watch {
    int socket; /* non-blocking */
    bool is_over;
    struct glovebox_end end;
    struct exec_message message;
    char name[GLOVEBOX_NAME_SIZE];
};

/* One question on a connection of its own. */
static int ask(const char *name, const struct exec_packet *p, const char *text,
               struct glovebox_error *e)
{
    struct sandbox_error s;
    _cleanup_close_ int fd = exec_connect(name, &s);
    int r = fd < 0 ? fd : exec_ask_wait(fd, p, text, &s);
    return r < 0 ? library_fail(e, r, &s) : 0;
}

static int ask_end(const char *name, bool at_once, struct glovebox_error *e)
{
    const char *who = program_invocation_short_name;
    const struct exec_packet p = {.version = EXEC_VERSION,
                                  .type = EXEC_END,
                                  .status = at_once,
                                  .text_size = (uint32_t)strlen(who)};
    return ask(name, &p, who, e);
}

_public_ int glovebox_stop(const char *name, struct glovebox_error *e)
{
    return ask_end(name, false, e);
}

_public_ int glovebox_kill(const char *name, struct glovebox_error *e)
{
    return ask_end(name, true, e);
}

_public_ int glovebox_set_lifetime(const char *name, int64_t lifetime_ms, struct glovebox_error *e)
{
    const struct exec_packet p = {.version = EXEC_VERSION,
                                  .type = EXEC_LIFETIME,
                                  .value =
                                      MIN(lifetime_ms, INT64_MAX / NSEC_PER_MSEC) * NSEC_PER_MSEC};
    if (lifetime_ms < 0)
        return library_fail_with(e, -EINVAL, "%s: a lifetime is not negative; 0 is none", name);
    return ask(name, &p, NULL, e);
}

_public_ int glovebox_watch(const char *name, struct glovebox_watch **ret, struct glovebox_error *e)
{
    const struct exec_packet p = {.version = EXEC_VERSION, .type = EXEC_WATCH};
    struct sandbox_error s;
    _cleanup_close_ int fd = exec_connect(name, &s);
    int r = fd < 0 ? fd : exec_ask_wait(fd, &p, NULL, &s);
    if (r == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
        r = sandbox_error_set(&s, -errno, "%s: %s", name, strerror(errno));
    struct glovebox_watch *w = r < 0 ? NULL : calloc(1, sizeof(*w));
    if (r == 0 && !w)
        r = sandbox_error_set(&s, -ENOMEM, "%s: out of memory; free some and try again", name);
    if (r < 0)
        return library_fail(e, r, &s);
    w->socket = TAKE_FD(fd);
    snprintf(w->name, sizeof(w->name), "%s", name);
    *ret = w;
    return 0;
}

_public_ void glovebox_watch_free(struct glovebox_watch *w)
{
    if (!w)
        return;
    close(w->socket);
    free(w);
}

_public_ int glovebox_watch_fd(const struct glovebox_watch *w)
{
    return w->socket;
}

/* An EXEC_OVER. */
static void note_end(struct glovebox_watch *w)
{
    const struct exec_message *m = &w->message;
    size_t size = strnlen(m->text, m->packet.text_size);
    text_line(m->text, size, w->end.cause, sizeof(w->end.cause));
    size = MIN(size + 1, (size_t)m->packet.text_size);
    text_line(m->text + size, m->packet.text_size - size, w->end.words, sizeof(w->end.words));
    w->end.status = m->packet.status & 0xff;
    w->is_over = true;
}

_public_ int glovebox_watch_wait(struct glovebox_watch *w, int timeout_ms, struct glovebox_end *ret,
                                 struct glovebox_error *e)
{
    int64_t deadline_ms = library_deadline(timeout_ms);
    while (!w->is_over) {
        ssize_t n = exec_receive(w->socket, &w->message);
        int r = n == -EAGAIN ? library_wait(w->socket, deadline_ms) : 0;
        if (r < 0)
            return library_fail_with(e, r, "%s: it has not ended; ask again", w->name);
        if (n == 0 || (n < 0 && n != -EAGAIN))
            return library_fail_with(e, n < 0 ? (int)n : -EPIPE,
                                     "%s: its starter has ended without a word: it was killed; the "
                                     "sandbox ended with it",
                                     w->name);
        if (n > 0 && w->message.packet.type == EXEC_OVER)
            note_end(w);
    }
    *ret = w->end;
    return 0;
}

_public_ int glovebox_wait(const char *name, int timeout_ms, struct glovebox_end *ret,
                           struct glovebox_error *e)
{
    struct glovebox_watch *w;
    int r = glovebox_watch(name, &w, e);
    if (r < 0)
        return r;
    r = glovebox_watch_wait(w, timeout_ms, ret, e);
    glovebox_watch_free(w);
    return r;
}
