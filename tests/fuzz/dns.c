// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target for lib/dns: an input is a query and an upstream's answer. What must hold: a
 * query that was understood is answered by a message that the C library can take apart, of which
 * the id is the query's; and addresses come only out of answers that libc finds the same in.
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

static void try_answer(const uint8_t *data, size_t size, const char *name)
{
    try_type(data, size, name, DNS_TYPE_A);
    try_type(data, size, name, DNS_TYPE_AAAA);
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
