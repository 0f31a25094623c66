// SPDX-License-Identifier: Apache-2.0
/*
 * Secrets, and the proxy that flows may have to take.
 */
#include "lib/policy/patterns.h"
#include "lib/policy/reader.h"

#include <stdio.h>

#define SECRET_NAME_MAX_BYTES   64
#define SOURCE_MAX_BYTES        4096
#define COMMAND_WORDS_MAX       64
#define VARIABLES_MAX           64
#define PLACEHOLDER_LEAST_BYTES 8
#define PLACEHOLDER_MAX_BYTES   256
#define PATHS_MAX               64
#define DESCRIPTOR_LEAST        3
#define DESCRIPTOR_MOST         1023
#define PROXY_WORD_MAX_BYTES    255 /* RFC 1929 */

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
static const char digits[] = "0123456789";

static bool is_variable_name(const char *text)
{
    size_t size = strlen(text), used = strspn(text, letters);
    while (used > 0 && used < size && (strchr(letters, text[used]) || strchr(digits, text[used])))
        used++;
    return size > 0 && size <= SECRET_NAME_MAX_BYTES && used == size;
}

static int take_variable(struct reader *r, json_t *value, void *element)
{
    if (!json_is_string(value) || !is_variable_name(json_string_value(value)))
        return reader_fail(r, "is no name of a variable; write letters, digits and '_'");
    return reader_take_text(r, value, 1, SECRET_NAME_MAX_BYTES, element);
}

static int take_word(struct reader *r, json_t *value, void *element)
{
    return reader_take_text(r, value, 1, SOURCE_MAX_BYTES, element);
}

static int read_env_list(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                         void *field)
{
    struct policy_secret *secret = field;
    void *list = NULL;
    int result = reader_list(
        r, value, &(struct reader_elements){1, VARIABLES_MAX, sizeof(char *), take_variable}, &list,
        &secret->env_count);
    secret->env = list;
    return result;
}

static int take_source(struct reader *r, json_t *value, struct policy_secret *secret)
{
    void *list = NULL;
    if (secret->source == POLICY_SECRET_EXEC) {
        int result = reader_list(
            r, value, &(struct reader_elements){1, COMMAND_WORDS_MAX, sizeof(char *), take_word},
            &list, &secret->source_word_count);
        secret->source_words = list;
        return result;
    }
    const char **word = arena_new(r->arena, 1, sizeof(*word));
    if (!word)
        return reader_no_memory(r);
    secret->source_words = word;
    secret->source_word_count = 1;
    if (secret->source == POLICY_SECRET_FD) {
        char text[24];
        if (!json_is_integer(value) || json_integer_value(value) < DESCRIPTOR_LEAST ||
            json_integer_value(value) > DESCRIPTOR_MOST)
            return reader_fail(r, "is no descriptor; write a number from %d to %d",
                               DESCRIPTOR_LEAST, DESCRIPTOR_MOST);
        snprintf(text, sizeof(text), "%d", (int)json_integer_value(value));
        *word = arena_copy(r->arena, text, strlen(text));
        return *word ? 0 : reader_no_memory(r);
    }
    if (secret->source == POLICY_SECRET_ENV)
        return take_variable(r, value, word);
    if (secret->source == POLICY_SECRET_FILE && json_is_string(value) &&
        json_string_value(value)[0] != '/')
        return reader_fail(r, "is no absolute path; begin it with '/'");
    return take_word(r, value, word);
}

static int read_source(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                       void *field)
{
    static const char *const kinds[] = {"env", "file", "fd", "exec", "literal"};
    struct policy_secret *secret = field;
    if (!json_is_object(value) || json_object_size(value) != 1)
        return reader_fail(r, "is not an object with one of env, file, fd, exec and literal; write "
                              "{\"env\": \"NAME\"}");
    const char *key = json_object_iter_key(json_object_iter(value));
    size_t before = reader_enter(r, key);
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        if (strcmp(key, kinds[i]))
            continue;
        secret->source = (enum policy_secret_source)i;
        int result = take_source(r, json_object_get(value, key), secret);
        if (result == 0)
            reader_leave(r, before);
        return result;
    }
    return reader_fail(r, "there is no such field; those that may stand here are env, file, fd, "
                          "exec, literal");
}

/* It stands in for the secret wherever that may go, so it is a word of ASCII. */
static int read_placeholder(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                            void *field)
{
    const char *text;
    if (json_is_string(value) && !strcmp(json_string_value(value), "auto"))
        return 0;
    int result = reader_take_text(r, value, PLACEHOLDER_LEAST_BYTES, PLACEHOLDER_MAX_BYTES, &text);
    if (result < 0)
        return result;
    for (const char *c = text; *c; c++)
        if (!strchr(letters, *c) && !strchr(digits, *c) && *c != '-' && *c != '.')
            return reader_fail(r,
                               "has a character that could be changed on the way; write letters, "
                               "digits, '_', '-' and '.'");
    *(const char **)field = text;
    return 0;
}

static int read_secret_hosts(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                             void *field)
{
    int result = reader_take_patterns(r, value, false, field);
    if (result == 0 && policy_patterns_are_empty(field))
        return reader_fail(r, "is empty; name the hosts that may get the secret");
    return result;
}

static int read_secret_ports(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                             void *field)
{
    struct policy_secret *secret = field;
    return reader_take_ports(r, value, &secret->ports, &secret->port_count);
}

static int read_secret_methods(struct reader *r, json_t *value,
                               const struct reader_field *f _unused_, void *field)
{
    struct policy_secret *secret = field;
    return reader_take_methods(r, value, &secret->methods, &secret->method_count);
}

static int take_path(struct reader *r, json_t *value, void *element)
{
    return reader_take_v(r, value, element);
}

static int read_secret_paths(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                             void *field)
{
    struct policy_secret *secret = field;
    void *list = NULL;
    int result = reader_list(
        r, value, &(struct reader_elements){1, PATHS_MAX, sizeof(*secret->paths), take_path}, &list,
        &secret->path_count);
    secret->paths = list;
    return result;
}

static int read_allow(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                      void *field)
{
    static const struct reader_field fields[] = {
        {"hosts", read_secret_hosts, offsetof(struct policy_secret, hosts), NULL, true},
        {"ports", read_secret_ports, 0, NULL, false},
        {"methods", read_secret_methods, 0, NULL, false},
        {"paths", read_secret_paths, 0, NULL, false},
        {0},
    };
    return reader_object(r, value, fields, field);
}

static int read_inject(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                       void *field)
{
    static const struct reader_field fields[] = {
        {"headers", reader_bool, offsetof(struct policy_secret, in_headers), NULL, false},
        {"basic", reader_bool, offsetof(struct policy_secret, in_basic), NULL, false},
        {"query", reader_bool, offsetof(struct policy_secret, in_query), NULL, false},
        {"body", reader_bool, offsetof(struct policy_secret, in_body), NULL, false},
        {0},
    };
    return reader_object(r, value, fields, field);
}

static int read_passthrough_hosts(struct reader *r, json_t *value,
                                  const struct reader_field *f _unused_, void *field)
{
    return reader_take_patterns(r, value, false, field);
}

/* Its use: read_secret_use.c. */
static int read_later(struct reader *r _unused_, json_t *value _unused_,
                      const struct reader_field *f _unused_, void *field _unused_)
{
    return 0;
}

static const struct reader_word violation_words[] = {
    {"block", POLICY_VIOLATION_BLOCK},
    {"block_log", POLICY_VIOLATION_BLOCK_LOG},
    {"terminate", POLICY_VIOLATION_TERMINATE},
    {"passthrough", POLICY_VIOLATION_PASSTHROUGH},
    {0},
};

static const struct reader_field secret_fields[] = {
    {"source", read_source, 0, NULL, true},
    READER_FIELD(policy_secret, placeholder, read_placeholder, NULL),
    {"env", read_env_list, 0, NULL, false},
    {"allow", read_allow, 0, NULL, true},
    {"inject", read_inject, 0, NULL, false},
    READER_FIELD(policy_secret, on_violation, reader_choice, violation_words),
    READER_FIELD(policy_secret, passthrough_hosts, read_passthrough_hosts, NULL),
    {"require_tls", reader_bool, offsetof(struct policy_secret, requires_tls), NULL, false},
    READER_FIELD(policy_secret, scrub, reader_choice, reader_scrub_words),
    {"sign", read_later, 0, NULL, false},
    {"postgres", read_later, 0, NULL, false},
    {"ssh", read_later, 0, NULL, false},
    {0},
};

static int take_secret(struct reader *r, const char *name, json_t *value, struct policy_secret *ret)
{
    static const struct policy_port_range https = {443, 443};
    size_t before = reader_enter(r, name);
    *ret = (struct policy_secret){
        .ports = &https,
        .port_count = 1,
        .in_headers = true,
        .in_basic = true,
        .requires_tls = true,
        .scrub = POLICY_SCRUB_BEST_EFFORT,
    };
    if (!is_variable_name(name))
        return reader_fail(r, "is no name of a secret; write letters, digits and '_', at most %d",
                           SECRET_NAME_MAX_BYTES);
    ret->name = arena_copy(r->arena, name, strlen(name));
    if (!ret->name)
        return reader_no_memory(r);
    int result = reader_object(r, value, secret_fields, ret);
    if (result == 0)
        result = reader_take_secret_use(r, value, ret);
    if (result == 0)
        reader_leave(r, before);
    return result;
}

int reader_secrets(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                   void *field)
{
    struct policy_document *d = field;
    const char *key;
    json_t *member;
    if (!json_is_object(value))
        return reader_fail(r, "is not an object; write {\"NAME\": { ... }}");
    if (json_object_size(value) > POLICY_SECRETS_MAX)
        return reader_fail(r, "has %zu secrets; at most %d may be there", json_object_size(value),
                           POLICY_SECRETS_MAX);
    struct policy_secret *list = arena_new(r->arena, json_object_size(value), sizeof(*list));
    if (!list)
        return reader_no_memory(r);
    json_object_foreach(value, key, member)
    {
        int result = take_secret(r, key, member, &list[d->secret_count]);
        if (result < 0)
            return result;
        d->secret_count++;
    }
    d->secrets = list;
    d->has_secrets = true;
    return reader_check_secret_uses(r, d);
}

static int read_proxy_address(struct reader *r, json_t *value,
                              const struct reader_field *f _unused_, void *field)
{
    struct policy_upstream *upstream = field;
    const char *why = "is not a text",
               *text = json_is_string(value) ? json_string_value(value) : "";
    int result =
        policy_host_parse_with_port(text, strlen(text), &upstream->host, &upstream->port, &why);
    if (result == -ENOMEM)
        return reader_no_memory(r);
    if (result < 0)
        return reader_fail(r, "%s; write \"HOST:PORT\"", why);
    return upstream->port ? 0 : reader_fail(r, "has no port; write \"HOST:PORT\"");
}

static int read_no_proxy(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                         void *field)
{
    return reader_take_patterns(r, value, true, field);
}

int reader_upstream(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                    void *field)
{
    static const struct reader_word types[] = {
        {"http", POLICY_UPSTREAM_HTTP},
        {"https", POLICY_UPSTREAM_HTTPS},
        {"socks5", POLICY_UPSTREAM_SOCKS5},
        {0},
    };
    static const char *const resolves[] = {"local", "remote"};
    static const struct reader_sizes words = {1, PROXY_WORD_MAX_BYTES};
    static const struct reader_field fields[] = {
        {"type", reader_choice, offsetof(struct policy_upstream, type), types, true},
        {"address", read_proxy_address, 0, NULL, true},
        READER_FIELD(policy_upstream, username, reader_text, &words),
        READER_FIELD(policy_upstream, password_ref, reader_text, &words),
        READER_FIELD(policy_upstream, no_proxy, read_no_proxy, NULL),
        {"resolve", reader_either, offsetof(struct policy_upstream, resolves_remotely), resolves,
         false},
        {0},
    };
    if (json_is_null(value))
        return 0;
    struct policy_upstream *upstream = arena_new(r->arena, 1, sizeof(*upstream));
    if (!upstream)
        return reader_no_memory(r);
    int result = reader_object(r, value, fields, upstream);
    if (result == 0 && upstream->password_ref && !upstream->username)
        return reader_fail(r, "has a password without a username; add \"username\"");
    *(const struct policy_upstream **)field = upstream;
    return result;
}
