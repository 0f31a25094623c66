// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target for policy documents (lib/policy) and for what is judged by them. The input is
 * a document, a byte 0xff (which no document has), and bytes that choose flows. What must hold:
 *
 *  - what is refused is so in one sentence that is safe to show, with a next step;
 *  - nothing in the floor is ever let through, and nothing waits at the last stage;
 *  - what connect(2) was denied stays denied, whatever the flow shows afterwards;
 *  - what is dialled by name shows no other name;
 *  - the same question gets the same answer, and warnings are whole sentences.
 */
#include "lib/policy/document.h"
#include "lib/policy/lint.h"
#include "tests/fuzz/input.h"

#define FLOWS_MAX    8
#define DOCUMENT_END 0xff

static const char *const names[] = {
    "a.test", "x.a.test", "b.test", "github.com", "xn--bcher-kva.test", "dns.google", "localhost",
};

static const char *const addresses[] = {
    "20.1.1.1", "7.7.7.7", "10.0.0.1", "169.254.169.254", "64:ff9b::a00:1", "2a00::1", "8.8.8.8",
};

static const struct policy_name absent = {.state = POLICY_NAME_ABSENT};

static const char *choose(struct input *in)
{
    return names[input_byte(in) % ARRAY_SIZE(names)];
}

static struct policy_name choose_name(struct input *in)
{
    struct policy_name name = {(enum policy_name_state)(input_byte(in) % 5), choose(in)};
    return name;
}

static void check_refusal(const struct policy_error *e)
{
    CHECK(e->text[0] && strstr(e->text, "; "));
    CHECK(e->pointer[0] == '\0' || e->pointer[0] == '/');
    CHECK((e->line == 0) == (e->column == 0) || strstr(e->text, "is not JSON"));
    for (const char *c = e->text; *c; c++)
        CHECK((unsigned char)*c >= ' ' && *c != 0x7f);
}

static void check_warning(const struct policy_warning *w, void *context)
{
    CHECK(w->text[0] && !strchr(w->text, '\n'));
    CHECK(w->rule < (int)((const struct policy_document *)context)->rule_count);
}

static struct policy_verdict judge(const struct policy *p, const struct policy_flow *flow)
{
    struct policy_verdict v, again;
    memset(&v, 0, sizeof(v));
    memset(&again, 0, sizeof(again));
    policy_judge(p, NULL, flow, &v);
    policy_judge(p, NULL, flow, &again);
    CHECK(v.action == again.action && !strcmp(v.reason, again.reason) && v.name == again.name);
    CHECK((v.action == POLICY_DENY) == (v.words != NULL));
    if (v.action == POLICY_ALLOW)
        CHECK(!strcmp(policy_address_class(NULL, &flow->address), "public"));
    return v;
}

static void check_names(const struct policy_flow *flow, const char *name)
{
    const struct policy_name *shown[] = {&flow->target, &flow->sni, &flow->authority};
    for (size_t i = 0; i < ARRAY_SIZE(shown) && flow->protocol == POLICY_TCP; i++)
        CHECK(shown[i]->state != POLICY_NAME_GIVEN || !strcmp(shown[i]->text, name));
}

static void check_flow(const struct policy *p, struct input *in)
{
    const char *resolved[3];
    struct policy_net net;
    const char *address = addresses[input_byte(in) % ARRAY_SIZE(addresses)];
    CHECK(policy_net_parse(address, strlen(address), &net) == 0);
    struct policy_flow flow = policy_flow_init((enum policy_protocol)(input_byte(in) % 3),
                                               &net.address, (uint16_t)input_word(in, 2));
    flow.resolved = resolved;
    flow.resolved_count = input_byte(in) % 4;
    for (size_t i = 0; i < flow.resolved_count; i++)
        resolved[i] = choose(in);
    struct policy_verdict first = judge(p, &flow);

    flow.sni = choose_name(in);
    flow.authority = choose_name(in);
    flow.request.state = (enum policy_name_state)(input_byte(in) % 5);
    flow.request.method = input_byte(in) % 2 ? "GET" : "POST";
    flow.request.path = input_byte(in) % 2 ? "/v1/x" : "/";
    flow.request.query = input_byte(in) % 2 ? "a=b&c" : NULL;
    struct policy_verdict v = judge(p, &flow);
    if (flow.sni.state == POLICY_NAME_PENDING)
        flow.sni = absent;
    if (flow.authority.state == POLICY_NAME_PENDING)
        flow.authority = absent;
    if (flow.request.state == POLICY_NAME_PENDING)
        flow.request.state = POLICY_NAME_ABSENT;
    v = judge(p, &flow);
    CHECK(v.action != POLICY_WAIT);
    CHECK(first.action != POLICY_DENY || v.action == POLICY_DENY);
    if (v.action == POLICY_ALLOW && v.name) {
        check_names(&flow, v.name);
        policy_judge_candidate(p, NULL, &flow, v.name, &net.address, &v);
        CHECK(v.action != POLICY_WAIT);
    }
    policy_judge_query(p, choose(in), (uint16_t)input_word(in, 2), &v);
    CHECK(v.action != POLICY_WAIT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct policy_error e;
    const uint8_t *end = memchr(data, DOCUMENT_END, size);
    size_t document = end ? (size_t)(end - data) : size;
    struct input in = {end ? end + 1 : data, end ? size - document - 1 : 0};
    /* Of its exact size, so that ASan sees what is read behind it. */
    char *text = malloc(document ? document : 1);
    CHECK(text);
    memcpy(text, data, document);
    struct policy *p = policy_parse(text, document, &e);
    free(text);
    if (!p) {
        check_refusal(&e);
        return 0;
    }
    const struct policy_document *d = policy_get_document(p);
    policy_lint(p, check_warning, (void *)d);
    for (size_t i = 0; i < FLOWS_MAX; i++)
        check_flow(p, &in);
    policy_free(p);
    return 0;
}
