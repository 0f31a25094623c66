// SPDX-License-Identifier: Apache-2.0
#include "server/network.h"

#include "server/json.h"
#include "server/limits.h"

#include <arpa/inet.h>

static const struct {
    const char *name;
    int status;
    const char *why;
} refused[] = {
    {"egressProxy", 403, "network.egressProxy is not offered; leave it out"},
};

static bool is_known(const char *name, bool is_replacement)
{
    static const char *const names[] = {
        "allowOut", "denyOut", "rules", "egressProxy", "allowPublicTraffic", "maskRequestHost"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (!strcmp(names[i], name))
            return true;
    return is_replacement && !strcmp(name, "allow_internet_access");
}

/* One that is mistyped would leave open what it was to close. */
static int refuse_unknown(const struct network_wish *w, const char **ret_why)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)w->network, name, value)
    {
        if (json_is_null(value) || is_known(name, w->is_replacement))
            continue;
        *ret_why = "network: there is a member that is not offered here; give allowOut, denyOut, "
                   "rules, allowPublicTraffic and maskRequestHost";
        return 400;
    }
    return 0;
}

static int refuse_others(const json_t *network, const char **ret_why)
{
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        json_t *value = json_object_get(network, refused[i].name);
        bool is_empty = !value || json_is_null(value) ||
                        (json_is_object(value) && json_object_size(value) == 0);
        if (is_empty)
            continue;
        *ret_why = refused[i].why;
        return refused[i].status;
    }
    return 0;
}

/* A list of texts that can stand in a document: printable ASCII or UTF-8, not too many. */
static int check_list(const json_t *list, const char *what, const char **ret_why)
{
    size_t i;
    json_t *item;
    if (!list || json_is_null(list))
        return 0;
    *ret_why = what;
    if (!json_is_array(list) || json_array_size(list) > RULES_MAX)
        return 400;
    json_array_foreach((json_t *)list, i, item)
    {
        if (!json_is_string(item) || json_string_length(item) == 0 ||
            json_string_length(item) > 255)
            return 400;
    }
    return 0;
}

static bool is_address(const char *text)
{
    char address[INET6_ADDRSTRLEN];
    uint8_t bytes[16];
    size_t size = strcspn(text, "/");
    if (size >= sizeof(address))
        return false;
    memcpy(address, text, size);
    address[size] = '\0';
    int bits = inet_pton(AF_INET, address, bytes) == 1    ? 32
               : inet_pton(AF_INET6, address, bytes) == 1 ? 128
                                                          : -1;
    if (bits < 0 || !text[size])
        return bits >= 0;
    const char *prefix = text + size + 1;
    size_t digits = strspn(prefix, "0123456789");
    return digits > 0 && digits <= 3 && !prefix[digits] && atoi(prefix) <= bits;
}

static bool lists_everything(const json_t *list)
{
    size_t i;
    json_t *item;
    json_array_foreach((json_t *)list, i, item)
    {
        const char *text = json_string_value(item);
        if (!strcmp(text, "0.0.0.0/0") || !strcmp(text, "::/0"))
            return true;
    }
    return false;
}

/* One rule for those of a list that are addresses, or for those that are not. */
static void add_rule(struct buf *out, const char *action, const json_t *list, bool of_addresses)
{
    size_t i, count = 0;
    json_t *item;
    json_array_foreach((json_t *)list, i, item)
    {
        const char *text = json_string_value(item);
        if (is_address(text) != of_addresses)
            continue;
        if (count++ == 0)
            buf_printf(out, "{\"id\":\"%s-%s\",\"action\":\"%s\",\"to\":{\"%s\":[", action,
                       of_addresses ? "addresses" : "names", action,
                       of_addresses ? "cidr" : "domain");
        else
            buf_append_str(out, ",");
        json_append_string(out, text);
    }
    if (count > 0)
        buf_append_str(out, "]}},");
}

static bool has_names(const json_t *list)
{
    size_t i;
    json_t *item;
    json_array_foreach((json_t *)list, i, item)
    {
        if (!is_address(json_string_value(item)))
            return true;
    }
    return false;
}

static bool has_addresses(const json_t *list)
{
    size_t i;
    json_t *item;
    json_array_foreach((json_t *)list, i, item)
    {
        if (is_address(json_string_value(item)))
            return true;
    }
    return false;
}

/* NULL, or why the key may not give what is listed. */
static const char *check_ceiling(enum scope_egress most, const json_t *allow)
{
    if (most == SCOPE_EGRESS_NONE && json_array_size(allow) > 0)
        return "this key gives sandboxes no network; leave network.allowOut out";
    if (most == SCOPE_EGRESS_NAMED && has_addresses(allow))
        return "this key lets sandboxes reach names only; leave addresses out of network.allowOut";
    return NULL;
}

static int write_document(const struct network_wish *w, bool denies_all, struct buf *out)
{
    const json_t *allow = json_object_get(w->network, "allowOut");
    size_t start = out->size;
    buf_printf(out, "{\"version\":1,\"default\":\"%s\",\"rules\":[", denies_all ? "deny" : "allow");
    network_add_rules(out, json_object_get(w->network, "rules"), denies_all ? allow : NULL);
    add_rule(out, "allow", allow, false);
    add_rule(out, "allow", allow, true);
    if (!denies_all)
        add_rule(out, "deny", json_object_get(w->network, "denyOut"), true);
    if (out->failed)
        return -ENOMEM;
    bool has_rules = out->data[out->size - 1] == ',';
    if (denies_all && !has_rules && !w->is_replacement) {
        out->size = start; /* nothing is allowed: there is no network */
        out->data[start] = '\0';
        return 0;
    }
    out->size -= has_rules;
    return buf_append_str(out, "]}");
}

int network_compile(const struct network_wish *w, struct buf *policy, const char **ret_why)
{
    const json_t *allow = json_object_get(w->network, "allowOut");
    const json_t *deny = json_object_get(w->network, "denyOut");
    int r = refuse_unknown(w, ret_why);
    if (r == 0)
        r = refuse_others(w->network, ret_why);
    if (r == 0)
        r = check_list(allow, "network.allowOut: give a list of at most 256 hosts and networks",
                       ret_why);
    if (r == 0)
        r = check_list(deny, "network.denyOut: give a list of at most 256 networks", ret_why);
    if (r == 0)
        r = network_check_rules(json_object_get(w->network, "rules"), ret_why);
    if (r)
        return r;
    *ret_why = check_ceiling(w->most, allow);
    if (*ret_why)
        return 403;
    bool allows_egress = w->allows_egress && w->most == SCOPE_EGRESS_ANY;
    bool asks_none = w->internet == 0 || lists_everything(deny);
    if (has_names(deny)) {
        *ret_why = "network.denyOut: only addresses and networks can be denied; give those";
        return 400;
    }
    if (has_names(allow) && !asks_none) {
        *ret_why = "network.allowOut: names are allowed only when all else is denied; add "
                   "0.0.0.0/0 to denyOut";
        return 400;
    }
    return write_document(w, asks_none || !allows_egress, policy);
}
