// SPDX-License-Identifier: Apache-2.0
#include "lib/policy/compose.h"

#include "lib/policy/compose_secret.h"
#include "lib/policy/floor.h"
#include "lib/text/shown.h"

#include <stdio.h>

#define ENTRY_MAX_BYTES (POLICY_HOST_MAX_BYTES + 16)

int compose_refuse(struct policy_error *e, const char *entry, size_t size, const char *reason)
{
    char shown[256];
    text_line(entry, size, shown, sizeof(shown));
    *e = (struct policy_error){.line = 0};
    snprintf(e->text, sizeof(e->text), "%s: %.*s", shown,
             (int)(sizeof(e->text) - sizeof(shown) - 2), reason);
    return -EINVAL;
}

/* Where the port is in an entry: behind the bracket, or behind the only colon. NULL: there is none.
 */
static const char *find_port(const char *entry, size_t size)
{
    struct policy_net net;
    const char *end = entry + size;
    if (entry[0] == '[') {
        const char *close = memrchr(entry, ']', size);
        return close && close + 1 < end && close[1] == ':' ? close + 2 : NULL;
    }
    const char *colon = memchr(entry, ':', size);
    if (!colon || policy_net_parse(entry, size, &net) == 0)
        return NULL;
    return memchr(colon + 1, ':', (size_t)(end - colon - 1)) ? NULL : colon + 1;
}

json_t *compose_port(const char *text, size_t size)
{
    json_int_t port = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9' || i > 5 || text[0] == '0')
            return json_stringn(text, size);
        port = 10 * port + (text[i] - '0');
    }
    return size ? json_integer(port) : json_string("");
}

static bool is_group(const char *text, size_t size)
{
    for (size_t i = 0; i < POLICY_GROUP_COUNT; i++)
        if (strlen(policy_group_names[i]) == size && !memcmp(policy_group_names[i], text, size))
            return true;
    return false;
}

bool compose_is_utf8(const char *text, size_t size)
{
    uint32_t code;
    for (int used; size > 0; text += used, size -= (size_t)used)
        if ((used = text_utf8_decode(text, size, &code)) <= 0)
            return false;
    return true;
}

/* What stands before the port. NULL: no memory. */
static json_t *make_destination(const char *text, size_t size)
{
    struct policy_net net;
    const char *kind = "domain";
    if (size == 3 && !memcmp(text, "any", 3))
        return json_string("any");
    if (size >= 2 && text[0] == '[' && text[size - 1] == ']') {
        text++;
        size -= 2;
    }
    if (policy_net_parse(text, size, &net) == 0)
        kind = "cidr";
    else if (is_group(text, size))
        kind = "group";
    return json_pack("{s:[o]}", kind, json_stringn(text, size));
}

int compose_check(json_t *document, const char *entry, size_t size, struct policy_error *e)
{
    struct policy_error inner;
    char *text = document ? json_text_dump(document) : NULL;
    struct policy *p = text ? policy_parse(text, strlen(text), &inner) : NULL;
    int result = p ? 0 : -EINVAL;
    if (text && !p) {
        const char *place = strstr(inner.text, inner.pointer);
        const char *reason = place ? strstr(place, ": ") : NULL;
        compose_refuse(e, entry, size, reason ? reason + 2 : inner.text);
    }
    policy_free(p);
    free(text);
    return text ? result : -ENOMEM;
}

static int check_rule(json_t *rule, const char *entry, size_t size, struct policy_error *e)
{
    json_t *document = json_pack("{s:i, s:[O]}", "version", 1, "rules", rule);
    int result = compose_check(document, entry, size, e);
    json_decref(document);
    return result;
}

static int add_entry(json_t *rules, const char *entry, size_t size, struct policy_error *e)
{
    char id[32];
    if (size == 0)
        return compose_refuse(e, ",", 1, "has nothing beside it; write HOST[:PORT] between commas");
    if (size > ENTRY_MAX_BYTES)
        return compose_refuse(e, entry, size, "is longer than any host name; write HOST[:PORT]");
    if (json_array_size(rules) >= POLICY_RULES_MAX)
        return compose_refuse(e, entry, size,
                              "is one rule more than the 1000 that may be there; leave some "
                              "out, or join them with a pattern");
    const char *port = find_port(entry, size);
    size_t to_size = port ? (size_t)(port - 1 - entry) : size;
    if (!compose_is_utf8(entry, size))
        return compose_refuse(e, entry, size, "is not UTF-8; write a host name");
    json_t *to = make_destination(entry, to_size);
    if (!to)
        return -ENOMEM;
    snprintf(id, sizeof(id), "allow-%zu", json_array_size(rules) + 1);
    json_t *rule = json_pack("{s:s, s:s, s:o}", "id", id, "action", "allow", "to", to);
    if (!rule)
        return -ENOMEM;
    int result = 0;
    if (port) {
        json_t *number = compose_port(port, (size_t)(entry + size - port));
        if (!number || json_object_set_new(rule, "ports", json_pack("[o]", number)) < 0)
            result = -ENOMEM;
    }
    if (result == 0)
        result = check_rule(rule, entry, size, e);
    if (result == 0 && json_array_append(rules, rule) < 0)
        result = -ENOMEM;
    json_decref(rule);
    return result;
}

static int add_rules(json_t *rules, const struct policy_words *words, struct policy_error *e)
{
    for (size_t i = 0; i < words->allow_count; i++) {
        const char *entry = words->allow[i];
        size_t size;
        do {
            size = strcspn(entry, ",");
            int result = add_entry(rules, entry, size, e);
            if (result < 0)
                return result;
            entry += size + 1;
        } while (entry[-1]);
    }
    return 0;
}

static int add_secrets(json_t *secrets, const struct policy_words *words, struct policy_error *e)
{
    int result = 0;
    for (size_t i = 0; i < words->secret_count && result == 0; i++)
        result = compose_secret(secrets, words->secrets[i], words, e);
    return result;
}

static int append_document(json_t *rules, json_t *secrets, struct buf *json)
{
    json_t *document =
        json_pack("{s:i, s:s, s:O}", "version", 1, "default", "deny", "rules", rules);
    if (document && json_object_size(secrets) > 0 &&
        json_object_set(document, "secrets", secrets) < 0) {
        json_decref(document);
        document = NULL;
    }
    char *text = document ? json_text_dump(document) : NULL;
    int result = text ? buf_append_str(json, text) : -ENOMEM;
    free(text);
    json_decref(document);
    return result;
}

int policy_compose(const struct policy_words *words, struct buf *json, struct policy_error *e)
{
    json_t *rules = json_array(), *secrets = json_object();
    const char *pointer = "/rules";
    int result = rules && secrets ? add_rules(rules, words, e) : -ENOMEM;
    if (result == 0) {
        pointer = "/secrets";
        result = add_secrets(secrets, words, e);
    }
    if (result == 0)
        result = append_document(rules, secrets, json);
    if (result == -ENOMEM || result == -E2BIG) {
        *e = (struct policy_error){.line = 0};
        snprintf(e->text, sizeof(e->text), "%s",
                 result == -ENOMEM ? "memory ran out; try again when there is more"
                                   : "this is more than a policy may hold; allow less");
    }
    if (result < 0)
        snprintf(e->pointer, sizeof(e->pointer), "%s", pointer);
    json_decref(rules);
    json_decref(secrets);
    return result;
}
