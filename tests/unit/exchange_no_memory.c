// SPDX-License-Identifier: Apache-2.0
/*
 * Memory runs out at each place where it can: a request goes out whole or is cut off, a response
 * too, and nothing is leaked. meson.build puts these functions in the place of libc's.
 */
#include "gateway/exchange.h"
#include "gateway/trust.h"
#include "lib/secret/secrets.h"
#include "tests/harness/harness.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

struct gateway gateway;

static int left = -1; /* allocations until one fails; -1: none does */

static bool runs_out(void)
{
    return left >= 0 && left-- == 0;
}

void *__wrap_malloc(size_t size)
{
    return runs_out() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return runs_out() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return runs_out() ? NULL : __real_realloc(old, size);
}

int64_t trust_now_s(void)
{
    return 1440938160; /* 2015-08-30 12:36 */
}

int64_t gateway_now_ns(void)
{
    return NSEC_PER_SEC;
}

static const char document[] =
    "{\"version\":1,\"secrets\":{\"KEY\":{\"source\":{\"env\":\"K\"},"
    "\"allow\":{\"hosts\":[\"a.test\"]},\"inject\":{\"query\":true,\"body\":true}}},"
    "\"rules\":[{\"id\":\"a\",\"action\":\"allow\",\"to\":{\"domain\":[\"a.test\"]},"
    "\"transforms\":[{\"match\":{\"method\":[\"POST\"]},"
    "\"set_headers\":{\"x-key\":\"<${secret.KEY}>\"},\"set_basic\":\"a:${secret.KEY}\","
    "\"set_query\":{\"q\":\"${secret.KEY}\"}}]}]}";

static const char request[] = "POST /?a=placeholder HTTP/1.1\r\nHost: a.test\r\nA: placeholder\r\n"
                              "Transfer-Encoding: chunked\r\n\r\nb\r\nplaceholder\r\n0\r\n\r\n";
static const char response[] =
    "HTTP/1.1 200 OK\r\nA: real-value\r\nTransfer-Encoding: chunked\r\n\r\n"
    "a\r\nreal-value\r\n0\r\nB: real-value\r\n\r\n";

static bool ends_with(const struct buf *b, const char *words)
{
    size_t size = strlen(words);
    return b->size >= size && !memcmp(b->data + b->size - size, words, size);
}

/* True: request and response went through. */
static bool hold(struct exchange *x)
{
    struct buf *server = exchange_to_server(x), *guest = exchange_to_guest(x);
    exchange_from_guest(x, request, sizeof(request) - 1);
    bool is_sent = ends_with(server, "\r\n0\r\n\r\n");
    EXPECT_TRUE(is_sent || server->size == 0 || exchange_server_end(x) == EXCHANGE_RESET);
    EXPECT_TRUE(is_sent || exchange_is_over(x));
    if (!is_sent)
        return false;
    exchange_from_server(x, response, sizeof(response) - 1);
    bool is_answered = ends_with(guest, "\r\n0\r\nB: placeholder\r\n\r\n");
    EXPECT_TRUE(is_answered || exchange_guest_end(x) == EXCHANGE_RESET ||
                strstr(guest->data, "HTTP/1.1 50"));
    return is_answered;
}

TEST(memory_runs_out)
{
    struct policy_error pe;
    struct secret_error se;
    const struct secret_value value = {"KEY", "placeholder", "real-value", 10};
    gateway.policy = policy_parse(document, sizeof(document) - 1, &pe);
    ASSERT_TRUE(gateway.policy != NULL);
    gateway.document = policy_get_document(gateway.policy);
    ASSERT_EQ(secrets_new(gateway.document, &value, 1, &gateway.secrets, &se), 0);
    struct in6_addr address = policy_address_from_ipv4((struct in_addr){htonl(0x5db8d822)});
    struct policy_flow flow = policy_flow_init(POLICY_TCP, &address, 443);
    flow.sni = (struct policy_name){POLICY_NAME_GIVEN, "a.test"};
    int failures = 0;
    for (bool is_done = false; !is_done; failures++) {
        left = failures;
        struct exchange *x = exchange_new(&(struct exchange_setup){
            .evidence = &flow, .name = "a.test", .dialled = &address, .is_tls = true});
        bool is_through = x && hold(x);
        is_done = left >= 0;
        left = -1;
        if (is_done)
            EXPECT_TRUE(is_through);
        exchange_free(x);
    }
    EXPECT_GT(failures, 20);
    secrets_put(gateway.secrets);
    policy_free(gateway.policy);
}
