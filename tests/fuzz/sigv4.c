// SPDX-License-Identifier: Apache-2.0
/*
 * Signatures of AWS that guests made, and those that are made anew. What must hold: what was read
 * has a region and a service of few letters and lies in the field; what is written has one line,
 * the real access key id and not the key, and does not depend on the order of the fields.
 */
#include "lib/secret/sigv4.h"
#include "tests/fuzz/input.h"

#define KEY "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"

static void check_sign(const struct sigv4_scope *scope, const char *path, const char *query,
                       const char *value)
{
    static const struct sigv4_keys keys = {
        .id = "AKIDEXAMPLE", .id_size = 11, .key = KEY, .key_size = sizeof(KEY) - 1};
    const struct policy_field fields[] = {
        {"Host", "a.test"}, {"X-Amz-Meta", value}, {"x-other", value}, {"Content-Type", "b"}};
    const struct policy_field turned[] = {fields[3], fields[2], fields[1], fields[0]};
    struct sigv4_request r = {.method = "GET", .path = path, .query = query, .fields = fields};
    struct buf a = BUF_INIT(1 << 16), b = BUF_INIT(1 << 16);
    r.field_count = 4;
    r.date = "20150830T123600Z";
    r.content = "UNSIGNED-PAYLOAD";
    int e = sigv4_sign(&r, scope, &keys, &a);
    r.fields = turned;
    CHECK(sigv4_sign(&r, scope, &keys, &b) == e);
    if (e == 0) {
        CHECK(a.size == b.size && !memcmp(a.data, b.data, a.size));
        CHECK(!strpbrk(a.data, "\r\n") && strstr(a.data, " Credential=AKIDEXAMPLE/20150830/"));
        CHECK(!strstr(a.data, KEY));
    }
    buf_done(&a);
    buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    struct sigv4_scope scope;
    const char *id;
    size_t id_size;
    char *path = input_string(&in, input_byte(&in)), *query = input_string(&in, input_byte(&in));
    char *value = input_string(&in, 16), *field = input_string(&in, 4096);
    if (sigv4_parse_query(query, &id, &id_size))
        CHECK(id > query && id + id_size <= query + strlen(query));
    sigv4_content_of(field);
    if (sigv4_parse(field, &scope) == SIGV4_SIGNATURE) {
        const char *end = field + strlen(field);
        CHECK(scope.id > field && scope.id_size > 0 && scope.id + scope.id_size < end);
        CHECK(scope.region[0] && scope.service[0] && !strpbrk(scope.region, "/ ,\r\n"));
        CHECK(scope.signed_names > field && scope.signed_names + scope.signed_size <= end);
        check_sign(&scope, path, query, value);
    }
    free(path);
    free(query);
    free(value);
    free(field);
    return 0;
}
