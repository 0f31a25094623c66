// SPDX-License-Identifier: Apache-2.0
/*
 * HTTP/1.1 through the gateway, for one connection: a guest on one side, the server on the other,
 * and each request judged before a byte of it goes out. Bytes in, bytes out: sockets and TLS are
 * the caller's.
 *
 *   guest   from_guest -->  head -> judged -> transforms, secrets -> body  --> to_server   server
 *           to_guest   <--  head -> scrubbed, framed anew         <- body  <-- from_server
 *
 * Heads are written from what was parsed, never copied, so that the server sees the message that
 * was judged. Bodies go through in pieces and are never kept: memory is constant. One request is
 * served at a time, what a guest pipelines behind it waits with the caller.
 *
 * After each call the caller sends what exchange_to_guest() and exchange_to_server() hold, consumes
 * it, gives what was not taken again, and looks at the two ends and at the deadline.
 *
 * What comes out does not depend on the pieces that bytes come in. HTTP: RFC 9110 and 9112. There
 * is no Via: for guest and server no gateway is to be seen.
 *
 * A request of another version, with what answers it, is an exchange as well (h2.h): its heads come
 * in as lines of HTTP/1.1, so that there is one reader and one judge of requests; what is written
 * goes to struct exchange_wire.
 */
#pragma once

#include "gateway/gateway.h"
#include "lib/base/buf.h"

/* What is waiting to be sent on one side; beyond it no more is taken. A head may go past it. */
#define EXCHANGE_OUT_BYTES (64 * 1024)

/* One request that has ended, for the log. Texts are borrowed for the call; NULL: not known. */
struct exchange_record {
    const char *method;
    const char *path; /* without the query; a secret in it is its placeholder */
    const char *authority;
    unsigned status; /* that the guest got; 0: none */
    bool is_allowed, would_deny;
    const char *reason; /* as policy_verdict.reason, or "malformed", "smuggling", "limit:...",
                         * "connect", "trace", "secret_violation", "upstream", ... */
    const char *rule;   /* its id */
    const char *words;  /* of what was refused, if the program was told any; NULL: none */
    uint64_t guest_tx, guest_rx; /* bytes of the request and of what answered it, heads too */
    const char *const *secrets;  /* names of those that went out */
    size_t secret_count;
    const char *violation; /* the name of the secret whose placeholder went where it may not */
    enum policy_violation violation_action; /* TERMINATE: the sandbox is to be ended */
};

struct http_field;
struct http_request_head;
struct http_response_head;
struct exchange_fields;

/*
 * Where messages go that are not written as HTTP/1.1. to_guest and to_server have nothing but
 * content then, and no framing is in what comes in: content is all behind a head, up to
 * exchange_guest_ended() or a trailer. One exchange is one request.
 *
 * Heads are valid, as http_request_write() would have them; all is borrowed for the call. 0, or a
 * negative error: it can't be written.
 */
struct exchange_wire {
    /* fields says which of h's were put in here; hides_query: so was something of its query. */
    int (*request)(void *stream, const struct http_request_head *h,
                   const struct exchange_fields *fields, bool hides_query);
    /* Framing NONE: no content will follow, nor will response_end(). */
    int (*response)(void *stream, const struct http_response_head *h);
    /* The content is complete, once all that waits in to_server (to_guest) is sent. */
    int (*request_end)(void *stream, const struct http_field *trailers, size_t count);
    int (*response_end)(void *stream, const struct http_field *trailers, size_t count);
};

struct exchange_setup {
    /*
     * What is known of the flow; sni, resolved, address and port count. Borrowed until
     * exchange_free().
     */
    const struct policy_flow *evidence;
    /*
     * By which name the flow was dialled; with is_tls the server was verified for it. "": by
     * address. Not looked at while a flow in the clear is not dialled: the verdict on the first
     * request decides then. Copied.
     */
    const char *name;
    /* The address that the server was dialled at; NULL: it is not dialled yet. */
    const struct in6_addr *dialled;
    bool is_tls; /* ended here, on both sides */
    void *context;
    void (*log)(void *context, const struct exchange_record *r); /* may be NULL */
    /* For this violation the sandbox is to be ended: the secret's name, borrowed. May be NULL. */
    void (*terminate)(void *context, const char *secret);
    const struct exchange_wire *wire; /* NULL: HTTP/1.1 */
    void *stream;                     /* for wire */
};

struct exchange;

/* NULL: no memory. */
struct exchange *exchange_new(const struct exchange_setup *setup);
/* x may be NULL. A request that has not ended is logged. */
void exchange_free(struct exchange *x);

/*
 * Bytes that came. They return how many were taken: fewer than size while there is more to send
 * than EXCHANGE_OUT_BYTES, or a request has to wait for the one before it. The rest is to be given
 * again whenever something was sent or the other side was heard. After the end all is taken, and
 * dropped.
 */
size_t exchange_from_guest(struct exchange *x, const char *data, size_t size);
size_t exchange_from_server(struct exchange *x, const char *data, size_t size);

/*
 * With a wire, all that came was given and taken: the lines of a trailer, with the empty one, which
 * end the content. They are dropped where there can't be any.
 */
void exchange_guest_trailer(struct exchange *x, const char *data, size_t size);
void exchange_server_trailer(struct exchange *x, const char *data, size_t size);

/* With a wire: the head is none that could be read, and is refused for it. */
void exchange_refuse_head(struct exchange *x, unsigned status, const char *reason,
                          const char *words);

/* No more bytes will come from there; all that came was given and taken. */
void exchange_guest_ended(struct exchange *x);
void exchange_server_ended(struct exchange *x);

/* What is to be sent; the caller consumes it, whole or in parts. */
struct buf *exchange_to_guest(struct exchange *x);
struct buf *exchange_to_server(struct exchange *x);

/* The memory of what waits in it; and what waits for nothing takes none from here on. */
size_t exchange_held_bytes(const struct exchange *x);
void exchange_let_go(struct exchange *x);

/* What is to become of one side's connection. It never goes back. */
enum exchange_end {
    EXCHANGE_OPEN,
    EXCHANGE_SHUT,  /* once all is sent: no more will be (SHUT_WR); bytes may still come */
    EXCHANGE_CLOSE, /* once all is sent: close */
    EXCHANGE_RESET, /* at once, so that nobody takes the message for a whole one */
};
enum exchange_end exchange_guest_end(const struct exchange *x);
enum exchange_end exchange_server_end(const struct exchange *x);

/* Both sides are to be closed or reset: once the rest is sent, nothing is left to do. */
bool exchange_is_over(const struct exchange *x);

/*
 * A flow without a server so far: how to dial it, once a request was allowed. By name: by
 * exchange_name(), and each address is still to be judged with policy_judge_candidate(). By
 * address: at exactly the flow's.
 */
enum exchange_dial { EXCHANGE_DIAL_NOTHING, EXCHANGE_DIAL_NAME, EXCHANGE_DIAL_ADDRESS };
enum exchange_dial exchange_wants_server(const struct exchange *x);
const char *exchange_name(const struct exchange *x);

/* It was dialled, at that address. */
void exchange_dialled(struct exchange *x, const struct in6_addr *address);

/*
 * No server will come, or it is gone: the guest is told, with 502, where it can be; before its
 * first request, once that has come. reason is for the log ("resolved:loopback", "upstream_tls"),
 * words are for the guest; both copied.
 */
void exchange_server_failed(struct exchange *x, const char *reason, const char *words);

/*
 * When to call exchange_expire(), by gateway_now_ns(); INT64_MAX: never. A head has
 * limits.header_timeout_ms from its first byte on, and the first bytes in a tunnel have
 * limits.first_flight_ms; an answer that has not begun has
 * limits.idle_tcp_s; else limits.idle_http_s pass without a byte in any direction. There is
 * none after a change of protocol: then it is the caller's.
 */
int64_t exchange_deadline_ns(const struct exchange *x);
void exchange_expire(struct exchange *x);

/* The connection changed to another protocol (a WebSocket, a tunnel): bytes go through as they
 * are. */
bool exchange_is_opaque(const struct exchange *x);
