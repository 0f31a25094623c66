// SPDX-License-Identifier: Apache-2.0
#include "sandbox/relay.h"

int relay_init(struct relay *r, int source, int sink, relay_take_fn take, void *userdata)
{
    *r = (struct relay){.source = source, .sink = OUTLET_CLOSED, .userdata = userdata};
    r->data = malloc(RELAY_BUFFER_BYTES);
    if (!r->data)
        return -ENOMEM;
    if (sink >= 0)
        outlet_open(&r->sink, sink);
    else
        r->take = take;
    return 0;
}

int relay_init_own(struct relay *r, int source, int sink)
{
    int error = relay_init(r, source, -1, NULL, NULL);
    if (error == 0)
        r->sink = (struct outlet){.fd = sink, .max_bytes = SIZE_MAX};
    return error;
}

void relay_done(struct relay *r)
{
    outlet_close(&r->sink);
    free(r->data);
    *r = (struct relay){.source = -1, .sink = OUTLET_CLOSED, .done = true};
}

short relay_source_events(const struct relay *r)
{
    return !r->done && r->start == r->end ? POLLIN : 0;
}

short relay_sink_events(const struct relay *r)
{
    return !r->done && r->start < r->end ? POLLOUT : 0;
}

static void relay_finish(struct relay *r, int error)
{
    r->done = true;
    r->error = error;
    r->start = r->end = 0;
}

static void relay_drain(struct relay *r, bool polled)
{
    while (!r->done && r->start < r->end) {
        ssize_t n = outlet_write(&r->sink, r->data + r->start, r->end - r->start, polled);
        if (n == -EAGAIN)
            return;
        if (n < 0)
            relay_finish(r, (int)n);
        else
            r->start += (size_t)n;
        polled = false;
    }
}

static void relay_fill(struct relay *r)
{
    ssize_t n = read(r->source, r->data, RELAY_BUFFER_BYTES);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    /* ECONNRESET, EIO: the other side is gone without reading all; a directory can't be read. */
    if (n <= 0) {
        relay_finish(r, 0);
        return;
    }
    r->total_bytes += (uint64_t)n;
    if (r->take) {
        r->take(r->userdata, r->data, (size_t)n);
        return;
    }
    r->start = 0;
    r->end = (size_t)n;
    relay_drain(r, false);
}

void relay_step(struct relay *r, short source_revents, short sink_revents)
{
    if (sink_revents)
        relay_drain(r, true);
    if (source_revents && relay_source_events(r))
        relay_fill(r);
}
