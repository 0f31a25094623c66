// SPDX-License-Identifier: Apache-2.0
#include "lib/dns/dns.h"

#include <strings.h>

#define LABEL_MAX    63
#define POINTER      0xc0
#define HOP_MAX      32  /* pointers in one name */
#define EDE_OPTION   15  /* RFC 8914 */
#define UDP_SIZE     512 /* that we say we take */
#define RECORD_BYTES 12  /* of one address without it, its owner compressed */
#define OPT_BYTES    11  /* without options */

#define FLAG_RESPONSE 0x80
#define FLAG_OPCODE   0x78
#define FLAG_RD       0x01
#define FLAG_RA       0x80
#define RCODE_MASK    0x0f
#define TTL_MAX       0x7fffffffu /* RFC 2181, 8: more means 0 */

/* Records that are looked for. */
struct wanted {
    char owner[DNS_NAME_MAX_BYTES];
    uint16_t type;
};

/* A message and how far it was read. */
struct reader {
    const uint8_t *data;
    size_t size, at;
};

struct record {
    char owner[DNS_NAME_MAX_BYTES];
    uint16_t type, class;
    uint32_t ttl;
    size_t data, data_size; /* where in the message */
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

static uint8_t *put32(uint8_t *at, uint32_t value)
{
    return put16(put16(at, value >> 16), value & 0xffff);
}

static bool read16(struct reader *r, uint16_t *ret)
{
    if (r->size - r->at < 2)
        return false;
    *ret = (uint16_t)get16(r->data + r->at);
    r->at += 2;
    return true;
}

static bool read32(struct reader *r, uint32_t *ret)
{
    uint16_t high, low;
    if (!read16(r, &high) || !read16(r, &low))
        return false;
    *ret = (uint32_t)high << 16 | low;
    return true;
}

/* ---- names ---- */

/* False for a byte that would make the text mean another name, or none. */
static bool append_label(char *name, size_t *length, const uint8_t *label, size_t size)
{
    if (*length + (*length > 0) + size >= DNS_NAME_MAX_BYTES - 1)
        return false;
    if (*length > 0)
        name[(*length)++] = '.';
    for (size_t i = 0; i < size; i++) {
        if (label[i] <= ' ' || label[i] > '~' || label[i] == '.')
            return false;
        name[(*length)++] = (char)label[i];
    }
    return true;
}

/*
 * The name at r becomes text, and r moves behind it. Each pointer must lead to before the place
 * where the name, or the part of it that ended in a pointer, began.
 */
static bool read_name(struct reader *r, char ret[DNS_NAME_MAX_BYTES])
{
    size_t length = 0, at = r->at, part = r->at, hops = 0;
    for (;;) {
        if (at >= r->size)
            return false;
        size_t label = r->data[at];
        if (label >= POINTER) {
            if (r->size - at < 2 || ++hops > HOP_MAX)
                return false;
            size_t to = get16(r->data + at) & 0x3fff;
            if (to >= part)
                return false;
            r->at = hops == 1 ? at + 2 : r->at;
            at = part = to;
            continue;
        }
        at++;
        if (label == 0)
            break;
        if (label > LABEL_MAX || label > r->size - at ||
            !append_label(ret, &length, r->data + at, label))
            return false;
        at += label;
    }
    ret[length] = '\0';
    if (hops == 0)
        r->at = at;
    return true;
}

/* Behind a name of which only the end is wanted. */
static bool skip_name(struct reader *r)
{
    while (r->at < r->size) {
        size_t label = r->data[r->at];
        size_t step = label >= POINTER ? 2 : label + 1;
        if ((label > LABEL_MAX && label < POINTER) || step > r->size - r->at)
            return false;
        r->at += step;
        if (label == 0 || label >= POINTER)
            return true;
    }
    return false;
}

/* ---- queries ---- */

static int read_question(struct reader *r, struct dns_query *q)
{
    for (size_t i = r->at; i < r->size && r->data[i] != 0; i += r->data[i] + 1u)
        if (r->data[i] > LABEL_MAX) /* a question has nothing to point to */
            return DNS_FORMERR;
    if (!read_name(r, q->name) || !read16(r, &q->type) || !read16(r, &q->class))
        return DNS_FORMERR;
    q->question_size = r->at - DNS_HEADER_BYTES;
    return 0;
}

/* What may come with a question: one OPT record of version 0. */
static int read_additional(struct reader *r, unsigned count, struct dns_query *q)
{
    uint16_t type, size, data_size;
    uint32_t flags;
    if (count == 0)
        return r->at == r->size ? 0 : DNS_FORMERR;
    if (count > 1 || r->at >= r->size || r->data[r->at++] != 0 || !read16(r, &type) ||
        type != DNS_TYPE_OPT || !read16(r, &size) || !read32(r, &flags) || !read16(r, &data_size) ||
        data_size != r->size - r->at)
        return DNS_FORMERR;
    q->has_edns = true;
    return flags >> 16 & 0xff ? DNS_FORMERR : 0;
}

int dns_query_parse(const uint8_t *message, size_t size, struct dns_query *ret)
{
    if (size < DNS_HEADER_BYTES || (message[2] & FLAG_RESPONSE))
        return -EBADMSG;
    struct reader r = {message, size, DNS_HEADER_BYTES};
    *ret = (struct dns_query){
        .id = (uint16_t)get16(message),
        .wants_recursion = message[2] & FLAG_RD,
    };
    if (message[2] & FLAG_OPCODE)
        return DNS_NOTIMPL;
    if (get16(message + 4) != 1 || get16(message + 6) != 0 || get16(message + 8) != 0)
        return DNS_FORMERR;
    int error = read_question(&r, ret);
    return error ? error : read_additional(&r, get16(message + 10), ret);
}

/* ---- answers of an upstream ---- */

static bool read_record(struct reader *r, struct record *ret)
{
    uint16_t size;
    if (!read_name(r, ret->owner) || !read16(r, &ret->type) || !read16(r, &ret->class) ||
        !read32(r, &ret->ttl) || !read16(r, &size) || size > r->size - r->at)
        return false;
    ret->data = r->at;
    ret->data_size = size;
    ret->ttl = ret->ttl > TTL_MAX ? 0 : ret->ttl;
    r->at += size;
    return true;
}

/* The alias that owner has, if any: *ret_target. -EBADMSG, 0, or 1 when there is one. */
static int find_alias(struct reader r, unsigned count, const char *owner,
                      char ret_target[DNS_NAME_MAX_BYTES], uint32_t *ttl)
{
    struct record record;
    for (unsigned i = 0; i < count; i++) {
        if (!read_record(&r, &record))
            return -EBADMSG;
        if (record.type != DNS_TYPE_CNAME || record.class != DNS_CLASS_IN ||
            strcasecmp(record.owner, owner) != 0)
            continue;
        struct reader target = {r.data, r.size, record.data};
        if (!read_name(&target, ret_target) || target.at != record.data + record.data_size)
            return -EBADMSG;
        *ttl = MIN(*ttl, record.ttl);
        return 1;
    }
    return 0;
}

static size_t address_size(unsigned type)
{
    return type == DNS_TYPE_AAAA ? sizeof(struct in6_addr) : sizeof(struct in_addr);
}

static int collect(struct reader r, unsigned count, const struct wanted *w, uint32_t ttl,
                   struct dns_addresses *to)
{
    struct record record;
    const size_t size = address_size(w->type);
    for (unsigned i = 0; i < count && to->count < DNS_ADDRESSES_MAX; i++) {
        if (!read_record(&r, &record))
            return -EBADMSG;
        if (record.type != w->type || record.class != DNS_CLASS_IN || record.data_size != size ||
            strcasecmp(record.owner, w->owner) != 0)
            continue;
        struct dns_address a = {.ttl = MIN(ttl, record.ttl)};
        a.address.s6_addr[10] = a.address.s6_addr[11] = 0xff;
        memcpy(a.address.s6_addr + sizeof(a.address) - size, r.data + record.data, size);
        if (IN6_IS_ADDR_V4MAPPED(&a.address) == (w->type == DNS_TYPE_A))
            to->list[to->count++] = a;
    }
    return 0;
}

int dns_addresses_parse(const uint8_t *message, size_t size, const char *name, uint16_t type,
                        struct dns_addresses *ret)
{
    struct wanted w = {.type = type};
    char target[DNS_NAME_MAX_BYTES];
    uint32_t ttl = TTL_MAX;
    if (size < DNS_HEADER_BYTES || !(message[2] & FLAG_RESPONSE) || strlen(name) >= sizeof(w.owner))
        return -EBADMSG;
    struct reader r = {message, size, DNS_HEADER_BYTES};
    struct dns_addresses found = {.rcode = message[3] & RCODE_MASK};
    unsigned questions = get16(message + 4), answers = get16(message + 6);
    for (unsigned i = 0; i < questions; i++) {
        if (!skip_name(&r) || r.size - r.at < 4)
            return -EBADMSG;
        r.at += 4;
    }
    memcpy(w.owner, name, strlen(name) + 1);
    for (int hop = 0;; hop++) {
        int alias = find_alias(r, answers, w.owner, target, &ttl);
        if (alias < 0 || hop > DNS_CHAIN_MAX)
            return -EBADMSG;
        if (alias == 0)
            break;
        memcpy(w.owner, target, sizeof(w.owner));
    }
    int error = collect(r, answers, &w, ttl, &found);
    if (error == 0)
        *ret = found;
    return error;
}

/* ---- our answers ---- */

static uint8_t *put_address(uint8_t *at, uint16_t type, const struct dns_address *a)
{
    const size_t size = address_size(type);
    at = put16(at, POINTER << 8 | DNS_HEADER_BYTES); /* the question's name */
    at = put16(at, type);
    at = put16(at, DNS_CLASS_IN);
    at = put32(at, a->ttl);
    at = put16(at, (unsigned)size);
    memcpy(at, a->address.s6_addr + sizeof(a->address) - size, size);
    return at + size;
}

/* With the words of an extended error, as far as there is room. */
static uint8_t *put_opt(uint8_t *at, size_t room, const char *blocked)
{
    size_t words = blocked ? MIN(strlen(blocked), room - OPT_BYTES - 6) : 0;
    *at++ = 0;
    at = put16(at, DNS_TYPE_OPT);
    at = put16(at, UDP_SIZE);
    at = put32(at, 0);
    at = put16(at, blocked ? (unsigned)words + 6 : 0);
    if (!blocked)
        return at;
    at = put16(at, EDE_OPTION);
    at = put16(at, (unsigned)words + 2);
    at = put16(at, DNS_EDE_BLOCKED);
    memcpy(at, blocked, words);
    return at + words;
}

size_t dns_answer_write(const uint8_t *query, const struct dns_query *q, const struct dns_answer *a,
                        uint8_t ret[DNS_ANSWER_MAX])
{
    size_t opt = q->has_edns ? OPT_BYTES + 6 : 0;
    size_t room = DNS_ANSWER_MAX - DNS_HEADER_BYTES - q->question_size - opt;
    /* A record's name is a pointer to the question's. */
    size_t most = room / (RECORD_BYTES + address_size(q->type));
    size_t count = q->question_size > 0 ? MIN(a->address_count, most) : 0;
    memset(ret, 0, DNS_HEADER_BYTES);
    put16(ret, q->id);
    ret[2] = (uint8_t)(FLAG_RESPONSE | (q->wants_recursion ? FLAG_RD : 0));
    ret[3] = (uint8_t)(FLAG_RA | (a->rcode & RCODE_MASK));
    put16(ret + 4, q->question_size > 0);
    put16(ret + 6, (unsigned)count);
    put16(ret + 10, q->has_edns);
    memcpy(ret + DNS_HEADER_BYTES, query + DNS_HEADER_BYTES, q->question_size);
    uint8_t *at = ret + DNS_HEADER_BYTES + q->question_size;
    for (size_t i = 0; i < count; i++)
        at = put_address(at, q->type, &a->addresses[i]);
    if (q->has_edns)
        at = put_opt(at, (size_t)(ret + DNS_ANSWER_MAX - at), a->blocked);
    return (size_t)(at - ret);
}
