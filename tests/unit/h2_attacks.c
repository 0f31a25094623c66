// SPDX-License-Identifier: Apache-2.0
/* HTTP/2 as attackers speak it. */
#include "tests/harness/harness.h"
#include "tests/unit/exchange_support.h"
#include "tests/unit/h2_support.h"

#include <nghttp2/nghttp2.h>
#include <stdio.h>

#define POLICY                                                                            \
    "{'version':1,'rules':[{'id':'api','action':'allow','to':{'domain':['api.good.test'," \
    "'other.good.test']}}]}"

#define START     ":method: GET\n:scheme: https\n:path: /\n"
#define WHOLE_GET ":method: GET\n:scheme: https\n:authority: api.good.test\n:path: /\n"
#define CALM      "goaway 11\n" /* ENHANCE_YOUR_CALM */

static const char long_value[70000];

/* ---- heads that two readers would read in two ways ---- */

/* Nothing of it goes on, and the next stream is served. */
static void expect_refused(const char *fields, const char *content, const char *heard)
{
    begin(POLICY, NULL);
    ask(fields, content, NULL);
    run();
    if (count(&server, ":path"))
        harness_fail(__FILE__, __LINE__, "it went on: %s", fields);
    if (!count(&guest, heard))
        harness_fail(__FILE__, __LINE__, "\"%s\" is answered by %s", fields, guest.heard.data);
    if (!count(&guest, "goaway")) {
        ask(WHOLE_GET, NULL, NULL);
        run();
        EXPECT_HEARD(guest, "3 :status: 200\n");
    }
    finish();
}

TEST(C3_two_authorities)
{
    expect_refused(START ":authority: evil.test\n", NULL, "1 :status: 421\n");
    expect_refused(START ":authority: api.good.test\nhost: evil.test\n", NULL, "1 :status: 421\n");
    expect_refused(START "host: evil.test\n", NULL, "1 :status: 421\n");
    expect_refused(START ":authority: api.good.test:8443\n", NULL, "1 :status: 421\n");
    expect_refused(START ":authority: user@api.good.test\n", NULL, "1 :status: 400\n");
    expect_refused(START ":authority: api.good.test@evil.test\n", NULL, "1 :status: 400\n");
}

/* C4: a connection is for one name, whatever the policy says of another. */
TEST(C4_another_name_on_the_same_connection)
{
    expect_refused(START ":authority: other.good.test\n", NULL, "1 :status: 421\n");
}

TEST(C3_pseudo_fields)
{
    static const char *const heads[] = {
        WHOLE_GET ":path: /other\n",
        WHOLE_GET ":authority: evil.test\n",
        WHOLE_GET ":method: PUT\n",
        ":method: GET\n:scheme: https\n:authority: api.good.test\n",
        ":scheme: https\n:authority: api.good.test\n:path: /\n",
        ":method: GET\n:authority: api.good.test\n:path: /\n",
        ":method: GET\n:scheme: http\n:authority: api.good.test\n:path: /\n",
        ":method: GET\n:scheme: https\n:authority: api.good.test\n:path: x\n",
        ":method: GET\n:scheme: https\n:authority: api.good.test\n:path: http://evil.test/\n",
        ":method: GET\n:scheme: https\n:authority: api.good.test\n:path:\n",
        ":method: GET\n:scheme: https\n:authority: api.good.test\n:path: / HTTP/1.1\n",
        ":method: GET /x HTTP/1.1\n:scheme: https\n:authority: api.good.test\n:path: /\n",
        WHOLE_GET ":status: 200\n",
        WHOLE_GET ":protocol: websocket\n",
        "x-a: b\n" WHOLE_GET,
        ":method: CONNECT\n:authority: api.good.test:443\n",
    };
    for (size_t i = 0; i < ARRAY_SIZE(heads); i++)
        expect_refused(heads[i], NULL, "1 ");
}

TEST(C3_fields_that_would_be_others_in_lines)
{
    static const char *const fields[] = {
        "x-a: b\1x-evil: 1\n",
        "x-a\1x-evil: 1\n",
        "x-a: b\1\1GET /evil HTTP/1.1\n",

        "x a: 1\n",

        "x-a(: 1\n",
        "x-a: b\rc\n",
        "connection: x-a\n",
        "transfer-encoding: chunked\n",
        "upgrade: h2c\n",
        "keep-alive: 1\n",
        "proxy-connection: close\n",
        "http2-settings: AA\n",
        "te: gzip\n",
    };
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        char head[256];
        snprintf(head, sizeof(head), WHOLE_GET "%s", fields[i]);
        expect_refused(head, NULL, "1 ");
        EXPECT_NOT_HEARD(server, "evil");
    }
}

/* What is said of the content's length is what comes, or the stream ends (RFC 9113, 8.1.1). */
TEST(C3_lengths_that_are_not_the_contents)
{
    begin(POLICY, NULL);
    server.answer = NULL;
    ask(":method: POST\n:scheme: https\n:authority: api.good.test\n:path: /\ncontent-length: 3\n",
        "hello", NULL);
    ask(":method: POST\n:scheme: https\n:authority: api.good.test\n:path: /\ncontent-length: 9\n",
        "hello", NULL);
    run();
    EXPECT_HEARD(guest, "1 reset 1\n");
    EXPECT_HEARD(guest, "3 reset 1\n");
    EXPECT_EQ(count(&server, " end\n"), 0);
    finish();
    expect_refused(WHOLE_GET "content-length: 1\ncontent-length: 2\n", "x", "1 ");
    expect_refused(WHOLE_GET "content-length: -1\n", "x", "1 ");
    expect_refused(WHOLE_GET "content-length: 1, 1\n", "x", "1 ");
}

/* As nghttp2 writes none. */
TEST(C3_names_in_capitals)
{
    static const uint8_t head[] = {0x82, 0x87, 0x84, 0x01, 0x0d, 'a', 'p', 'i', '.',
                                   'g',  'o',  'o',  'd',  '.',  't', 'e', 's', 't',
                                   0x00, 3,    'X',  '-',  'A',  1,   'b'};
    begin(POLICY, NULL);
    guest.is_deaf = true;
    frame(&guest, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 1, head,
          sizeof(head));
    run();
    EXPECT_EQ(count(&server, ":path"), 0);
    finish();
}

TEST(H2_a_head_that_is_long)
{
    char head[12000] = WHOLE_GET "x-a: ";
    memset(head + strlen(head), 'x', 10000);
    strcat(head, "\n");
    begin("{'version':1,'limits':{'header_bytes':8192},'rules':[{'id':'a','action':'allow','to':{"
          "'domain':['api.good.test']}}]}",
          NULL);
    ask(head, NULL, NULL);
    ask(WHOLE_GET, NULL, NULL);
    run();
    EXPECT_HEARD(guest, "1 :status: 431\n");
    EXPECT_HEARD(guest, "3 :status: 200\n");
    EXPECT_EQ(count(&server, ":path"), 1);
    finish();
}

/* ---- H3: floods ---- */

static void expect_calm(void)
{
    run();
    EXPECT_HEARD(guest, CALM);
    EXPECT_HAS(records, "limit:http2_flood");
    EXPECT_EQ(h2_guest_end(h2), EXCHANGE_CLOSE);
    EXPECT_TRUE(h2_to_guest(h2)->size + h2_to_server(h2)->size < 2 * EXCHANGE_OUT_BYTES);
    finish();
}

TEST(H3_frames_that_bring_nothing_on)
{
    static const uint8_t zeros[8], one[4] = {0, 0, 0, 1};
    static const struct {
        unsigned type, flags;
        uint32_t id;
        const void *payload;
        size_t size;
    } frames[] = {
        {NGHTTP2_PING, 0, 0, zeros, 8},
        {NGHTTP2_PING, NGHTTP2_FLAG_ACK, 0, zeros, 8},
        {NGHTTP2_SETTINGS, 0, 0, NULL, 0},
        {NGHTTP2_PRIORITY, 0, 1, "\0\0\0\3\1", 5},
        {NGHTTP2_WINDOW_UPDATE, 0, 0, one, 4},
        {NGHTTP2_DATA, 0, 1, NULL, 0},
        {0xfe, 0, 0, zeros, 8},
    };
    for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
        begin(POLICY, NULL);
        server.answer = NULL;
        ask_open(":method: POST\n:scheme: https\n:authority: api.good.test\n:path: /\n");
        run();
        for (int n = 0; n < 2 * H2_IDLE_FRAMES_MAX; n++)
            frame(&guest, frames[i].type, frames[i].flags, frames[i].id, frames[i].payload,
                  frames[i].size);
        run();
        if (!count(&guest, CALM))
            harness_fail(__FILE__, __LINE__, "frames of type %u pass", frames[i].type);
        expect_calm();
    }
}

TEST(H3_streams_that_are_reset_at_once)
{
    begin(POLICY, NULL);
    server.answer = NULL;
    for (int n = 0; n < 2 * H2_RESETS_MAX && !count(&guest, "goaway"); n++) {
        int32_t id = ask(WHOLE_GET, NULL, NULL);
        run();
        reset(&guest, id, NGHTTP2_CANCEL);
        run();
    }
    EXPECT_TRUE(count(&server, ":path") <= H2_RESETS_MAX + 1);
    expect_calm();
}

/* For what is wrong with them (CVE-2025-8671): each has gone on to the server before. */
TEST(H3_streams_that_have_to_be_reset)
{
    begin(POLICY, NULL);
    server.answer = NULL;
    for (int n = 0; n < 2 * H2_RESETS_MAX && !count(&guest, "goaway"); n++) {
        int32_t id = ask_open(":method: POST\n:scheme: https\n:authority: api.good.test\n:path: /\n"
                              "content-length: 3\n");
        run();
        say_content(&guest, id, "hello");
        run();
    }
    EXPECT_TRUE(count(&server, ":path") <= H2_RESETS_MAX + 1);
    expect_calm();
}

/* In a head that never ends. */
TEST(H3_continuation)
{
    static const uint8_t head[] = {0x82, 0x87, 0x84};
    begin(POLICY, NULL);
    frame(&guest, NGHTTP2_HEADERS, 0, 1, head, sizeof(head));
    for (int n = 0; n < 100; n++)
        frame(&guest, NGHTTP2_CONTINUATION, 0, 1, "\0\1x\1y", 5);
    run();
    EXPECT_HEARD(guest, "goaway");
    EXPECT_EQ(h2_guest_end(h2), EXCHANGE_CLOSE);
    EXPECT_EQ(count(&server, ":path"), 0);
    finish();
}

TEST(H3_more_streams_than_are_served)
{
    static const uint8_t head[] = {0x82, 0x87, 0x84, 0x01, 0x0d, 'a', 'p', 'i', '.',
                                   'g',  'o',  'o',  'd',  '.',  't', 'e', 's', 't'};
    begin(POLICY, NULL);
    server.answer = NULL;
    guest.is_deaf = true;
    for (uint32_t n = 0; n < 3 * H2_STREAMS_MAX; n++)
        frame(&guest, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM,
              2 * n + 1, head, sizeof(head));
    run();
    EXPECT_TRUE(count(&server, ":path") > 0);
    EXPECT_TRUE(count(&server, ":path") <= H2_STREAMS_MAX);
    finish();
}

/* Of a few bytes HPACK makes many: fields that are in a table take one each. */
static const char *many_fields(const char *first, const char *name)
{
    static char head[64000];
    size_t at = strlen(first);
    memcpy(head, first, at);
    for (int i = 0; i < 90; i++, at += 506) {
        memset(head + at, 'v', 505);
        memcpy(head + at, name, strlen(name));
        head[at + 505] = '\n';
    }
    head[at] = '\0';
    return head;
}

TEST(H3_requests_of_many_fields)
{
    begin(POLICY, NULL);
    server.answer = NULL;
    for (int n = 0; n < H2_STREAMS_MAX; n++)
        ask(many_fields(WHOLE_GET, "x-a: "), NULL, NULL);
    guest.is_deaf = server.is_deaf = true;
    run();
    EXPECT_TRUE(h2_held_bytes(h2) < 3 * H2_HEADS_BYTES);
    guest.is_deaf = server.is_deaf = false;
    run();
    EXPECT_TRUE(count(&guest, " reset 7\n") > H2_STREAMS_MAX / 2);
    EXPECT_EQ(count(&guest, " reset 7\n") + count(&server, " :path"), H2_STREAMS_MAX);
    EXPECT_HAS(records, "limit:http2_heads");
    /* As one goes, others may come. */
    reset(&guest, 1, NGHTTP2_CANCEL);
    run();
    server.answer = ":status: 200\n";
    int32_t id = ask(many_fields(WHOLE_GET, "x-a: "), NULL, NULL);
    run();
    EXPECT_EQ(id, 201);
    EXPECT_HEARD(guest, "201 :status: 200\n");
    finish();
}

/* Nothing is lost of what waits for a program that reads at last. */
TEST(H3_responses_of_many_fields)
{
    begin(POLICY, NULL);
    server.answer = NULL;
    for (int n = 0; n < H2_STREAMS_MAX; n++)
        ask(WHOLE_GET, NULL, NULL);
    run();
    guest.is_deaf = true;
    for (int n = 0; n < H2_STREAMS_MAX; n++)
        for (int i = 0; i < 15; i++)
            say_interim(2 * n + 1,
                        i < 13 ? many_fields(":status: 103\n", "x-a: ") : ":status: 102\n");
    for (int n = 0; n < H2_STREAMS_MAX; n++)
        reply(2 * n + 1, ":status: 204\n", NULL, NULL);
    run();
    EXPECT_TRUE(h2_held_bytes(h2) < 3 * H2_HEADS_BYTES);
    guest.is_deaf = false;
    guest.is_brief = true;
    run();
    EXPECT_EQ(count(&guest, " :status: 103\n"), 13 * H2_STREAMS_MAX);
    EXPECT_EQ(count(&guest, " :status: 102\n"), 2 * H2_STREAMS_MAX);
    EXPECT_EQ(count(&guest, " :status: 204\n"), H2_STREAMS_MAX);
    EXPECT_EQ(count(&guest, " end\n"), H2_STREAMS_MAX);
    finish();
}

/* A server's last word is heard: here its reading is paused in the middle of that, since what was
 * said before is longer as it goes to the program. */
TEST(H3_responses_of_many_fields_and_the_end)
{
    struct buf said = BUF_INIT(65536);
    const uint8_t *data;
    ssize_t n;
    begin(POLICY, NULL);
    server.answer = NULL;
    for (int i = 0; i < 3; i++)
        ask(WHOLE_GET, NULL, NULL);
    run();
    reply(1, many_fields(":status: 200\nx-hidden!: 1\n", "x-a: "), NULL, NULL);
    reply(3, many_fields(":status: 200\nx-hidden!: 1\n", "x-a: "), NULL, NULL);
    reply(5, ":status: 204\n", NULL, NULL);
    while ((n = nghttp2_session_mem_send(server.session, &data)) > 0)
        buf_append(&said, data, (size_t)n);
    EXPECT_EQ(h2_from_server(h2, said.data, said.size), said.size);
    EXPECT_TRUE(h2_to_guest(h2)->size > EXCHANGE_OUT_BYTES);
    h2_server_ended(h2);
    buf_done(&said);
    run();
    EXPECT_HEARD(guest, "5 :status: 204\n5 head\n5 end\n");
    finish();
}

TEST(H3_windows)
{
    static const uint8_t most[4] = {0x7f, 0xff, 0xff, 0xff}, none[4];
    begin(POLICY, NULL);
    frame(&guest, NGHTTP2_WINDOW_UPDATE, 0, 0, most, 4);
    run();
    EXPECT_HEARD(guest, "goaway 3\n"); /* FLOW_CONTROL_ERROR */
    finish();
    begin(POLICY, NULL);
    frame(&guest, NGHTTP2_WINDOW_UPDATE, 0, 0, none, 4);
    run();
    EXPECT_HEARD(guest, "goaway 1\n");
    finish();
}

TEST(frames_that_are_none)
{
    static const struct {
        unsigned type, flags;
        uint32_t id;
        size_t size;
    } frames[] = {
        {NGHTTP2_DATA, 0, 0, 4},         {NGHTTP2_HEADERS, 0, 0, 4},
        {NGHTTP2_HEADERS, 4, 2, 4},      {NGHTTP2_SETTINGS, 0, 1, 0},
        {NGHTTP2_SETTINGS, 0, 0, 5},     {NGHTTP2_PING, 0, 0, 7},
        {NGHTTP2_GOAWAY, 0, 0, 3},       {NGHTTP2_RST_STREAM, 0, 1, 4},
        {NGHTTP2_PUSH_PROMISE, 4, 1, 8}, {NGHTTP2_DATA, 0, 1, 20000},
        {NGHTTP2_CONTINUATION, 4, 1, 4}, {NGHTTP2_HEADERS, 0x2c, 1, 4},
    };
    for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
        begin(POLICY, NULL);
        frame(&guest, frames[i].type, frames[i].flags, frames[i].id, long_value, frames[i].size);
        run();
        EXPECT_HEARD(guest, "goaway");
        EXPECT_EQ(h2_guest_end(h2), EXCHANGE_CLOSE);
        finish();
    }
}

/* A server is a stranger too. */
TEST(servers_that_say_what_is_none)
{
    static const uint8_t push[] = {0, 0, 0, 2, 0x82, 0x87, 0x84};
    begin(POLICY, NULL);
    server.answer = NULL;
    ask(WHOLE_GET, NULL, NULL);
    run();
    frame(&server, NGHTTP2_PUSH_PROMISE, NGHTTP2_FLAG_END_HEADERS, 1, push, sizeof(push));
    run();
    EXPECT_NOT_HEARD(guest, "2 ");
    EXPECT_TRUE(count(&guest, "1 :status: 502\n") || count(&guest, "1 reset"));
    finish();
    static const char *const heads[] = {":status: 200\nx-a: b\1x-b: c\n",
                                        ":status: 2000\n",
                                        ":status: 200\nconnection: close\n",
                                        ":status: 101\n",
                                        "x-a: b\n",
                                        ":status: 200\n:path: /\n"};
    for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
        begin(POLICY, NULL);
        server.answer = heads[i];
        ask(WHOLE_GET, NULL, NULL);
        run();
        EXPECT_NOT_HEARD(guest, "x-b");
        EXPECT_NOT_HEARD(guest, "1 :status: 2");
        EXPECT_NOT_HEARD(guest, "1 :status: 101");
        finish();
    }
}
