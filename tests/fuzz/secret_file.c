// SPDX-License-Identifier: Apache-2.0
/*
 * The file of secrets that a gateway is given, of a policy with two: it is read as secrets, or
 * refused in one sentence.
 */
#include "lib/secret/file.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char document[] =
        "{\"version\":1,\"secrets\":{"
        "\"A\":{\"source\":{\"env\":\"A\"},\"allow\":{\"hosts\":[\"a.test\"]}},"
        "\"B\":{\"source\":{\"env\":\"B\"},\"allow\":{\"hosts\":[\"b.test\"]},\"scrub\":\"off\"}}}";
    struct policy_error wrong;
    struct secret_error e = {.name = NULL};
    struct secrets *s = NULL;
    struct policy *p = policy_parse(document, strlen(document), &wrong);
    CHECK(p);
    /* Of its exact size, so that ASan sees what is read behind it. */
    void *copy = malloc(size ? size : 1);
    CHECK(copy);
    memcpy(copy, data, size);
    int r = secret_file_parse(copy, size, policy_get_document(p), &s, &e);
    free(copy);
    CHECK(r == 0 || r == -EINVAL);
    if (r == 0)
        CHECK(secrets_count(s) == 2);
    else
        CHECK(!s && strstr(e.text, ": ") && strstr(e.text, "; ") && !strchr(e.text, '\n'));
    secrets_put(s);
    policy_free(p);
    return 0;
}
