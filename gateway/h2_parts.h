// SPDX-License-Identifier: Apache-2.0
/*
 * HTTP/2 from within. Not for other files than h2*.c.
 *
 *   h2.c          bytes in and out, ends, deadlines
 *   h2_session.c  nghttp2: how it is set up, what it calls, what is too much
 *   h2_stream.c   a stream: its content, its ends
 *   h2_head.c     heads as they come: fields, then lines of HTTP/1.1
 *   h2_write.c    heads as they go
 *
 * Nothing is sent, and no stream freed, while nghttp2 is calling: that is for h2_go_on().
 */
#pragma once

#include "gateway/exchange_fields.h"
#include "gateway/h2.h"
#include "lib/base/list.h"
#include "lib/http/write.h"

#include <nghttp2/nghttp2.h>

enum h2_text {
    H2_METHOD,
    H2_SCHEME,
    H2_AUTHORITY,
    H2_PATH,
    H2_STATUS,
    H2_HOST,
    H2_COOKIE, /* whose parts may come one by one (RFC 9113, 8.2.3) */
    H2_LINES,  /* all other fields */
    H2_TEXTS,
};

/* A head or a trailer while its fields come. On a connection there is one at a time. */
struct h2_head {
    struct buf texts[H2_TEXTS];
    bool is_long, is_bad;
    bool has_length;
    bool takes_trailers; /* "te: trailers" */
    bool is_hidden;      /* a field of it came as one that is never to be indexed */
    size_t bytes;        /* of its fields, so far */
};

struct h2_side {
    struct h2 *h2;
    bool is_guest;
    nghttp2_session *session;
    struct buf out;
    struct h2_head head;
    int64_t head_since_ns; /* of one that is not complete; 0: there is none */
    struct rate idle_frames, resets;
    size_t updates_left; /* that are owed to what was sent */
    size_t unsent_bytes; /* of heads that nghttp2 has, at most */
    bool is_paused;      /* before the end of what it was given to read */
    bool is_ending;      /* GOAWAY was said to it */
    bool has_ended;      /* no bytes come from there any more */
};

/* A stream on one of the sides. */
struct h2_half {
    int32_t id; /* 0: there was none so far */
    bool is_open;
    bool is_reset;      /* by us */
    bool was_reset;     /* by who is at the other end */
    struct buf in;      /* content that the exchange does not take yet: no more than the window, */
    size_t owed_bytes;  /* less what it took and the other side has not */
    struct buf trailer; /* that came behind it, as lines */
    bool has_ended;     /* nothing more comes, */
    bool told_end;      /* and the exchange knows */
    bool out_has_ended; /* what the exchange has to be sent is the rest */
    bool is_deferred;   /* nghttp2 waits for content */
    struct buf out_trailer; /* name NUL value NUL ... */
    size_t out_trailer_count;
};

struct h2_stream {
    struct list link;
    struct h2 *h2;
    struct exchange *exchange; /* NULL: its head is not complete */
    struct h2_half guest, server;
    bool is_head; /* HEAD: its response has no content */
    bool takes_trailers;
    bool is_hidden;      /* of the request's fields; */
    bool hides_response; /* of the response's */
    bool is_cut;         /* the guest is not answered any more, but reset: */
    uint32_t cut_code;
    size_t request_bytes, response_bytes; /* of the heads that it keeps */
    const char *unread;                   /* why it has no exchange */
    int64_t
        over_ns; /* since when the exchange is over, and the rest waits to be sent; 0: it is not */
};

struct h2 {
    struct exchange_setup setup;
    struct h2_side guest, server;
    struct list streams;
    size_t stream_count;
    size_t request_bytes, response_bytes; /* of all streams */
    int64_t active_ns;                    /* a stream began or ended */
    bool has_heard;                       /* the server has said something */
    bool is_lost;                         /* there is no server; each request is told why: */
    char lost_reason[POLICY_REASON_MAX_BYTES], lost_words[256];
    enum exchange_end guest_end, server_end;
};

static inline struct h2_half *h2_half_of(struct h2_stream *s, const struct h2_side *side)
{
    return side->is_guest ? &s->guest : &s->server;
}

/* ---- h2.c ---- */

/* One line in the log about the connection: a limit of it was met. */
void h2_note(struct h2 *h, const char *reason);

/* ---- h2_session.c ---- */

/* 0 or -ENOMEM. What is said first waits to be sent. */
int h2_session_start(struct h2_side *side);

/* What is sent to side as long as less than most bytes wait. True: something was. */
bool h2_session_send(struct h2_side *side, size_t most);

/* Says GOAWAY; then no frame is read any more. */
void h2_session_refuse(struct h2_side *side, uint32_t code);

/* ---- h2_stream.c ---- */

/* NULL: no memory, or too many. */
struct h2_stream *h2_stream_new(struct h2 *h, int32_t id);
void h2_stream_free(struct h2_stream *s);
bool h2_stream_is_over(const struct h2_stream *s);

/* A head is complete, or a trailer; ends: nothing follows. */
void h2_stream_request(struct h2_stream *s, const struct h2_head *head, bool ends);
void h2_stream_response(struct h2_stream *s, const struct h2_head *head, bool ends);
void h2_stream_trailer(struct h2_stream *s, struct h2_side *side, const struct h2_head *head);

void h2_stream_content(struct h2_stream *s, struct h2_side *side, const char *data, size_t size);

/* The stream is over on that side. */
void h2_stream_closed(struct h2_stream *s, struct h2_side *side, uint32_t code);

/* What can go on does: content that waits, ends, resets. */
void h2_stream_settle(struct h2_stream *s);

/* Content to send on a side: up to size bytes, or NGHTTP2_ERR_DEFERRED. */
ssize_t h2_stream_read(struct h2_stream *s, struct h2_side *side, uint8_t *to, size_t size,
                       uint32_t *flags);

/* Of what waits in it, but its heads. */
size_t h2_stream_held_bytes(const struct h2_stream *s);

/* Nobody waits for its response any more. */
void h2_stream_cancel(struct h2_stream *s);

/* There is no server for it any more, and the server's session is not used again. */
void h2_stream_lose(struct h2_stream *s, const char *reason, const char *words);

int64_t h2_stream_deadline_ns(const struct h2_stream *s);
/* False: one of the sides takes not even its end. */
bool h2_stream_expire(struct h2_stream *s);

/* ---- h2_head.c ---- */

void h2_head_begin(struct h2_head *h);
void h2_head_done(struct h2_head *h);

/* One field, as it comes. */
void h2_head_add(struct h2_head *h, nghttp2_vec name, nghttp2_vec value, bool is_hidden);

struct h2_refusal {
    unsigned status;
    const char *reason, *words;
};

/* Appends the lines of a request. False: it is refused, as *ret says. */
bool h2_head_write_request(const struct h2_head *h, bool ends, struct buf *lines,
                           struct h2_refusal *ret);
/* Of a response. False: it is none. */
bool h2_head_write_response(const struct h2_head *h, bool ends, bool is_head, struct buf *lines);
bool h2_head_write_trailer(const struct h2_head *h, struct buf *lines);

/* ---- h2_write.c ---- */

extern const struct exchange_wire h2_wire;

/* Hands nghttp2 the trailer that is kept for a side. 0 or a negative error. */
int h2_write_trailer(struct h2_stream *s, struct h2_side *side);
