// SPDX-License-Identifier: Apache-2.0
#include "kernel/net/resolver.h"

#include "kernel/core/kernel.h"

#include <arpa/nameser.h>
#include <netinet/in.h>
#include <strings.h>

#define ANSWER_TTL_SECONDS 60
#define LABEL_MAX_BYTES    63

#define FLAG_RESPONSE  0x80
#define FLAG_AUTHORITY 0x04
#define FLAG_WANTED    0x01 /* recursion desired: given back as it came */
#define FLAG_RECURSION 0x80

struct query {
    char name[RESOLVER_NAME_MAX + 1]; /* with dots, without the last one */
    unsigned type, class;
    size_t end; /* of the question in the message */
};

static unsigned get16(const uint8_t *at)
{
    return (unsigned)at[0] << 8 | at[1];
}

static uint8_t *put16(uint8_t *at, unsigned value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
    return at + 2;
}

/* The name at *at becomes text. False: it is malformed, or uses what a question has no need of. */
static bool read_name(const uint8_t *message, size_t size, size_t *at, char *name)
{
    size_t length = 0, i = *at;
    for (;;) {
        if (i >= size)
            return false;
        size_t label = message[i++];
        if (label == 0)
            break;
        /* In the message a name has a length byte and an end more than in text. */
        if (label > LABEL_MAX_BYTES || i + label > size ||
            length + (length > 0) + label > RESOLVER_NAME_MAX - 2)
            return false;
        if (length > 0)
            name[length++] = '.';
        for (size_t n = 0; n < label; n++, i++) {
            /* A dot or NUL within a label would read as another name. */
            if (message[i] == '.' || message[i] == '\0')
                return false;
            name[length++] = (char)message[i];
        }
    }
    name[length] = '\0';
    *at = i;
    return true;
}

static bool read_question(const uint8_t *message, size_t size, struct query *ret)
{
    size_t at = NS_HFIXEDSZ;
    if (!read_name(message, size, &at, ret->name) || at + 4 > size)
        return false;
    ret->type = get16(message + at);
    ret->class = get16(message + at + 2);
    ret->end = at + 4;
    return true;
}

bool resolver_get_name(const uint8_t *query, size_t size, char ret[RESOLVER_NAME_MAX + 1])
{
    size_t at = NS_HFIXEDSZ;
    return size >= NS_HFIXEDSZ && read_name(query, size, &at, ret);
}

static bool is_own_name(const char *name)
{
    static const char suffix[] = ".localhost";
    size_t length = strlen(name);
    if (strcasecmp(name, "localhost") == 0)
        return true;
    if (length >= sizeof(suffix) && strcasecmp(name + length - sizeof(suffix) + 1, suffix) == 0)
        return true;
    return kernel.config.hostname[0] && strcasecmp(name, kernel.config.hostname) == 0;
}

/* A resource record whose name is that of the question. */
static uint8_t *put_record(uint8_t *at, unsigned type, const void *data, size_t size)
{
    at = put16(at, 0xc000 | NS_HFIXEDSZ);
    at = put16(at, type);
    at = put16(at, ns_c_in);
    at = put16(at, 0);
    at = put16(at, ANSWER_TTL_SECONDS);
    at = put16(at, (unsigned)size);
    memcpy(at, data, size);
    return at + size;
}

static uint8_t *put_addresses(uint8_t *at, unsigned type, unsigned *count)
{
    static const uint8_t loopback4[4] = {127, 0, 0, 1};
    if (type == ns_t_a || type == ns_t_any) {
        at = put_record(at, ns_t_a, loopback4, sizeof(loopback4));
        ++*count;
    }
    if (type == ns_t_aaaa || type == ns_t_any) {
        at = put_record(at, ns_t_aaaa, &in6addr_loopback, sizeof(in6addr_loopback));
        ++*count;
    }
    return at;
}

static void put_header(const uint8_t *query, uint8_t *answer, unsigned rcode)
{
    memset(answer, 0, NS_HFIXEDSZ);
    memcpy(answer, query, 2);
    unsigned opcode = query[2] & 0x78u;
    answer[2] = (uint8_t)(FLAG_RESPONSE | opcode | FLAG_AUTHORITY | (query[2] & FLAG_WANTED));
    answer[3] = (uint8_t)(FLAG_RECURSION | rcode);
}

size_t resolver_answer(const uint8_t *query, size_t size, uint8_t answer[RESOLVER_ANSWER_MAX],
                       bool *ret_is_foreign)
{
    struct query q;
    *ret_is_foreign = false;
    if (size < NS_HFIXEDSZ || size > RESOLVER_QUERY_MAX || (query[2] & FLAG_RESPONSE))
        return 0;
    *ret_is_foreign = true;
    if (query[2] & 0x78u) {
        put_header(query, answer, ns_r_notimpl);
        return NS_HFIXEDSZ;
    }
    /* One question, and no answers in it. */
    if (get16(query + 4) != 1 || get16(query + 6) != 0 || !read_question(query, size, &q)) {
        put_header(query, answer, ns_r_formerr);
        return NS_HFIXEDSZ;
    }
    bool known = q.class == ns_c_in && is_own_name(q.name);
    unsigned count = 0;
    *ret_is_foreign = !known;
    put_header(query, answer, known ? ns_r_noerror : ns_r_nxdomain);
    put16(answer + 4, 1);
    memcpy(answer + NS_HFIXEDSZ, query + NS_HFIXEDSZ, q.end - NS_HFIXEDSZ);
    uint8_t *end = answer + q.end;
    if (known)
        end = put_addresses(end, q.type, &count);
    put16(answer + 6, count);
    return (size_t)(end - answer);
}

void resolver_fail(uint8_t *answer)
{
    answer[3] = FLAG_RECURSION | ns_r_servfail;
}
