// SPDX-License-Identifier: Apache-2.0
#include "sandbox/relay.h"

/* So that what becomes of one piece fits into the buffer. */
#define SHOWN_PIECE_BYTES (4 * 1024)
_Static_assert(TEXT_SHOWN_MAX_BYTES(SHOWN_PIECE_BYTES) <= RELAY_BUFFER_BYTES, "a piece fits");

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

void relay_show(struct relay *r, const struct text_style *style)
{
    text_shown_init(&r->shown, style);
}

void relay_done(struct relay *r)
{
    outlet_close(&r->sink);
    free(r->data);
    *r = (struct relay){.source = -1, .sink = OUTLET_CLOSED, .done = true};
}

short relay_source_events(const struct relay *r)
{
    return !r->done && !r->is_source_over && r->start == r->end ? POLLIN : 0;
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
    if (r->is_source_over && !r->done)
        relay_finish(r, 0);
}

/* As read(2), into data; what is shown may be nothing yet. */
static ssize_t relay_read(struct relay *r)
{
    char piece[SHOWN_PIECE_BYTES];
    bool is_shown = r->shown.style != NULL;
    ssize_t n = is_shown ? read(r->source, piece, sizeof(piece))
                         : read(r->source, r->data, RELAY_BUFFER_BYTES);
    r->start = 0;
    r->end = n > 0 ? (size_t)n : 0;
    if (is_shown && n > 0)
        r->end = text_shown_feed(&r->shown, piece, (size_t)n, r->data);
    return n;
}

static void relay_end_source(struct relay *r)
{
    r->is_source_over = true;
    if (r->shown.style)
        r->end = text_shown_end(&r->shown, r->data);
    relay_drain(r, false);
}

static void relay_fill(struct relay *r)
{
    ssize_t n = relay_read(r);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    /* ECONNRESET, EIO: the other side is gone without reading all; a directory can't be read. */
    if (n <= 0) {
        relay_end_source(r);
        return;
    }
    r->total_bytes += (uint64_t)n;
    if (r->take) {
        r->end = 0;
        r->take(r->userdata, r->data, (size_t)n);
        return;
    }
    relay_drain(r, false);
}

void relay_step(struct relay *r, short source_revents, short sink_revents)
{
    if (sink_revents)
        relay_drain(r, true);
    if (source_revents && relay_source_events(r))
        relay_fill(r);
}
