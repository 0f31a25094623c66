// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target for the sandbox's name server (kernel/net/resolver.c): an input is a query.
 * What must hold, RFC 1035: an answer has the query's id, says that it is one, and is a message
 * that the C library can take apart.
 */
#include "kernel/core/kernel.h"
#include "kernel/net/resolver.h"
#include "tests/fuzz/input.h"

#include <arpa/nameser.h>

struct kernel kernel = {.config.hostname = "glovebox"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t answer[RESOLVER_ANSWER_MAX];
    ns_msg message;
    ns_rr record;
    bool is_foreign;
    size_t n = resolver_answer(data, size, answer, &is_foreign);
    if (n == 0)
        return 0;
    CHECK(n >= NS_HFIXEDSZ && n <= sizeof(answer) && size >= NS_HFIXEDSZ);
    CHECK(!memcmp(answer, data, 2) && answer[2] & 0x80);
    CHECK(ns_initparse(answer, (int)n, &message) == 0);
    for (ns_sect section = ns_s_qd; section < ns_s_max; section++)
        for (int i = 0; i < ns_msg_count(message, section); i++)
            CHECK(ns_parserr(&message, section, i, &record) == 0);
    return 0;
}
