// SPDX-License-Identifier: Apache-2.0
#include "server/network.h"

#include "server/json.h"

#include <strings.h>

#define HOSTS_MAX       10
#define FIELDS_MAX      20
#define VALUE_MAX_BYTES 4096

/* ---- checking ---- */

/* What a policy would take for the name of a secret is none here. */
static bool fields_are_good(const json_t *fields)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)fields, name, value)
    {
        if (!*name || !json_is_string(value) || json_string_length(value) > VALUE_MAX_BYTES ||
            strstr(json_string_value(value), "${"))
            return false;
    }
    return json_object_size(fields) <= FIELDS_MAX;
}

/* The fields of [{"transform": {"headers": {...}}}], or NULL. */
static const json_t *get_fields(const json_t *transforms)
{
    const json_t *transform = json_object_get(json_array_get(transforms, 0), "transform");
    const json_t *fields = json_object_get(transform, "headers");
    return json_array_size(transforms) == 1 && json_object_size(transform) == 1 ? fields : NULL;
}

int network_check_rules(const json_t *rules, const char **ret_why)
{
    const char *host;
    json_t *transforms;
    if (!rules || json_is_null(rules))
        return 0;
    *ret_why =
        "network.rules: give an object of at most 10 hosts, each with a list of one transform "
        "that has headers: at most 20, without ${ in their values";
    if (!json_is_object(rules) || json_object_size(rules) > HOSTS_MAX)
        return 400;
    json_object_foreach((json_t *)rules, host, transforms)
    {
        const json_t *fields = get_fields(transforms);
        if (!*host || !json_is_object(fields) || !fields_are_good(fields))
            return 400;
    }
    return 0;
}

/* ---- writing ---- */

/* "*.example.com" stands for what is below example.com. */
static bool is_listed(const char *host, const json_t *allow)
{
    size_t i, size = strlen(host);
    json_t *item;
    json_array_foreach((json_t *)allow, i, item)
    {
        const char *pattern = json_string_value(item);
        size_t below = !strncmp(pattern, "*.", 2) ? strlen(pattern + 1) : SIZE_MAX;
        if (!strcasecmp(pattern, host) || !strcmp(pattern, "*") ||
            (below < size && !strcasecmp(host + size - below, pattern + 1)))
            return true;
    }
    return false;
}

static void add_fields(struct buf *out, const json_t *fields)
{
    const char *name;
    json_t *value;
    bool is_first = true;
    buf_append_str(out, "\"transforms\":[{\"set_headers\":{");
    json_object_foreach((json_t *)fields, name, value)
    {
        buf_append_str(out, is_first ? "" : ",");
        json_append_string(out, name);
        buf_append_str(out, ":");
        json_append_string(out, json_string_value(value));
        is_first = false;
    }
    buf_append_str(out, "}}]");
}

void network_add_rules(struct buf *out, const json_t *rules, const json_t *allow)
{
    const char *host;
    json_t *transforms;
    unsigned number = 0;
    json_object_foreach((json_t *)rules, host, transforms)
    {
        const json_t *fields = get_fields(transforms);
        if (json_object_size(fields) == 0 || (allow && !is_listed(host, allow)))
            continue;
        buf_printf(out, "{\"id\":\"headers-%u\",\"action\":\"allow\",\"to\":{\"domain\":[",
                   number++);
        json_append_string(out, host);
        buf_append_str(out, "]},");
        add_fields(out, fields);
        buf_append_str(out, "},");
    }
}

/* ---- telling ---- */

static json_t *redact_fields(const json_t *fields)
{
    const char *name;
    json_t *value, *shown = json_object();
    json_object_foreach((json_t *)fields, name, value)
        json_object_set_new(shown, name, json_string("***"));
    return json_pack("[{s{so}}]", "transform", "headers", shown);
}

json_t *network_redact(const json_t *network)
{
    const char *host;
    json_t *transforms, *copy = json_copy((json_t *)network);
    const json_t *rules = json_object_get(network, "rules");
    if (!copy || !json_is_object(rules))
        return copy;
    json_t *shown = json_object();
    json_object_foreach((json_t *)rules, host, transforms)
        json_object_set_new(shown, host, redact_fields(get_fields(transforms)));
    if (json_object_set_new(copy, "rules", shown) == 0)
        return copy;
    json_decref(copy);
    return NULL;
}
