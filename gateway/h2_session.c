// SPDX-License-Identifier: Apache-2.0
/*
 * nghttp2, a server towards the program and a client towards the server: what it is told, and what
 * it calls. Its own checks of messages stay on (RFC 9113, 8): what is malformed resets a stream.
 *
 * Against floods, which cost who sends them nothing: frames that bring nothing on and streams that
 * are reset as soon as they are opened (CVE-2023-44487), or have to be for what is wrong with them
 * (CVE-2025-8671), are counted; CONTINUATION has nghttp2's limit (CVE-2024-28182), answers to PING
 * and SETTINGS that nobody reads have one too, and nothing is read while what is said to that side
 * waits.
 */
#include "gateway/h2_parts.h"

#include <malloc.h>

#define ACKS_MAX 100

/* ---- memory: frames held secrets ---- */

static void wiping_free(void *p, void *context)
{
    if (p)
        explicit_bzero(p, malloc_usable_size(p));
    free(p);
}

static void *plain_malloc(size_t size, void *context)
{
    return malloc(size);
}

static void *plain_calloc(size_t count, size_t size, void *context)
{
    return calloc(count, size);
}

static void *wiping_realloc(void *p, size_t size, void *context)
{
    size_t had = p ? malloc_usable_size(p) : 0;
    void *more = malloc(size);
    if (more && p)
        memcpy(more, p, MIN(had, size));
    if (more)
        wiping_free(p, context);
    return more;
}

/* ---- what is too much ---- */

void h2_session_refuse(struct h2_side *side, uint32_t code)
{
    side->is_ending = true;
    nghttp2_session_terminate_session(side->session, code);
}

static void refuse_flood(struct h2_side *side)
{
    if (side->is_ending)
        return;
    h2_note(side->h2, "limit:http2_flood");
    h2_session_refuse(side, NGHTTP2_ENHANCE_YOUR_CALM);
}

/* A stream that the program has opened, and ended before its time. */
static void count_reset(struct h2_side *side)
{
    if (!rate_take(&side->resets, H2_RESETS_MAX))
        refuse_flood(side);
}

/* Whether the frame brings nothing on by itself. */
static bool is_idle(struct h2_side *side, const nghttp2_frame_hd *hd)
{
    switch (hd->type) {
    case NGHTTP2_DATA:
        return hd->length == 0 && !(hd->flags & NGHTTP2_FLAG_END_STREAM);
    case NGHTTP2_HEADERS:
    case NGHTTP2_CONTINUATION:
        return false;
    case NGHTTP2_WINDOW_UPDATE:
        if (side->updates_left == 0)
            return true;
        side->updates_left--;
        return false;
    default:
        return true;
    }
}

static int on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *hd, void *context)
{
    struct h2_side *side = context;
    /* A head that was refused has no end of its own. */
    if (hd->type != NGHTTP2_CONTINUATION)
        side->head_since_ns = 0;
    if (is_idle(side, hd) && !rate_take(&side->idle_frames, H2_IDLE_FRAMES_MAX))
        refuse_flood(side);
    return 0;
}

/* Frames of types that nobody here knows are for nobody (RFC 9113, 5.5); nghttp2 tells of their
 * ends alone. */
static int on_unknown_frame(nghttp2_session *session, void **payload, const nghttp2_frame_hd *hd,
                            void *context)
{
    on_begin_frame(session, hd, context);
    return NGHTTP2_ERR_CANCEL;
}

/* ---- heads ---- */

static struct h2_stream *stream_of(nghttp2_session *session, int32_t id)
{
    return nghttp2_session_get_stream_user_data(session, id);
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    struct h2_side *side = context;
    int32_t id = frame->hd.stream_id;
    h2_head_begin(&side->head);
    side->head_since_ns = gateway_now_ns();
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    struct h2_stream *s = h2_stream_new(side->h2, id);
    if (s)
        nghttp2_session_set_stream_user_data(session, id, s);
    else
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM);
    return 0;
}

static nghttp2_vec vec_of(nghttp2_rcbuf *b)
{
    return nghttp2_rcbuf_get_buf(b);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, nghttp2_rcbuf *name,
                     nghttp2_rcbuf *value, uint8_t flags, void *context)
{
    struct h2_side *side = context;
    bool is_first = side->head.bytes == 0;
    h2_head_add(&side->head, vec_of(name), vec_of(value), flags & NGHTTP2_NV_FLAG_NO_INDEX);
    /* A few bytes of a server may be many heads, which would all wait for the guest. */
    side->is_paused =
        is_first && !side->is_guest && side->h2->guest.unsent_bytes >= H2_HEADS_UNREAD_BYTES;
    return side->is_paused ? NGHTTP2_ERR_PAUSE : 0;
}

/* Without this nghttp2 would drop such a field and go on. */
static int on_invalid_header(nghttp2_session *session, const nghttp2_frame *frame,
                             nghttp2_rcbuf *name, nghttp2_rcbuf *value, uint8_t flags,
                             void *context)
{
    struct h2_side *side = context;
    side->head_since_ns = 0;
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

/* Nothing comes of it but that its stream, or the connection, is ended. */
static int on_invalid_frame(nghttp2_session *session, const nghttp2_frame *frame, int error,
                            void *context)
{
    struct h2_side *side = context;
    side->head_since_ns = 0;
    return 0;
}

static void take_head(struct h2_side *side, struct h2_stream *s, bool ends)
{
    struct h2_head *head = &side->head;
    if (side->is_guest && !s->exchange)
        h2_stream_request(s, head, ends);
    else if (!s->exchange)
        return;
    else if (!side->is_guest && head->texts[H2_STATUS].size > 0)
        h2_stream_response(s, head, ends);
    else
        h2_stream_trailer(s, side, head);
}

/* ---- frames ---- */

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    struct h2_side *side = context;
    bool ends = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    struct h2_stream *s = frame->hd.stream_id ? stream_of(session, frame->hd.stream_id) : NULL;
    switch (frame->hd.type) {
    case NGHTTP2_HEADERS:
        side->head_since_ns = 0;
        if (s)
            take_head(side, s, ends);
        h2_head_done(&side->head);
        break;
    case NGHTTP2_DATA:
        if (s && ends)
            h2_half_of(s, side)->has_ended = true;
        break;
    case NGHTTP2_RST_STREAM:
        if (s)
            h2_half_of(s, side)->was_reset = true;
        if (side->is_guest)
            count_reset(side);
        break;
    default:
        break;
    }
    return 0;
}

static int on_content(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
                      size_t size, void *context)
{
    struct h2_side *side = context;
    struct h2_stream *s = stream_of(session, id);
    if (s)
        h2_stream_content(s, side, (const char *)data, size);
    else
        nghttp2_session_consume_connection(session, size);
    return 0;
}

/* By nghttp2, as the program has done on it what is not allowed. */
static bool is_reset_for_it(const struct h2_half *guest, uint32_t code)
{
    return code != NGHTTP2_NO_ERROR && !guest->is_reset && !guest->was_reset;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *context)
{
    struct h2_side *side = context;
    struct h2_stream *s = stream_of(session, id);
    if (!s)
        return 0;
    nghttp2_session_set_stream_user_data(session, id, NULL);
    if (side->is_guest && is_reset_for_it(&s->guest, code))
        count_reset(side);
    h2_stream_closed(s, side, code);
    return 0;
}

/* A response that nghttp2 can't write; of a request it ends the stream itself. */
static int on_not_sent(nghttp2_session *session, const nghttp2_frame *frame, int error,
                       void *context)
{
    const struct h2_side *side = context;
    if (side->is_guest && frame->hd.type == NGHTTP2_HEADERS)
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                  NGHTTP2_INTERNAL_ERROR);
    return 0;
}

/* ---- begin ---- */

static nghttp2_session_callbacks *new_callbacks(void)
{
    nghttp2_session_callbacks *c;
    if (nghttp2_session_callbacks_new(&c) != 0)
        return NULL;
    nghttp2_session_callbacks_set_on_begin_frame_callback(c, on_begin_frame);
    nghttp2_session_callbacks_set_unpack_extension_callback(c, on_unknown_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(c, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback2(c, on_header);
    nghttp2_session_callbacks_set_on_invalid_header_callback2(c, on_invalid_header);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(c, on_invalid_frame);
    nghttp2_session_callbacks_set_on_frame_recv_callback(c, on_frame);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(c, on_not_sent);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, on_content);
    nghttp2_session_callbacks_set_on_stream_close_callback(c, on_stream_close);
    return c;
}

static nghttp2_option *new_options(void)
{
    nghttp2_option *o;
    if (nghttp2_option_new(&o) != 0)
        return NULL;
    nghttp2_option_set_no_auto_window_update(o, 1);
    nghttp2_option_set_no_closed_streams(o, 1);
    nghttp2_option_set_max_outbound_ack(o, ACKS_MAX);
    nghttp2_option_set_max_continuations(o, H2_CONTINUATIONS_MAX);
    nghttp2_option_set_max_send_header_block_length(o, H2_HEAD_SENT_BYTES);
    nghttp2_option_set_max_deflate_dynamic_table_size(o, H2_TABLE_BYTES);
    nghttp2_option_set_peer_max_concurrent_streams(o, H2_STREAMS_MAX);
    for (int type = NGHTTP2_CONTINUATION + 1; type <= UINT8_MAX; type++)
        nghttp2_option_set_user_recv_extension_type(o, (uint8_t)type);
    return o;
}

static int create(struct h2_side *side, const nghttp2_session_callbacks *c, const nghttp2_option *o)
{
    nghttp2_mem memory = {NULL, plain_malloc, wiping_free, plain_calloc, wiping_realloc};
    return side->is_guest ? nghttp2_session_server_new3(&side->session, c, side, o, &memory)
                          : nghttp2_session_client_new3(&side->session, c, side, o, &memory);
}

static int say_settings(struct h2_side *side)
{
    const struct policy_limits *l = &gateway.document->limits;
    uint32_t head = (uint32_t)MIN(l->header_bytes, (uint64_t)UINT32_MAX);
    uint32_t window = side->is_guest ? H2_GUEST_WINDOW : H2_SERVER_WINDOW;
    const nghttp2_settings_entry entries[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, side->is_guest ? H2_STREAMS_MAX : 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window - 1},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, head},
        {NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, H2_TABLE_BYTES},
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0}, /* a client's alone */
    };
    size_t count = ARRAY_SIZE(entries) - (side->is_guest ? 1 : 0);
    int all = side->is_guest ? H2_GUEST_WINDOW_ALL : H2_SERVER_WINDOW_ALL;
    if (nghttp2_submit_settings(side->session, NGHTTP2_FLAG_NONE, entries, count) != 0 ||
        nghttp2_session_set_local_window_size(side->session, NGHTTP2_FLAG_NONE, 0, all) != 0)
        return -ENOMEM;
    return 0;
}

int h2_session_start(struct h2_side *side)
{
    nghttp2_session_callbacks *c = new_callbacks();
    nghttp2_option *o = new_options();
    int e = c && o && create(side, c, o) == 0 ? say_settings(side) : -ENOMEM;
    nghttp2_option_del(o);
    nghttp2_session_callbacks_del(c);
    return e;
}

bool h2_session_send(struct h2_side *side, size_t most)
{
    bool has_moved = false;
    while (side->session && side->out.size < most) {
        const uint8_t *data;
        ssize_t n = nghttp2_session_mem_send(side->session, &data);
        if (n <= 0)
            side->out.failed |= n < 0;
        if (n <= 0 || buf_append(&side->out, data, (size_t)n) < 0)
            break;
        has_moved = true;
    }
    if (side->session && nghttp2_session_get_outbound_queue_size(side->session) == 0)
        side->unsent_bytes = 0;
    return has_moved;
}
