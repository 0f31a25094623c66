// SPDX-License-Identifier: Apache-2.0
/* Responses through an exchange, and how connections end: by a side, by time, by a new policy. */
#include "tests/unit/exchange_scene.h"

TEST(G17_a_response_that_is_wrong)
{
    static const char *const texts[] = {
        "<HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "<HTTP/1.1 200 OK\nContent-Length: 1\n\n",
        "<HTTP/2 200 OK\r\n\r\n",
        "<SSH-2.0-OpenSSH\r\n",
        "<HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "<HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\nHTTP/",
    };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        talk(&tls, GET, texts[i], NULL);
        EXPECT_EQ(status_to_guest(), 502);
        EXPECT_STR(denied_reason(), "upstream");
        EXPECT_STR(ends, "close close");
        EXPECT_STR(records.data, "GET /v1/a 502 allow upstream\n");
    }
}

TEST(G17_content_that_is_wrong_cuts_the_response_off)
{
    talk(&tls, GET, "<HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n", NULL);
    EXPECT_STR(ends, "reset reset");
    EXPECT_STR(records.data, "GET /v1/a 200 allow upstream\n");
}

TEST(G17_bytes_behind_a_response_answer_nothing)
{
    talk(&tls, GET, OK "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", NULL);
    EXPECT_STR(said_to_guest.data, OK_OUT);
    EXPECT_STR(ends, "close close");
    talk(&tls, "<HTTP/1.1 408 Timeout\r\nContent-Length: 0\r\n\r\n", NULL);
    EXPECT_EQ(said_to_guest.size, 0);
    EXPECT_STR(ends, "close close");
}

TEST(G17_interim_responses_are_counted)
{
    char text[2048] = "<";
    for (int i = 0; i < 16; i++)
        strcat(text, "HTTP/1.1 103 Early\r\nLink: a\r\n\r\n");
    talk(&tls, GET, text, OK, NULL);
    EXPECT_HAS(said_to_guest, "103 Early\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\n");
    strcat(text, "HTTP/1.1 103 Early\r\nLink: a\r\n\r\n");
    talk(&tls, GET, text, NULL);
    EXPECT_HAS(said_to_guest, "HTTP/1.1 502 Bad Gateway\r\n");
}

TEST(G17_an_early_response)
{
#define POST ">POST /v1/ HTTP/1.1\r\nHost: api.good.test\r\nContent-Length: 6\r\n\r\nabc"
    talk(&tls, POST, OK, ">def", GET, OK, NULL);
    EXPECT_HAS(said_to_server, "\r\n\r\nabcdefGET /v1/a");
    EXPECT_STR(said_to_guest.data, OK_OUT OK_OUT);
    talk(&tls, POST, "<HTTP/1.1 413 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", ">def",
         NULL);
    EXPECT_LACKS(said_to_server, "def");
    EXPECT_STR(ends, "close reset");
}

TEST(G18_the_server_closes_before_it_responds)
{
    talk(&tls, GET, "<|", NULL);
    EXPECT_EQ(status_to_guest(), 502);
    EXPECT_STR(ends, "close close");
    EXPECT_STR(records.data, "GET /v1/a 502 allow upstream\n");
    /* On a connection that was used the guest knows what it means, and it alone sends again. */
    talk(&tls, GET, OK, GET, "<|", NULL);
    EXPECT_STR(said_to_server.data, GET_OUT GET_OUT);
    EXPECT_STR(said_to_guest.data, OK_OUT);
    EXPECT_STR(ends, "close close");
    talk(&tls, GET, OK, "<|", NULL);
    EXPECT_STR(ends, "close close");
    talk(&tls, GET, "<HTTP/1.1 200", "<|", NULL);
    EXPECT_EQ(status_to_guest(), 502);
}

TEST(G18_a_response_that_is_cut_off_is_not_a_whole_one)
{
    talk(&tls, GET, "<HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "<|", NULL);
    EXPECT_STR(ends, "reset reset");
    talk(&tls, ">GET /v1/ HTTP/1.0\r\nHost: api.good.test\r\n\r\n",
         "<HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", "<|", NULL);
    EXPECT_STR(ends, "reset reset");
    talk(&tls, GET, "<HTTP/1.1 200 OK\r\n\r\nabc", "<|", NULL);
    EXPECT_STR(said_to_guest.data, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc");
    EXPECT_STR(ends, "close close");
}

TEST(the_guest_ends)
{
    talk(&tls, ">|", NULL);
    EXPECT_STR(ends, "close close");
    talk(&tls, GET, ">|", NULL);
    EXPECT_STR(ends, "open open");
    talk(&tls, GET, ">|", OK, NULL);
    EXPECT_STR(said_to_guest.data, OK_OUT);
    EXPECT_STR(ends, "close close");
    talk(&tls, ">GET /v1/ HT", ">|", NULL);
    EXPECT_DENIED(400, "malformed");
    talk(&tls, POST, ">|", NULL);
    EXPECT_EQ(status_to_guest(), 400);
    EXPECT_STR(ends, "close reset");
}

TEST(H1_deadlines)
{
    talk(&tls, ">GET /v1/ HT", "!", NULL);
    EXPECT_EQ(now_ns, 11 * NSEC_PER_SEC);
    EXPECT_DENIED(408, "limit:header_timeout");
    talk(&tls, "!", NULL);
    EXPECT_EQ(now_ns, 121 * NSEC_PER_SEC);
    EXPECT_STR(ends, "close close");
    EXPECT_EQ(said_to_guest.size, 0);
    talk(&tls, POST, "!", NULL);
    EXPECT_EQ(now_ns, 121 * NSEC_PER_SEC);
    EXPECT_EQ(status_to_guest(), 408);
    EXPECT_STR(ends, "close reset");
    talk(&tls, GET, "!", NULL);
    EXPECT_EQ(status_to_guest(), 504);
    talk(&tls, GET, "<HTTP/1.1 2", "!", NULL);
    EXPECT_EQ(now_ns, 11 * NSEC_PER_SEC);
    EXPECT_EQ(status_to_guest(), 504);
    talk(&tls, GET, "<HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "!", NULL);
    EXPECT_STR(ends, "reset reset");
}

/* An exchange by hand, for what talk() hides. */
static struct exchange *begin(const struct policy_flow *flow)
{
    struct exchange *x = exchange_new(&(struct exchange_setup){
        .evidence = flow, .name = "api.good.test", .dialled = &flow->address, .is_tls = true});
    ASSERT_TRUE(x != NULL);
    return x;
}

static struct policy_flow hand_flow(void)
{
    struct in6_addr address = {.s6_addr = {0}};
    address = policy_address_from_ipv4((struct in_addr){htonl(0x5db8d822)});
    return policy_flow_init(POLICY_TCP, &address, 443);
}

static size_t guest(struct exchange *x, const char *text)
{
    return exchange_from_guest(x, text, strlen(text));
}

TEST(C23_R58_no_deadline_is_ours_after_a_change_of_protocol)
{
    talk(&tls, GET, NULL);
    struct policy_error e;
    static const char document[] = "{\"version\":1,\"rules\":[{\"id\":\"api\",\"action\":\"allow\","
                                   "\"to\":{\"domain\":[\"api.good.test\"]}}]}";
    gateway.policy = policy_parse(document, strlen(document), &e);
    gateway.document = policy_get_document(gateway.policy);
    gateway.secrets = NULL;
    struct policy_flow flow = hand_flow();
    struct exchange *x = begin(&flow);
    EXPECT_NE(exchange_deadline_ns(x), INT64_MAX);
    guest(x, WEBSOCKET + 1);
    exchange_from_server(x, SWITCHES + 1, strlen(SWITCHES) - 1);
    EXPECT_TRUE(exchange_is_opaque(x));
    EXPECT_EQ(exchange_deadline_ns(x), INT64_MAX);
    exchange_free(x);
    policy_free(gateway.policy);
}

TEST(H1_no_more_is_taken_than_can_be_sent)
{
    static char zeros[300000];
    struct policy_error e;
    static const char document[] = "{\"version\":1,\"rules\":[{\"id\":\"api\",\"action\":\"allow\","
                                   "\"to\":{\"domain\":[\"api.good.test\"]}}]}";
    gateway.policy = policy_parse(document, strlen(document), &e);
    gateway.document = policy_get_document(gateway.policy);
    struct policy_flow flow = hand_flow();
    struct exchange *x = begin(&flow);
    guest(x, "POST / HTTP/1.1\r\nHost: api.good.test\r\nContent-Length: 4000000000\r\n\r\n");
    size_t taken = exchange_from_guest(x, zeros, sizeof(zeros));
    EXPECT_LE(exchange_to_server(x)->size, EXCHANGE_OUT_BYTES);
    EXPECT_GT(taken, 0);
    EXPECT_EQ(exchange_from_guest(x, zeros, sizeof(zeros)), 0);
    buf_consume(exchange_to_server(x), 1000);
    EXPECT_EQ(exchange_from_guest(x, zeros, sizeof(zeros)), 1000);
    static const char head[] = "HTTP/1.1 200 OK\r\n\r\n";
    EXPECT_EQ(exchange_from_server(x, head, strlen(head)), strlen(head));
    EXPECT_LT(exchange_from_server(x, zeros, sizeof(zeros)), sizeof(zeros));
    EXPECT_EQ(exchange_from_server(x, zeros, sizeof(zeros)), 0);
    exchange_free(x);
    policy_free(gateway.policy);
}

/* While it waits for its end, or its answer, and no longer. */
TEST(H2_a_head_is_memory_that_is_held)
{
    char value[8001];
    struct policy_error e;
    static const char document[] = "{\"version\":1,\"rules\":[{\"id\":\"api\",\"action\":\"allow\","
                                   "\"to\":{\"domain\":[\"api.good.test\"]}}]}";
    memset(value, 'v', sizeof(value));
    value[8000] = '\0';
    gateway.policy = policy_parse(document, strlen(document), &e);
    gateway.document = policy_get_document(gateway.policy);
    struct policy_flow flow = hand_flow();
    struct exchange *x = begin(&flow);
    EXPECT_EQ(exchange_held_bytes(x), 0);
    guest(x, "GET / HTTP/1.1\r\nHost: api.good.test\r\nX-A: ");
    guest(x, value);
    exchange_let_go(x);
    EXPECT_TRUE(exchange_held_bytes(x) >= 8000);
    guest(x, "\r\n\r\n");
    buf_reset(exchange_to_server(x));
    exchange_let_go(x);
    EXPECT_TRUE(exchange_held_bytes(x) >= 8000);
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    EXPECT_EQ(exchange_from_server(x, answer, strlen(answer)), strlen(answer));
    buf_reset(exchange_to_guest(x));
    exchange_let_go(x);
    EXPECT_TRUE(exchange_held_bytes(x) < 1000);
    exchange_free(x);
    policy_free(gateway.policy);
}

TEST(H2_heads_have_limits)
{
    static char text[200000];
    snprintf(text, sizeof(text), ">GET /v1/%070000d HTTP/1.1\r\n", 0);
    talk(&tls, text, NULL);
    EXPECT_DENIED(414, "limit:target");
    snprintf(text, sizeof(text), ">GET /v1/ HTTP/1.1\r\nHost: api.good.test\r\nA: %09000d\r\n\r\n",
             0);
    talk(&tls, text, NULL);
    EXPECT_DENIED(431, "limit:field");
    size_t size = (size_t)snprintf(text, sizeof(text), ">GET /v1/ HTTP/1.1\r\n");
    for (int i = 0; i < 101; i++)
        size += (size_t)snprintf(text + size, sizeof(text) - size, "A: b\r\n");
    talk(&tls, text, NULL);
    EXPECT_DENIED(431, "limit:fields");
}

TEST(H2_limits_are_the_policys)
{
    struct scene narrow = tls;
    narrow.policy = "{'version':1,'limits':{'header_count':2},'rules':[{'id':'api',"
                    "'action':'allow','to':{'domain':['api.good.test']}}]}";
    talk(&narrow, ">GET /v1/ HTTP/1.1\r\nHost: api.good.test\r\nA: b\r\nC: d\r\n\r\n", NULL);
    EXPECT_DENIED(431, "limit:fields");
}

TEST(H7_chunk_sizes_and_extensions_have_limits)
{
    talk(&tls,
         ">POST /v1/ HTTP/1.1\r\nHost: api.good.test\r\nTransfer-Encoding: chunked\r\n\r\n"
         "00000000000000001\r\na\r\n",
         NULL);
    EXPECT_EQ(status_to_guest(), 400);
}

TEST(J3_the_next_request_is_judged_by_the_new_policy)
{
    struct scene updated = tls;
    updated.other_policy = "{'version':1,'rules':[]}";
    updated.at = 2;
    talk(&updated, GET, "<HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no", "<k", GET, NULL);
    EXPECT_HAS(said_to_guest, OK_OUT "HTTP/1.1 403 Forbidden\r\n");
    EXPECT_STR(said_to_server.data, GET_OUT);
    EXPECT_STR(records.data, "GET /v1/a 200 allow rule:api\nGET /v1/a 403 deny default\n");
}

TEST(what_is_not_dialled_yet_is_dialled_as_it_was_allowed)
{
    struct scene s = plain;
    s.is_not_dialled = true;
    s.name = NULL;
    s.policy =
        "{'version':1,'rules':[{'id':'api','action':'allow','to':{'domain':['api.good.test']}"
        ",'http':{'path':{'prefix':'/v1/'}}},{'id':'any','action':'allow','to':'any'}]}";
    talk(&s, GET, OK, NULL);
    EXPECT_STR(dial, "name api.good.test");
    talk(&s, ">GET /v2/ HTTP/1.1\r\nHost: api.good.test\r\n\r\n", OK, NULL);
    EXPECT_STR(dial, "address");
    talk(&s, ">GET /v2/ HTTP/1.1\r\nHost: api.good.test\r\n\r\n", OK, GET, NULL);
    EXPECT_HAS(said_to_guest, "HTTP/1.1 421 ");
    EXPECT_STR(said_to_server.data, "GET /v2/ HTTP/1.1\r\nHost: api.good.test\r\n\r\n");
    s.policy = POLICY;
    talk(&s, ">GET /v2/ HTTP/1.1\r\nHost: api.good.test\r\n\r\n", NULL);
    EXPECT_STR(dial, "");
}

TEST(what_is_refused_is_not_dialled)
{
    struct scene s = plain;
    s.is_not_dialled = true;
    talk(&s, ">TRACE /v1/ HTTP/1.1\r\nHost: api.good.test\r\n\r\n", NULL);
    EXPECT_STR(dial, "name api.good.test");
    s.policy = TRANSFORM_POLICY;
    talk(&s, ">TRACE /v1/ HTTP/1.1\r\nHost: api.good.test\r\n\r\n", NULL);
    EXPECT_STR(dial, "");
}

TEST(C21_there_is_no_server)
{
    talk(&tls, "#upstream_tls", GET, NULL);
    EXPECT_EQ(said_to_server.size, 0);
    EXPECT_EQ(status_to_guest(), 502);
    EXPECT_STR(denied_reason(), "upstream_tls");
    EXPECT_HAS(said_to_guest, "\"message\":\"the server failed: it is not there\"");
    EXPECT_STR(records.data, "GET /v1/a 502 allow upstream_tls\n");
    talk(&tls, "#upstream_tls", ">GET /v2/ HTTP/1.1\r\nHost: api.good.test\r\n\r\n", NULL);
    EXPECT_DENIED(403, "default");
    talk(&tls, GET, "#upstream", NULL);
    EXPECT_EQ(status_to_guest(), 502);
    talk(&tls, GET, "<HTTP/1.1 200 OK\r\n\r\nabc", "#upstream_tls", NULL);
    EXPECT_STR(ends, "reset reset");
    talk(&tls, GET, OK, "#upstream_tls", NULL);
    EXPECT_STR(ends, "close close");
    EXPECT_STR(said_to_guest.data, OK_OUT);
}

TEST(what_is_allowed_by_address_is_so_where_it_was_dialled)
{
    struct scene s = tls;
    s.policy =
        "{'version':1,'rules':[{'id':'api','action':'allow','to':{'domain':['api.good.test']}"
        ",'http':{'path':{'prefix':'/v1/'}}},"
        "{'id':'net','action':'deny','to':{'cidr':['93.184.217.0/24']}},"
        "{'id':'any','action':'allow','to':'any'}]}";
    s.dialled = "93.184.217.1";
    talk(&s, ">GET /v2/ HTTP/1.1\r\nHost: api.good.test\r\n\r\n", NULL);
    EXPECT_DENIED(403, "rule:net");
    s.dialled = "93.184.218.1";
    talk(&s, ">GET /v2/ HTTP/1.1\r\nHost: api.good.test\r\n\r\n", OK, NULL);
    EXPECT_EQ(status_to_guest(), 200);
}

TEST(an_audit_only_logs)
{
    struct scene s = tls;
    s.policy = "{'version':1,'mode':'audit','rules':[{'id':'api','action':'allow',"
               "'to':{'domain':['api.good.test']},'http':{'path':{'prefix':'/v1/'}},"
               "'transforms':[{'set_headers':{'x-key':'value'}}]}]}";
    talk(&s, GET, OK, ">GET /v2/ HTTP/1.1\r\nHost: api.good.test\r\n\r\n", OK,
         ">GET /v1/ HTTP/1.1\r\nHost: other.test\r\n\r\n", OK, NULL);
    EXPECT_HAS(said_to_server, "Host: api.good.test\r\nx-key: value\r\n\r\n");
    EXPECT_HAS(said_to_server, "GET /v2/ HTTP/1.1\r\nHost: api.good.test\r\n\r\n");
    EXPECT_HAS(said_to_server, "GET /v1/ HTTP/1.1\r\nHost: other.test\r\n\r\n");
    EXPECT_STR(records.data, "GET /v1/a 200 allow rule:api\nGET /v2/ 200 audit default\n"
                             "GET /v1/ 200 audit name_conflict\n");
}

TEST(a_flow_by_address_has_the_host_that_it_shows)
{
    static const struct scene s = {.policy = "{'version':1,'rules':[{'id':'net','action':'allow',"
                                             "'to':{'cidr':['93.184.216.0/24']}}]}",
                                   .port = 8080};
    talk(&s, ">GET / HTTP/1.1\r\nHost: 93.184.216.34:8080\r\n\r\n", OK, NULL);
    EXPECT_STR(said_to_server.data, "GET / HTTP/1.1\r\nHost: 93.184.216.34:8080\r\n\r\n");
    talk(&s, ">GET / HTTP/1.0\r\n\r\n", OK, NULL);
    EXPECT_HAS(said_to_server, "Host: 93.184.216.34:8080\r\n");
}
