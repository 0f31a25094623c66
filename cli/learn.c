// SPDX-License-Identifier: Apache-2.0
#include "cli/learn.h"

#include "lib/policy/host.h"
#include "lib/policy/net.h"

#include <stdio.h>

int learn_init(struct learn *l)
{
    *l = (struct learn){.names = json_object(),
                        .places = json_object(),
                        .unused = json_object(),
                        .closed = json_object()};
    return l->names && l->places && l->unused && l->closed ? 0 : -ENOMEM;
}

void learn_done(struct learn *l)
{
    json_decref(l->names);
    json_decref(l->places);
    json_decref(l->unused);
    json_decref(l->closed);
}

/* ---- taking ---- */

static const char *text_of(const json_t *line, const char *key)
{
    const char *text = json_string_value(json_object_get(line, key));
    return text ? text : "";
}

/* Takes value over. */
static void set(struct learn *l, json_t *object, const char *key, json_t *value, size_t most)
{
    bool fits = json_object_get(object, key) || json_object_size(object) < most;
    if (!fits)
        json_decref(value);
    if (!fits || json_object_set_new(object, key, value) < 0)
        l->is_too_much = true;
}

static bool is_name(const char *text)
{
    return policy_host_is_canonical(text);
}

static bool is_address(const char *text)
{
    struct policy_net net;
    return !strchr(text, '/') && policy_net_parse(text, strlen(text), &net) == 0;
}

static void take_question(struct learn *l, const json_t *line)
{
    const char *name = text_of(line, "name");
    const json_t *resolved = json_object_get(line, "resolved"), *address;
    size_t i;
    if (!is_name(name) || json_array_size(resolved) == 0)
        return;
    if (!json_object_get(l->places, name))
        set(l, l->unused, name, json_true(), LEARN_ADDRESSES_MAX);
    json_array_foreach(resolved, i, address)
    {
        const char *text = json_string_value(address);
        if (text && is_address(text))
            set(l, l->names, text, json_string(name), LEARN_ADDRESSES_MAX);
    }
}

static json_t *get_object(struct learn *l, json_t *in, const char *key, size_t most)
{
    if (!json_object_get(in, key))
        set(l, in, key, json_object(), most);
    return json_object_get(in, key);
}

/* Who was meant: the name that the gateway knows, or that was looked up, or the address. */
static const char *find_place(const struct learn *l, const json_t *line)
{
    const char *name = text_of(line, "name"), *address = text_of(line, "dst");
    if (is_name(name))
        return name;
    const char *known = json_string_value(json_object_get(l->names, address));
    if (known)
        return known;
    return is_address(address) ? address : NULL;
}

static void take_connection(struct learn *l, const json_t *line)
{
    char port[16];
    const char *proto = text_of(line, "proto"), *place = find_place(l, line);
    json_int_t number = json_integer_value(json_object_get(line, "port"));
    if (!place || (strcmp(proto, "tcp") && strcmp(proto, "udp")) || number < 1 ||
        number > UINT16_MAX)
        return;
    snprintf(port, sizeof(port), "%05d", (int)number);
    json_t *protocols = get_object(l, l->places, place, LEARN_PLACES_MAX);
    json_t *ports = protocols ? get_object(l, protocols, proto, 2) : NULL;
    if (ports)
        set(l, ports, port, json_true(), UINT16_MAX);
    json_object_del(l->unused, place);
}

static void note_closed(struct learn *l, const json_t *line)
{
    char what[512];
    const char *name = text_of(line, "name"), *reason = text_of(line, "reason");
    json_int_t port = json_integer_value(json_object_get(line, "port"));
    snprintf(what, sizeof(what), "%.300s", name[0] ? name : text_of(line, "dst"));
    if (port > 0)
        snprintf(what + strlen(what), 16, ":%d", (int)port);
    if (what[0])
        set(l, l->closed, what, json_string(reason), LEARN_PLACES_MAX);
}

void learn_take(struct learn *l, const char *text, size_t size)
{
    json_t *line = json_loadb(text, size, 0, NULL);
    const char *event = text_of(line, "event");
    bool is_denied = !strcmp(text_of(line, "decision"), "deny");
    bool is_type = !strcmp(text_of(line, "reason"), "dns_type");
    if (!strcmp(event, "lost"))
        l->is_incomplete = true;
    else if (is_denied && !is_type && (!strcmp(event, "dns") || !strcmp(event, "connect")))
        note_closed(l, line);
    else if (!strcmp(event, "dns"))
        take_question(l, line);
    else if (!is_denied && (!strcmp(event, "connect") || !strcmp(event, "request")))
        take_connection(l, line);
    json_decref(line);
}

/* ---- writing ---- */

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted; to be freed, the keys are borrowed. NULL: no memory. */
static const char **sorted_keys(json_t *object)
{
    size_t count = 0;
    const char *key;
    json_t *value;
    const char **keys = malloc((json_object_size(object) + 1) * sizeof(*keys));
    if (!keys)
        return NULL;
    json_object_foreach(object, key, value)
    {
        keys[count++] = key;
    }
    qsort(keys, count, sizeof(*keys), compare_texts);
    return keys;
}

static json_t *make_ports(json_t *ports)
{
    json_t *list = json_array();
    _cleanup_free_ const char **keys = sorted_keys(ports);
    for (size_t i = 0; keys && i < json_object_size(ports); i++)
        json_array_append_new(list, json_integer(strtol(keys[i], NULL, 10)));
    return list;
}

/* By name and address, protocol, and ports: what has all of these in common is one rule. */
static char *make_key(const char *place, const char *proto, json_t *ports)
{
    json_t *list = make_ports(ports);
    char *text = json_dumps(list, JSON_COMPACT);
    char *key = NULL;
    if (!text ||
        asprintf(&key, "%d %s %05zu %s", is_address(place), proto, json_array_size(list), text) < 0)
        key = NULL;
    free(text);
    json_decref(list);
    return key;
}

static json_t *new_rule(const char *place, const char *proto, json_t *ports)
{
    bool is_by_address = is_address(place);
    json_t *rule = json_pack("{s:s, s:s, s:{s:[]}}", "id", "", "action", "allow", "to",
                             is_by_address ? "cidr" : "domain");
    if (rule && (is_by_address || strcmp(proto, "tcp")))
        json_object_set_new(rule, "proto", json_pack("[s]", proto));
    if (rule)
        json_object_set_new(rule, "ports", make_ports(ports));
    return rule;
}

static void add_place(json_t *rules, const char *place, const char *proto, json_t *ports)
{
    _cleanup_free_ char *key = make_key(place, proto, ports);
    char net[64];
    if (!key)
        return;
    if (!json_object_get(rules, key))
        json_object_set_new(rules, key, new_rule(place, proto, ports));
    json_t *to = json_object_get(json_object_get(rules, key), "to");
    json_t *list = json_object_iter_value(json_object_iter(to));
    bool is_by_address = is_address(place);
    if (is_by_address)
        snprintf(net, sizeof(net), "%.50s/%s", place, strchr(place, ':') ? "128" : "32");
    json_array_append_new(list, json_string(is_by_address ? net : place));
}

/* {KEY: rule}: places come in their order, and so stand in it in each rule. */
static json_t *group(const struct learn *l)
{
    json_t *rules = json_object();
    _cleanup_free_ const char **places = sorted_keys(l->places);
    for (size_t i = 0; places && i < json_object_size(l->places); i++) {
        json_t *protocols = json_object_get(l->places, places[i]);
        _cleanup_free_ const char **names = sorted_keys(protocols);
        for (size_t n = 0; names && n < json_object_size(protocols); n++)
            add_place(rules, places[i], names[n], json_object_get(protocols, names[n]));
    }
    return rules;
}

int learn_write(const struct learn *l, struct buf *to)
{
    json_t *rules = group(l), *list = json_array();
    _cleanup_free_ const char **keys = sorted_keys(rules);
    for (size_t i = 0; keys && i < json_object_size(rules); i++) {
        char id[32];
        json_t *rule = json_object_get(rules, keys[i]);
        snprintf(id, sizeof(id), "learned-%zu", i + 1);
        json_object_set_new(rule, "id", json_string(id));
        json_array_append(list, rule);
    }
    json_t *document = json_pack("{s:i, s:s, s:o}", "version", 1, "default", "deny", "rules", list);
    _cleanup_free_ char *text = document ? json_dumps(document, JSON_INDENT(2)) : NULL;
    json_decref(document);
    json_decref(rules);
    if (!text || !keys)
        return -ENOMEM;
    buf_append_str(to, text);
    return buf_append_str(to, "\n");
}
