// SPDX-License-Identifier: Apache-2.0
#include "lib/tls/hello.h"

#include "lib/tls/reader.h"

#include <arpa/inet.h>

#define RECORD_FIRST         20 /* types of TLS, from change_cipher_spec to heartbeat */
#define RECORD_HANDSHAKE     22
#define RECORD_LAST          24
#define MESSAGE_CLIENT_HELLO 1
#define MESSAGE_HEADER_SIZE  4

enum {
    EXTENSION_SERVER_NAME = 0,
    EXTENSION_ALPN = 16,
    EXTENSION_SUPPORTED_VERSIONS = 43,
    EXTENSION_ECH = 0xfe0d,
};

void tls_hello_init(struct tls_hello_parser *p)
{
    *p = (struct tls_hello_parser){
        .message = BUF_INIT(MESSAGE_HEADER_SIZE + TLS_HELLO_MAX_BYTES),
    };
}

void tls_hello_done(struct tls_hello_parser *p)
{
    buf_done(&p->message);
    *p = (struct tls_hello_parser){.progress = TLS_HELLO_MALFORMED, .wrong = "it was let go"};
}

static bool is_name_byte(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '.' || c == '_';
}

/* Whether text is an address: as IPv4 and IPv6 are written, the latter also in brackets. */
static bool is_address(const char *text)
{
    struct in6_addr address;
    char inner[TLS_SERVER_NAME_MAX_BYTES + 1];
    size_t size = strlen(text);
    strcpy(inner, text);
    if (size > 2 && text[0] == '[' && text[size - 1] == ']') {
        memcpy(inner, text + 1, size - 2);
        inner[size - 2] = '\0';
        return inet_pton(AF_INET6, inner, &address) == 1;
    }
    return inet_pton(AF_INET, inner, &address) == 1 || inet_pton(AF_INET6, inner, &address) == 1;
}

/* RFC 6066, 3: a list of one name for each kind of name, of which there is one. */
static const char *read_server_name(struct tls_reader *in, struct tls_hello *h)
{
    struct tls_reader list, name;
    uint64_t kind;
    if (!tls_read_vector(in, 2, &list) || !tls_read_number(&list, 1, &kind) || kind != 0 ||
        !tls_read_vector(&list, 2, &name) || list.size > 0)
        return "its server name is not one host name";
    if (name.size == 0 || name.size > TLS_SERVER_NAME_MAX_BYTES || memchr(name.data, 0, name.size))
        return "its server name is empty, too long or has a NUL in it";
    memcpy(h->server_name, name.data, name.size);
    h->server_name[name.size] = '\0';
    h->name_kind = TLS_NAME_ADDRESS;
    if (is_address(h->server_name))
        return NULL;
    h->name_kind = TLS_NAME_HOST;
    for (size_t i = 0; i < name.size; i++) {
        if (!is_name_byte(name.data[i]))
            return "its server name has bytes that no host name has";
    }
    return NULL;
}

static const char *read_protocols(struct tls_reader *in, struct tls_hello *h)
{
    struct tls_reader list, one;
    const char *wrong = "its list of application protocols is malformed";
    if (!tls_read_vector(in, 2, &list) || list.size == 0)
        return wrong;
    h->protocols = list.data;
    h->protocols_size = list.size;
    while (list.size > 0) {
        if (!tls_read_vector(&list, 1, &one) || one.size == 0)
            return wrong;
    }
    return NULL;
}

static const char *read_versions(struct tls_reader *in, struct tls_hello *h)
{
    struct tls_reader list;
    if (!tls_read_vector(in, 1, &list) || list.size == 0 || list.size % 2 != 0)
        return "its list of versions is malformed";
    h->versions = list.data;
    h->versions_size = list.size;
    return NULL;
}

/* RFC 9849, 5: the outer one carries the encrypted hello; an inner one is none of a client's. */
static const char *read_ech(struct tls_reader *in, struct tls_hello *h)
{
    struct tls_reader key, payload;
    uint64_t kind, suite_and_config;
    h->has_ech = true;
    if (!tls_read_number(in, 1, &kind) || kind > 1)
        return "its encrypted hello is malformed";
    if (kind == 0 && (!tls_read_number(in, 5, &suite_and_config) || !tls_read_vector(in, 2, &key) ||
                      !tls_read_vector(in, 2, &payload) || payload.size == 0))
        return "its encrypted hello is malformed";
    return NULL;
}

static const char *read_extension(uint64_t type, struct tls_reader *in, struct tls_hello *h)
{
    const char *wrong;
    switch (type) {
    case EXTENSION_SERVER_NAME:
        wrong = read_server_name(in, h);
        break;
    case EXTENSION_ALPN:
        wrong = read_protocols(in, h);
        break;
    case EXTENSION_SUPPORTED_VERSIONS:
        wrong = read_versions(in, h);
        break;
    case EXTENSION_ECH:
        wrong = read_ech(in, h);
        break;
    default:
        return NULL;
    }
    return !wrong && in->size > 0 ? "an extension has bytes behind its end" : wrong;
}

static const char *read_extensions(struct tls_reader *in, struct tls_hello *h)
{
    uint8_t seen[65536 / 8] = {0};
    struct tls_reader all, data;
    uint64_t type;
    if (!tls_read_vector(in, 2, &all) || in->size > 0)
        return "its extensions don't end where it does";
    while (all.size > 0) {
        if (!tls_read_number(&all, 2, &type) || !tls_read_vector(&all, 2, &data))
            return "an extension does not end within it";
        /* Of two server names, each side might take another. */
        if (seen[type / 8] & 1 << type % 8)
            return "it has an extension twice";
        seen[type / 8] |= (uint8_t)(1 << type % 8);
        const char *wrong = read_extension(type, &data, h);
        if (wrong)
            return wrong;
    }
    return NULL;
}

/* The highest version offered. What isn't one (GREASE, RFC 8701) is not offered. */
static uint16_t highest_version(const struct tls_hello *h, uint16_t legacy)
{
    struct tls_reader list = {h->versions, h->versions_size};
    uint64_t version, highest = 0;
    /* RFC 8446, 4.2.1: with the list, the old field has no meaning; without, it is at most 1.2. */
    if (!h->versions)
        return MIN(legacy, (uint16_t)0x0303);
    while (tls_read_number(&list, 2, &version)) {
        if (version >= 0x0300 && version <= 0x0304)
            highest = MAX(highest, version);
    }
    return (uint16_t)highest;
}

static const char *read_message(struct tls_reader in, struct tls_hello *h)
{
    struct tls_reader random, session, suites, compression;
    uint64_t version;
    if (!tls_read_number(&in, 2, &version) || version >> 8 != 3)
        return "its version is none of TLS";
    if (!tls_read_bytes(&in, 32, &random) || !tls_read_vector(&in, 1, &session) ||
        session.size > 32)
        return "its session is malformed";
    if (!tls_read_vector(&in, 2, &suites) || suites.size == 0 || suites.size % 2 != 0)
        return "its list of cipher suites is malformed";
    if (!tls_read_vector(&in, 1, &compression) || compression.size == 0)
        return "its list of compression methods is malformed";
    /* Before RFC 4366 it could end here. */
    const char *wrong = in.size > 0 ? read_extensions(&in, h) : NULL;
    if (!wrong)
        h->version = highest_version(h, (uint16_t)version);
    return wrong;
}

static void fail(struct tls_hello_parser *p, const char *wrong)
{
    p->progress = TLS_HELLO_MALFORMED;
    p->wrong = wrong;
    p->hello = (struct tls_hello){0};
}

/*
 * A record of another type in front of the hello: servers (Go's) skip a warning there, and read the
 * hello behind it, so that is no other protocol.
 */
static void check_other_record(struct tls_hello_parser *p)
{
    if (p->header_size < 2)
        return;
    p->progress = TLS_HELLO_NOT_TLS;
    if (p->header[1] == 3)
        fail(p, "it begins with a record of another type");
}

/*
 * The header of the first record tells TLS from other protocols, nearly always by its first byte.
 * SSLv2's hello has another header: two bytes of length, the first with its high bit set, then
 * message type 1 and a version. There are servers that would take it.
 */
static void check_other_protocol(struct tls_hello_parser *p)
{
    const uint8_t *h = p->header;
    if (!(h[0] & 0x80) || (p->header_size > 2 && h[2] != MESSAGE_CLIENT_HELLO) ||
        (p->header_size > 3 && h[3] != 0 && h[3] != 3) ||
        (p->header_size > 4 && h[3] == 0 && h[4] != 2))
        p->progress = TLS_HELLO_NOT_TLS;
    else if (p->header_size == sizeof(p->header))
        fail(p, "it is a hello of SSL 2");
}

static void take_header_byte(struct tls_hello_parser *p, uint8_t byte)
{
    p->header[p->header_size++] = byte;
    if (p->header[0] != RECORD_HANDSHAKE) {
        if (p->message.size == 0 && p->header[0] >= RECORD_FIRST && p->header[0] <= RECORD_LAST)
            check_other_record(p);
        else if (p->message.size == 0)
            check_other_protocol(p);
        else
            fail(p, "a record of another type is within it");
        return;
    }
    if (p->header_size == 2 && byte != 3)
        fail(p, "a record's version is none of TLS");
    if (p->progress != TLS_HELLO_MORE || p->header_size < sizeof(p->header))
        return;
    p->record_left = (size_t)p->header[3] << 8 | p->header[4];
    p->header_size = 0;
    if (p->record_left == 0 || p->record_left > TLS_RECORD_MAX_BYTES)
        fail(p, "a record is empty or too long");
}

/* The size of the message with its header, as far as it is known: at least that much is wanted. */
static size_t wanted_bytes(const struct tls_hello_parser *p)
{
    const uint8_t *m = (const uint8_t *)p->message.data;
    if (p->message.size < MESSAGE_HEADER_SIZE)
        return MESSAGE_HEADER_SIZE;
    return MESSAGE_HEADER_SIZE + ((size_t)m[1] << 16 | (size_t)m[2] << 8 | m[3]);
}

/* The message is complete. */
static void finish(struct tls_hello_parser *p)
{
    struct tls_reader in = {(const uint8_t *)p->message.data + MESSAGE_HEADER_SIZE,
                            p->message.size - MESSAGE_HEADER_SIZE};
    const char *wrong =
        p->record_left > 0 ? "its last record goes on behind it" : read_message(in, &p->hello);
    p->progress = TLS_HELLO_DONE;
    if (wrong)
        fail(p, wrong);
}

static size_t take_fragment(struct tls_hello_parser *p, const uint8_t *data, size_t size)
{
    if (p->message.size == 0 && data[0] != MESSAGE_CLIENT_HELLO) {
        fail(p, "the first message is not a client's hello");
        return 0;
    }
    size_t n = MIN(size, p->record_left);
    n = MIN(n, wanted_bytes(p) - p->message.size);
    if (buf_append(&p->message, data, n) < 0) {
        fail(p, "there is no memory for it");
        return 0;
    }
    p->record_left -= n;
    if (wanted_bytes(p) > MESSAGE_HEADER_SIZE + TLS_HELLO_MAX_BYTES)
        fail(p, "it is too long");
    else if (p->message.size == wanted_bytes(p))
        finish(p);
    return n;
}

enum tls_hello_progress tls_hello_take(struct tls_hello_parser *p, const void *data, size_t size,
                                       size_t *ret_taken)
{
    const uint8_t *bytes = data;
    size_t at = 0;
    while (at < size && p->progress == TLS_HELLO_MORE) {
        if (p->record_left > 0)
            at += take_fragment(p, bytes + at, size - at);
        else
            take_header_byte(p, bytes[at++]);
    }
    *ret_taken = at;
    return p->progress;
}

const char *tls_hello_next_protocol(const struct tls_hello *h, size_t *at, size_t *ret_size)
{
    if (*at >= h->protocols_size)
        return NULL;
    struct tls_reader list = {h->protocols + *at, h->protocols_size - *at}, one;
    if (!tls_read_vector(&list, 1, &one))
        return NULL;
    *at = h->protocols_size - list.size;
    *ret_size = one.size;
    return (const char *)one.data;
}

bool tls_hello_offers(const struct tls_hello *h, const char *protocol)
{
    size_t at = 0, size;
    for (const char *one; (one = tls_hello_next_protocol(h, &at, &size));) {
        if (size == strlen(protocol) && memcmp(one, protocol, size) == 0)
            return true;
    }
    return false;
}
