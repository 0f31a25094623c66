// SPDX-License-Identifier: Apache-2.0
/*
 * The life of a sandbox that runs: until when, and how it ended.
 */
#include "library/library.h"
#include "sandbox/end_watch.h"
#include "sandbox/exec_ask.h"

#include <fcntl.h>
#include <stdio.h>

struct glovebox_watch {
    struct end_watch watch; /* non-blocking */
    bool is_over;
    struct glovebox_end end;
    struct exec_message message;
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
    const struct exec_packet p = {
        .version = EXEC_VERSION,
        .type = EXEC_LIFETIME,
        .value = MIN(MAX(lifetime_ms, (int64_t)0), INT64_MAX / NSEC_PER_MSEC) * NSEC_PER_MSEC};
    if (lifetime_ms < 0)
        return library_fail_with(e, -EINVAL, "%s: a lifetime is not negative; 0 is none", name);
    return ask(name, &p, NULL, e);
}

_public_ int glovebox_watch(const char *name, struct glovebox_watch **ret, struct glovebox_error *e)
{
    struct sandbox_error s;
    struct glovebox_watch *w = calloc(1, sizeof(*w));
    int r = w ? end_watch_open(name, &w->watch, &s)
              : sandbox_error_set(&s, -ENOMEM, "%s: out of memory; free some and try again", name);
    if (r == 0 && fcntl(w->watch.socket, F_SETFL, O_NONBLOCK) < 0) {
        r = sandbox_error_set(&s, -errno, "%s: %s; try again", name, strerror(errno));
        end_watch_close(&w->watch);
    }
    if (r < 0) {
        free(w);
        return library_fail(e, r, &s);
    }
    *ret = w;
    return 0;
}

_public_ void glovebox_watch_free(struct glovebox_watch *w)
{
    if (!w)
        return;
    end_watch_close(&w->watch);
    free(w);
}

_public_ int glovebox_watch_fd(const struct glovebox_watch *w)
{
    return w->watch.socket;
}

static void set_end(const struct record_end *from, struct glovebox_end *ret)
{
    *ret = (struct glovebox_end){.status = from->exit_status};
    snprintf(ret->cause, sizeof(ret->cause), "%s", from->cause);
    snprintf(ret->words, sizeof(ret->words), "%s", from->words);
}

_public_ int glovebox_watch_wait(struct glovebox_watch *w, int timeout_ms, struct glovebox_end *ret,
                                 struct glovebox_error *e)
{
    int64_t deadline_ms = library_deadline(timeout_ms);
    struct record_end end;
    struct sandbox_error s;
    while (!w->is_over) {
        int r = end_watch_take(&w->watch, &w->message, &end, &s);
        if (r == 0) {
            set_end(&end, &w->end);
            w->is_over = true;
            break;
        }
        if (r == -EAGAIN) {
            r = library_wait(w->watch.socket, deadline_ms);
            if (r == 0)
                continue;
            sandbox_error_set(&s, r, "%s: it has not ended; ask again", w->watch.name);
        }
        return library_fail(e, r, &s);
    }
    *ret = w->end;
    return 0;
}

_public_ int glovebox_wait(const char *name, int timeout_ms, struct glovebox_end *ret,
                           struct glovebox_error *e)
{
    struct glovebox_watch *w;
    struct record_end end;
    struct sandbox_error s;
    struct glovebox_error watching;
    int r = glovebox_watch(name, &w, &watching);
    if (r == -ENOENT) {
        r = end_find(name, 0, &end, &s);
        if (r < 0)
            return library_fail(e, r, &s);
        set_end(&end, ret);
        return 0;
    }
    if (r < 0) {
        if (e)
            *e = watching;
        return r;
    }
    r = glovebox_watch_wait(w, timeout_ms, ret, e);
    glovebox_watch_free(w);
    return r;
}
