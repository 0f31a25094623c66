// SPDX-License-Identifier: Apache-2.0
/*
 * What clients say of networks, and keys' scopes, as JSON: what is refused is so in one sentence;
 * what is compiled is a document, which denies what nobody named where all was to be denied, and
 * which names nothing that the client did not; what is shown has no value of a field; a scope that
 * was read within another is not wider, and reads as itself.
 */
#include "lib/policy/policy.h"
#include "server/json.h"
#include "server/network.h"
#include "tests/fuzz/input.h"

#define POLICY_MAX (1 << 20)
#define SECRET     "s3cr3t"

static void check_document(const struct network_wish *w, const struct buf *text)
{
    struct policy_error e;
    const char *why;
    json_t *document = json_read_object(text->data, text->size, &why);
    CHECK(document);
    const char *otherwise = json_string_value(json_object_get(document, "default"));
    CHECK(otherwise);
    if (w->internet == 0 || !w->allows_egress)
        CHECK(!strcmp(otherwise, "deny"));
    if (w->most != SCOPE_EGRESS_ANY)
        CHECK(!strcmp(otherwise, "deny"));
    /* A name or a network may be none: then it is refused as a whole. */
    policy_free(policy_parse(text->data, text->size, &e));
    json_decref(document);
}

static void check_shown(const json_t *network)
{
    struct buf text = BUF_INIT(POLICY_MAX);
    json_t *shown = network_redact(network);
    CHECK(shown);
    json_t *rules = json_object_get(shown, "rules");
    CHECK(!json_is_object(rules) || json_write(&text, rules) == 0);
    CHECK(!text.data || !memmem(text.data, text.size, ":\"" SECRET, 2 + strlen(SECRET)));
    json_decref(shown);
    buf_done(&text);
}

static void check_network(const json_t *network, uint8_t how)
{
    struct buf policy = BUF_INIT(POLICY_MAX);
    const char *why = NULL;
    const struct network_wish w = {
        .network = network,
        .internet = how % 3 - 1,
        .allows_egress = how & 4,
        .most = (enum scope_egress)(how / 8 % 3),
        .is_replacement = how & 128,
    };
    int status = network_compile(&w, &policy, &why);
    if (status) {
        CHECK(status >= 400 && status < 600 && why && *why && policy.size == 0);
    } else {
        CHECK(policy.size > 0 || !w.is_replacement || w.most == SCOPE_EGRESS_ANY);
        if (policy.size > 0)
            check_document(&w, &policy);
        check_shown(network);
    }
    buf_done(&policy);
}

static bool is_within(int64_t inner, int64_t outer)
{
    return !outer || (inner && inner <= outer);
}

static void check_scope(const json_t *object)
{
    const struct scope within = {.sandboxes = 10,
                                 .timeout_s = 100,
                                 .memory_mb = 512,
                                 .egress = SCOPE_EGRESS_NAMED,
                                 .manages_keys = true};
    struct scope s, again;
    const char *why = NULL;
    if (scope_read(object, &within, &s, &why) < 0) {
        CHECK(why && *why);
        return;
    }
    CHECK(is_within(s.sandboxes, 10) && is_within(s.timeout_s, 100));
    CHECK(is_within(s.memory_mb, 512) && s.egress <= SCOPE_EGRESS_NAMED);
    json_t *written = scope_write(&s);
    CHECK(written && scope_read(written, &within, &again, &why) == 0);
    CHECK(again.sandboxes == s.sandboxes && again.per_minute == s.per_minute);
    CHECK(again.expires_ms / 1000 == s.expires_ms / 1000 && again.egress == s.egress);
    CHECK(again.read_only == s.read_only && again.manages_keys == s.manages_keys);
    json_decref(written);
    scope_done(&s);
    scope_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool is_started;
    struct input in = {data, size};
    const char *why;
    if (!is_started)
        json_start();
    is_started = true;
    uint8_t how = input_byte(&in);
    json_t *object = json_read_object((const char *)in.data, in.size, &why);
    if (object) {
        check_network(object, how);
        check_scope(object);
    }
    json_decref(object);
    return 0;
}
