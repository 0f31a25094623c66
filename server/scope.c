// SPDX-License-Identifier: Apache-2.0
#include "server/scope.h"

#include "server/json.h"
#include "server/text.h"

#define NUMBER_MAX    1000000000
#define TEMPLATES_MAX 64

static const char *const egress_names[] = {
    [SCOPE_EGRESS_NONE] = "none",
    [SCOPE_EGRESS_NAMED] = "named",
    [SCOPE_EGRESS_ANY] = "any",
};

static const struct number {
    const char *name;
    size_t offset;
} numbers[] = {
    {"sandboxes", offsetof(struct scope, sandboxes)},
    {"sandboxesPerMinute", offsetof(struct scope, per_minute)},
    {"timeout", offsetof(struct scope, timeout_s)},
    {"memoryMB", offsetof(struct scope, memory_mb)},
    {"cpusThousandths", offsetof(struct scope, cpus_thousandths)},
};

static int64_t *number_at(struct scope *s, const struct number *n)
{
    return (int64_t *)((char *)s + n->offset);
}

void scope_done(struct scope *s)
{
    json_decref(s->templates);
    s->templates = NULL;
}

/* A number that is no larger than the maker's; left out it is the maker's. */
static bool read_number(const json_t *object, const struct number *n, struct scope *s)
{
    const char *wrong = NULL;
    json_t *value = json_member(object, n->name, JSON_INTEGER, &wrong);
    int64_t *at = number_at(s, n);
    if (wrong)
        return false;
    if (!value)
        return true;
    json_int_t number = json_integer_value(value);
    if (number < 1 || number > NUMBER_MAX || (*at && number > *at))
        return false;
    *at = number;
    return true;
}

static bool read_egress(const json_t *object, struct scope *s)
{
    const char *wrong = NULL;
    json_t *value = json_member(object, "egress", JSON_STRING, &wrong);
    if (!value)
        return !wrong;
    for (int i = SCOPE_EGRESS_NONE; i <= SCOPE_EGRESS_ANY; i++) {
        if (strcmp(egress_names[i], json_string_value(value)) != 0)
            continue;
        bool is_within = (enum scope_egress)i <= s->egress;
        s->egress = (enum scope_egress)i;
        return is_within;
    }
    return false;
}

static bool read_expiry(const json_t *object, struct scope *s)
{
    const char *wrong = NULL;
    int64_t ms;
    json_t *value = json_member(object, "expiresAt", JSON_STRING, &wrong);
    if (!value)
        return !wrong;
    if (!text_read_time(json_string_value(value), &ms) || ms <= 0 ||
        (s->expires_ms && ms > s->expires_ms))
        return false;
    s->expires_ms = ms;
    return true;
}

/* read_only and private_ports can only be given, the right to manage keys only taken. */
static bool read_rights(const json_t *object, struct scope *s)
{
    const char *wrong = NULL;
    json_t *read_only = json_member(object, "readOnly", JSON_TRUE, &wrong);
    json_t *manages = json_member(object, "manageKeys", JSON_TRUE, &wrong);
    json_t *public_ports = json_member(object, "publicPorts", JSON_TRUE, &wrong);
    bool is_wider = (s->read_only && json_is_false(read_only)) ||
                    (!s->manages_keys && json_is_true(manages)) ||
                    (s->private_ports && json_is_true(public_ports));
    s->read_only |= json_is_true(read_only);
    s->private_ports |= json_is_false(public_ports);
    s->manages_keys &= json_is_true(manages); /* only when it is asked for */
    return !wrong && !is_wider;
}

static bool read_templates(const json_t *object, struct scope *s)
{
    const char *wrong = NULL;
    size_t i;
    json_t *name, *value = json_member(object, "templates", JSON_ARRAY, &wrong);
    if (!value)
        return !wrong;
    if (json_array_size(value) == 0 || json_array_size(value) > TEMPLATES_MAX)
        return false;
    json_array_foreach(value, i, name)
    {
        if (!json_is_string(name) || !scope_allows_template(s, json_string_value(name)))
            return false;
    }
    json_decref(s->templates);
    s->templates = json_incref(value);
    return true;
}

/* Letters that an id may have; longer than the maker's, and beginning as that does. */
static bool read_prefix(const json_t *object, struct scope *s)
{
    const char *wrong = NULL;
    json_t *value = json_member(object, "namePrefix", JSON_STRING, &wrong);
    const char *text = json_string_value(value);
    if (!value)
        return !wrong;
    size_t size = json_string_length(value);
    if (size == 0 || size > SCOPE_PREFIX_MAX ||
        strspn(text, "0123456789abcdefghijklmnopqrstuvwxyz") != size ||
        strncmp(text, s->prefix, strlen(s->prefix)) != 0)
        return false;
    memcpy(s->prefix, text, size + 1);
    return true;
}

static bool is_member(const char *key)
{
    static const char *const others[] = {"egress",      "expiresAt", "readOnly",  "manageKeys",
                                         "publicPorts", "templates", "namePrefix"};
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        if (!strcmp(numbers[i].name, key))
            return true;
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        if (!strcmp(others[i], key))
            return true;
    return false;
}

/* A limit with a typing mistake must not be one that is missing. */
static bool has_strangers(const json_t *object)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        if (!is_member(key))
            return true;
    }
    return false;
}

static const char *read_all(const json_t *object, struct scope *s)
{
    if (has_strangers(object))
        return "scope: a member that is not known; docs/api.md lists them";
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        if (!read_number(object, &numbers[i], s))
            return "scope: a number is none, less than 1, or more than the own key has";
    if (!read_egress(object, s))
        return "scope.egress: give none, named or any, and no more than the own key has";
    if (!read_expiry(object, s))
        return "scope.expiresAt: give a time as 2026-01-02T03:04:05Z, no later than the own key's";
    if (!read_rights(object, s))
        return "scope: readOnly, manageKeys and publicPorts can only be narrower than the own "
               "key's";
    if (!read_templates(object, s))
        return "scope.templates: give names, all of which the own key may use";
    if (!read_prefix(object, s))
        return "scope.namePrefix: give 1 to 8 of a-z and 0-9, beginning as the own key's does";
    return NULL;
}

int scope_read(const json_t *object, const struct scope *within, struct scope *ret,
               const char **ret_why)
{
    struct scope s = *within;
    json_incref(s.templates);
    *ret_why = read_all(object, &s);
    if (*ret_why) {
        scope_done(&s);
        return -EINVAL;
    }
    *ret = s;
    return 0;
}

json_t *scope_write(const struct scope *s)
{
    char expires[TIME_TEXT_SIZE + 1];
    struct scope copy = *s;
    json_t *object =
        json_pack("{ss sb sb sb}", "egress", egress_names[s->egress], "readOnly", s->read_only,
                  "manageKeys", s->manages_keys, "publicPorts", !s->private_ports);
    bool is_whole = object != NULL;
    for (size_t i = 0; is_whole && i < ARRAY_SIZE(numbers); i++) {
        int64_t number = *number_at(&copy, &numbers[i]);
        if (number)
            is_whole = json_object_set_new(object, numbers[i].name, json_integer(number)) == 0;
    }
    if (is_whole && s->expires_ms) {
        text_write_time(s->expires_ms, expires);
        is_whole = json_object_set_new(object, "expiresAt", json_string(expires)) == 0;
    }
    if (is_whole && s->templates)
        is_whole = json_object_set(object, "templates", s->templates) == 0;
    if (is_whole && s->prefix[0])
        is_whole = json_object_set_new(object, "namePrefix", json_string(s->prefix)) == 0;
    if (is_whole)
        return object;
    json_decref(object);
    return NULL;
}

bool scope_allows_template(const struct scope *s, const char *name)
{
    size_t i;
    json_t *allowed;
    if (!s->templates)
        return true;
    json_array_foreach(s->templates, i, allowed)
    {
        if (!strcmp(json_string_value(allowed), name))
            return true;
    }
    return false;
}
