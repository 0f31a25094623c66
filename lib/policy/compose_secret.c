// SPDX-License-Identifier: Apache-2.0
/*
 * NAME=SOURCE@HOST[,HOST...][:PORT][:METHOD[,METHOD...] PATH], taken apart from the left, but for
 * the '@', which is the last one: hosts have none, and files and commands may.
 */
#include "lib/policy/compose_secret.h"

#include "lib/ssh/known_hosts.h"

#include <stdio.h>

#define WORD_MAX_BYTES 8192
#define HOST_MAX_BYTES 253
#define KNOWN_KEYS_MAX 16
#define SHAPE          "NAME=SOURCE@HOST[,HOST...][:PORT][:METHOD PATH]"

struct piece {
    const char *text;
    size_t size;
};

struct pieces {
    struct piece name, source, hosts, port, methods, path; /* text NULL: not given */
};

static struct piece piece_of(const char *from, const char *end)
{
    return (struct piece){from, (size_t)(end - from)};
}

/* NULL, or why it isn't one. */
static const char *check_name(const struct piece *name)
{
    for (size_t i = 0; i < name->size; i++) {
        char c = name->text[i];
        bool is_letter = (c >= 'A' && c <= 'Z') || c == '_';
        if (!is_letter && (i == 0 || c < '0' || c > '9'))
            return "its name is not of capital letters, digits and '_'; write " SHAPE;
    }
    return name->size ? NULL : "it has no name; write " SHAPE;
}

/* What is behind the hosts. */
static const char *split_narrowing(const char *at, struct pieces *ret)
{
    const char *end = at + strlen(at);
    if (*at >= '0' && *at <= '9') {
        const char *next = strchrnul(at, ':');
        ret->port = piece_of(at, next);
        if (!*next)
            return NULL;
        at = next + 1;
    }
    const char *blank = strchr(at, ' ');
    if (!blank || blank == at || blank[1] != '/')
        return "behind the hosts there is no METHOD and PATH, with one blank between them; write "
               "as in :GET /v1/*";
    ret->methods = piece_of(at, blank);
    ret->path = piece_of(blank + 1, end);
    return NULL;
}

/* NULL, or why it has no such parts. */
static const char *split(const char *word, struct pieces *ret)
{
    const char *equals = strchr(word, '='), *at = strrchr(word, '@');
    *ret = (struct pieces){.port = {NULL, 0}};
    if (!equals || !at || at < equals)
        return !equals ? "it has no '='; write " SHAPE
                       : "it has no '@' with the hosts that may get it; write " SHAPE;
    ret->name = piece_of(word, equals);
    const char *why = check_name(&ret->name);
    if (why)
        return why;
    ret->source = piece_of(equals + 1, at);
    const char *colon = strchrnul(at + 1, ':');
    ret->hosts = piece_of(at + 1, colon);
    return *colon ? split_narrowing(colon + 1, ret) : NULL;
}

static json_t *make_list(const struct piece *p)
{
    json_t *list = json_array();
    const char *from = p->text, *end = p->text + p->size;
    while (list) {
        const char *comma = memchr(from, ',', (size_t)(end - from));
        const char *to = comma ? comma : end;
        if (json_array_append_new(list, json_stringn(from, (size_t)(to - from))) < 0) {
            json_decref(list);
            return NULL;
        }
        if (!comma)
            break;
        from = comma + 1;
    }
    return list;
}

static bool skip(struct piece *p, const char *start)
{
    size_t size = strlen(start);
    if (p->size < size || memcmp(p->text, start, size) != 0)
        return false;
    p->text += size;
    p->size -= size;
    return true;
}

static json_t *make_file(const struct piece *path, const char *folder)
{
    if (path->size == 0 || path->text[0] == '/' || !folder)
        return json_pack("{s:o}", "file", json_stringn(path->text, path->size));
    return json_pack("{s:o}", "file", json_sprintf("%s/%.*s", folder, (int)path->size, path->text));
}

/* NULL: no memory, or *ret_why. */
static json_t *make_source(struct piece source, const char *folder, const char **ret_why)
{
    if (skip(&source, "env:"))
        return json_pack("{s:o}", "env", json_stringn(source.text, source.size));
    if (skip(&source, "file:"))
        return make_file(&source, folder);
    if (skip(&source, "cmd:"))
        return json_pack("{s:[s, s, o]}", "exec", "/bin/sh", "-c",
                         json_stringn(source.text, source.size));
    *ret_why = "its source is none of env:VARIABLE, file:PATH and cmd:COMMAND, with ssh: before "
               "it for a key; write " SHAPE;
    return NULL;
}

static json_t *make_allow(const struct pieces *p)
{
    json_t *allow = json_pack("{s:o}", "hosts", make_list(&p->hosts));
    int r = allow ? 0 : -1;
    if (r == 0 && p->port.text)
        r = json_object_set_new(allow, "ports",
                                json_pack("[o]", compose_port(p->port.text, p->port.size)));
    if (r == 0 && p->methods.text && (p->methods.size != 1 || p->methods.text[0] != '*'))
        r = json_object_set_new(allow, "methods", make_list(&p->methods));
    if (r == 0 && p->path.text) {
        const char *kind = memchr(p->path.text, '*', p->path.size) ? "glob" : "exact";
        r = json_object_set_new(
            allow, "paths", json_pack("[{s:o}]", kind, json_stringn(p->path.text, p->path.size)));
    }
    if (r < 0) {
        json_decref(allow);
        return NULL;
    }
    return allow;
}

/* Of all hosts of p; what is twice there is once enough. NULL: no memory, or *ret_why. */
static json_t *make_host_keys(const struct pieces *p, const char *file, const char **ret_why)
{
    struct ssh_known_key found[KNOWN_KEYS_MAX];
    char host[HOST_MAX_BYTES + 1], name[HOST_MAX_BYTES + 16];
    uint16_t port = p->port.text ? (uint16_t)strtoul(p->port.text, NULL, 10) : 22;
    json_t *list = json_array();
    for (const char *at = p->hosts.text, *end = at + p->hosts.size; list && at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *next = comma ? comma : end;
        snprintf(host, sizeof(host), "%.*s", (int)(next - at), at);
        for (char *c = host; *c; c++)
            *c = *c >= 'A' && *c <= 'Z' ? (char)(*c | 0x20) : *c; /* as names are hashed */
        ssh_known_host_name(host, port, name, sizeof(name));
        size_t count =
            file ? ssh_known_hosts_find(file, strlen(file), name, found, KNOWN_KEYS_MAX) : 0;
        if (count == 0) {
            *ret_why = "the known hosts have no key of one of its hosts; add what ssh-keyscan(1) "
                       "prints once you have compared it, or give --ssh-known-hosts FILE";
            json_decref(list);
            return NULL;
        }
        for (size_t i = 0; i < count; i++)
            json_array_append_new(list, json_stringn(found[i].text, found[i].size));
        at = next + 1;
    }
    return list;
}

static json_t *make_ssh(const struct pieces *p, const struct policy_words *words,
                        const char **ret_why)
{
    if (p->methods.text) {
        *ret_why = "it has METHOD and PATH, and is for SSH; leave them out";
        return NULL;
    }
    json_t *keys = make_host_keys(p, words->known_hosts, ret_why);
    return keys ? json_pack("{s:o}", "host_keys", keys) : NULL;
}

/* NULL: no memory, or *ret_why. */
static json_t *make_secret(const struct pieces *p, const struct policy_words *words,
                           const char **ret_why)
{
    struct piece from = p->source;
    bool is_ssh = skip(&from, "ssh:");
    json_t *source = make_source(from, words->folder, ret_why);
    if (!source)
        return NULL;
    if (!is_ssh)
        return json_pack("{s:o, s:[o], s:o}", "source", source, "env",
                         json_stringn(p->name.text, p->name.size), "allow", make_allow(p));
    json_t *ssh = make_ssh(p, words, ret_why);
    if (!ssh) {
        json_decref(source);
        return NULL;
    }
    return json_pack("{s:o, s:o, s:o}", "source", source, "ssh", ssh, "allow", make_allow(p));
}

static int check_secret(const char *name, json_t *secret, const char *word, struct policy_error *e)
{
    json_t *document = json_pack("{s:i, s:{s:O}}", "version", 1, "secrets", name, secret);
    int result = compose_check(document, word, strlen(word), e);
    json_decref(document);
    return result;
}

int compose_secret(json_t *secrets, const char *word, const struct policy_words *words,
                   struct policy_error *e)
{
    struct pieces p;
    size_t size = strlen(word);
    const char *why = NULL;
    if (size > WORD_MAX_BYTES)
        why = "it is longer than 8192 bytes; write a shorter one";
    else if (!compose_is_utf8(word, size))
        why = "it is not UTF-8; write " SHAPE;
    else
        why = split(word, &p);
    if (why)
        return compose_refuse(e, word, size, why);
    json_t *secret = make_secret(&p, words, &why);
    if (!secret)
        return why ? compose_refuse(e, word, size, why) : -ENOMEM;
    _cleanup_free_ char *name = strndup(p.name.text, p.name.size);
    int result = name ? check_secret(name, secret, word, e) : -ENOMEM;
    if (result == 0 && json_object_get(secrets, name))
        result = compose_refuse(e, word, size, "its name is given twice; leave one out");
    if (result == 0 && json_object_size(secrets) >= POLICY_SECRETS_MAX)
        result = compose_refuse(e, word, size,
                                "it is one secret more than the 64 that may be there; leave some "
                                "out");
    if (result == 0 && json_object_set(secrets, name, secret) < 0)
        result = -ENOMEM;
    json_decref(secret);
    return result;
}
