// SPDX-License-Identifier: Apache-2.0
#include "lib/dns/message.h"

#define EDE_OPTION   15   /* RFC 8914 */
#define UDP_SIZE     512u /* that we say we take, and that anybody takes */
#define RECORD_BYTES 12   /* of one record without its data, its owner compressed */
#define OPT_BYTES    11   /* without options */

/* ---- queries ---- */

static int read_question(struct dns_reader *r, struct dns_query *q)
{
    /* A question has nothing to point to. */
    if (!dns_read_plain_name(r, q->name) || !dns_read16(r, &q->type) || !dns_read16(r, &q->class))
        return DNS_FORMERR;
    q->question_size = r->at - DNS_HEADER_BYTES;
    return 0;
}

/* What may come with a question: one OPT record of version 0. */
static int read_additional(struct dns_reader *r, unsigned count, struct dns_query *q)
{
    uint16_t type, size, data_size;
    uint32_t flags;
    if (count == 0)
        return r->at == r->size ? 0 : DNS_FORMERR;
    if (count > 1 || r->at >= r->size || r->data[r->at++] != 0 || !dns_read16(r, &type) ||
        type != DNS_TYPE_OPT || !dns_read16(r, &size) || !dns_read32(r, &flags) ||
        !dns_read16(r, &data_size) || data_size != r->size - r->at)
        return DNS_FORMERR;
    q->has_edns = true;
    q->udp_size = size;
    return flags >> 16 & 0xff ? DNS_FORMERR : 0;
}

int dns_query_parse(const uint8_t *message, size_t size, struct dns_query *ret)
{
    if (size < DNS_HEADER_BYTES || (message[2] & DNS_FLAG_RESPONSE))
        return -EBADMSG;
    struct dns_reader r = {message, size, DNS_HEADER_BYTES};
    *ret = (struct dns_query){
        .id = (uint16_t)dns_get16(message),
        .wants_recursion = message[2] & DNS_FLAG_RD,
    };
    if (message[2] & DNS_FLAG_OPCODE)
        return DNS_NOTIMPL;
    if (dns_get16(message + 4) != 1 || dns_get16(message + 6) != 0 || dns_get16(message + 8) != 0)
        return DNS_FORMERR;
    int error = read_question(&r, ret);
    return error ? error : read_additional(&r, dns_get16(message + 10), ret);
}

/* ---- answers of an upstream ---- */

static size_t address_size(unsigned type)
{
    return type == DNS_TYPE_AAAA ? sizeof(struct in6_addr) : sizeof(struct in_addr);
}

int dns_addresses_parse(const uint8_t *message, size_t size, const char *name, uint16_t type,
                        struct dns_addresses *ret)
{
    const size_t wanted = address_size(type);
    struct dns_found found;
    struct dns_answer_record record;
    struct dns_addresses list = {.count = 0};
    int r = dns_found_begin(message, size, name, type, &found);
    while (r >= 0 && list.count < DNS_ADDRESSES_MAX &&
           (r = dns_found_next(&found, type, &record)) > 0) {
        struct dns_address a = {.ttl = record.ttl};
        if (record.data_size != wanted)
            continue;
        a.address.s6_addr[10] = a.address.s6_addr[11] = 0xff;
        memcpy(a.address.s6_addr + sizeof(a.address) - wanted, message + record.data, wanted);
        if (IN6_IS_ADDR_V4MAPPED(&a.address) == (type == DNS_TYPE_A))
            list.list[list.count++] = a;
    }
    if (r < 0)
        return r;
    list.rcode = found.rcode;
    *ret = list;
    return 0;
}

/* ---- our answers ---- */

/* All of a record but its data. Its name is a pointer to the question's. */
static uint8_t *put_record(uint8_t *at, uint16_t type, uint32_t ttl, size_t size)
{
    at = dns_put16(at, DNS_POINTER << 8 | DNS_HEADER_BYTES);
    at = dns_put16(at, type);
    at = dns_put16(at, DNS_CLASS_IN);
    at = dns_put32(at, ttl);
    return dns_put16(at, (unsigned)size);
}

/* As many as there is room for. */
static uint8_t *put_addresses(uint8_t *at, size_t room, uint16_t type, const struct dns_answer *a,
                              size_t *count)
{
    const size_t size = address_size(type);
    *count = MIN(a->address_count, room / (RECORD_BYTES + size));
    for (size_t i = 0; i < *count; i++) {
        const struct dns_address *address = &a->addresses[i];
        at = put_record(at, type, address->ttl, size);
        memcpy(at, address->address.s6_addr + sizeof(address->address) - size, size);
        at += size;
    }
    return at;
}

/* All or none: a set of records of which some are missing says something else. */
static uint8_t *put_records(uint8_t *at, size_t room, uint16_t type, const struct dns_records *list,
                            size_t *count)
{
    size_t size = 0;
    for (size_t i = 0; i < list->count; i++)
        size += RECORD_BYTES + list->list[i].size;
    *count = size > room ? 0 : list->count;
    for (size_t i = 0; i < *count; i++) {
        const struct dns_record *record = &list->list[i];
        at = put_record(at, type, record->ttl, record->size);
        memcpy(at, list->bytes + record->data, record->size);
        at += record->size;
    }
    return at;
}

/* With the words of an extended error, as far as there is room. */
static uint8_t *put_opt(uint8_t *at, size_t room, const char *blocked)
{
    size_t words = blocked ? MIN(strlen(blocked), room - OPT_BYTES - 6) : 0;
    *at++ = 0;
    at = dns_put16(at, DNS_TYPE_OPT);
    at = dns_put16(at, UDP_SIZE);
    at = dns_put32(at, 0);
    at = dns_put16(at, blocked ? (unsigned)words + 6 : 0);
    if (!blocked)
        return at;
    at = dns_put16(at, EDE_OPTION);
    at = dns_put16(at, (unsigned)words + 2);
    at = dns_put16(at, DNS_EDE_BLOCKED);
    memcpy(at, blocked, words);
    return at + words;
}

static void put_header(uint8_t *at, const struct dns_query *q, int rcode, size_t count)
{
    memset(at, 0, DNS_HEADER_BYTES);
    dns_put16(at, q->id);
    at[2] = (uint8_t)(DNS_FLAG_RESPONSE | (q->wants_recursion ? DNS_FLAG_RD : 0));
    at[3] = (uint8_t)(DNS_FLAG_RA | (rcode & DNS_RCODE_MASK));
    dns_put16(at + 4, q->question_size > 0);
    dns_put16(at + 6, (unsigned)count);
    dns_put16(at + 10, q->has_edns);
}

size_t dns_answer_write(const uint8_t *query, const struct dns_query *q, const struct dns_answer *a,
                        uint8_t ret[DNS_ANSWER_MAX])
{
    const size_t datagram = MAX(q->udp_size, UDP_SIZE), opt = q->has_edns ? OPT_BYTES + 6 : 0;
    uint8_t *at = ret + DNS_HEADER_BYTES + q->question_size;
    uint8_t *end = ret + (a->is_stream ? DNS_ANSWER_MAX : MIN(datagram, (size_t)DNS_ANSWER_MAX));
    size_t count = 0;
    const size_t room = (size_t)(end - at) - opt;
    if (q->question_size > 0 && a->records)
        at = put_records(at, room, q->type, a->records, &count);
    else if (q->question_size > 0)
        at = put_addresses(at, room, q->type, a, &count);
    bool is_cut = a->records && count < a->records->count;
    put_header(ret, q, is_cut && a->is_stream ? DNS_SERVFAIL : a->rcode, count);
    if (is_cut && !a->is_stream)
        ret[2] |= DNS_FLAG_TRUNCATED;
    memcpy(ret + DNS_HEADER_BYTES, query + DNS_HEADER_BYTES, q->question_size);
    if (q->has_edns)
        at = put_opt(at, (size_t)(end - at), a->blocked);
    return (size_t)(at - ret);
}
