// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target for lib/dns: an input is a query and an upstream's answer. What must hold: a
 * query that was understood is answered by a message that the C library can take apart, of which
 * the id is the query's; addresses come only out of answers that libc finds the same in; and
 * records that were taken out of an answer are taken out of ours as the same, so that nothing of
 * what is removed is left.
 */
#include "lib/dns/dns.h"
#include "tests/fuzz/input.h"

#include <arpa/nameser.h>

static void check_answer(const uint8_t *query, const struct dns_query *q,
                         const struct dns_answer *a)
{
    uint8_t answer[DNS_ANSWER_MAX];
    ns_msg message;
    ns_rr record;
    size_t n = dns_answer_write(query, q, a, answer);
    CHECK(n >= DNS_HEADER_BYTES && n <= sizeof(answer));
    CHECK(a->is_stream || n <= MAX(q->udp_size, 512));
    CHECK(!memcmp(answer, query, 2) && answer[2] & 0x80);
    CHECK(ns_initparse(answer, (int)n, &message) == 0);
    for (ns_sect section = ns_s_qd; section < ns_s_max; section++)
        for (int i = 0; i < ns_msg_count(message, section); i++)
            CHECK(ns_parserr(&message, section, i, &record) == 0);
}

static void try_query(const uint8_t *data, size_t size)
{
    static const struct dns_address addresses[DNS_ADDRESSES_MAX];
    struct dns_query q;
    int r = dns_query_parse(data, size, &q);
    if (r < 0)
        return;
    CHECK(strlen(q.name) < DNS_NAME_MAX_BYTES && DNS_HEADER_BYTES + q.question_size <= size);
    check_answer(data, &q, &(struct dns_answer){.rcode = r});
    check_answer(data, &q,
                 &(struct dns_answer){.addresses = addresses,
                                      .address_count = DNS_ADDRESSES_MAX,
                                      .blocked = "not one of the names that are allowed"});
}

static void try_type(const uint8_t *data, size_t size, const char *name, uint16_t type)
{
    struct dns_addresses found;
    ns_msg message;
    if (dns_addresses_parse(data, size, name, type, &found) < 0)
        return;
    CHECK(found.count <= DNS_ADDRESSES_MAX && found.rcode <= 15);
    if (ns_initparse(data, (int)size, &message) < 0)
        return;
    CHECK(found.count <= (size_t)ns_msg_count(message, ns_s_an));
}

static bool is_target_allowed(const char *name)
{
    CHECK(name[0] && strlen(name) < DNS_NAME_MAX_BYTES - 1);
    return name[0] != 'x';
}

static bool is_same(const struct dns_records *a, const struct dns_records *b)
{
    if (a->count != b->count || a->rcode != b->rcode)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->list[i].ttl != b->list[i].ttl || a->list[i].size != b->list[i].size ||
            memcmp(a->bytes + a->list[i].data, b->bytes + b->list[i].data, a->list[i].size) != 0)
            return false;
    return true;
}

/* Of SVCB and HTTPS: none of the parameters ipv4hint, ech, ipv6hint. */
static void check_params(const uint8_t *data, size_t size)
{
    size_t at = 2;
    while (at < size && data[at])
        at += data[at] + 1u;
    for (at++; at < size;) {
        CHECK(size - at >= 4);
        unsigned key = data[at] << 8 | data[at + 1], length = data[at + 2] << 8 | data[at + 3];
        CHECK(key < 4 || key > 6);
        at += 4 + length;
    }
    CHECK(at == size);
}

/* Our answer to a question for a.test. Read anew it has the same records. */
static void check_records(const struct dns_records_wanted *wanted, const struct dns_records *found)
{
    static const uint8_t query[24] = "\0\7\1\0\0\1\0\0\0\0\0\0\1a\4test";
    static struct dns_records again;
    uint8_t answer[DNS_ANSWER_MAX];
    ns_msg message;
    ns_rr record;
    const struct dns_answer a = {.rcode = found->rcode, .is_stream = true, .records = found};
    const struct dns_query q = {
        .id = 7, .wants_recursion = true, .type = wanted->type, .question_size = 12};
    const struct dns_records_wanted same = {"a.test", wanted->type, is_target_allowed};
    size_t n = dns_answer_write(query, &q, &a, answer);
    CHECK(n <= sizeof(answer) && ns_initparse(answer, (int)n, &message) == 0);
    for (int i = 0; i < ns_msg_count(message, ns_s_an); i++)
        CHECK(ns_parserr(&message, ns_s_an, i, &record) == 0);
    CHECK(dns_records_parse(answer, n, &same, &again) == 0);
    CHECK(is_same(found, &again) || (again.count == 0 && again.rcode == DNS_SERVFAIL));
}

static void try_records(const uint8_t *data, size_t size, const char *name, uint16_t type)
{
    static struct dns_records found;
    const struct dns_records_wanted wanted = {name, type, is_target_allowed};
    int r = dns_records_parse(data, size, &wanted, &found);
    CHECK(r == 0 || r == -EBADMSG || r == -EMSGSIZE);
    if (r < 0)
        return;
    CHECK(found.count <= DNS_RECORDS_MAX && found.rcode <= 15);
    for (size_t i = 0; i < found.count; i++) {
        CHECK(found.list[i].data + found.list[i].size <= sizeof(found.bytes));
        if (type == DNS_TYPE_HTTPS || type == DNS_TYPE_SVCB)
            check_params(found.bytes + found.list[i].data, found.list[i].size);
    }
    check_records(&wanted, &found);
}

/* Also records of the type that is in the message where that of its question mostly is. */
static void try_answer(const uint8_t *data, size_t size, const char *name)
{
    try_type(data, size, name, DNS_TYPE_A);
    try_type(data, size, name, DNS_TYPE_AAAA);
    try_records(data, size, name, DNS_TYPE_HTTPS);
    if (size >= 22)
        try_records(data, size, name, (uint16_t)(data[20] << 8 | data[21]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    try_query(data, size);
    try_answer(data, size, "a.test");
    char *name = input_string(&in, input_byte(&in));
    if (strlen(name) < DNS_NAME_MAX_BYTES)
        try_answer(in.data, in.size, name);
    free(name);
    return 0;
}
