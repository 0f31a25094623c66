// SPDX-License-Identifier: Apache-2.0
/* HTTP/2 through the gateway: what is asked and answered, and what of it goes on. */
#include "tests/harness/harness.h"
#include "tests/unit/exchange_support.h"
#include "tests/unit/h2_support.h"

#include <nghttp2/nghttp2.h>

#define POLICY                                                             \
    "{'version':1,'rules':["                                               \
    "{'id':'no-delete','action':'deny','to':{'domain':['api.good.test']}," \
    "'http':{'method':['DELETE']}},"                                       \
    "{'id':'api','action':'allow','to':{'domain':['api.good.test']},"      \
    "'http':{'path':{'prefix':'/v1/'}}}]}"
#define SECRET                                                                             \
    "'secrets':{'KEY':{'source':{'env':'KEY'},'placeholder':'ghp_placeholderA','allow':{'" \
    "hosts':['api.good.test']},'inject':{'query':true,'body':true}}}"
#define SECRET_POLICY      \
    "{'version':1," SECRET \
    ",'rules':[{'id':'a','action':'allow','to':{'domain':['api.good.test']}}]}"

#define TO(method, path) \
    ":method: " method "\n:scheme: https\n:authority: api.good.test\n:path: " path "\n"
#define GET  TO("GET", "/v1/a?b=c")
#define POST TO("POST", "/v1/a")

static const char *const values[] = {"KEY", "ghp_placeholderA", "real-secret-value/1", NULL};

/* What a test asked for is all that is left of it. */
#define EXPECT_RECORDS(text) EXPECT_STR(records.data ? records.data : "", text)

TEST(a_request_and_its_response)
{
    begin(POLICY, NULL);
    server.answer = ":status: 200\nx-a: b\ncontent-length: 2\nalt-svc: h3=\":443\"\n";
    ask(GET "x-b: c\n", NULL, NULL);
    run();
    EXPECT_STR(server.heard.data, "1 :method: GET\n1 :scheme: https\n1 :authority: api.good.test\n"
                                  "1 :path: /v1/a?b=c\n1 x-b: c\n1 head\n1 end\n");
    EXPECT_STR(guest.heard.data,
               "1 :status: 200\n1 x-a: b\n1 content-length: 2\n1 head\n1 data 2 ok\n1 end\n");
    EXPECT_RECORDS("GET /v1/a 200 allow rule:api\n");
    finish();
}

TEST(content_and_trailers_both_ways)
{
    begin(POLICY, NULL);
    server.trailer = "0";
    ask(POST "content-length: 5\nte: trailers\n", "hello", "9");
    run();
    EXPECT_HEARD(server, "1 te: trailers\n1 content-length: 5\n1 head\n1 data 5 hello\n"
                         "1 x-last: 9\n1 head\n1 end\n");
    EXPECT_HEARD(guest, "1 :status: 200\n1 head\n1 data 2 ok\n1 x-last: 0\n1 head\n1 end\n");
    EXPECT_RECORDS("POST /v1/a 200 allow rule:api\n");
    finish();
}

TEST(responses_without_content)
{
    static const char *const answers[] = {":status: 204\n", ":status: 304\nx-a: b\n",
                                          ":status: 200\ngrpc-status: 12\n",
                                          ":status: 200\ncontent-length: 0\n"};
    begin(POLICY, NULL);
    server.content = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
        server.answer = answers[i];
        ask(GET, NULL, NULL);
        run();
    }
    /* The end is in the head, as gRPC wants it. */
    EXPECT_EQ(count(&guest, " head\n"), 4);
    EXPECT_EQ(count(&guest, " data"), 0);
    EXPECT_HEARD(guest, "5 grpc-status: 12\n5 head\n5 end\n");
    EXPECT_HEARD(guest, "7 content-length: 0\n7 head\n7 end\n");
    server.answer = ":status: 200\ncontent-length: 77\n";
    ask(TO("HEAD", "/v1/"), NULL, NULL);
    run();
    EXPECT_HEARD(guest, "9 content-length: 77\n9 head\n9 end\n");
    finish();
}

TEST(C27_interim_responses)
{
    begin(POLICY, NULL);
    server.answer = NULL;
    int32_t id = ask_open(POST "expect: 100-continue\n");
    run();
    EXPECT_HEARD(server, "1 expect: 100-continue\n1 head\n");
    EXPECT_NOT_HEARD(server, "end");
    /* A frame of its own, since nghttp2's server submits final responses alone. */
    frame(&server, 1, 4, (uint32_t)id,
          "\x48\x03"
          "100",
          5);
    run();
    EXPECT_HEARD(guest, "1 :status: 100\n1 head\n");
    say_content(&guest, id, "body");
    end_content(&guest, id);
    run();
    EXPECT_HEARD(server, "1 data 4 body\n1 end\n");
    reply(id, ":status: 201\n", "x", NULL);
    run();
    EXPECT_HEARD(guest, "1 :status: 201\n1 head\n1 data 1 x\n1 end\n");
    EXPECT_RECORDS("POST /v1/a 201 allow rule:api\n");
    finish();
}

/* As a call of gRPC that streams both ways. */
TEST(content_goes_on_as_it_comes)
{
    begin(POLICY, NULL);
    server.answer = NULL;
    int32_t id = ask_open(POST "content-type: application/grpc\nte: trailers\n");
    run();
    reply_open(id, ":status: 200\n");
    run();
    EXPECT_HEARD(guest, "1 :status: 200\n1 head\n");
    for (int i = 0; i < 3; i++) {
        say_content(&guest, id, "ping");
        run();
        EXPECT_EQ(count(&server, "1 data 4 ping\n"), (size_t)i + 1);
        say_content(&server, id, "pong");
        run();
        EXPECT_EQ(count(&guest, "1 data 4 pong\n"), (size_t)i + 1);
    }
    end_content(&guest, id);
    run();
    EXPECT_HEARD(server, "1 end\n");
    end_content(&server, id);
    run();
    EXPECT_HEARD(guest, "1 end\n");
    EXPECT_RECORDS("POST /v1/a 200 allow rule:api\n");
    finish();
}

TEST(a_response_before_its_request_is_complete)
{
    begin(POLICY, NULL);
    server.answer = NULL;
    int32_t id = ask_open(POST);
    run();
    reply(id, ":status: 413\n", "no", NULL);
    run();
    EXPECT_HEARD(guest, "1 :status: 413\n1 head\n1 data 2 no\n1 end\n");
    EXPECT_NOT_HEARD(guest, "reset");
    /* It goes on as long as the server takes it. */
    say_content(&guest, id, "more");
    run();
    EXPECT_HEARD(server, "1 data 4 more\n");
    reset(&server, id, 0);
    run();
    EXPECT_HEARD(guest, "1 reset 0\n");
    EXPECT_RECORDS("POST /v1/a 413 allow rule:api\n");
    finish();
}

TEST(streams_are_refused_one_by_one)
{
    begin(POLICY, NULL);
    server.answer = NULL;
    int32_t kept = ask(GET, NULL, NULL);
    ask(TO("DELETE", "/v1/a"), NULL, NULL);
    ask(TO("GET", "/v2/"), NULL, NULL);
    int32_t open = ask_open(TO("PUT", "/v2/"));
    run();
    EXPECT_HEARD(guest, "3 :status: 403\n3 content-type: application/json\n"
                        "3 x-egress-denied: rule:no-delete\n");
    EXPECT_HEARD(guest, "5 :status: 403\n");
    EXPECT_HEARD(guest, "7 :status: 403\n");
    /* Who still sends is told to stop, not cut off from the answer. */
    EXPECT_HEARD(guest, "7 end\n7 reset 0\n");
    EXPECT_TRUE(open == 7);
    reply(kept, ":status: 200\n", "late", NULL);
    run();
    EXPECT_HEARD(guest, "1 data 4 late\n1 end\n");
    EXPECT_EQ(count(&server, ":path"), 1);
    EXPECT_RECORDS("DELETE /v1/a 403 deny rule:no-delete\nGET /v2/ 403 deny default\n"
                   "PUT /v2/ 403 deny default\nGET /v1/a 200 allow rule:api\n");
    finish();
}

TEST(resets_both_ways)
{
    begin(POLICY, NULL);
    server.answer = NULL;
    int32_t first = ask_open(POST), second = ask(GET, NULL, NULL), third = ask(GET, NULL, NULL);
    run();
    reset(&guest, first, 8);
    reset(&server, second, 7); /* REFUSED_STREAM: may be asked again */
    run();
    EXPECT_HEARD(server, "1 reset 8\n");
    EXPECT_HEARD(guest, "3 reset 7\n");
    reply_open(third, ":status: 200\n");
    say_content(&server, third, "part");
    run();
    reset(&server, third, 2);
    run();
    EXPECT_HEARD(guest, "5 data 4 part\n5 reset 2\n");
    EXPECT_NOT_HEARD(guest, "goaway");
    EXPECT_HAS(records, "GET /v1/a 200 allow upstream\n");
    finish();
}

TEST(a_server_that_says_goaway)
{
    begin(POLICY, NULL);
    server.answer = NULL;
    int32_t id = ask(GET, NULL, NULL);
    run();
    nghttp2_submit_goaway(server.session, 0, id, 0, NULL, 0);
    run();
    EXPECT_HEARD(guest, "goaway 0\n");
    reply(id, ":status: 200\n", "last", NULL);
    run();
    EXPECT_HEARD(guest, "1 data 4 last\n1 end\n");
    EXPECT_EQ(h2_guest_end(h2), EXCHANGE_CLOSE);
    finish();
}

TEST(a_server_that_goes)
{
    begin(POLICY, NULL);
    server.answer = NULL;
    int32_t begun = ask(GET, NULL, NULL);
    ask(GET, NULL, NULL);
    run();
    reply_open(begun, ":status: 200\n");
    run();
    h2_server_ended(h2);
    run();
    EXPECT_HEARD(guest, "1 reset 2\n");
    EXPECT_HEARD(guest, "3 :status: 502\n");
    EXPECT_HEARD(guest, "goaway 0\n");
    EXPECT_EQ(h2_guest_end(h2), EXCHANGE_CLOSE);
    finish();
}

TEST(C21_requests_without_a_server_are_told_why)
{
    server.never_was = true;
    begin(POLICY, NULL);
    ask(GET, NULL, NULL);
    run();
    EXPECT_HEARD(guest, "1 :status: 502\n");
    EXPECT_HEARD(guest, "the certificate has expired");
    EXPECT_HEARD(guest, "1 end\n");
    EXPECT_EQ(server.heard.size, 0);
    finish();
}

/* ---- how fast ---- */

TEST(a_slow_reader_holds_back_the_server)
{
    begin(POLICY, NULL);
    guest.opens_windows = false;
    server.content_size = 64 << 20;
    ask(GET, NULL, NULL);
    run();
    /* All but what is less than a frame's head of its window. */
    EXPECT_TRUE(guest.got_bytes <= 65535 && guest.got_bytes > 65535 - 16);
    size_t sent = server.content_size;
    EXPECT_TRUE(h2_to_guest(h2)->size + h2_to_server(h2)->size < 2 * EXCHANGE_OUT_BYTES);
    /* What the server could say is what its windows have, and what goes on to the guest. */
    guest.opens_windows = true;
    nghttp2_session_consume(guest.session, 1, guest.got_bytes);
    run();
    EXPECT_EQ(guest.got_bytes, sent);
    EXPECT_HEARD(guest, "1 end\n");
    finish();
}

TEST(a_slow_server_holds_back_the_guest)
{
    begin(POLICY, NULL);
    server.opens_windows = false;
    server.answer = NULL;
    ask_much(POST, 64 << 20);
    int32_t other = ask(GET, NULL, NULL);
    run();
    EXPECT_EQ(server.got_bytes, 65535);
    /* The others are not. */
    EXPECT_HEARD(server, "3 head\n3 end\n");
    reply(other, ":status: 200\n", NULL, NULL);
    run();
    EXPECT_HEARD(guest, "3 end\n");
    server.opens_windows = true;
    nghttp2_session_consume(server.session, 1, 65535);
    run();
    EXPECT_EQ(server.got_bytes, 64 << 20);
    finish();
}

/* What a program does not want any more takes nothing from its other streams. */
TEST(responses_that_are_given_up)
{
    begin(POLICY, NULL);
    server.content_size = 200000;
    guest.opens_windows = false;
    for (int i = 0; i < 20; i++) {
        int32_t id = ask(GET, NULL, NULL);
        run();
        reset(&guest, id, NGHTTP2_CANCEL);
        nghttp2_session_consume_connection(guest.session, guest.got_bytes);
        guest.got_bytes = 0;
        run();
    }
    guest.opens_windows = true;
    server.content_size = 3 << 20;
    int32_t id = ask(GET, NULL, NULL);
    run();
    EXPECT_EQ(id, 41);
    EXPECT_HEARD(guest, "41 end\n");
    EXPECT_EQ(guest.got_bytes, 3 << 20);
    finish();
}

TEST(requests_that_are_given_up)
{
    begin(POLICY, NULL);
    server.answer = NULL;
    server.opens_windows = false;
    for (int i = 0; i < 20; i++) {
        int32_t id = ask_much(POST, 1 << 20);
        run();
        reset(&guest, id, NGHTTP2_CANCEL);
        nghttp2_session_consume_connection(server.session, server.got_bytes);
        server.got_bytes = 0;
        run();
    }
    server.opens_windows = true;
    server.answer = ":status: 200\n";
    ask_much(POST, 3 << 20);
    run();
    EXPECT_HEARD(guest, "41 end\n");
    EXPECT_EQ(server.got_bytes, 3 << 20);
    finish();
}

/* The windows of a connection are all that it holds, whatever number of streams share them. */
TEST(what_waits_has_an_end)
{
    const size_t most = 2 * (H2_SERVER_WINDOW_ALL + H2_GUEST_WINDOW_ALL);
    for (int i = 0; i < 3; i++) {
        begin(i == 1 ? SECRET_POLICY : POLICY, i == 1 ? values : NULL);
        server.content_size = 1 << 20;
        guest.opens_windows = server.opens_windows = false;
        server.answer = i < 2 ? ":status: 200\n" : NULL;
        for (int n = 0; n < H2_STREAMS_MAX; n++)
            if (i < 2)
                ask(GET, NULL, NULL);
            else
                ask_much(POST, 1 << 20);
        run();
        if (h2_held_bytes(h2) > most)
            harness_fail(__FILE__, __LINE__, "%d: %zu bytes wait", i, h2_held_bytes(h2));
        EXPECT_TRUE(h2_held_bytes(h2) > 64 * 1024);
        finish();
    }
}

TEST(a_head_as_long_as_there_may_be)
{
    char head[66000] = ":status: 200\n";
    begin(POLICY, NULL);
    server.answer = NULL;
    int32_t id = ask(GET, NULL, NULL);
    run();
    for (int i = 0; i < 95; i++) {
        size_t at = strlen(head);
        memset(head + at, 'x', 680);
        memcpy(head + at, (char[]){'x', (char)('a' + i % 26), (char)('a' + i / 26), ':', ' '}, 5);
        memcpy(head + at + 680, "\n", 2);
    }
    reply(id, head, "ok", NULL);
    run();
    EXPECT_HEARD(guest, "1 head\n1 data 2 ok\n1 end\n");
    EXPECT_RECORDS("GET /v1/a 200 allow rule:api\n");
    finish();
}

TEST(who_reads_no_bytes_is_not_read)
{
    begin(POLICY, NULL);
    guest.is_deaf = true;
    server.content_size = 1 << 20;
    for (int i = 0; i < 50; i++)
        ask(GET, NULL, NULL);
    run();
    EXPECT_TRUE(h2_to_guest(h2)->size <= EXCHANGE_OUT_BYTES + 20000);
    guest.is_deaf = false;
    run();
    EXPECT_EQ(guest.got_bytes, (size_t)50 << 20);
    finish();
}

/* ---- secrets ---- */

TEST(G23_what_is_put_in_is_never_indexed)
{
    begin("{'version':1," SECRET
          ",'rules':[{'id':'a','action':'allow','to':{'domain':['api.good.test']},"
          "'transforms':[{'set_headers':{'x-key':'${secret.KEY}','x-plain':'1'}}]}]}",
          values);
    for (int i = 0; i < 2; i++) {
        ask(TO("GET", "/?k=ghp_placeholderA") "authorization: Bearer ghp_placeholderA\nx-own: 1\n",
            NULL, NULL);
        run();
    }
    EXPECT_EQ(count(&server, " authorization!: Bearer real-secret-value/1\n"), 2);
    EXPECT_EQ(count(&server, " x-key!: real-secret-value/1\n"), 2);
    EXPECT_EQ(count(&server, " :path!: /?k=real-secret-value%2F1\n"), 2);
    /* What tells of the program's credentials came never indexed, and with it the whole head is. */
    EXPECT_EQ(count(&server, " x-own!: 1\n"), 2);
    EXPECT_RECORDS("GET / 200 allow rule:a secrets=KEY\nGET / 200 allow rule:a secrets=KEY\n");
    finish();
}

TEST(G23_what_came_never_indexed_goes_so)
{
    begin(POLICY, NULL);
    server.answer = ":status: 200\nx-token!: 1\nx-a: b\n";
    ask(GET "x-mine!: secret\n", NULL, NULL);
    run();
    EXPECT_HEARD(server, "1 x-mine!: secret\n");
    EXPECT_HEARD(guest, "1 x-token!: 1\n");
    ask(GET "x-mine: open\n", NULL, NULL);
    run();
    EXPECT_HEARD(server, "3 x-mine: open\n");
    finish();
}

TEST(G3_G11_secrets_go_in_and_do_not_come_out)
{
    begin(SECRET_POLICY, values);
    server.answer = ":status: 200\nx-echo: real-secret-value/1\ncontent-length: 21\n";
    server.content = "<real-secret-value/1>";
    server.trailer = "real-secret-value/1";
    ask(POST "content-type: text/plain\ncontent-length: 18\n", "ghp_placeholderA!\n", NULL);
    run();
    EXPECT_HEARD(server, " real-secret-value/1!\n\n");
    EXPECT_NOT_HEARD(server, "content-length");
    EXPECT_HEARD(server, "accept-encoding: identity\n");
    EXPECT_HEARD(guest, "1 x-echo: ghp_placeholderA\n");
    EXPECT_HEARD(guest, "1 x-last: ghp_placeholderA\n");
    EXPECT_NOT_HEARD(guest, "real-secret-value");
    EXPECT_NOT_HEARD(guest, "content-length");
    finish();
}

TEST(G11_values_in_interim_heads_names_and_pieces)
{
    begin(SECRET_POLICY, values);
    server.answer = NULL;
    int32_t id = ask(GET, NULL, NULL);
    run();
    say_interim(id, ":status: 103\nlink: real-secret-value/1\n");
    run();
    EXPECT_HEARD(guest, "1 link: ghp_placeholderA\n");
    reply_open(id, ":status: 200\nx-cookie: 1\nset-cookie: a=real-secret-value/1\n");
    run();
    EXPECT_HEARD(guest, "1 set-cookie: a=ghp_placeholderA\n");
    say_content(&server, id, "<real-sec");
    run();
    say_content(&server, id, "ret-value/1>");
    run();
    say_content(&server, id, "real-secret-val");
    run();
    reset(&server, id, NGHTTP2_INTERNAL_ERROR);
    run();
    EXPECT_HEARD(guest, "1 reset 2\n");
    EXPECT_HEARD(guest, "ghp_placeholderA>");
    EXPECT_NOT_HEARD(guest, "real-s");
    finish();
    /* A name that is a value, and what a server pushes. */
    static const char *const names[] = {"KEY", "ghp_placeholderA", "real-secret-name", NULL};
    begin(SECRET_POLICY, names);
    server.answer = ":status: 200\nreal-secret-name: 1\n";
    ask(GET, NULL, NULL);
    run();
    EXPECT_HEARD(guest, "1 :status: 200\n");
    EXPECT_NOT_HEARD(guest, "real-secret");
    finish();
}

TEST(G3_a_placeholder_goes_nowhere_else)
{
    begin("{'version':1,'secrets':{'KEY':{'source':{'env':'KEY'},'placeholder':'ghp_placeholderA',"
          "'allow':{'hosts':['other.test']}}},'rules':[{'id':'a','action':'allow','to':{'domain':["
          "'api.good.test']}}]}",
          values);
    ask(GET "authorization: ghp_placeholderA\n", NULL, NULL);
    ask(GET "cookie: a=1\ncookie: b=ghp_placeholderA\n", NULL, NULL);
    ask(TO("GET", "/ghp_placeholderA"), NULL, NULL);
    int32_t id = ask(POST, "in content: ghp_placeholderA", NULL);
    run();
    EXPECT_EQ(count(&guest, " x-egress-denied: secret_violation\n"), 4);
    EXPECT_TRUE(id == 7);
    EXPECT_NOT_HEARD(server, "ghp_placeholderA");
    finish();
}

/* ---- time ---- */

TEST(H4_connections_that_do_nothing_end)
{
    begin(POLICY, NULL);
    now_ns = h2_deadline_ns(h2);
    h2_expire(h2);
    run();
    EXPECT_HEARD(guest, "goaway 0\n");
    EXPECT_EQ(h2_guest_end(h2), EXCHANGE_CLOSE);
    finish();
}

TEST(H4_a_response_that_does_not_come)
{
    begin(POLICY, NULL);
    server.answer = NULL;
    ask(GET, NULL, NULL);
    run();
    now_ns = h2_deadline_ns(h2);
    h2_expire(h2);
    run();
    EXPECT_HEARD(guest, "1 :status: 504\n");
    EXPECT_HEARD(server, "1 reset 8\n");
    EXPECT_RECORDS("GET /v1/a 504 allow limit:idle_tcp\n");
    EXPECT_EQ(h2_guest_end(h2), EXCHANGE_OPEN);
    finish();
}

TEST(H1_a_head_that_does_not_end)
{
    begin(POLICY, NULL);
    frame(&guest, 1, 0, 1, "\x82", 1); /* HEADERS without END_HEADERS */
    run();
    now_ns = h2_deadline_ns(h2);
    h2_expire(h2);
    run();
    EXPECT_HEARD(guest, "goaway 11\n");
    EXPECT_HAS(records, "limit:header_timeout");
    finish();
}

/* What was refused has no end of its own; its stream is over, and the others go on. */
TEST(H1_a_head_that_is_refused)
{
    begin(POLICY, NULL);
    server.answer = NULL;
    int32_t id = ask(GET, NULL, NULL);
    run();
    ask(GET "x a: 1\n", NULL, NULL);
    run();
    ask(GET ":path: /other\n", NULL, NULL);
    run();
    now_ns += 20 * NSEC_PER_SEC;
    EXPECT_TRUE(h2_deadline_ns(h2) > now_ns);
    h2_expire(h2);
    run();
    reply(id, ":status: 200\n", NULL, NULL);
    run();
    EXPECT_HEARD(guest, "1 :status: 200\n");
    EXPECT_NOT_HEARD(guest, "goaway");
    finish();
}

/* Its end waits behind what the program does not read: once is often enough to say it. */
TEST(H1_a_head_that_does_not_end_of_who_reads_nothing)
{
    begin(POLICY, NULL);
    server.answer = NULL;
    server.content_size = 200000;
    int32_t id = ask(GET, NULL, NULL);
    run();
    frame(&guest, NGHTTP2_HEADERS, 0, 3, "\x82", 1);
    run();
    guest.is_deaf = true;
    reply(id, ":status: 200\n", NULL, NULL);
    run();
    EXPECT_TRUE(h2_to_guest(h2)->size >= EXCHANGE_OUT_BYTES);
    now_ns = h2_deadline_ns(h2);
    h2_expire(h2);
    run();
    EXPECT_HAS(records, "limit:header_timeout");
    EXPECT_TRUE(h2_deadline_ns(h2) > now_ns);
    guest.is_deaf = false;
    run();
    EXPECT_HEARD(guest, "goaway 11\n");
    finish();
}

TEST(H4_a_connection_that_does_nothing_and_reads_nothing)
{
    char head[4000] = ":status: 204\nx-a: ";
    memset(head + strlen(head), 'v', 3000);
    begin(POLICY, NULL);
    server.answer = NULL;
    server.content_size = EXCHANGE_OUT_BYTES - 1500;
    int32_t first = ask(GET, NULL, NULL), last = ask(GET, NULL, NULL);
    run();
    guest.is_deaf = true;
    reply(first, ":status: 200\n", NULL, NULL);
    run();
    server.content_size = 0;
    reply(last, head, NULL, NULL);
    run();
    EXPECT_TRUE(h2_to_guest(h2)->size >= EXCHANGE_OUT_BYTES);
    now_ns = h2_deadline_ns(h2);
    h2_expire(h2);
    run();
    EXPECT_TRUE(h2_deadline_ns(h2) > now_ns);
    guest.is_deaf = false;
    run();
    EXPECT_HEARD(guest, "goaway 0\n");
    EXPECT_EQ(h2_guest_end(h2), EXCHANGE_CLOSE);
    finish();
}

TEST(H1_a_servers_head_that_does_not_end)
{
    begin(POLICY, NULL);
    server.answer = NULL;
    ask(GET, NULL, NULL);
    run();
    frame(&server, NGHTTP2_HEADERS, 0, 1, "\x88", 1);
    run();
    now_ns += 11 * NSEC_PER_SEC;
    EXPECT_TRUE(h2_deadline_ns(h2) <= now_ns);
    h2_expire(h2);
    run();
    EXPECT_HEARD(guest, "1 :status: 502\n");
    EXPECT_RECORDS("GET /v1/a 502 allow limit:header_timeout\n");
    finish();
}

/* Nor does it let anybody say that a request is not meant any more. */
TEST(H4_a_server_that_takes_no_request)
{
    const nghttp2_settings_entry none = {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 0};
    begin(POLICY, NULL);
    nghttp2_submit_settings(server.session, NGHTTP2_FLAG_NONE, &none, 1);
    run();
    int32_t id = ask(GET, NULL, NULL);
    run();
    reset(&guest, id, NGHTTP2_CANCEL);
    run();
    for (int i = 0; i < 4 && h2_guest_end(h2) == EXCHANGE_OPEN; i++) {
        EXPECT_TRUE(h2_deadline_ns(h2) > now_ns);
        now_ns = h2_deadline_ns(h2);
        h2_expire(h2);
        run();
    }
    EXPECT_EQ(h2_guest_end(h2), EXCHANGE_RESET);
    finish();
}

TEST(H4_an_answer_that_nobody_takes)
{
    begin(POLICY, NULL);
    guest.opens_windows = false;
    server.content_size = 100000;
    ask(GET, NULL, NULL);
    run();
    /* All of it is here, or on its way; the guest does not open its window. */
    for (int i = 0; i < 3 && !count(&guest, "reset"); i++) {
        now_ns = h2_deadline_ns(h2);
        h2_expire(h2);
        run();
    }
    EXPECT_HEARD(guest, "1 reset");
    finish();
}
