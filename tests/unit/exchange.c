// SPDX-License-Identifier: Apache-2.0
/* Requests through an exchange: whom they are for, what is changed, how they are framed. How things
 * end: exchange_ends.c. Secrets: exchange_secrets.c. */
#include "tests/unit/exchange_scene.h"

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

TEST(G9_credentials_for_a_proxy_go_with_a_connect_alone)
{
    static const struct scene proxy = {
        .policy = PROXY_POLICY, .name = "proxy.test", .address = "203.0.114.9", .port = 3128};
    talk(&proxy,
         ">CONNECT web.test:443 HTTP/1.1\r\nHost: web.test\r\nA: b\r\n"
         "Proxy-Authorization: Basic YTpi\r\nProxy-Connection: keep-alive\r\n\r\n",
         NULL);
    EXPECT_STR(said_to_server.data, "CONNECT web.test:443 HTTP/1.1\r\nHost: web.test:443\r\n"
                                    "A: b\r\nProxy-Authorization: Basic YTpi\r\n\r\n");
    talk(&proxy,
         ">GET / HTTP/1.1\r\nHost: proxy.test:3128\r\n"
         "Proxy-Authorization: Basic YTpi\r\n\r\n",
         NULL);
    EXPECT_STR(said_to_server.data, "GET / HTTP/1.1\r\nHost: proxy.test:3128\r\n\r\n");
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
    EXPECT_STR(ends, "reset reset");
    EXPECT_STR(records.data, "CONNECT  200 deny malformed\n");
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
    talk(&proxy, CONNECT("web.test"), agreed, ">FROB", "> x:80 HT",
         ">TP/1.1\r\nHost: evil.test\r\n\r\n", NULL);
    EXPECT_STR(ends, "reset reset");
    EXPECT_STR(records.data, "CONNECT  200 deny connect\n");
    EXPECT_LACKS(said_to_server, "evil");
    talk(&proxy, CONNECT("web.test"), agreed, ">FROB", "> x:80\n", ">HTTP/1.1\r\n", NULL);
    EXPECT_STR(ends, "open open");
    EXPECT_HAS(said_to_server, "FROB x:80\nHTTP/1.1\r\n");
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

/* X_Team is the same variable as X-Team to a program behind CGI or WSGI. */
TEST(G8_what_is_set_replaces_fields_that_servers_take_for_it)
{
    talk(&changed,
         ">GET /v1/ HTTP/1.1\r\nHost: api.good.test\r\nX_Team: b\r\nx.team: c\r\nXTeam: d\r\n"
         "X-Team_: e\r\nauthorization_: f\r\n\r\n",
         OK, NULL);
    EXPECT_STR(said_to_server.data,
               "GET /v1/ HTTP/1.1\r\nHost: api.good.test\r\nXTeam: d\r\nX-Team_: e\r\n"
               "authorization_: f\r\nx-team: a\r\nauthorization: Bearer second\r\n\r\n");
}

TEST(G14_fields_that_servers_take_for_the_frame_go_no_further)
{
    talk(&plain,
         ">GET /v1/ HTTP/1.1\r\nHost: api.good.test\r\nContent_Length: 5\r\nTransfer.Encoding: "
         "chunked\r\n"
         "Proxy_Authorization: a\r\nX_Own: 1\r\n\r\n",
         OK, NULL);
    EXPECT_STR(said_to_server.data, "GET /v1/ HTTP/1.1\r\nHost: api.good.test\r\nX_Own: 1\r\n\r\n");
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
