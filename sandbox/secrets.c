// SPDX-License-Identifier: Apache-2.0
#include "sandbox/secrets.h"

#include "lib/policy/same.h"
#include "lib/secret/file.h"
#include "lib/secret/pages.h"
#include "lib/secret/placeholder.h"
#include "sandbox/memory_file.h"
#include "sandbox/secret_source.h"

#include <sys/random.h>

/* With the newline that is left out. */
#define CAPACITY ((size_t)SECRET_VALUE_MAX_BYTES + 1)

/* As the gateway gets them. */
struct sandbox_secrets {
    char *file;
    size_t size;
    struct strv placeholders; /* NAME=PLACEHOLDER */
};

/* While they are read. */
struct loading {
    const struct policy_document *document;
    char *memory; /* CAPACITY bytes for each */
    char (*placeholders)[PLACEHOLDER_MAX_BYTES + 1];
    struct secret_value values[POLICY_SECRETS_MAX];
};

static int no_memory(struct sandbox_error *e)
{
    return sandbox_error_set(e, -ENOMEM, "secrets: out of memory; free some and try again");
}

static int make_placeholder(const struct policy_secret *p, const struct secret_value *v, char *ret,
                            struct sandbox_error *e)
{
    unsigned char random[PLACEHOLDER_RANDOM];
    if (p->placeholder) {
        memcpy(ret, p->placeholder, strlen(p->placeholder) + 1);
        return 0;
    }
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return sandbox_error_set(e, -EIO, "secrets: the host gives no random bytes; try again");
    placeholder_make(v->value, v->size, random, ret);
    return 0;
}

/* Secret p is the i-th that is loaded. */
static int load_value(struct loading *l, const struct policy_secret *p, size_t i,
                      struct sandbox_error *e)
{
    char *value = l->memory + i * CAPACITY;
    ssize_t size = secret_source_read(p, value, CAPACITY, e);
    if (size < 0)
        return sandbox_error_prefix(e, (int)size, "secret %s", p->name);
    l->values[i] = (struct secret_value){
        .name = p->name, .placeholder = l->placeholders[i], .value = value, .size = (size_t)size};
    return make_placeholder(p, &l->values[i], l->placeholders[i], e);
}

/* What the gateway will say of them, while there is somebody to act on it. */
static int check_values(const struct loading *l, struct sandbox_error *e)
{
    char source[160] = "";
    struct secrets *s = NULL;
    struct secret_error wrong;
    int r = secrets_new(l->document, l->values, l->document->secret_count, &s, &wrong);
    secrets_put(s);
    if (r == 0)
        return 0;
    if (!wrong.name)
        return sandbox_error_set(e, r, "%s", wrong.text);
    for (size_t i = 0; i < l->document->secret_count; i++)
        if (!strcmp(wrong.name, l->document->secrets[i].name))
            secret_source_describe(&l->document->secrets[i], source, sizeof(source));
    return sandbox_error_set(e, r, "secret %s: %s: %s", wrong.name, source,
                             wrong.text + wrong.reason);
}

/*
 * A variable that is set already is an error: with --env NAME the program would be given the
 * caller's own, which may be the value.
 */
static int set_variables(const struct loading *l, struct strv *env, struct sandbox_error *e)
{
    for (size_t i = 0; i < l->document->secret_count; i++) {
        const struct policy_secret *p = &l->document->secrets[i];
        for (size_t k = 0; k < p->env_count; k++) {
            if (strv_env_get(env, p->env[k]))
                return sandbox_error_set(e, -EEXIST,
                                         "secret %s: its variable %s is set already; leave it out "
                                         "of --env and --env-file, and of other secrets",
                                         p->name, p->env[k]);
            if (strv_env_set(env, p->env[k], l->placeholders[i]) < 0)
                return no_memory(e);
        }
    }
    return 0;
}

static struct sandbox_secrets *make_file(const struct secret_value *values, size_t count)
{
    struct sandbox_secrets *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->size = secret_file_size(values, count);
    s->file = secret_memory_new(s->size);
    int r = s->file ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && r == 0; i++)
        r = strv_env_set(&s->placeholders, values[i].name, values[i].placeholder);
    if (r < 0) {
        sandbox_secrets_free(s);
        return NULL;
    }
    secret_file_write(values, count, s->file);
    return s;
}

static int load(struct loading *l, struct sandbox_spec *s, struct sandbox_error *e)
{
    size_t count = l->document->secret_count;
    int r = 0;
    for (size_t i = 0; i < count && r == 0; i++)
        r = load_value(l, &l->document->secrets[i], i, e);
    if (r == 0)
        r = check_values(l, e);
    if (r == 0)
        r = set_variables(l, &s->env, e);
    if (r < 0)
        return r;
    struct sandbox_secrets *made = make_file(l->values, count);
    if (!made)
        return no_memory(e);
    sandbox_secrets_free(s->secrets);
    s->secrets = made;
    return 0;
}

int sandbox_secrets_load(struct sandbox_spec *s, struct sandbox_error *e)
{
    struct policy_error wrong;
    if (!s->policy)
        return 0;
    struct policy *p = policy_parse(s->policy, strlen(s->policy), &wrong);
    if (!p)
        return sandbox_error_set(e, -EINVAL, "%s", wrong.text);
    struct loading l = {.document = policy_get_document(p)};
    size_t count = l.document->secret_count;
    int r = 0;
    if (count > 0) {
        l.memory = secret_memory_new(count * CAPACITY);
        l.placeholders = calloc(count, sizeof(*l.placeholders));
        r = l.memory && l.placeholders ? load(&l, s, e) : no_memory(e);
        secret_memory_free(l.memory, count * CAPACITY);
        free(l.placeholders);
    }
    policy_free(p);
    return r;
}

static int load_new(struct loading *l, const struct policy_document *in_force,
                    struct sandbox_secrets **ret, struct sandbox_error *e)
{
    size_t count = 0;
    int r = 0;
    for (size_t i = 0; i < l->document->secret_count && r == 0; i++)
        if (!policy_find_secret(in_force, l->document->secrets[i].name))
            r = load_value(l, &l->document->secrets[i], count++, e);
    if (r < 0)
        return r;
    struct sandbox_secrets *made = count > 0 ? make_file(l->values, count) : NULL;
    if (count > 0 && !made)
        return no_memory(e);
    *ret = made;
    return 0;
}

int sandbox_secrets_load_new(const struct policy_document *d,
                             const struct policy_document *in_force, struct sandbox_secrets **ret,
                             struct sandbox_error *e)
{
    struct loading l = {.document = d};
    size_t count = d->secret_count;
    *ret = NULL;
    if (count == 0)
        return 0;
    l.memory = secret_memory_new(count * CAPACITY);
    l.placeholders = calloc(count, sizeof(*l.placeholders));
    int r = l.memory && l.placeholders ? load_new(&l, in_force, ret, e) : no_memory(e);
    secret_memory_free(l.memory, count * CAPACITY);
    free(l.placeholders);
    return r;
}

int sandbox_secrets_open(const struct sandbox_spec *s, int *ret, struct sandbox_error *e)
{
    int fd = -1;
    if (s->secrets)
        fd = memory_file_new("glovebox-secrets", s->secrets->file, s->secrets->size);
    if (s->secrets && fd < 0)
        return sandbox_error_set(e, -errno, "start: secrets: %s; free memory and try again",
                                 strerror(errno));
    *ret = fd;
    return 0;
}

void sandbox_secrets_free(struct sandbox_secrets *s)
{
    if (!s)
        return;
    secret_memory_free(s->file, s->size);
    strv_done(&s->placeholders);
    free(s);
}

const void *sandbox_secrets_file(const struct sandbox_secrets *s, size_t *ret_size)
{
    *ret_size = s->size;
    return s->file;
}

const struct strv *sandbox_secrets_placeholders(const struct sandbox_secrets *s)
{
    return &s->placeholders;
}

int sandbox_secret_open(const struct policy_secret *p, int *ret, struct sandbox_error *e)
{
    char *value = secret_memory_new(CAPACITY);
    ssize_t r = value ? secret_source_read(p, value, CAPACITY, e) : no_memory(e);
    const struct secret_value v = {p->name, "", value, r > 0 ? (size_t)r : 0};
    size_t size = secret_file_size(&v, 1);
    char *file = r >= 0 ? secret_memory_new(size) : NULL;
    if (file) {
        secret_file_write(&v, 1, file);
        *ret = memory_file_new("glovebox-secret", file, size);
        r = *ret < 0 ? sandbox_error_set(e, -errno, "secret %s: %s; free memory and try again",
                                         p->name, strerror(errno))
                     : 0;
    } else if (r >= 0) {
        r = no_memory(e);
    }
    secret_memory_free(file, size);
    secret_memory_free(value, CAPACITY);
    return (int)r;
}
