// SPDX-License-Identifier: Apache-2.0
/*
 * What secrets are for besides being filled in: each use is a field of its own, and a row here.
 */
#include "lib/policy/reader.h"

#define POSTGRES_NAME_MAX_BYTES 63 /* NAMEDATALEN - 1 of PostgreSQL */
#define REFERENCE_MAX_BYTES     64

static int read_sign(struct reader *r, json_t *value, struct policy_secret *secret);
static int read_postgres(struct reader *r, json_t *value, struct policy_secret *secret);

static const struct use {
    const char *field;
    enum policy_secret_use use;
    struct policy_port_range port; /* where none is given */
    bool is_for_requests, has_placeholder;
    int (*read)(struct reader *r, json_t *value, struct policy_secret *secret);
} uses[] = {
    {"sign", POLICY_SECRET_SIGNS, {443, 443}, true, true, read_sign},
    {"postgres", POLICY_SECRET_POSTGRES, {5432, 5432}, false, true, read_postgres},
    {"ssh", POLICY_SECRET_SSH, {22, 22}, false, false, reader_take_ssh},
};

static int read_sign(struct reader *r, json_t *value, struct policy_secret *secret)
{
    static const struct reader_word types[] = {{"aws_sigv4", 0}, {0}};
    static const struct reader_sizes names = {1, REFERENCE_MAX_BYTES};
    static const struct reader_field fields[] = {
        {"type", reader_choice, offsetof(struct policy_aws, type), types, true},
        {"access_key_id_ref", reader_text, offsetof(struct policy_aws, access_key_id_ref), &names,
         true},
        {"session_token_ref", reader_text, offsetof(struct policy_aws, session_token_ref), &names,
         false},
        {0},
    };
    return reader_object(r, value, fields, &secret->aws);
}

static int read_postgres(struct reader *r, json_t *value, struct policy_secret *secret)
{
    static const char *const tls[] = {"off", "verify"};
    static const struct reader_sizes names = {1, POSTGRES_NAME_MAX_BYTES};
    static const struct reader_field fields[] = {
        {"user", reader_text, offsetof(struct policy_postgres, user), &names, true},
        {"database", reader_text, offsetof(struct policy_postgres, database), &names, false},
        {"tls", reader_either, offsetof(struct policy_postgres, has_tls), tls, false},
        {0},
    };
    secret->postgres.has_tls = true;
    return reader_object(r, value, fields, &secret->postgres);
}

/* One field, of one use, that has no meaning in another. */
static int refuse_field(struct reader *r, json_t *object, const char *field, const char *use)
{
    if (!json_object_get(object, field))
        return 0;
    reader_enter(r, field);
    return reader_fail(r, "has no meaning in a secret with \"%s\"; leave it out", use);
}

/* What says something about a placeholder, or a value that programs may see. */
static int refuse_placeholder(struct reader *r, json_t *value, const struct use *use)
{
    static const char *const fields[] = {"placeholder", "env", "on_violation", "passthrough_hosts",
                                         "scrub"};
    int result = 0;
    for (size_t i = 0; i < ARRAY_SIZE(fields) && result == 0; i++)
        result = refuse_field(r, value, fields[i], use->field);
    return result;
}

/* What says something about requests, or about filling in. */
static int refuse_others(struct reader *r, json_t *value, const struct use *use)
{
    int result = refuse_field(r, value, "inject", use->field);
    if (result == 0 && !use->has_placeholder)
        result = refuse_placeholder(r, value, use);
    json_t *allow = json_object_get(value, "allow");
    if (result < 0 || use->is_for_requests)
        return result;
    result = refuse_field(r, value, "require_tls", use->field);
    size_t before = result == 0 ? reader_enter(r, "allow") : 0;
    if (result == 0)
        result = refuse_field(r, allow, "methods", use->field);
    if (result == 0)
        result = refuse_field(r, allow, "paths", use->field);
    if (result == 0)
        reader_leave(r, before);
    return result;
}

static int take_use(struct reader *r, json_t *value, const struct use *use,
                    struct policy_secret *secret)
{
    secret->use = use->use;
    secret->in_headers = secret->in_basic = false;
    if (!json_object_get(json_object_get(value, "allow"), "ports")) {
        secret->ports = &use->port;
        secret->port_count = 1;
    }
    size_t before = reader_enter(r, use->field);
    int result = use->read(r, json_object_get(value, use->field), secret);
    if (result < 0)
        return result;
    reader_leave(r, before);
    return refuse_others(r, value, use);
}

int reader_take_secret_use(struct reader *r, json_t *value, struct policy_secret *secret)
{
    const struct use *found = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(uses); i++) {
        if (!json_object_get(value, uses[i].field))
            continue;
        if (found)
            return reader_fail(r, "has both \"%s\" and \"%s\"; leave one out", found->field,
                               uses[i].field);
        found = &uses[i];
    }
    return found ? take_use(r, value, found, secret) : 0;
}

/* In its place, by the field that names it. */
static int check_reference(struct reader *r, const struct policy_document *d,
                           const struct policy_secret *from, const char *field, const char *name)
{
    for (size_t i = 0; name && i < d->secret_count; i++)
        if (!strcmp(d->secrets[i].name, name) && d->secrets[i].use == POLICY_SECRET_IS_FILLED_IN)
            return 0;
    if (!name)
        return 0;
    reader_enter(r, from->name);
    reader_enter(r, "sign");
    reader_enter(r, field);
    return reader_fail(r, "names no other secret of this document that is filled in; add that one "
                          "to \"secrets\"");
}

int reader_check_secret_uses(struct reader *r, const struct policy_document *d)
{
    int result = 0;
    for (size_t i = 0; i < d->secret_count && result == 0; i++) {
        const struct policy_secret *s = &d->secrets[i];
        if (s->use != POLICY_SECRET_SIGNS)
            continue;
        result = check_reference(r, d, s, "access_key_id_ref", s->aws.access_key_id_ref);
        if (result == 0)
            result = check_reference(r, d, s, "session_token_ref", s->aws.session_token_ref);
    }
    return result;
}
