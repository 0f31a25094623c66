// SPDX-License-Identifier: Apache-2.0
/* Secrets through an exchange: into requests, never elsewhere, and out of responses. */
#include "tests/harness/harness.h"
#include "tests/unit/exchange_support.h"

#define SECRETS                                                                            \
    "'secrets':{"                                                                          \
    "'KEY':{'source':{'env':'KEY'},'placeholder':'ghp_placeholderA','allow':{'hosts':"     \
    "['api.good.test']},'inject':{'query':true,'body':true}},"                             \
    "'OTHER':{'source':{'env':'OTHER'},'placeholder':'sk-placeholderBB','allow':{'hosts':" \
    "['other.test']}}}"
#define RULES  "'rules':[{'id':'api','action':'allow','to':{'domain':['api.good.test']}}]"
#define POLICY "{'version':1," SECRETS "," RULES "}"

static const char *const values[] = {"KEY",   "ghp_placeholderA", "real-secret-value/1",
                                     "OTHER", "sk-placeholderBB", "other-value-22",
                                     NULL};

static const struct scene tls = {.policy = POLICY,
                                 .name = "api.good.test",
                                 .sni = "api.good.test",
                                 .port = 443,
                                 .is_tls = true,
                                 .secrets = values,
                                 .is_content_alike = true};

#define HEAD "GET /v1/ HTTP/1.1\r\nHost: api.good.test\r\n"
#define OUT  HEAD "Accept-Encoding: identity\r\n"
#define OK   "<HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

static void expect_violation(const char *secret)
{
    char line[128];
    snprintf(line, sizeof(line), "violation=%s\n", secret);
    EXPECT_EQ(said_to_server.size, 0);
    EXPECT_EQ(status_to_guest(), 403);
    EXPECT_STR(denied_reason(), "secret_violation");
    EXPECT_HAS(records, line);
    EXPECT_HAS(records, "403 deny secret_violation");
}

TEST(G3_a_placeholder_is_filled_in_for_its_host_alone)
{
    talk(&tls, ">" HEAD "Authorization: Bearer ghp_placeholderA\r\n\r\n", OK, NULL);
    EXPECT_STR(said_to_server.data, HEAD "Authorization: Bearer real-secret-value/1\r\n"
                                         "Accept-Encoding: identity\r\n\r\n");
    EXPECT_STR(records.data, "GET /v1/ 200 allow rule:api secrets=KEY\n");
    talk(&tls, ">" HEAD "Authorization: Bearer sk-placeholderBB\r\n\r\n", NULL);
    expect_violation("OTHER");
    talk(&tls, ">" HEAD "\r\n", OK, NULL);
    EXPECT_STR(said_to_server.data, OUT "\r\n");
    EXPECT_STR(records.data, "GET /v1/ 200 allow rule:api\n");
}

TEST(G1_nothing_is_filled_in_without_tls)
{
    struct scene plain = tls;
    plain.is_tls = false;
    plain.port = 80;
    talk(&plain, ">" HEAD "A: ghp_placeholderA\r\n\r\n", NULL);
    expect_violation("KEY");
}

TEST(G1_nothing_is_filled_in_where_the_guest_chose_the_address)
{
    struct scene by_address = tls;
    by_address.policy = "{'version':1," SECRETS ",'default':'allow','rules':[]}";
    by_address.name = NULL;
    by_address.sni = NULL;
    talk(&by_address, ">" HEAD "A: ghp_placeholderA\r\n\r\n", NULL);
    expect_violation("KEY");
}

TEST(G3_a_placeholder_goes_nowhere_else)
{
    talk(&tls, ">GET /v1/sk-placeholderBB HTTP/1.1\r\nHost: api.good.test\r\n\r\n", NULL);
    expect_violation("OTHER");
    talk(&tls, ">GET /v1/?a=sk%2dplaceholderBB HTTP/1.1\r\nHost: api.good.test\r\n\r\n", NULL);
    expect_violation("OTHER");
    talk(&tls, ">" HEAD "X-sk-placeholderBB: a\r\n\r\n", NULL);
    expect_violation("OTHER");
    talk(&tls, ">sk-placeholderBB /v1/ HTTP/1.1\r\nHost: api.good.test\r\n\r\n", NULL);
    expect_violation("OTHER");
    /* user:sk-placeholderBB */
    talk(&tls, ">" HEAD "Authorization: Basic dXNlcjpzay1wbGFjZWhvbGRlckJC\r\n\r\n", NULL);
    expect_violation("OTHER");
}

TEST(G3_a_placeholder_may_pass_where_the_policy_says_so)
{
    struct scene s = tls;
    s.policy = "{'version':1,'secrets':{"
               "'KEY':{'source':{'env':'KEY'},'allow':{'hosts':['api.good.test']}},"
               "'OTHER':{'source':{'env':'OTHER'},'allow':{'hosts':['other.test']},"
               "'on_violation':'passthrough'}}," RULES "}";
    talk(&s, ">" HEAD "A: sk-placeholderBB\r\n\r\n", OK, NULL);
    EXPECT_HAS(said_to_server, "A: sk-placeholderBB\r\n");
}

#define POST "POST /v1/ HTTP/1.1\r\nHost: api.good.test\r\n"

TEST(an_audit_fills_in_what_it_would_deny)
{
    struct scene s = tls;
    s.policy = "{'version':1,'mode':'audit'," SECRETS ",'rules':[]}";
    talk(&s, ">" HEAD "A: ghp_placeholderA\r\n\r\n", OK, NULL);
    EXPECT_HAS(said_to_server, "A: real-secret-value/1\r\n");
    EXPECT_STR(records.data, "GET /v1/ 200 audit default secrets=KEY\n");
    /* But not for another host than the connection's. */
    talk(&s, ">GET /v1/ HTTP/1.1\r\nHost: other.test\r\nA: ghp_placeholderA\r\n\r\n", NULL);
    expect_violation("KEY");
}

TEST(G4_G22_content_is_filled_in_and_framed_anew)
{
    talk(&tls, ">" POST "Content-Length: 20\r\n\r\n{\"ghp_placeholderA\"}", OK, NULL);
    EXPECT_HAS(said_to_server, "Transfer-Encoding: chunked\r\n");
    EXPECT_LACKS(said_to_server, "Content-Length");
    EXPECT_LACKS(said_to_server, "placeholder");
    EXPECT_HAS(records, "secrets=KEY");
    talk(&tls,
         ">" POST "Transfer-Encoding: chunked\r\n\r\n"
         "7\r\n{\"ghp_p\r\nd\r\nlaceholderA\"}\r\n0\r\n\r\n",
         OK, NULL);
    EXPECT_LACKS(said_to_server, "placeholder");
    EXPECT_HAS(records, "POST /v1/ 200 allow rule:api secrets=KEY\n");
}

TEST(G4_a_violation_in_content_cuts_the_request_off)
{
    talk(&tls, ">" POST "Content-Length: 33\r\n\r\n0123456789", ">01234sk-", ">placeholderBBxx",
         NULL);
    EXPECT_LACKS(said_to_server, "sk-placeholderBB");
    EXPECT_EQ(status_to_guest(), 403);
    EXPECT_STR(ends, "close reset");
    EXPECT_STR(records.data, "POST /v1/ 403 deny secret_violation violation=OTHER\n");
}

TEST(G6_a_query_is_filled_in_and_the_log_has_the_placeholder)
{
    talk(&tls, ">GET /v1/?k=ghp_placeholderA&b HTTP/1.1\r\nHost: api.good.test\r\n\r\n", OK, NULL);
    EXPECT_HAS(said_to_server, "GET /v1/?k=real-secret-value%2F1&b HTTP/1.1\r\n");
    EXPECT_LACKS(records, "real");
}

#define SET_POLICY                                                                   \
    "{'version':1," SECRETS ",'rules':[{'id':'api','action':'allow','to':{'domain':" \
    "['api.good.test']},'transforms':[{'set_headers':{'authorization':"              \
    "'Bearer ${secret.%s}'}}]}]}"

TEST(G8_G9_a_secret_that_the_policy_sets)
{
    char policy[1024];
    struct scene s = tls;
    s.policy = policy;
    snprintf(policy, sizeof(policy), SET_POLICY, "KEY");
    talk(&s,
         ">" HEAD "authorization: mine\r\nConnection: Authorization\r\nAUTHORIZATION: a\r\n\r\n",
         OK, NULL);
    EXPECT_STR(said_to_server.data, HEAD "authorization: Bearer real-secret-value/1\r\n"
                                         "Accept-Encoding: identity\r\n\r\n");
    EXPECT_HAS(records, "secrets=KEY");
    snprintf(policy, sizeof(policy), SET_POLICY, "OTHER");
    talk(&s, ">" HEAD "\r\n", NULL);
    expect_violation("OTHER");
}

#define ADD_POLICY                                                                        \
    "{'version':1," SECRETS ",'rules':[{'id':'api','action':'allow','to':{'domain':"      \
    "['api.good.test']},'transforms':[{'set_basic':'me:${secret.%s}','set_query':{'key':" \
    "'<${secret.%s}&>','v':'2'}}]}]}"

TEST(G6_G8_credentials_and_parameters_that_the_policy_sets)
{
    static const struct {
        const char *query, *made;
    } rows[] = {
        {"", "?key=%3Creal-secret-value%2F1%26%3E&v=2"},
        {"?a=b", "?a=b&key=%3Creal-secret-value%2F1%26%3E&v=2"},
        {"?key=mine&a&KEY=mine&%6bey=mine&x;key=mine&keys=k&v",
         "?a&keys=k&key=%3Creal-secret-value%2F1%26%3E&v=2"},
        {"?", "?key=%3Creal-secret-value%2F1%26%3E&v=2"},
    };
    char policy[1024], ask[256], wanted[512];
    struct scene s = tls;
    s.policy = policy;
    snprintf(policy, sizeof(policy), ADD_POLICY, "KEY", "KEY");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        snprintf(ask, sizeof(ask),
                 ">GET /v1/%s HTTP/1.1\r\nHost: api.good.test\r\nauthorization: mine\r\n\r\n",
                 rows[i].query);
        snprintf(wanted, sizeof(wanted),
                 "GET /v1/%s HTTP/1.1\r\nHost: api.good.test\r\n"
                 "authorization: Basic bWU6cmVhbC1zZWNyZXQtdmFsdWUvMQ==\r\n"
                 "Accept-Encoding: identity\r\n\r\n",
                 rows[i].made);
        talk(&s, ask, OK, NULL);
        EXPECT_STR(said_to_server.data, wanted);
        EXPECT_HAS(records, "secrets=KEY");
        EXPECT_LACKS(records, "real");
    }
    snprintf(policy, sizeof(policy), ADD_POLICY, "KEY", "OTHER");
    talk(&s, ">" HEAD "\r\n", NULL);
    expect_violation("OTHER");
    snprintf(policy, sizeof(policy), ADD_POLICY, "OTHER", "KEY");
    talk(&s, ">" HEAD "\r\n", NULL);
    expect_violation("OTHER");
}

TEST(G8_a_secret_that_is_not_there_is_not_replaced_by_its_name)
{
    char policy[1024];
    struct scene s = tls;
    s.policy = policy;
    s.secrets = NULL;
    snprintf(policy, sizeof(policy), SET_POLICY, "KEY");
    talk(&s, ">" HEAD "\r\n", NULL);
    EXPECT_EQ(said_to_server.size, 0);
    EXPECT_EQ(status_to_guest(), 403);
}

TEST(G10_trace_is_refused_where_there_are_secrets)
{
    talk(&tls, ">TRACE /v1/ HTTP/1.1\r\nHost: api.good.test\r\n\r\n", NULL);
    EXPECT_EQ(status_to_guest(), 403);
    EXPECT_STR(denied_reason(), "trace");
}

TEST(G11_values_are_taken_out_of_responses)
{
    talk(&tls, ">" HEAD "A: ghp_placeholderA\r\nAccept-Encoding: gzip\r\n\r\n",
         "<HTTP/1.1 200 real-secret-value/1\r\nX-Echo: <real-secret-value/1>\r\n"
         "Content-Length: 23\r\n\r\n< real-secret-value/1 >",
         NULL);
    EXPECT_STR(said_to_server.data,
               HEAD "A: real-secret-value/1\r\nAccept-Encoding: identity\r\n\r\n");
    EXPECT_HAS(said_to_guest, "HTTP/1.1 200 ghp_placeholderA\r\nX-Echo: <ghp_placeholderA>\r\n"
                              "Transfer-Encoding: chunked\r\n\r\n");
    EXPECT_LACKS(said_to_guest, "secret-value");
    EXPECT_HAS(said_to_guest, "\r\n0\r\n\r\n");
    talk(&tls, ">" HEAD "\r\n",
         "<HTTP/1.1 200 OK\r\nTransfer-Encoding: "
         "chunked\r\n\r\n5\r\n<real\r\nf\r\n-secret-value/1\r\n"
         "1\r\n>\r\n0\r\nX-End: real-secret-value/1\r\n\r\n",
         ">" HEAD "\r\n", OK, NULL);
    EXPECT_LACKS(said_to_guest, "secret");
    EXPECT_HAS(said_to_guest, "0\r\nX-End: ghp_placeholderA\r\n\r\nHTTP/1.1 200 OK\r\n");
}

TEST(G11_a_field_that_is_named_after_a_value_is_left_out)
{
    static const char *const odd[] = {"KEY",   "ghp_placeholderA", "real-secret-value.1",
                                      "OTHER", "sk-placeholderBB", "other-value-22",
                                      NULL};
    struct scene s = tls;
    s.secrets = odd;
    talk(&s, ">" HEAD "\r\n",
         "<HTTP/1.1 200 OK\r\nX-real-secret-value.1: a\r\nB: c\r\nContent-Length: 0\r\n\r\n", NULL);
    EXPECT_STR(said_to_guest.data, "HTTP/1.1 200 OK\r\nB: c\r\nContent-Length: 0\r\n\r\n");
}

TEST(G11_a_client_of_1_0_gets_them_taken_out_too)
{
    talk(&tls, ">GET /v1/ HTTP/1.0\r\nHost: api.good.test\r\n\r\n",
         "<HTTP/1.1 200 OK\r\nContent-Length: 23\r\n\r\n< real-secret-value/1 >", NULL);
    EXPECT_STR(said_to_guest.data,
               "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n< ghp_placeholderA >");
}

TEST(G11_no_length_is_told_that_would_not_hold)
{
    talk(&tls, ">HEAD /v1/ HTTP/1.1\r\nHost: api.good.test\r\n\r\n",
         "<HTTP/1.1 200 OK\r\nContent-Length: 23\r\n\r\n", NULL);
    EXPECT_STR(said_to_guest.data, "HTTP/1.1 200 OK\r\n\r\n");
}

TEST(G11_strict_takes_nothing_that_it_can_not_search)
{
    struct scene s = tls;
    s.policy =
        "{'version':1,'secrets':{"
        "'KEY':{'source':{'env':'KEY'},'allow':{'hosts':['api.good.test']},'scrub':'strict'},"
        "'OTHER':{'source':{'env':'OTHER'},'allow':{'hosts':['other.test']}}}," RULES "}";
    talk(&s, ">" HEAD "Range: bytes=0-5\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
         "<HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", NULL);
    EXPECT_STR(said_to_server.data, OUT "\r\n");
    EXPECT_EQ(status_to_guest(), 502);
    EXPECT_STR(denied_reason(), "scrub");
    talk(&s, ">" HEAD "\r\n",
         "<HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\nContent-Encoding: gzip\r\n\r\n", NULL);
    EXPECT_EQ(status_to_guest(), 502);
    talk(&tls, ">" HEAD "\r\n",
         "<HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", NULL);
    EXPECT_EQ(status_to_guest(), 200);
}

TEST(G16_a_value_can_not_end_the_query)
{
    static const char *const odd[] = {"KEY",   "ghp_placeholderA", "a b HTTP/1.1 c#&",
                                      "OTHER", "sk-placeholderBB", "other-value-22",
                                      NULL};
    struct scene s = tls;
    s.secrets = odd;
    talk(&s, ">GET /v1/?k=ghp_placeholderA HTTP/1.1\r\nHost: api.good.test\r\n\r\n", OK, NULL);
    EXPECT_HAS(said_to_server, "GET /v1/?k=a%20b%20HTTP%2F1.1%20c%23%26 HTTP/1.1\r\nHost: ");
}

TEST(G24_a_request_keeps_the_secrets_that_it_began_with)
{
    struct scene s = tls;
    s.other_policy = "{'version':1," RULES "}";
    s.at = 1;
    talk(&s, ">" POST "Content-Length: 16\r\n\r\nghp_", ">placeholderA", OK,
         ">" HEAD "A: ghp_placeholderA\r\n\r\n", OK, NULL);
    EXPECT_HAS(said_to_server, "secret-value/1\r\n0\r\n\r\nGET /v1/");
    EXPECT_HAS(said_to_server, "A: ghp_placeholderA\r\n");
    EXPECT_STR(records.data, "POST /v1/ 200 allow rule:api secrets=KEY\n"
                             "GET /v1/ 200 allow rule:api\n");
}

TEST(R22_the_next_request_is_read_where_the_content_ends)
{
    talk(&tls, ">" POST "Content-Length: 16\r\n\r\nghp_placeholderA" HEAD "B: c\r\n\r\n", OK, OK,
         NULL);
    EXPECT_HAS(said_to_server, "\r\n0\r\n\r\nGET /v1/ HTTP/1.1\r\n");
    EXPECT_HAS(records, "POST /v1/ 200 allow rule:api secrets=KEY\nGET /v1/ 200 allow rule:api\n");
}
