// SPDX-License-Identifier: Apache-2.0
/* Requests through an exchange: identity, framing, ends, time. Secrets: exchange_secrets.c. */
#include "tests/harness/harness.h"
#include "tests/unit/exchange_support.h"

#define POLICY                                                                  \
    "{'version':1,'rules':["                                                    \
    "{'id':'no-delete','action':'deny','to':{'domain':['api.good.test']},"      \
    "'http':{'method':['DELETE']},'reason':'nothing is \\\"deleted\\\" here'}," \
    "{'id':'api','action':'allow','to':{'domain':['api.good.test']},"           \
    "'http':{'path':{'prefix':'/v1/'}}},"                                       \
    "{'id':'other','action':'allow','to':{'domain':['other.test']},'ports':[80,443]}]}"

#define GET     ">GET /v1/a?b=c HTTP/1.1\r\nHost: api.good.test\r\n\r\n"
#define GET_OUT "GET /v1/a?b=c HTTP/1.1\r\nHost: api.good.test\r\n\r\n"
#define OK      "<HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define OK_OUT  "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

static const struct scene tls = {
    .policy = POLICY, .name = "api.good.test", .sni = "api.good.test", .port = 443, .is_tls = true};
static const struct scene plain = {.policy = POLICY, .name = "api.good.test", .port = 80};

#define EXPECT_DENIED(status, reason)                       \
    do {                                                    \
        EXPECT_EQ(said_to_server.size, 0);                  \
        EXPECT_EQ(status_to_guest(), status);               \
        EXPECT_STR(denied_reason(), reason);                \
        EXPECT_STR(ends, "close close");                    \
        EXPECT_HAS(said_to_guest, "Connection: close\r\n"); \
    } while (0)

TEST(a_request_and_its_response)
{
    talk(&tls, GET, OK, NULL);
    EXPECT_STR(said_to_server.data, GET_OUT);
    EXPECT_STR(said_to_guest.data, OK_OUT);
    EXPECT_STR(records.data, "GET /v1/a 200 allow rule:api\n");
    EXPECT_STR(ends, "open open");
    EXPECT_EQ(last_guest_tx, strlen(GET) - 1);
    EXPECT_EQ(last_guest_rx, strlen(OK_OUT));
}

TEST(what_is_denied_is_told_why)
{
    talk(&tls, ">DELETE /v1/a HTTP/1.1\r\nHost: api.good.test\r\nContent-Length: 3\r\n\r\nabc",
         NULL);
    EXPECT_DENIED(403, "rule:no-delete");
    EXPECT_HAS(said_to_guest, "HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\n");
    EXPECT_HAS(said_to_guest, "{\"error\":\"egress_denied\",\"reason\":\"rule:no-delete\","
                              "\"message\":\"nothing is \\\"deleted\\\" here\"}\n");
    EXPECT_STR(records.data, "DELETE /v1/a 403 deny rule:no-delete\n");
    talk(&tls, ">GET /v2/ HTTP/1.1\r\nHost: api.good.test\r\n\r\n", NULL);
    EXPECT_DENIED(403, "default");
    talk(&tls, ">HEAD /v2/ HTTP/1.1\r\nHost: api.good.test\r\n\r\n", NULL);
    EXPECT_DENIED(403, "default");
    EXPECT_LACKS(said_to_guest, "{");
}

TEST(C1_another_host_than_the_connections)
{
    talk(&tls, ">GET /v1/ HTTP/1.1\r\nHost: other.test\r\n\r\n", NULL);
    EXPECT_DENIED(421, "name_conflict");
    EXPECT_STR(records.data, "GET /v1/ 421 deny name_conflict\n");
    talk(&plain, ">GET /v1/ HTTP/1.1\r\nHost: other.test\r\n\r\n", NULL);
    EXPECT_DENIED(421, "name_conflict");
    talk(&tls, ">GET /v1/ HTTP/1.1\r\nHost: 93.184.216.34\r\n\r\n", NULL);
    EXPECT_DENIED(421, "name_conflict");
}

TEST(C1_a_host_is_compared_in_its_canonical_form)
{
    talk(&tls, ">GET /v1/ HTTP/1.1\r\nHost: API.Good.test.:443\r\n\r\n", OK, NULL);
    EXPECT_STR(said_to_server.data, "GET /v1/ HTTP/1.1\r\nHost: api.good.test:443\r\n\r\n");
}

TEST(C3_two_authorities_that_differ)
{
    talk(&tls, ">GET https://api.good.test/v1/ HTTP/1.1\r\nHost: other.test\r\n\r\n", NULL);
    EXPECT_DENIED(421, "name_conflict");
}

TEST(C5_each_request_of_a_connection_is_judged)
{
    talk(&tls, GET, OK, ">GET /v1/ HTTP/1.1\r\nHost: other.test\r\n\r\n", NULL);
    EXPECT_STR(said_to_server.data, GET_OUT);
    EXPECT_HAS(said_to_guest, "HTTP/1.1 421 Misdirected Request\r\n");
    EXPECT_STR(ends, "close close");
}

TEST(C6_pipelined_requests_are_judged_one_by_one)
{
    talk(&tls, GET "GET /v2/ HTTP/1.1\r\nHost: api.good.test\r\n\r\n", NULL);
    EXPECT_STR(said_to_server.data, GET_OUT);
    EXPECT_EQ(said_to_guest.size, 0);
    talk(&tls,
         GET "GET /v1/b HTTP/1.1\r\nHost: api.good.test\r\n\r\n"
             "GET /v2/ HTTP/1.1\r\nHost: api.good.test\r\n\r\n",
         OK, OK, NULL);
    EXPECT_STR(said_to_server.data, GET_OUT "GET /v1/b HTTP/1.1\r\nHost: api.good.test\r\n\r\n");
    EXPECT_HAS(said_to_guest, OK_OUT OK_OUT "HTTP/1.1 403 ");
    EXPECT_STR(records.data, "GET /v1/a 200 allow rule:api\nGET /v1/b 200 allow rule:api\n"
                             "GET /v2/ 403 deny default\n");
}

TEST(C7_an_absolute_target_goes_out_in_origin_form)
{
    talk(&tls, ">GET https://api.good.test/v1/?q HTTP/1.1\r\nHost: api.good.test\r\n\r\n", OK,
         NULL);
    EXPECT_STR(said_to_server.data, "GET /v1/?q HTTP/1.1\r\nHost: api.good.test\r\n\r\n");
    talk(&tls, ">GET https://evil.test/v1/ HTTP/1.1\r\nHost: evil.test\r\n\r\n", NULL);
    EXPECT_DENIED(421, "name_conflict");
    talk(&tls, ">GET http://api.good.test:443/v1/ HTTP/1.1\r\nHost: api.good.test:443\r\n\r\n",
         NULL);
    EXPECT_DENIED(421, "name_conflict");
}

TEST(C8_empty_lines_before_a_request)
{
    talk(&tls, ">\r\n\r\nGET /v1/ HTTP/1.1\r\nHost: other.test\r\n\r\n", NULL);
    EXPECT_DENIED(421, "name_conflict");
}

TEST(C9_no_single_valid_host)
{
    talk(&tls, ">GET /v1/ HTTP/1.1\r\nHost: api.good.test\r\nHost: api.good.test\r\n\r\n", NULL);
    EXPECT_DENIED(400, "smuggling");
    talk(&tls, ">GET /v1/ HTTP/1.1\r\nHost: a@api.good.test\r\n\r\n", NULL);
    EXPECT_DENIED(400, "malformed");
    talk(&tls, ">GET /v1/ HTTP/1.1\r\nHost: api.good.test, a\r\n\r\n", NULL);
    EXPECT_DENIED(400, "malformed");
    talk(&tls, ">GET /v1/ HTTP/1.1\r\nHost: a..b\r\n\r\n", NULL);
    EXPECT_DENIED(400, "malformed");
    talk(&tls, ">GET /v1/ HTTP/1.1\r\n\r\n", NULL);
    EXPECT_DENIED(400, "malformed");
}

TEST(C10_old_versions)
{
    talk(&tls, ">GET /v1/ HTTP/1.0\r\nHost: api.good.test\r\n\r\n", OK, NULL);
    EXPECT_STR(said_to_server.data,
               "GET /v1/ HTTP/1.1\r\nHost: api.good.test\r\nConnection: close\r\n\r\n");
    EXPECT_HAS(said_to_guest, "Connection: close\r\n\r\nok");
    EXPECT_STR(ends, "close close");
    talk(&tls, ">GET /v1/ HTTP/1.0\r\n\r\n", OK, NULL);
    EXPECT_HAS(said_to_server, "Host: api.good.test\r\n");
    talk(&tls, ">GET /v1/\r\n", NULL);
    EXPECT_DENIED(400, "malformed");
    talk(&tls, ">GET /v1/ HTTP/1.1\nHost: api.good.test\n\n", NULL);
    EXPECT_DENIED(400, "smuggling");
}

TEST(C10_a_client_of_1_0_gets_no_chunks_and_no_interim_responses)
{
    talk(&tls, ">GET /v1/ HTTP/1.0\r\nHost: api.good.test\r\n\r\n",
         "<HTTP/1.1 103 Early\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: "
         "chunked\r\n\r\n"
         "3\r\nabc\r\n2\r\nde\r\n0\r\nX: y\r\n\r\n",
         NULL);
    EXPECT_STR(said_to_guest.data, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabcde");
    EXPECT_STR(ends, "close close");
}

TEST(C11_another_port_than_the_connections)
{
    talk(&tls, ">GET /v1/ HTTP/1.1\r\nHost: api.good.test:8443\r\n\r\n", NULL);
    EXPECT_DENIED(421, "name_conflict");
    struct scene odd = tls;
    odd.port = 8443;
    talk(&odd, ">GET /v1/ HTTP/1.1\r\nHost: api.good.test:8443\r\n\r\n", OK, NULL);
    EXPECT_STR(said_to_server.data, "GET /v1/ HTTP/1.1\r\nHost: api.good.test:8443\r\n\r\n");
    talk(&odd, ">GET /v1/ HTTP/1.1\r\nHost: api.good.test\r\n\r\n", NULL);
    EXPECT_DENIED(421, "name_conflict");
}

TEST(C18_what_is_not_http)
{
    talk(&tls, ">SSH-2.0-OpenSSH_9\r\n", NULL);
    EXPECT_DENIED(400, "malformed");
    EXPECT_STR(records.data, "- - 400 deny malformed\n");
    talk(&tls, ">PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", NULL);
    EXPECT_EQ(said_to_server.size, 0);
    EXPECT_EQ(status_to_guest(), 505);
}

#define WEBSOCKET                                                                       \
    ">GET /v1/s HTTP/1.1\r\nHost: api.good.test\r\nConnection: keep-alive, Upgrade\r\n" \
    "Upgrade: websocket\r\nSec-WebSocket-Key: abc\r\n\r\n"
#define SWITCHES "<HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: WebSocket\r\n\r\n"

TEST(C23_a_websocket_passes)
{
    talk(&tls, WEBSOCKET, SWITCHES "\x81\x02hi", ">GET / not HTTP", "<more", "<|", ">x", ">|",
         NULL);
    EXPECT_STR(said_to_server.data,
               "GET /v1/s HTTP/1.1\r\nHost: api.good.test\r\nSec-WebSocket-Key: abc\r\n"
               "Connection: upgrade\r\nUpgrade: websocket\r\n\r\nGET / not HTTPx");
    EXPECT_HAS(said_to_guest, "HTTP/1.1 101 Switching\r\nConnection: upgrade\r\n"
                              "Upgrade: WebSocket\r\n\r\n\x81\x02himore");
    EXPECT_STR(records.data, "GET /v1/s 101 allow rule:api\n");
    EXPECT_STR(ends, "close close");
}

TEST(C23_R53_what_the_guest_sends_early_is_the_websockets)
{
    talk(&tls, WEBSOCKET "early", NULL);
    EXPECT_LACKS(said_to_server, "early");
    talk(&tls, WEBSOCKET "early", SWITCHES, NULL);
    EXPECT_HAS(said_to_server, "\r\n\r\nearly");
    talk(&tls, WEBSOCKET "GET /v2/ HTTP/1.1\r\nHost: api.good.test\r\n\r\n",
         "<HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n", NULL);
    EXPECT_HAS(said_to_guest, "HTTP/1.1 403 Forbidden\r\n");
}

TEST(C23_a_websocket_is_judged_as_a_request)
{
    talk(&tls,
         ">GET /v2/ HTTP/1.1\r\nHost: api.good.test\r\nConnection: upgrade\r\n"
         "Upgrade: websocket\r\n\r\n",
         NULL);
    EXPECT_DENIED(403, "default");
}

TEST(C23_half_of_a_websocket_ends)
{
    talk(&tls, WEBSOCKET, SWITCHES, ">|", NULL);
    EXPECT_STR(ends, "open shut");
    talk(&tls, WEBSOCKET, SWITCHES, "<|", NULL);
    EXPECT_STR(ends, "shut open");
}

TEST(C23_no_other_protocol_is_changed_to)
{
    talk(&tls,
         ">GET /v1/ HTTP/1.1\r\nHost: api.good.test\r\nConnection: upgrade\r\n"
         "Upgrade: h2, TLS/1.2\r\n\r\n",
         OK, NULL);
    EXPECT_STR(said_to_server.data, "GET /v1/ HTTP/1.1\r\nHost: api.good.test\r\n\r\n");
    talk(&tls, WEBSOCKET, "<HTTP/1.1 101 Ok\r\nConnection: upgrade\r\nUpgrade: h2\r\n\r\n", NULL);
    EXPECT_EQ(status_to_guest(), 502);
    talk(&tls, GET, SWITCHES, NULL);
    EXPECT_EQ(status_to_guest(), 502);
    EXPECT_STR(ends, "close close");
}

TEST(C24_h2c_is_stripped)
{
    talk(&tls,
         ">GET /v1/ HTTP/1.1\r\nHost: api.good.test\r\nHTTP2-Settings: AAMAAABk\r\n"
         "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n",
         OK, NULL);
    EXPECT_STR(said_to_server.data, "GET /v1/ HTTP/1.1\r\nHost: api.good.test\r\n\r\n");
}

#define PROXY_POLICY                                                                            \
    "{'version':1,'rules':["                                                                    \
    "{'id':'proxy','action':'allow','to':{'domain':['proxy.test']},'connect':'allow'},"         \
    "{'id':'web','action':'allow','to':{'domain':['web.test','api.good.test']},'ports':[443]}," \
    "{'id':'paths','action':'allow','to':{'domain':['paths.test']},"                            \
    "'http':{'path':{'prefix':'/a'}}},"                                                         \
    "{'id':'net','action':'allow','to':{'cidr':['93.184.216.0/24']}}]}"

TEST(C25_connect_is_refused)
{
    talk(&tls, ">CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\n\r\n", NULL);
    EXPECT_DENIED(403, "default");
    struct scene open = tls;
    open.policy = "{'version':1,'rules':[{'id':'api','action':'allow',"
                  "'to':{'domain':['api.good.test', 'web.test']}}]}";
    talk(&open, ">CONNECT web.test:443 HTTP/1.1\r\nHost: web.test:443\r\n\r\n", NULL);
    EXPECT_DENIED(403, "connect");
}

TEST(C25_C26_where_a_tunnel_leads_is_judged)
{
    static const struct scene proxy = {
        .policy = PROXY_POLICY, .name = "proxy.test", .address = "203.0.114.9", .port = 3128};
    talk(&proxy, ">CONNECT web.test:443 HTTP/1.1\r\nHost: web.test\r\n\r\nearly",
         "<HTTP/1.1 200 Go on\r\n\r\nhello", ">\x16\x03", NULL);
    EXPECT_STR(said_to_server.data,
               "CONNECT web.test:443 HTTP/1.1\r\nHost: web.test:443\r\n\r\nearly\x16\x03");
    EXPECT_STR(said_to_guest.data, "HTTP/1.1 200 Go on\r\n\r\nhello");
    EXPECT_STR(records.data, "CONNECT  200 allow rule:proxy\n");
    talk(&proxy, ">CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test\r\n\r\n", NULL);
    EXPECT_DENIED(403, "default");
    talk(&proxy, ">CONNECT web.test:22 HTTP/1.1\r\nHost: web.test\r\n\r\n", NULL);
    EXPECT_DENIED(403, "default");
    talk(&proxy, ">CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: 169.254.169.254\r\n\r\n", NULL);
    EXPECT_DENIED(403, "floor:metadata");
    /* Nobody looks into the tunnel. */
    talk(&proxy, ">CONNECT paths.test:443 HTTP/1.1\r\nHost: paths.test\r\n\r\n", NULL);
    EXPECT_DENIED(403, "default");
    talk(&proxy, ">CONNECT web.test:443 HTTP/1.1\r\nHost: web.test\r\n\r\n",
         "<HTTP/1.1 407 No\r\nContent-Length: 2\r\n\r\nno", NULL);
    EXPECT_STR(ends, "close close");
    EXPECT_HAS(said_to_guest, "HTTP/1.1 407 No\r\n");
}

#define CONNECT(host) ">CONNECT " host ":443 HTTP/1.1\r\nHost: " host "\r\n\r\n"

TEST(C26_R63_a_tunnel_is_for_the_name_that_its_hello_shows)
{
    static const struct scene proxy = {
        .policy = PROXY_POLICY, .name = "proxy.test", .address = "203.0.114.9", .port = 3128};
    static const char agreed[] = "<HTTP/1.1 200 OK\r\n\r\n";
    talk(&proxy, CONNECT("api.good.test"), agreed, "@", ">more", NULL);
    EXPECT_STR(ends, "open open");
    EXPECT_TRUE(!memcmp(said_to_server.data + said_to_server.size - 4, "more", 4));
    EXPECT_GT(said_to_server.size, 200);
    talk(&proxy, CONNECT("web.test"), agreed, "@", ">more", NULL);
    EXPECT_STR(ends, "reset reset");
    EXPECT_STR(records.data, "CONNECT  200 deny name_conflict\n");
    EXPECT_LACKS(said_to_server, "\x16");
    talk(&proxy, CONNECT("web.test"), agreed, ">\x16\x03\x01", ">|", NULL);
    EXPECT_STR(ends, "open shut");
    talk(&proxy, CONNECT("web.test"), agreed, ">\x16\x03\x01", "!", NULL);
    EXPECT_EQ(now_ns, 11 * NSEC_PER_SEC);
    EXPECT_STR(records.data, "CONNECT  200 deny limit:first_flight\n");
    talk(&proxy, CONNECT("web.test"), agreed, "<server first", "<|", NULL);
    EXPECT_HAS(said_to_guest, "server first");
    EXPECT_STR(ends, "shut open");
    /* Nobody would judge it. */
    talk(&proxy, CONNECT("web.test"), agreed, ">GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", NULL);
    EXPECT_STR(ends, "reset reset");
    EXPECT_STR(records.data, "CONNECT  200 deny connect\n");
}

TEST(C25_a_name_is_not_allowed_by_its_proxys_address)
{
    static const struct scene proxy = {.policy =
                                           "{'version':1,'rules':[{'id':'proxy','action':'allow',"
                                           "'to':{'cidr':['93.184.216.0/24']},'connect':'allow'}]}",
                                       .port = 3128};
    talk(&proxy, ">CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test\r\n\r\n", NULL);
    EXPECT_DENIED(403, "default");
}

TEST(C27_expect_continue)
{
    talk(&tls,
         ">POST /v1/ HTTP/1.1\r\nHost: api.good.test\r\nExpect: 100-continue\r\n"
         "Content-Length: 3\r\n\r\n",
         "<HTTP/1.1 100 Continue\r\n\r\n", ">abc", OK, NULL);
    EXPECT_STR(said_to_server.data, "POST /v1/ HTTP/1.1\r\nHost: api.good.test\r\n"
                                    "Expect: 100-continue\r\nContent-Length: 3\r\n\r\nabc");
    EXPECT_STR(said_to_guest.data, "HTTP/1.1 100 Continue\r\n\r\n" OK_OUT);
    EXPECT_STR(records.data, "POST /v1/ 200 allow rule:api\n");
}

TEST(E1_alternatives_that_nobody_sees_are_not_offered)
{
    talk(&tls, GET,
         "<HTTP/1.1 200 OK\r\nalt-svc: h3=\":443\"; ma=2592000\r\n"
         "Content-Length: 0\r\n\r\n",
         NULL);
    EXPECT_STR(said_to_guest.data, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    talk(&plain, GET, "<HTTP/1.1 200 OK\r\nalt-svc: clear\r\nContent-Length: 0\r\n\r\n", NULL);
    EXPECT_HAS(said_to_guest, "alt-svc: clear\r\n");
}

#define TRANSFORM_POLICY                                                                         \
    "{'version':1,'rules':[{'id':'api','action':'allow','to':{'domain':['api.good.test']},"      \
    "'transforms':["                                                                             \
    "{'set_headers':{'authorization':'Bearer first','x-team':'a'},'remove_headers':['cookie']}," \
    "{'match':{'path':{'prefix':'/v1/'}},'set_headers':{'authorization':'Bearer second'}},"      \
    "{'match':{'method':['PUT']},'set_headers':{'x-put':'1'}}]}]}"

static const struct scene changed = {
    .policy = TRANSFORM_POLICY, .name = "api.good.test", .port = 443, .is_tls = true};

TEST(G8_what_is_set_replaces_every_field_of_its_name)
{
    talk(&changed,
         ">GET /v1/ HTTP/1.1\r\nHost: api.good.test\r\nAUTHORIZATION: a\r\nA: b\r\n"
         "authorization: c\r\nCookie: d\r\n\r\n",
         OK, NULL);
    EXPECT_STR(said_to_server.data, "GET /v1/ HTTP/1.1\r\nHost: api.good.test\r\nA: b\r\n"
                                    "x-team: a\r\nauthorization: Bearer second\r\n\r\n");
    talk(&changed, ">PUT /v2/ HTTP/1.1\r\nHost: api.good.test\r\nContent-Length: 0\r\n\r\n", OK,
         NULL);
    EXPECT_STR(said_to_server.data,
               "PUT /v2/ HTTP/1.1\r\nHost: api.good.test\r\nauthorization: Bearer first\r\n"
               "x-team: a\r\nx-put: 1\r\nContent-Length: 0\r\n\r\n");
}

TEST(G8_no_field_comes_in_a_trailer)
{
    talk(&changed,
         ">POST /v1/ HTTP/1.1\r\nHost: api.good.test\r\nTransfer-Encoding: chunked\r\n\r\n"
         "1\r\na\r\n0\r\nX-Team: b\r\n\r\n",
         OK, NULL);
    EXPECT_LACKS(said_to_server, "X-Team");
    EXPECT_HAS(said_to_server, "1\r\na\r\n0\r\n\r\n");
    talk(&tls,
         ">POST /v1/ HTTP/1.1\r\nHost: api.good.test\r\nTransfer-Encoding: chunked\r\n\r\n"
         "1\r\na\r\n0\r\nAuthorization: b\r\n\r\n",
         NULL);
    EXPECT_EQ(status_to_guest(), 400);
    EXPECT_STR(ends, "close reset");
}

TEST(G9_connection_takes_out_nothing_that_is_set)
{
    talk(&changed,
         ">GET /v1/ HTTP/1.1\r\nHost: api.good.test\r\nProxy-Authorization: a\r\n"
         "Connection: authorization, x-team, b\r\nB: c\r\nKeep-Alive: 1\r\nTE: trailers\r\n"
         "Authorization: d\r\n\r\n",
         OK, NULL);
    EXPECT_STR(said_to_server.data, "GET /v1/ HTTP/1.1\r\nHost: api.good.test\r\nx-team: a\r\n"
                                    "authorization: Bearer second\r\n\r\n");
}

TEST(G10_trace_is_refused_where_fields_are_set)
{
    talk(&changed, ">TRACE /v1/ HTTP/1.1\r\nHost: api.good.test\r\n\r\n", NULL);
    EXPECT_DENIED(403, "trace");
    talk(&tls, ">TRACE /v1/ HTTP/1.1\r\nHost: api.good.test\r\n\r\n", OK, NULL);
    EXPECT_EQ(status_to_guest(), 200);
}

TEST(G14_R52_framing_that_can_be_read_in_two_ways)
{
    static const char *const lines[] = {
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: +5\r\n",
        "Content-Length: 5, 5\r\n",
        "A: b\r\n c\r\n",
        "Content-Length : 5\r\n",
    };
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        char text[256];
        snprintf(text, sizeof(text), ">POST /v1/ HTTP/1.1\r\nHost: api.good.test\r\n%s\r\nabcde",
                 lines[i]);
        talk(&tls, text, NULL);
        EXPECT_DENIED(400, "smuggling");
    }
}

TEST(G14_content_is_framed_anew)
{
    talk(&tls,
         ">POST /v1/ HTTP/1.1\r\nHost: api.good.test\r\nTransfer-Encoding: chunked\r\n\r\n"
         "003;ext=1\r\nabc\r\nA\r\n0123456789\r\n0\r\nX-Sum: 1\r\n\r\n",
         OK, NULL);
    EXPECT_STR(said_to_server.data,
               "POST /v1/ HTTP/1.1\r\nHost: api.good.test\r\nTransfer-Encoding: chunked\r\n\r\n"
               "3\r\nabc\r\na\r\n0123456789\r\n0\r\nX-Sum: 1\r\n\r\n");
    EXPECT_STR(records.data, "POST /v1/ 200 allow rule:api\n");
}

TEST(G14_a_chunk_that_is_wrong_cuts_both_sides)
{
    talk(&tls,
         ">POST /v1/ HTTP/1.1\r\nHost: api.good.test\r\nTransfer-Encoding: chunked\r\n\r\n"
         "3\r\nabcd\r\n",
         NULL);
    EXPECT_EQ(status_to_guest(), 400);
    EXPECT_STR(denied_reason(), "smuggling");
    EXPECT_STR(ends, "close reset");
    EXPECT_STR(records.data, "POST /v1/ 400 deny smuggling\n");
}

TEST(G15_content_without_framing_is_another_request)
{
    talk(&tls,
         ">GET /v1/ HTTP/1.1\r\nHost: api.good.test\r\nConnection: TE\r\nTE: chunked\r\n\r\n"
         "5\r\nhello\r\n0\r\n\r\n",
         OK, NULL);
    EXPECT_STR(said_to_server.data, "GET /v1/ HTTP/1.1\r\nHost: api.good.test\r\n\r\n");
    EXPECT_HAS(said_to_guest, "HTTP/1.1 400 Bad Request\r\n");
}

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
