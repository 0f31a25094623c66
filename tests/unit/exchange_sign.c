// SPDX-License-Identifier: Apache-2.0
/* Row G20: requests that a guest has signed with placeholders of AWS keys. */
#include "tests/harness/harness.h"
#include "tests/unit/exchange_support.h"

#define ALLOW "'allow':{'hosts':['api.good.test']"
#define POLICY                                                                              \
    "{'version':1,'secrets':{"                                                              \
    "'ID':{'source':{'env':'ID'},'placeholder':'AKIDplaceholder'," ALLOW "}},"              \
    "'TOKEN':{'source':{'env':'TOKEN'},'placeholder':'token-placeholder'," ALLOW "}},"      \
    "'KEY':{'source':{'env':'KEY'},'placeholder':'key-placeholder-key'," ALLOW              \
    ",'methods':['GET','POST','PUT']},'sign':{'type':'aws_sigv4','access_key_id_ref':'ID'," \
    "'session_token_ref':'TOKEN'}}},"                                                       \
    "'rules':[{'id':'api','action':'allow','to':{'domain':['api.good.test','other.test']}}]}"
#define SHUT_POLICY "{'version':1,'rules':[]}"

static const char *const values[] = {
    "ID",    "AKIDplaceholder",     "AKIDEXAMPLE",
    "TOKEN", "token-placeholder",   "real-session-token",
    "KEY",   "key-placeholder-key", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
    NULL};

static const struct scene tls = {.policy = POLICY,
                                 .name = "api.good.test",
                                 .sni = "api.good.test",
                                 .port = 443,
                                 .is_tls = true,
                                 .secrets = values};

#define HASH "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" /* of "hello" */
#define AS(id, service, names)                                                      \
    "Authorization: AWS4-HMAC-SHA256 Credential=" id "/20130101/us-east-1/" service \
    "/aws4_request, SignedHeaders=" names ", Signature=" HASH "\r\n"
#define SIGNED AS("AKIDplaceholder", "service", "host;x-amz-date;x-amz-security-token")
#define GUEST                                                                             \
    "Host: api.good.test\r\nX-Amz-Date: 20130101T000000Z\r\nX-Amz-Security-Token: token-" \
    "placeholder\r\n"
#define ANEW                                                                                  \
    "X-Amz-Date: 20150830T123600Z\r\nX-Amz-Security-Token: real-session-token\r\n"            \
    "Authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_" \
    "request, SignedHeaders="
/* As botocore makes them. */
#define GET_SIGNATURE  "0ce095c1ecfc11b66e72e116bde09db2b994b9e7bcab7f773535d5dcc02971cd"
#define POST_SIGNATURE "75e66bc274f23387caac11dbe90ed6e955e80b7402af69b1d5969cbd5e799759"
#define OK             "<HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

TEST(G20_a_request_is_signed_anew)
{
    talk(&tls,
         ">GET /v1/ HTTP/1.1\r\n" GUEST AS("AKIDplaceholder", "service",
                                           "accept-encoding;host") "\r\n",
         OK, NULL);
    EXPECT_STR(said_to_server.data,
               "GET /v1/ HTTP/1.1\r\nHost: api.good.test\r\nAccept-Encoding: identity\r\n" ANEW
               "accept-encoding;host;x-amz-date;x-amz-security-token, Signature=" GET_SIGNATURE
               "\r\n\r\n");
    EXPECT_STR(records.data, "GET /v1/ 200 allow rule:api secrets=ID,TOKEN,KEY\n");
}

TEST(G20_content_without_a_hash_is_held_until_all_of_it_is_there)
{
    talk(&tls,
         ">POST /v1/ HTTP/1.1\r\n" GUEST SIGNED
         "Content-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello",
         OK, NULL);
    EXPECT_STR(said_to_server.data,
               "POST /v1/ HTTP/1.1\r\nHost: api.good.test\r\nContent-Type: text/plain\r\n"
               "Accept-Encoding: identity\r\n" ANEW
               "content-type;host;x-amz-date;x-amz-security-token, Signature=" POST_SIGNATURE
               "\r\nContent-Length: 5\r\n\r\nhello");
    EXPECT_STR(records.data, "POST /v1/ 200 allow rule:api secrets=ID,TOKEN,KEY\n");
    talk(&tls,
         ">POST /v1/ HTTP/1.1\r\n" GUEST SIGNED
         "Transfer-Encoding: chunked\r\nContent-Type: text/plain\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0"
         "\r\n\r\n",
         OK, NULL);
    EXPECT_HAS(said_to_server, "Signature=" POST_SIGNATURE "\r\n");
    EXPECT_HAS(said_to_server, "\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
}

TEST(G20_who_asks_first_is_told_to_go_on)
{
    talk(&tls,
         ">POST /v1/ HTTP/1.1\r\n" GUEST SIGNED "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n",
         ">hello", OK, NULL);
    EXPECT_HAS(said_to_guest, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n");
    EXPECT_LACKS(said_to_server, "Expect");
}

TEST(G20_a_hash_that_the_guest_sends_is_signed)
{
    static const char *const contents[] = {HASH, "UNSIGNED-PAYLOAD",
                                           "STREAMING-UNSIGNED-PAYLOAD-TRAILER"};
    for (size_t i = 0; i < ARRAY_SIZE(contents); i++) {
        char text[1024], field[128];
        snprintf(field, sizeof(field), "\r\nX-Amz-Content-SHA256: %s\r\n", contents[i]);
        snprintf(text, sizeof(text),
                 ">PUT /a HTTP/1.1\r\n" GUEST "%s%sContent-Length: 5\r\n\r\nhello",
                 AS("AKIDplaceholder", "s3", "host"), field + 2);
        talk(&tls, text, OK, NULL);
        EXPECT_HAS(said_to_server, field);
        EXPECT_HAS(said_to_server, "/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-content-"
                                   "sha256;x-amz-date;x-amz-security-token, Signature=");
        EXPECT_HAS(said_to_server, "\r\n\r\nhello");
        EXPECT_LACKS(said_to_server, "placeholder");
    }
}

static void expect_refused(const char *words)
{
    EXPECT_EQ(said_to_server.size, 0);
    EXPECT_EQ(status_to_guest(), 403);
    EXPECT_STR(denied_reason(), "signature");
    EXPECT_HAS(said_to_guest, words);
    EXPECT_LACKS(records, "secrets=");
}

TEST(G20_what_can_not_be_signed_is_refused)
{
    talk(&tls,
         ">PUT /a HTTP/1.1\r\n" GUEST SIGNED
         "X-Amz-Content-SHA256: STREAMING-AWS4-HMAC-SHA256-PAYLOAD\r\nContent-Length: 0\r\n\r\n",
         NULL);
    expect_refused("signatures of its own");
    talk(&tls,
         ">PUT /a HTTP/1.1\r\n" GUEST SIGNED "X-Amz-Content-SHA256: x\r\nContent-Length: 0\r\n\r\n",
         NULL);
    expect_refused("is no hash");
    talk(&tls,
         ">GET /a?X-Amz-Credential=AKIDplaceholder%2F20130101%2Fr%2Fs3%2Faws4_request&"
         "X-Amz-Signature=00 HTTP/1.1\r\nHost: api.good.test\r\n\r\n",
         NULL);
    expect_refused("presigned");
    talk(&tls,
         ">GET /a HTTP/1.1\r\nHost: api.good.test\r\nAuthorization: AWS4-ECDSA-P256-SHA256 "
         "Credential=AKIDplaceholder/20130101/s3/aws4_request, SignedHeaders=host, Signature=00"
         "\r\n\r\n",
         NULL);
    expect_refused("AWS4-HMAC-SHA256");
    talk(&tls, ">GET /a HTTP/1.1\r\n" GUEST SIGNED SIGNED "\r\n", NULL);
    expect_refused("one field");
    talk(&tls, ">GET /a HTTP/1.1\r\n" GUEST AS("AKIDplaceholder", "s3/x", "host") "\r\n", NULL);
    expect_refused("can't be read");
}

TEST(G20_too_much_to_be_held_is_refused)
{
    talk(&tls, ">POST /v1/ HTTP/1.1\r\n" GUEST SIGNED "Content-Length: 4194305\r\n\r\n", NULL);
    EXPECT_EQ(said_to_server.size, 0);
    EXPECT_EQ(status_to_guest(), 413);
}

static void expect_violation(void)
{
    EXPECT_EQ(said_to_server.size, 0);
    EXPECT_EQ(status_to_guest(), 403);
    EXPECT_STR(denied_reason(), "secret_violation");
}

TEST(G20_keys_are_for_their_host_and_methods_alone)
{
    struct scene other = tls;
    other.name = other.sni = "other.test";
    talk(&other, ">GET /v1/ HTTP/1.1\r\nHost: other.test\r\n" SIGNED "\r\n", NULL);
    expect_violation();
    talk(&tls, ">DELETE /v1/ HTTP/1.1\r\n" GUEST SIGNED "\r\n", NULL);
    expect_violation();
    /* The key itself has no place in any request. */
    talk(&tls, ">GET /v1/ HTTP/1.1\r\n" GUEST "X: key-placeholder-key\r\n\r\n", NULL);
    expect_violation();
    talk(&tls,
         ">POST /v1/ HTTP/1.1\r\n" GUEST SIGNED "Content-Length: 19\r\n\r\nkey-placeholder-key",
         NULL);
    expect_violation();
}

TEST(G20_other_keys_are_none_of_ours)
{
    talk(&tls, ">GET /v1/ HTTP/1.1\r\n" GUEST AS("AKIDOWN", "s3", "host") "\r\n", OK, NULL);
    EXPECT_HAS(said_to_server, AS("AKIDOWN", "s3", "host"));
    EXPECT_HAS(said_to_server, "X-Amz-Date: 20130101T000000Z\r\n");
}

TEST(J3_what_was_held_is_judged_by_the_policy_of_then)
{
    struct scene changed = tls;
    changed.other_policy = SHUT_POLICY;
    changed.at = 1;
    talk(&changed, ">POST /v1/ HTTP/1.1\r\n" GUEST SIGNED "Content-Length: 5\r\n\r\n", ">hello",
         NULL);
    EXPECT_EQ(said_to_server.size, 0);
    EXPECT_EQ(status_to_guest(), 403);
    EXPECT_STR(denied_reason(), "default");
}

TEST(H1_content_that_is_held_and_does_not_come)
{
    talk(&tls, ">POST /v1/ HTTP/1.1\r\n" GUEST SIGNED "Content-Length: 5\r\n\r\nhell", "!", NULL);
    EXPECT_EQ(said_to_server.size, 0);
    EXPECT_EQ(status_to_guest(), 408);
    talk(&tls, ">POST /v1/ HTTP/1.1\r\n" GUEST SIGNED "Content-Length: 5\r\n\r\nhell", ">|", NULL);
    EXPECT_EQ(said_to_server.size, 0);
    EXPECT_EQ(status_to_guest(), 400);
}
