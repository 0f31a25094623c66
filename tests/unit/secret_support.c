// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/secret_support.h"

struct vault vault_new(const char *a, const char *b)
{
    static const struct secret_value values[] = {
        {"A", A_PLACEHOLDER, A_VALUE, sizeof(A_VALUE) - 1},
        {"B", B_PLACEHOLDER, B_VALUE, sizeof(B_VALUE) - 1},
    };
    char text[2048];
    struct secret_error e = {.name = NULL};
    struct vault v = {NULL};
    /* A member that is given twice is an error, so each gives its "allow" whole. */
    snprintf(text, sizeof(text),
             "{'version':1,'secrets':{'A':{'source':{'env':'A'}%s%s},'B':{'source':{'env':'B'}%s%s}"
             "}}",
             strstr(a, "'allow'") ? "" : ",'allow':{'hosts':['a.test']}", a,
             strstr(b, "'allow'") ? "" : ",'allow':{'hosts':['b.test']}", b);
    v.policy = policy_of(text);
    ASSERT_EQ(secrets_new(policy_get_document(v.policy), values, 2, &v.secrets, &e), 0);
    return v;
}

void vault_done(struct vault *v)
{
    secrets_put(v->secrets);
    policy_free(v->policy);
}

struct secrets_request request_to(const char *host)
{
    return (struct secrets_request){
        .host = host, .port = 443, .method = "GET", .path = "/", .is_verified_tls = true};
}
