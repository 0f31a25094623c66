// SPDX-License-Identifier: Apache-2.0
/*
 * What happens to sandboxes.
 */
#include "library/library.h"
#include "sandbox/events.h"

#include <poll.h>

struct glovebox_events {
    struct events_reader reader;
};

_public_ int glovebox_events_open(struct glovebox_events **ret, struct glovebox_error *e)
{
    struct sandbox_error s;
    struct glovebox_events *v = calloc(1, sizeof(*v));
    int r = v ? events_open(&v->reader, &s)
              : sandbox_error_set(&s, -ENOMEM, "events: out of memory; free some and try again");
    if (r < 0) {
        free(v);
        return library_fail(e, r, &s);
    }
    *ret = v;
    return 0;
}

_public_ void glovebox_events_free(struct glovebox_events *v)
{
    if (!v)
        return;
    events_close(&v->reader);
    free(v);
}

_public_ int glovebox_events_fd(const struct glovebox_events *v)
{
    return v->reader.watch;
}

/* Whether the deadline was reached. */
static bool wait_for_more(struct glovebox_events *v, int64_t deadline_ms)
{
    int left_ms = library_left(deadline_ms), look_ms = events_wait_ms(&v->reader);
    struct pollfd p = {.fd = v->reader.watch, .events = POLLIN};
    if (left_ms == 0)
        return true;
    poll(&p, 1, look_ms < 0 || (left_ms >= 0 && left_ms < look_ms) ? left_ms : look_ms);
    return false;
}

_public_ int glovebox_events_next(struct glovebox_events *v, int timeout_ms, const char **ret_json,
                                  struct glovebox_error *e)
{
    int64_t deadline_ms = library_deadline(timeout_ms);
    const char *line;
    size_t size;
    for (;;) {
        events_look(&v->reader);
        int r = events_next(&v->reader, &line, &size);
        if (r == 0) {
            *ret_json = line;
            return 0;
        }
        if (r != -EAGAIN)
            return library_fail_with(e, r, "events: %s; free memory and try again", strerror(-r));
        if (wait_for_more(v, deadline_ms))
            return library_fail_with(e, -EAGAIN, "events: nothing has happened; ask again");
    }
}
