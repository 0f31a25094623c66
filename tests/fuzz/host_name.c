// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target for host names (lib/policy/host.h), with and without a port, for networks, and
 * for patterns. What must hold: what is read is canonical, so that it reads as itself; what is
 * refused says why; a name matches itself as a pattern; and nothing changes by a dot at the end.
 */
#include "lib/policy/compose.h"
#include "lib/policy/document.h"
#include "tests/fuzz/input.h"

static void check_address(const struct in6_addr *address)
{
    char text[POLICY_ADDRESS_TEXT_BYTES];
    struct policy_net net;
    CHECK(*policy_address_print(address, text));
    CHECK(policy_net_parse(text, strlen(text), &net) == 0 && net.prefix_bits == 128);
    CHECK(IN6_ARE_ADDR_EQUAL(&net.address, address) && policy_net_contains(&net, address));
}

static void check_name(const char *name)
{
    struct policy_host again;
    char text[POLICY_NAME_MAX_BYTES + 2];
    size_t size = strlen(name);
    CHECK(policy_host_is_canonical(name));
    CHECK(policy_host_parse(name, size, &again, NULL) == 0 && !strcmp(again.name, name));
    snprintf(text, sizeof(text), "%s.", name);
    CHECK(policy_host_parse(text, size + 1, &again, NULL) == 0 && !strcmp(again.name, name));
    text[size + 1] = '.';
    CHECK(policy_host_parse(text, size + 2, &again, NULL) == -EINVAL);
}

/* What a command line would make of it: refused in one sentence, or a document that is taken. */
static void check_composed(const char *text)
{
    struct policy_error e;
    struct buf json = BUF_INIT(POLICY_DOCUMENT_MAX_BYTES);
    int r = policy_compose(&(struct policy_words){.allow = &text, .allow_count = 1}, &json, &e);
    if (r < 0) {
        CHECK(strstr(e.text, "; ") && !strchr(e.text, '\n'));
    } else {
        struct policy *p = policy_parse(json.data, json.size, &e);
        CHECK(p && policy_get_document(p)->rule_count > 0);
        policy_free(p);
    }
    buf_done(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct policy_host host, with_port;
    struct policy_net net;
    const char *why = NULL;
    uint16_t port;
    /* Of its exact size, so that ASan sees what is read behind it. */
    char *text = malloc(size ? size : 1);
    CHECK(text);
    memcpy(text, data, size);
    int r = policy_host_parse(text, size, &host, &why);
    CHECK(r == 0 || (r == -EINVAL && why && *why));
    if (r == 0 && host.kind == POLICY_HOST_NAME)
        check_name(host.name);
    else if (r == 0)
        check_address(&host.address);
    if (r == 0) {
        CHECK(policy_host_parse_with_port(text, size, &with_port, &port, NULL) == 0 && port == 0);
        CHECK(!memcmp(&with_port.address, &host.address, sizeof(host.address)));
    }
    if (policy_net_parse(text, size, &net) == 0)
        CHECK(policy_net_contains(&net, &net.address));
    free(text);

    struct input in = {data, size};
    char *string = input_string(&in, size);
    check_composed(string);
    free(string);
    return 0;
}
