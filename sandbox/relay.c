// SPDX-License-Identifier: Apache-2.0
#include "sandbox/relay.h"

/* So that what becomes of one piece fits into the buffer. */
#define SHOWN_PIECE_BYTES (4 * 1024)
/* What becomes of one piece when it is all secrets, and what was kept back before it. */
#define SCRUBBED_MAX_BYTES (16 * 1024 * 1024)
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
    if (style)
        text_shown_init(&r->shown, style);
}

void relay_let_see(struct relay *r, relay_take_fn see, void *userdata)
{
    r->see = see;
    r->see_userdata = userdata;
}

void relay_scrub(struct relay *r, struct scrubber *s)
{
    if (!s)
        return;
    r->scrubber = s;
    r->scrubbed = BUF_INIT(SCRUBBED_MAX_BYTES);
    scrub_stream_begin(&r->scrub, s, r->take == NULL);
}

void relay_done(struct relay *r)
{
    outlet_close(&r->sink);
    free(r->data);
    buf_done(&r->scrubbed);
    scrub_stream_done(&r->scrub);
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

/* A piece of what comes next, for people. */
static void relay_show_piece(struct relay *r, const char *piece, size_t size)
{
    r->start = 0;
    r->end = text_shown_feed(&r->shown, piece, size, r->data);
}

/* Puts into data, which is empty, what is to be written next. False: there is nothing. */
static bool relay_refill(struct relay *r)
{
    if (r->scrubbed.size > 0) {
        size_t size = MIN(r->scrubbed.size, (size_t)SHOWN_PIECE_BYTES);
        if (r->shown.style) {
            relay_show_piece(r, r->scrubbed.data, size);
        } else {
            memcpy(r->data, r->scrubbed.data, size);
            r->start = 0;
            r->end = size;
        }
        buf_consume(&r->scrubbed, size);
        return true;
    }
    if (!r->is_source_over || !r->shown.style || r->is_shown_over)
        return false;
    r->is_shown_over = true;
    r->start = 0;
    r->end = text_shown_end(&r->shown, r->data);
    return true;
}

static void relay_drain(struct relay *r, bool polled)
{
    do {
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
    } while (!r->done && relay_refill(r));
    if (r->is_source_over && !r->done)
        relay_finish(r, 0);
}

static void let_see(struct relay *r, const char *data, size_t size)
{
    if (r->see && size > 0)
        r->see(r->see_userdata, data, size);
}

/* What was scrubbed goes on. error: of the scrubbing; nothing may go on unsearched. */
static void relay_pass_on(struct relay *r, int error)
{
    if (error < 0) {
        relay_finish(r, error);
        return;
    }
    let_see(r, r->scrubbed.data, r->scrubbed.size);
    if (r->take && r->scrubbed.size > 0) {
        r->take(r->userdata, r->scrubbed.data, r->scrubbed.size);
        buf_reset(&r->scrubbed);
    }
    relay_drain(r, false);
}

static void relay_end_source(struct relay *r)
{
    r->is_source_over = true;
    r->start = r->end = 0;
    relay_pass_on(r, r->scrubber ? scrub_stream_end(&r->scrub, &r->scrubbed) : 0);
}

static bool is_searched(const struct relay *r)
{
    return !scrubber_is_idle(r->scrubber);
}

static void relay_take_piece(struct relay *r, const char *piece, size_t size)
{
    if (is_searched(r))
        relay_pass_on(r, scrub_stream_take(&r->scrub, piece, size, &r->scrubbed));
    else {
        let_see(r, piece, size);
        relay_show_piece(r, piece, size);
    }
}

/* Pieces are small where more may become of them, else a buffer is read at once. */
static ssize_t relay_read(struct relay *r)
{
    char piece[SHOWN_PIECE_BYTES];
    bool is_changed = r->shown.style || is_searched(r);
    ssize_t n = is_changed ? read(r->source, piece, sizeof(piece))
                           : read(r->source, r->data, RELAY_BUFFER_BYTES);
    r->start = 0;
    r->end = n > 0 && !is_changed ? (size_t)n : 0;
    if (is_changed && n > 0)
        relay_take_piece(r, piece, (size_t)n);
    return n;
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
    if (is_searched(r))
        return;
    if (!r->shown.style)
        let_see(r, r->data, (size_t)n);
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
