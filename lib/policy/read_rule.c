// SPDX-License-Identifier: Apache-2.0
/*
 * One rule of a document.
 */
#include "lib/policy/floor.h"
#include "lib/policy/patterns.h"
#include "lib/policy/ranges.h"
#include "lib/policy/reader.h"

#define DNS_TYPES_MAX  64
#define TRANSFORMS_MAX 64

static int read_id(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                   void *field)
{
    static const char most[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    size_t size = strlen(text);
    if (size < 1 || size > POLICY_ID_MAX_BYTES || strspn(text, most) != size)
        return reader_fail(r, "is no id; write 1 to %d of letters, digits, '_', '.' and '-'",
                           POLICY_ID_MAX_BYTES);
    return reader_take_text(r, value, 1, POLICY_ID_MAX_BYTES, field);
}

/*
 * The port in "example.com:443" is sugar for "ports", so all names of a rule have the same one:
 * else a port of one would be open for the others. *size becomes that of the name.
 */
static int split_port(struct reader *r, const char *text, size_t *size, uint16_t *ret)
{
    const char *colon = strrchr(text, ':');
    *ret = 0;
    *size = strlen(text);
    if (!colon || !strncmp(text, "glob:", 5) || text[0] == '[')
        return 0;
    if (strchr(text, ':') != colon)
        return reader_fail(r, "\"%.100s\" is an address, not a name; write it in \"cidr\"", text);
    unsigned long port = strtoul(colon + 1, NULL, 10);
    size_t digits = strspn(colon + 1, "0123456789");
    if (digits < 1 || digits > 5 || colon[1 + digits] || colon[1] == '0' || port > UINT16_MAX)
        return reader_fail(r,
                           "\"%.100s\" has no port behind its colon; write a number from 1 to "
                           "65535, without a scheme or a path",
                           text);
    *size = (size_t)(colon - text);
    *ret = (uint16_t)port;
    return 0;
}

static int take_domain(struct reader *r, json_t *value, struct policy_patterns *patterns,
                       uint16_t *ret_port)
{
    char name[POLICY_HOST_MAX_BYTES + 1];
    const char *why = "";
    size_t size;
    if (!json_is_string(value))
        return reader_fail(r, "is not a text; write a host name in quotes");
    const char *text = json_string_value(value);
    int result = split_port(r, text, &size, ret_port);
    if (result < 0)
        return result;
    if (size >= sizeof(name))
        return reader_fail(r, "is longer than 253 bytes; no host name is");
    memcpy(name, text, size);
    name[size] = '\0';
    if (name[0] == '[')
        return reader_fail(r, "\"%.100s\" is an address, not a name; write it in \"cidr\"", text);
    result = policy_patterns_add(patterns, r->arena, name, &why);
    if (result == -EINVAL)
        return reader_fail(r, "\"%.100s\" %s", name, why);
    return result < 0 ? reader_no_memory(r) : 0;
}

static int set_port(struct reader *r, struct policy_rule *rule, uint16_t port)
{
    struct policy_port_range *range = arena_new(r->arena, 1, sizeof(*range));
    if (!range)
        return reader_no_memory(r);
    range->first = range->last = port;
    rule->ports = range;
    rule->port_count = 1;
    return 0;
}

static int read_domains(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                        void *field)
{
    struct policy_rule *rule = field;
    uint16_t port = 0, first = 0;
    rule->to = POLICY_TO_DOMAIN;
    if (!json_is_array(value) || json_array_size(value) == 0)
        return reader_fail(r, "is not a list of host names; write [\"example.com\"]");
    if (policy_patterns_init(&rule->patterns, r->arena, json_array_size(value)) < 0)
        return reader_no_memory(r);
    for (size_t i = 0; i < json_array_size(value); i++) {
        size_t before = reader_enter_index(r, i);
        int result = take_domain(r, json_array_get(value, i), &rule->patterns, &port);
        if (result < 0)
            return result;
        if (i == 0)
            first = port;
        if (port != first)
            return reader_fail(r, "has another port than the first name, and a rule's ports are "
                                  "those of all its names; write two rules");
        reader_leave(r, before);
    }
    policy_patterns_sort(&rule->patterns);
    return first ? set_port(r, rule, first) : 0;
}

static int take_net(struct reader *r, json_t *value, void *element)
{
    struct policy_net net;
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    if (policy_net_parse(text, strlen(text), &net) < 0)
        return reader_fail(r, "is no address or network; write one as \"192.0.2.0/24\" or "
                              "\"2001:db8::/32\"");
    *(struct policy_address_range *)element = policy_range_of(&net);
    return 0;
}

static int read_cidrs(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                      void *field)
{
    struct policy_rule *rule = field;
    void *list = NULL;
    rule->to = POLICY_TO_CIDR;
    int result = reader_list(
        r, value, &(struct reader_elements){1, READER_LIST_MAX, sizeof(*rule->ranges), take_net},
        &list, &rule->range_count);
    if (result == 0)
        rule->range_count = policy_ranges_merge(list, rule->range_count);
    rule->ranges = list;
    return result;
}

static int take_group(struct reader *r, json_t *value, void *element)
{
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    for (unsigned i = 0; i < POLICY_GROUP_COUNT; i++)
        if (!strcmp(text, policy_group_names[i])) {
            *(unsigned *)element = 1U << i;
            return 0;
        }
    return reader_fail(r, "is no group; write one of metadata, loopback, unspecified, link_local, "
                          "multicast, broadcast, private, reserved, host, public, doh-resolvers");
}

static int read_groups(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                       void *field)
{
    struct policy_rule *rule = field;
    void *list = NULL;
    size_t count = 0;
    rule->to = POLICY_TO_GROUP;
    int result = reader_list(
        r, value, &(struct reader_elements){1, 64, sizeof(unsigned), take_group}, &list, &count);
    for (size_t i = 0; result == 0 && i < count; i++)
        rule->groups |= ((unsigned *)list)[i];
    return result;
}

static int read_to(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                   void *field)
{
    static const struct reader_field fields[] = {
        {"domain", read_domains, 0, NULL, false},
        {"cidr", read_cidrs, 0, NULL, false},
        {"group", read_groups, 0, NULL, false},
        {0},
    };
    struct policy_rule *rule = field;
    if (json_is_string(value) && !strcmp(json_string_value(value), "any")) {
        rule->to = POLICY_TO_ANY;
        return 0;
    }
    if (!json_is_object(value) || json_object_size(value) != 1)
        return reader_fail(r,
                           "is neither \"any\" nor an object with one of domain, cidr and group; "
                           "write {\"domain\": [\"example.com\"]}");
    return reader_object(r, value, fields, rule);
}

static int take_protocol(struct reader *r, json_t *value, void *element)
{
    static const char *const names[] = {"tcp", "udp", "icmp"};
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
        if (!strcmp(text, names[i])) {
            *(unsigned *)element = 1U << i;
            return 0;
        }
    return reader_fail(r, "is no protocol; write \"tcp\", \"udp\" or \"icmp\"");
}

static int read_protocols(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                          void *field)
{
    struct policy_rule *rule = field;
    void *list = NULL;
    size_t count = 0;
    int result = reader_list(
        r, value, &(struct reader_elements){1, 3, sizeof(unsigned), take_protocol}, &list, &count);
    for (size_t i = 0; result == 0 && i < count; i++)
        rule->protocols |= ((unsigned *)list)[i];
    rule->has_protocols = true;
    return result;
}

static int read_ports(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                      void *field)
{
    struct policy_rule *rule = field;
    return reader_take_ports(r, value, &rule->ports, &rule->port_count);
}

static int read_http(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                     void *field)
{
    return reader_take_http(r, value, field);
}

static int read_transforms(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                           void *field)
{
    struct policy_rule *rule = field;
    void *list = NULL;
    int result = reader_list(r, value,
                             &(struct reader_elements){1, TRANSFORMS_MAX, sizeof(*rule->transforms),
                                                       reader_take_transform},
                             &list, &rule->transform_count);
    rule->transforms = list;
    return result;
}

static int take_dns_type(struct reader *r, json_t *value, void *element)
{
    if (json_is_string(value) && policy_dns_type_parse(json_string_value(value), element) == 0)
        return 0;
    return reader_fail(r, "is no type of DNS record that may be asked for; write one as \"TXT\" or "
                          "\"TYPE99\"");
}

int reader_take_dns_types(struct reader *r, json_t *value, const uint16_t **ret, size_t *ret_count)
{
    void *list = NULL;
    int result = reader_list(
        r, value, &(struct reader_elements){1, DNS_TYPES_MAX, sizeof(**ret), take_dns_type}, &list,
        ret_count);
    *ret = list;
    return result;
}

static int read_dns_types(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                          void *field)
{
    struct policy_rule *rule = field;
    return reader_take_dns_types(r, value, &rule->dns_types, &rule->dns_type_count);
}

static const char *const action_words[] = {"deny", "allow"};
static const char *const identity_words[] = {"redial", "pinned"};
static const char *const l7_words[] = {"http", "raw"};
static const char *const connect_words[] = {"deny", "allow"};
static const struct reader_sizes reason_sizes = {1, POLICY_WORDS_MAX_BYTES};

static const struct reader_field rule_fields[] = {
    {"id", read_id, offsetof(struct policy_rule, id), NULL, true},
    {"action", reader_either, offsetof(struct policy_rule, is_allow), action_words, true},
    {"to", read_to, 0, NULL, true},
    {"proto", read_protocols, 0, NULL, false},
    {"ports", read_ports, 0, NULL, false},
    {"identity", reader_either, offsetof(struct policy_rule, is_pinned), identity_words, false},
    {"tls", reader_choice, offsetof(struct policy_rule, tls), reader_tls_words, false},
    {"http", read_http, offsetof(struct policy_rule, http), NULL, false},
    {"l7", reader_either, offsetof(struct policy_rule, is_raw), l7_words, false},
    {"connect", reader_either, offsetof(struct policy_rule, allows_connect), connect_words, false},
    {"transforms", read_transforms, 0, NULL, false},
    {"dns_types", read_dns_types, 0, NULL, false},
    {"reason", reader_text, offsetof(struct policy_rule, reason), &reason_sizes, false},
    {"phases", reader_rule_phases, 0, NULL, false},
    {0},
};

/* Whether the text of the rule gives ports twice: some in a name, some in "ports". */
static bool has_ports_twice(json_t *value)
{
    if (!json_object_get(value, "ports"))
        return false;
    json_t *names = json_object_get(json_object_get(value, "to"), "domain");
    const char *text = json_string_value(json_array_get(names, 0));
    return text && strncmp(text, "glob:", 5) && strchr(text, ':');
}

static int check_fields(struct reader *r, json_t *value, const struct policy_rule *rule)
{
    bool is_of_http =
        rule->http || rule->transform_count || rule->is_raw || rule->tls == POLICY_TLS_TERMINATE;
    if (has_ports_twice(value))
        return reader_fail(r, "has ports in its names and in \"ports\"; write them in \"ports\" "
                              "alone");
    if (!rule->is_allow && (rule->transform_count || rule->dns_type_count || rule->is_pinned ||
                            rule->allows_connect || rule->is_raw))
        return reader_fail(r,
                           "denies, so that transforms, dns_types, identity, connect and l7 have "
                           "no meaning in it; leave them out");
    if (rule->is_allow && rule->reason)
        return reader_fail(r,
                           "allows, and \"reason\" is what a denied guest is told; leave it out");
    if (rule->to != POLICY_TO_DOMAIN && (rule->is_pinned || rule->dns_type_count))
        return reader_fail(r, "is not of names, so that identity and dns_types have no meaning in "
                              "it; leave them out");
    if (is_of_http && !(rule->protocols & 1U << POLICY_TCP))
        return reader_fail(r, "asks for TLS or HTTP, which is TCP; add \"tcp\" to \"proto\"");
    if (rule->port_count && !(rule->protocols & ~(1U << POLICY_ICMP)))
        return reader_fail(r, "has ports, which ICMP has not; leave them out");
    if (rule->is_raw && (rule->http || rule->transform_count))
        return reader_fail(r, "is \"raw\", and looks at HTTP; leave out one of them");
    return 0;
}

int reader_take_rule(struct reader *r, json_t *value, void *element)
{
    struct policy_rule *rule = element;
    int result = reader_object(r, value, rule_fields, rule);
    if (result < 0)
        return result;
    if (!rule->has_protocols) {
        rule->protocols = 1U << POLICY_TCP;
        if (rule->to != POLICY_TO_DOMAIN || !rule->is_allow)
            rule->protocols |= 1U << POLICY_UDP;
        /* What is to be kept away is kept away whatever carries it. */
        if (!rule->is_allow && !rule->port_count)
            rule->protocols |= 1U << POLICY_ICMP;
    }
    return check_fields(r, value, rule);
}
