// SPDX-License-Identifier: Apache-2.0
/*
 * Predicates on requests, and what is done to those that are let through.
 */
#include "lib/policy/reader.h"

#include "lib/http/syntax.h"

#include <stdio.h>

#define METHODS_MAX          16
#define METHOD_MAX_BYTES     32
#define CONDITIONS_MAX       64
#define HEADERS_MAX          64
#define URL_MAX_BYTES        2048
#define QUERY_NAME_MAX_BYTES 256

/* RFC 9110, section 5.6.2 */
static bool is_token_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_token(const char *text, size_t most)
{
    size_t size = strlen(text);
    for (size_t i = 0; i < size; i++)
        if (!is_token_byte(text[i]))
            return false;
    return size > 0 && size <= most;
}

int reader_take_header_name(struct reader *r, const char *name, const char **ret)
{
    if (!is_token(name, POLICY_HEADER_NAME_MAX))
        return reader_fail(r,
                           "\"%.100s\" is no name of a header field; write letters, digits and "
                           "'-', at most %d",
                           name, POLICY_HEADER_NAME_MAX);
    char *copy = arena_copy(r->arena, name, strlen(name));
    if (!copy)
        return reader_no_memory(r);
    for (char *c = copy; *c; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    *ret = copy;
    return 0;
}

int reader_take_v(struct reader *r, json_t *value, struct policy_text *ret)
{
    static const struct {
        const char *name;
        enum policy_text_kind kind;
    } kinds[] = {
        {"exact", POLICY_TEXT_EXACT},
        {"prefix", POLICY_TEXT_PREFIX},
        {"glob", POLICY_TEXT_GLOB},
    };
    if (!json_is_object(value) || json_object_size(value) != 1)
        return reader_fail(r, "is not an object with one of \"exact\", \"prefix\", \"glob\"; write "
                              "{\"exact\": \"...\"}");
    const char *key = json_object_iter_key(json_object_iter(value));
    size_t before = reader_enter(r, key);
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        if (strcmp(key, kinds[i].name))
            continue;
        ret->kind = kinds[i].kind;
        int result = reader_take_text(r, json_object_get(value, key), 0, POLICY_PATTERN_MAX_BYTES,
                                      &ret->text);
        if (result == 0)
            reader_leave(r, before);
        return result;
    }
    if (!strcmp(key, "regex"))
        return reader_fail(r, "regular expressions are not supported; use \"exact\", \"prefix\" or "
                              "\"glob\"");
    return reader_fail(r, "there is no such field; those that may stand here are exact, prefix, "
                          "glob");
}

static int take_method(struct reader *r, json_t *value, void *element)
{
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    if (!is_token(text, METHOD_MAX_BYTES))
        return reader_fail(r, "is no HTTP method; write one as \"GET\"");
    for (const char *c = text; *c; c++)
        if (*c >= 'a' && *c <= 'z')
            return reader_fail(r, "has small letters, and methods are compared as they stand; "
                                  "write it in capitals");
    return reader_take_text(r, value, 1, METHOD_MAX_BYTES, element);
}

int reader_take_methods(struct reader *r, json_t *value, const char *const **ret, size_t *ret_count)
{
    void *list = NULL;
    int result =
        reader_list(r, value, &(struct reader_elements){1, METHODS_MAX, sizeof(**ret), take_method},
                    &list, ret_count);
    *ret = list;
    return result;
}

static int read_methods(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                        void *field)
{
    struct policy_http *http = field;
    return reader_take_methods(r, value, &http->methods, &http->method_count);
}

static int read_path(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                     void *field)
{
    struct policy_http *http = field;
    http->has_path = true;
    int result = reader_take_v(r, value, &http->path);
    if (result == 0 && http->path.text[0] != '/' &&
        (http->path.kind != POLICY_TEXT_GLOB || http->path.text[0] != '*'))
        return reader_fail(r, "does not begin with '/', as every path does; put one in front");
    return result;
}

static int read_v(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                  void *field)
{
    return reader_take_v(r, value, field);
}

static const struct reader_sizes query_name_sizes = {1, QUERY_NAME_MAX_BYTES};

static const struct reader_field condition_fields[] = {
    {"name", reader_text, offsetof(struct policy_named_text, name), &query_name_sizes, true},
    {"value", read_v, offsetof(struct policy_named_text, value), NULL, true},
    {0},
};

static int take_query(struct reader *r, json_t *value, void *element)
{
    return reader_object(r, value, condition_fields, element);
}

static int take_header(struct reader *r, json_t *value, void *element)
{
    struct policy_named_text *wanted = element;
    int result = reader_object(r, value, condition_fields, wanted);
    return result < 0 ? result : reader_take_header_name(r, wanted->name, &wanted->name);
}

static int read_queries(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                        void *field)
{
    struct policy_http *http = field;
    void *list = NULL;
    int result = reader_list(
        r, value, &(struct reader_elements){1, CONDITIONS_MAX, sizeof(*http->queries), take_query},
        &list, &http->query_count);
    http->queries = list;
    return result;
}

static int read_headers(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                        void *field)
{
    struct policy_http *http = field;
    void *list = NULL;
    int result = reader_list(
        r, value, &(struct reader_elements){1, CONDITIONS_MAX, sizeof(*http->headers), take_header},
        &list, &http->header_count);
    http->headers = list;
    return result;
}

int reader_take_http(struct reader *r, json_t *value, const struct policy_http **ret)
{
    static const struct reader_field fields[] = {
        {"method", read_methods, 0, NULL, false},
        {"path", read_path, 0, NULL, false},
        {"query", read_queries, 0, NULL, false},
        {"headers", read_headers, 0, NULL, false},
        {0},
    };
    struct policy_http *http = arena_new(r->arena, 1, sizeof(*http));
    if (!http)
        return reader_no_memory(r);
    int result = reader_object(r, value, fields, http);
    if (result == 0 && json_object_size(value) == 0)
        return reader_fail(r, "asks nothing; add \"method\" or \"path\", or leave it out");
    *ret = http;
    return result;
}

static int read_match(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                      void *field)
{
    return reader_take_http(r, value, field);
}

/* Fields that frame a message or belong to one connection: a policy that sets them breaks it. */
static bool is_framing(const char *name)
{
    static const char *const names[] = {"content-length", "transfer-encoding", "connection", "te",
                                        "trailer",        "upgrade",           "keep-alive"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (http_names_alike(name, names[i]))
            return true;
    return !strncmp(name, "proxy-", strlen("proxy-")) || !strncmp(name, "proxy_", strlen("proxy_"));
}

static int take_set_header(struct reader *r, const char *key, json_t *value,
                           struct policy_field *ret)
{
    size_t before = reader_enter(r, key);
    int result = reader_take_header_name(r, key, &ret->name);
    if (result == 0 && is_framing(ret->name))
        return reader_fail(r, "is not for a policy to set, the gateway frames messages itself; "
                              "leave it out");
    if (result == 0)
        result = reader_take_text(r, value, 0, POLICY_HEADER_VALUE_MAX, &ret->value);
    if (result == 0)
        reader_leave(r, before);
    return result;
}

static int read_set_headers(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                            void *field)
{
    struct policy_transform *transform = field;
    const char *key;
    json_t *member;
    if (!json_is_object(value) || json_object_size(value) > HEADERS_MAX)
        return reader_fail(r, "is not an object of at most %d fields; write {\"NAME\": \"VALUE\"}",
                           HEADERS_MAX);
    struct policy_field *list = arena_new(r->arena, json_object_size(value), sizeof(*list));
    if (!list)
        return reader_no_memory(r);
    json_object_foreach(value, key, member)
    {
        struct policy_field *set = &list[transform->set_count];
        int result = take_set_header(r, key, member, set);
        if (result < 0)
            return result;
        for (size_t i = 0; i < transform->set_count; i++)
            if (http_names_alike(list[i].name, set->name))
                return reader_fail(r, "sets \"%s\" twice%s; leave one out", set->name,
                                   strcmp(list[i].name, set->name)
                                       ? ", as servers can't tell it from the one above"
                                       : "");
        transform->set_count++;
    }
    transform->set = list;
    return 0;
}

/* Written into a query as it stands. */
static bool is_parameter_name(const char *name)
{
    size_t size = strlen(name);
    return size > 0 && size <= POLICY_HEADER_NAME_MAX &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~") ==
               size;
}

static int read_set_query(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                          void *field)
{
    struct policy_transform *transform = field;
    const char *key;
    json_t *member;
    if (!json_is_object(value) || json_object_size(value) > HEADERS_MAX)
        return reader_fail(r,
                           "is not an object of at most %d parameters; write {\"NAME\": "
                           "\"VALUE\"}",
                           HEADERS_MAX);
    struct policy_field *list = arena_new(r->arena, json_object_size(value), sizeof(*list));
    if (!list)
        return reader_no_memory(r);
    json_object_foreach(value, key, member)
    {
        struct policy_field *set = &list[transform->parameter_count++];
        size_t before = reader_enter(r, key);
        if (!is_parameter_name(key))
            return reader_fail(r,
                               "is no name of a parameter; write letters, digits, '-', '.', '_' "
                               "and '~', at most %d",
                               POLICY_HEADER_NAME_MAX);
        int result = reader_take_text(r, member, 0, POLICY_HEADER_VALUE_MAX, &set->value);
        set->name = arena_copy(r->arena, key, strlen(key));
        if (result < 0 || !set->name)
            return result < 0 ? result : reader_no_memory(r);
        reader_leave(r, before);
    }
    transform->parameters = list;
    return 0;
}

static int read_set_basic(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                          void *field)
{
    const char *text;
    int result = reader_take_text(r, value, 1, POLICY_HEADER_VALUE_MAX, &text);
    if (result < 0)
        return result;
    if (!strchr(text, ':'))
        return reader_fail(r, "has no ':' between user and password; write "
                              "\"USER:${secret.NAME}\"");
    *(const char **)field = text;
    return 0;
}

static int take_removed(struct reader *r, json_t *value, void *element)
{
    if (!json_is_string(value))
        return reader_fail(r, "is not a text; write the name of a header field in quotes");
    int result = reader_take_header_name(r, json_string_value(value), element);
    if (result == 0 && is_framing(*(const char **)element))
        return reader_fail(r, "is not for a policy to remove, the gateway frames messages itself; "
                              "leave it out");
    return result;
}

static int read_remove_headers(struct reader *r, json_t *value,
                               const struct reader_field *f _unused_, void *field)
{
    struct policy_transform *transform = field;
    void *list = NULL;
    int result = reader_list(
        r, value, &(struct reader_elements){1, HEADERS_MAX, sizeof(char *), take_removed}, &list,
        &transform->remove_count);
    transform->remove = list;
    return result;
}

static int read_url(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                    void *field)
{
    struct policy_host host;
    const char *why, *url, *prefix = "https://";
    uint16_t port;
    int result = reader_take_text(r, value, 1, URL_MAX_BYTES, &url);
    if (result < 0)
        return result;
    if (strncmp(url, prefix, strlen(prefix)))
        prefix = "http://";
    size_t size = strcspn(url + MIN(strlen(prefix), strlen(url)), "/?#");
    if (strncmp(url, prefix, strlen(prefix)) || strpbrk(url, " \"<>\\^`{|}#") ||
        policy_host_parse_with_port(url + strlen(prefix), size, &host, &port, &why) < 0)
        return reader_fail(r, "is no URL of HTTP; write \"https://HOST/PATH\"");
    *(const char **)field = url;
    return 0;
}

static int read_forward(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                        void *field)
{
    static const struct reader_field fields[] = {{"url", read_url, 0, NULL, true}, {0}};
    return reader_object(r, value, fields, field);
}

int reader_take_transform(struct reader *r, json_t *value, void *element)
{
    static const struct reader_field fields[] = {
        READER_FIELD(policy_transform, match, read_match, NULL),
        {"set_headers", read_set_headers, 0, NULL, false},
        {"remove_headers", read_remove_headers, 0, NULL, false},
        {"set_basic", read_set_basic, offsetof(struct policy_transform, basic), NULL, false},
        {"set_query", read_set_query, 0, NULL, false},
        {"forward", read_forward, offsetof(struct policy_transform, forward_url), NULL, false},
        READER_FIELD(policy_transform, scrub, reader_choice, reader_scrub_words),
        {0},
    };
    struct policy_transform *transform = element;
    int result = reader_object(r, value, fields, transform);
    if (result < 0)
        return result;
    if (!transform->set_count && !transform->remove_count && !transform->basic &&
        !transform->parameter_count && !transform->forward_url &&
        transform->scrub == POLICY_SCRUB_OFF)
        return reader_fail(r, "does nothing; add \"set_headers\", \"remove_headers\", "
                              "\"set_basic\", \"set_query\", \"forward\" or \"scrub\"");
    for (size_t i = 0; i < transform->set_count && !transform->forward_url; i++)
        if (!strcmp(transform->set[i].name, "host"))
            return reader_fail(r,
                               "sets \"host\" without \"forward\", and so would ask one host for "
                               "another; leave it out");
    return 0;
}
