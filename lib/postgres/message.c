// SPDX-License-Identifier: Apache-2.0
#include "lib/postgres/message.h"

#define VERSION_3_0    0x00030000u
#define CANCEL_REQUEST 80877102u
#define TLS_REQUEST    80877103u
#define GSS_REQUEST    80877104u

#define REQUEST_BYTES    8u
#define CANCEL_LEAST     13u /* a process id, and a key of one byte */
#define CANCEL_MAX_BYTES 268u

static uint32_t read_number(const char *at)
{
    uint32_t number;
    memcpy(&number, at, sizeof(number));
    return be32toh(number);
}

static int append_number(struct buf *out, uint32_t number)
{
    number = htobe32(number);
    return buf_append(out, &number, sizeof(number));
}

static int refuse(const char **ret_why, const char *why)
{
    *ret_why = why;
    return -EPROTO;
}

/* ---- of a client ---- */

/* The text at *at, which is behind it then. NULL: there is no end of it. */
static const char *take_text(const char **at, const char *end)
{
    const char *text = *at, *zero = memchr(text, 0, (size_t)(end - text));
    if (zero)
        *at = zero + 1;
    return zero ? text : NULL;
}

static const char *find(const struct postgres_packet *p, const char *name)
{
    for (size_t i = 0; i < p->parameter_count; i++)
        if (!strcmp(p->parameters[i].name, name))
            return p->parameters[i].value;
    return NULL;
}

static int read_parameters(const char *at, const char *end, struct postgres_packet *ret,
                           const char **ret_why)
{
    for (;;) {
        const char *name = take_text(&at, end);
        if (!name)
            return refuse(ret_why, "the startup packet has no end");
        if (!*name)
            break;
        const char *value = take_text(&at, end);
        if (!value)
            return refuse(ret_why, "the startup packet has a parameter without a value");
        if (find(ret, name))
            return refuse(ret_why, "the startup packet has a parameter twice");
        if (!strncmp(name, "_pq_.", 5))
            return refuse(ret_why, "extensions of the protocol are not spoken here");
        if (ret->parameter_count == POSTGRES_PARAMETERS_MAX)
            return refuse(ret_why, "the startup packet has more than 64 parameters");
        ret->parameters[ret->parameter_count++] = (struct postgres_parameter){name, value};
    }
    if (at != end)
        return refuse(ret_why, "the startup packet goes on behind its end");
    return 1;
}

static int read_startup(const char *data, struct postgres_packet *ret, const char **ret_why)
{
    int r = read_parameters(data + REQUEST_BYTES, data + ret->size, ret, ret_why);
    if (r < 0)
        return r;
    ret->user = find(ret, "user");
    if (!ret->user || !*ret->user)
        return refuse(ret_why, "the startup packet names no user");
    ret->database = find(ret, "database");
    if (!ret->database || !*ret->database)
        ret->database = ret->user;
    ret->replication = find(ret, "replication");
    return r;
}

static int read_code(uint32_t code, struct postgres_packet *ret, const char **ret_why)
{
    switch (code) {
    case VERSION_3_0:
        ret->kind = POSTGRES_STARTUP;
        return 1;
    case CANCEL_REQUEST:
        ret->kind = POSTGRES_CANCEL;
        return ret->size >= CANCEL_LEAST && ret->size <= CANCEL_MAX_BYTES
                   ? 1
                   : refuse(ret_why, "the cancel request has a wrong length");
    case TLS_REQUEST:
    case GSS_REQUEST:
        ret->kind = code == TLS_REQUEST ? POSTGRES_ASKS_TLS : POSTGRES_ASKS_GSS;
        return ret->size == REQUEST_BYTES
                   ? 1
                   : refuse(ret_why, "the request for encryption has a wrong length");
    default:
        return refuse(ret_why, "of PostgreSQL's protocol only version 3.0 is spoken here");
    }
}

int postgres_packet_parse(const void *data, size_t size, struct postgres_packet *ret,
                          const char **ret_why)
{
    if (size < sizeof(uint32_t))
        return 0;
    *ret = (struct postgres_packet){.size = read_number(data)};
    if (ret->size < REQUEST_BYTES || ret->size > POSTGRES_PACKET_MAX_BYTES)
        return refuse(ret_why, "the first packet has a length that none has");
    if (size < REQUEST_BYTES)
        return 0;
    int r = read_code(read_number((const char *)data + sizeof(uint32_t)), ret, ret_why);
    if (r < 0 || size < ret->size)
        return MIN(r, 0);
    return ret->kind == POSTGRES_STARTUP ? read_startup(data, ret, ret_why) : 1;
}

/* Puts the size of what was appended since `at` where room for it was left. */
static int put_size(struct buf *out, size_t at)
{
    uint32_t number = htobe32((uint32_t)(out->size - at));
    if (out->failed)
        return -ENOMEM;
    memcpy(out->data + at, &number, sizeof(number));
    return 0;
}

int postgres_write_startup(struct buf *out, const struct postgres_packet *p)
{
    size_t at = out->size;
    append_number(out, 0);
    append_number(out, VERSION_3_0);
    for (size_t i = 0; i < p->parameter_count; i++) {
        buf_append(out, p->parameters[i].name, strlen(p->parameters[i].name) + 1);
        buf_append(out, p->parameters[i].value, strlen(p->parameters[i].value) + 1);
    }
    buf_append(out, "", 1);
    return put_size(out, at);
}

int postgres_write_tls_request(struct buf *out)
{
    int r = append_number(out, REQUEST_BYTES);
    return r < 0 ? r : append_number(out, TLS_REQUEST);
}

/* ---- of a server ---- */

int postgres_message_parse(const void *data, size_t size, struct postgres_message *ret,
                           const char **ret_why)
{
    const char *at = data;
    if (size < 1 + sizeof(uint32_t))
        return 0;
    uint32_t length = read_number(at + 1);
    if (length < sizeof(uint32_t) || length > POSTGRES_MESSAGE_MAX_BYTES)
        return refuse(ret_why, "the server says what is not PostgreSQL");
    *ret = (struct postgres_message){.type = *at,
                                     .body = at + 1 + sizeof(uint32_t),
                                     .body_size = length - sizeof(uint32_t),
                                     .size = 1 + (size_t)length};
    return size >= ret->size;
}

int postgres_write_message(struct buf *out, char type, const void *body, size_t size)
{
    buf_append(out, &type, 1);
    append_number(out, (uint32_t)(sizeof(uint32_t) + size));
    return buf_append(out, body, size);
}

int postgres_write_error(struct buf *out, const char *state, const char *text)
{
    buf_append_str(out, "E");
    size_t at = out->size;
    append_number(out, 0);
    buf_append(out, "SFATAL\0VFATAL\0C", 15);
    buf_append(out, state, strlen(state) + 1);
    buf_append_str(out, "M");
    buf_append(out, text, strcspn(text, "\r\n"));
    buf_append(out, "\0", 2); /* the text's, and that of the fields */
    return put_size(out, at);
}
