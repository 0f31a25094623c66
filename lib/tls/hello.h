// SPDX-License-Identifier: Apache-2.0
/*
 * The first message of a TLS client (RFC 5246, 7.4.1.2; RFC 8446, 4.1.2), read without taking part
 * in the handshake: to whom it goes, and what it offers.
 *
 *   struct tls_hello_parser p;
 *   tls_hello_init(&p);
 *   tls_hello_take(&p, data, size, &taken)    as often as there is something
 *   ... p.hello after TLS_HELLO_DONE
 *   tls_hello_done(&p);
 *
 * The message may come in pieces of any size and in any number of records (RFC 8446, 5.1); what
 * comes out does not depend on how. Every length must be met exactly, since whoever reads past a
 * wrong one may see another name than we do. Memory: the message, at most TLS_HELLO_MAX_BYTES.
 *
 * A server of TLS 1.3 can ask for a second hello (RFC 8446, 4.1.4). That one is not read here: its
 * name may be another, so whoever only passes TLS on must not take the name for more than a hint.
 */
#pragma once

#include "lib/base/buf.h"

#define TLS_HELLO_MAX_BYTES       16384 /* of the message, behind its own header */
#define TLS_RECORD_MAX_BYTES      16384 /* RFC 8446, 5.1 */
#define TLS_SERVER_NAME_MAX_BYTES 255

enum tls_hello_progress {
    TLS_HELLO_MORE,
    TLS_HELLO_DONE,
    TLS_HELLO_NOT_TLS,   /* another protocol; most are known by their first byte */
    TLS_HELLO_MALFORMED, /* begins as TLS, and isn't a hello that we can read: see wrong */
};

enum tls_name_kind {
    TLS_NAME_NONE,
    TLS_NAME_HOST,    /* of [A-Za-z0-9._-] */
    TLS_NAME_ADDRESS, /* an IP address, which RFC 6066 does not allow here */
};

struct tls_hello {
    enum tls_name_kind name_kind;
    char server_name[TLS_SERVER_NAME_MAX_BYTES + 1]; /* as it came; "" when there is none */
    /*
     * An encrypted hello (ECH, extension 0xfe0d) lies in this one, or something that looks like it
     * (clients send it to everybody): server_name may be a front's.
     */
    bool has_ech;
    uint16_t
        version; /* the highest TLS version it offers: 0x0304 is TLS 1.3. 0: none that we know */
    /* The bodies of lists, borrowed from the parser; of size 0 when it does not send them. */
    const uint8_t *versions, *protocols;
    size_t versions_size, protocols_size;
};

struct tls_hello_parser {
    struct tls_hello hello; /* after TLS_HELLO_DONE */
    const char *wrong;      /* after TLS_HELLO_MALFORMED: why, in constant words */
    /* for tls_hello_take() */
    enum tls_hello_progress progress;
    uint8_t header[5]; /* of a record */
    size_t header_size;
    size_t record_left; /* bytes of the record that are still to come */
    struct buf message;
};

/* Nothing is allocated yet. */
void tls_hello_init(struct tls_hello_parser *p);
void tls_hello_done(struct tls_hello_parser *p);

/*
 * Takes *ret_taken bytes, all of them while it is TLS_HELLO_MORE. TLS_HELLO_DONE leaves what
 * follows the hello's last record. size may be 0.
 */
enum tls_hello_progress tls_hello_take(struct tls_hello_parser *p, const void *data, size_t size,
                                       size_t *ret_taken);

/* Whether it offers an application protocol (ALPN, RFC 7301), such as "h2". */
bool tls_hello_offers(const struct tls_hello *h, const char *protocol);

/*
 * Walks the application protocols in the client's order: *at begins at 0. Returns *ret_size bytes,
 * which may be anything; NULL at the end.
 */
const char *tls_hello_next_protocol(const struct tls_hello *h, size_t *at, size_t *ret_size);
