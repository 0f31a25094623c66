// SPDX-License-Identifier: Apache-2.0
/*
 * Signatures of AWS: those of Amazon's documents ("Authenticating Requests: Using the Authorization
 * Header" of S3; get-vanilla of the test suite), and others that botocore makes.
 */
#include "lib/secret/sigv4.h"
#include "tests/harness/harness.h"

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define GUEST(names)                                                           \
    "AWS4-HMAC-SHA256 Credential=ID/20150830/us-east-1/service/aws4_request, " \
    "SignedHeaders=" names ", Signature=" EMPTY
#define FIELDS(...)               \
    (const struct policy_field[]) \
    {                             \
        __VA_ARGS__               \
    }

static const struct sigv4_keys s3_keys = {.id = "AKIAIOSFODNN7EXAMPLE",
                                          .id_size = 20,
                                          .key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                                          .key_size = 40};
static const struct sigv4_keys suite_keys = {.id = "AKIDEXAMPLE",
                                             .id_size = 11,
                                             .key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                                             .key_size = 40};

static void expect_signed(const struct sigv4_request *r, const char *guest,
                          const struct sigv4_keys *keys, const char *expected)
{
    struct sigv4_scope scope;
    struct buf out = BUF_INIT(4096);
    EXPECT_EQ(sigv4_parse(guest, &scope), SIGV4_SIGNATURE);
    EXPECT_EQ(sigv4_sign(r, &scope, keys, &out), 0);
    EXPECT_STR(out.data, expected);
    buf_done(&out);
}

#define S3(names)                                                                           \
    "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, " \
    "SignedHeaders=" names ", Signature="

TEST(as_the_documents_of_s3_have_it)
{
    struct sigv4_request r = {.method = "GET", .path = "/test.txt", .content = EMPTY};
    r.date = "20130524T000000Z";
    r.fields = FIELDS({"Host", "examplebucket.s3.amazonaws.com"}, {"Range", "bytes=0-9"},
                      {"User-Agent", "x"}, {"X-Amz-Content-Sha256", EMPTY},
                      {"X-Amz-Date", "20130524T000000Z"});
    r.field_count = 5;
    expect_signed(
        &r, S3("host;range;user-agent") EMPTY, &s3_keys,
        S3("host;range;x-amz-content-sha256;x-amz-date") "f0e8bdb87c964420e857bd35b5d6ed310bd44f017"
                                                         "0aba48dd91039c6036bdb41");
    r.method = "PUT";
    r.path = "/test$file.text";
    r.content = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072";
    r.fields = FIELDS({"x-amz-storage-class", "REDUCED_REDUNDANCY"},
                      {"date", "Fri, 24 May 2013 00:00:00 GMT"},
                      {"Host", "examplebucket.s3.amazonaws.com"},
                      {"x-amz-content-sha256", r.content}, {"x-amz-date", "20130524T000000Z"});
    expect_signed(
        &r, S3("date") EMPTY, &s3_keys,
        S3("date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class") "98ad721746da40c64f1a55"
                                                                            "b78f14c238d841ea1380cd"
                                                                            "77a1b5971af0ece108bd");
    r.method = "GET";
    r.path = "/";
    r.query = "prefix=J&max-keys=2";
    r.content = EMPTY;
    r.fields = FIELDS({"Host", "examplebucket.s3.amazonaws.com"}, {"x-amz-content-sha256", EMPTY},
                      {"x-amz-date", "20130524T000000Z"});
    r.field_count = 3;
    expect_signed(&r, S3("host") EMPTY, &s3_keys,
                  S3("host;x-amz-content-sha256;x-amz-date") "34b48302e7b5fa45bde8084f4b7868a86f0a5"
                                                             "34bc59db6670ed5711ef69dc6f7");
    r.query = "lifecycle";
    expect_signed(&r, S3("host") EMPTY, &s3_keys,
                  S3("host;x-amz-content-sha256;x-amz-date") "fea454ca298b7da1c68078a5d1bdbfbbe0d65"
                                                             "c699e0f91ac7a200a0136783543");
}

#define SUITE(names)                                                                    \
    "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, " \
    "SignedHeaders=" names ", Signature="

TEST(as_other_services_have_it)
{
    struct sigv4_request r = {.method = "GET", .path = "/", .content = EMPTY};
    r.date = "20150830T123600Z";
    r.fields = FIELDS({"Host", "example.amazonaws.com"}, {"X-Amz-Date", "20150830T123600Z"});
    r.field_count = 2;
    expect_signed(
        &r, GUEST("host"), &suite_keys,
        SUITE(
            "host;x-amz-date") "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
    r.path = "/a%20b/../c//d/./e/%E1%88%B4";
    expect_signed(
        &r, GUEST("host"), &suite_keys,
        SUITE(
            "host;x-amz-date") "692b8b8a9839450cfaa8aed2d18610cda4f44292561f05e987bbe299b9f9e67e");
    r.method = "POST";
    r.path = "/";
    r.query = "b=2&a=1&a=0&c";
    r.content = "9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e";
    r.fields = FIELDS({"Content-Type", "application/x-www-form-urlencoded"},
                      {"My-Header", "  a   b  "}, {"Host", "example.amazonaws.com"},
                      {"X-Amz-Date", "20150830T123600Z"}, {"X-Amz-Security-Token", "TOKEN"});
    r.field_count = 5;
    expect_signed(
        &r, GUEST("My-Header;host"), &suite_keys,
        SUITE(
            "content-type;host;my-header;x-amz-date;x-amz-security-token") "e53bff53ea7dfeb671b9254"
                                                                           "27afda7c2ee7d4ce2cf1735"
                                                                           "92aa3128e58e8ece31");
}

TEST(a_path_of_s3_stays_as_it_is)
{
    struct sigv4_request r = {.method = "GET", .path = "/a%20b//c", .content = EMPTY};
    r.query = "list-type=2&prefix=x%2fy%7E"; /* as it could be written, too */
    r.date = "20150830T123600Z";
    r.fields = FIELDS({"host", "example.amazonaws.com"}, {"X-Amz-Content-SHA256", EMPTY},
                      {"X-Amz-Date", "20150830T123600Z"});
    r.field_count = 3;
    expect_signed(&r,
                  "AWS4-HMAC-SHA256 Credential=ID/20150830/us-east-1/s3/aws4_request,"
                  "SignedHeaders=host,Signature=" EMPTY,
                  &suite_keys,
                  "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/s3/aws4_request, "
                  "SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature="
                  "ce1d6ef3baad3a1ad2d8dcb9ed0706d47e9d1c2b8a235a3835f0240b6f4098e6");
}

static struct sigv4_scope scope;

static enum sigv4_kind kind(const char *credential, const char *rest)
{
    char text[512];
    snprintf(text, sizeof(text), "AWS4-HMAC-SHA256 Credential=%s%s", credential, rest);
    return sigv4_parse(text, &scope);
}

#define REST ", SignedHeaders=host, Signature=" EMPTY

TEST(what_a_guest_has_signed)
{
    EXPECT_EQ(kind("my_Id-1.x/20150830/eu-west-1/execute-api/aws4_request", REST), SIGV4_SIGNATURE);
    EXPECT_EQ(scope.id_size, 9);
    EXPECT_STR(scope.region, "eu-west-1");
    EXPECT_STR(scope.service, "execute-api");
    EXPECT_EQ(sigv4_parse("Bearer x", &scope), SIGV4_NONE);
    EXPECT_EQ(sigv4_parse("AWS4-ECDSA-P256-SHA256 Credential=ID", &scope), SIGV4_OTHER);
    EXPECT_EQ(sigv4_parse("aws4-hmac-sha256 Credential=ID", &scope), SIGV4_OTHER);
    EXPECT_EQ(sigv4_parse("AWS4-HMAC-SHA256", &scope), SIGV4_OTHER);
    EXPECT_EQ(sigv4_parse("AWS4-HMAC-SHA256 ", &scope), SIGV4_BROKEN);
    static const char *const wrong[] = {
        "",
        "/20150830/r/s/aws4_request",
        "ID/2015083/r/s/aws4_request",
        "ID/20150830//s/aws4_request",
        "ID/20150830/r/s",
        "ID/20150830/r/s/aws4_request/x",
        "ID/20150830/r/s/aws5_request",
        "ID/20150830/r\n/s/aws4_request",
        "ID/20150830/r/s.example/aws4_request",
        "ID/20150830/rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr/s/"
        "aws4_request",
    };
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        EXPECT_EQ(kind(wrong[i], REST), SIGV4_BROKEN);
#define GOOD "ID/20150830/r/s/aws4_request"
    EXPECT_EQ(kind(GOOD, ""), SIGV4_BROKEN);
    EXPECT_EQ(kind(GOOD, REST REST), SIGV4_BROKEN);
    EXPECT_EQ(kind(GOOD, REST ", Other=1"), SIGV4_BROKEN);
    EXPECT_EQ(kind(GOOD, ", SignedHeaders=host, Signature=abc"), SIGV4_BROKEN);
    EXPECT_EQ(kind(GOOD, REST ", Credential=" GOOD), SIGV4_BROKEN);
}

TEST(content_and_queries_that_sign_by_themselves)
{
    EXPECT_EQ(sigv4_content_of(EMPTY), SIGV4_CONTENT_HASHED);
    EXPECT_EQ(sigv4_content_of("UNSIGNED-PAYLOAD"), SIGV4_CONTENT_HASHED);
    EXPECT_EQ(sigv4_content_of("STREAMING-UNSIGNED-PAYLOAD-TRAILER"), SIGV4_CONTENT_HASHED);
    EXPECT_EQ(sigv4_content_of("STREAMING-AWS4-HMAC-SHA256-PAYLOAD"), SIGV4_CONTENT_SIGNED);
    EXPECT_EQ(sigv4_content_of("STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD-TRAILER"),
              SIGV4_CONTENT_SIGNED);
    EXPECT_EQ(sigv4_content_of(EMPTY "0"), SIGV4_CONTENT_UNKNOWN);
    EXPECT_EQ(sigv4_content_of(""), SIGV4_CONTENT_UNKNOWN);
    const char *id;
    size_t size;
    EXPECT_TRUE(sigv4_parse_query("a=b&X-Amz-Credential=my.ID%2F2013", &id, &size));
    EXPECT_TRUE(size == 5 && !memcmp(id, "my.ID", size));
    EXPECT_TRUE(sigv4_parse_query("x-amz-%43redential=ID&b", &id, &size) && size == 2);
    EXPECT_TRUE(!sigv4_parse_query("X-Amz-Credentials=1&credential=X-Amz-Credential", &id, &size));
    EXPECT_TRUE(!sigv4_parse_query(NULL, &id, &size) && !sigv4_parse_query("", &id, &size));
    EXPECT_TRUE(!sigv4_parse_query("X-Amz-Credential&", &id, &size));
}

TEST(a_query_of_too_many_parts_is_not_signed)
{
    struct buf query = BUF_INIT(1 << 16), out = BUF_INIT(4096);
    for (int i = 0; i < 1025; i++)
        buf_append_str(&query, "a&");
    struct sigv4_request r = {.method = "GET", .path = "/", .query = query.data, .content = EMPTY};
    r.date = "20150830T123600Z";
    EXPECT_EQ(sigv4_parse(GUEST("host"), &scope), SIGV4_SIGNATURE);
    EXPECT_EQ(sigv4_sign(&r, &scope, &suite_keys, &out), -E2BIG);
    buf_done(&query);
    buf_done(&out);
}

TEST(a_date)
{
    char date[SIGV4_DATE_BYTES + 1];
    sigv4_date(1369353600, date);
    EXPECT_STR(date, "20130524T000000Z");
}
