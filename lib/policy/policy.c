// SPDX-License-Identifier: Apache-2.0
#include "lib/policy/policy.h"

#include "lib/policy/internal.h"
#include "lib/policy/json_text.h"
#include "lib/policy/position.h"
#include "lib/policy/reader.h"
#include "lib/text/shown.h"

#include <stdio.h>

static int read_version(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                        void *field _unused_)
{
    if (!json_is_integer(value) || json_integer_value(value) != 1)
        return reader_fail(r, "is no version that is known here; write 1");
    return 0;
}

static int read_rules(struct reader *r, json_t *value, const struct reader_field *f _unused_,
                      void *field)
{
    struct policy_document *d = field;
    void *list = NULL;
    int result = reader_list(
        r, value,
        &(struct reader_elements){0, POLICY_RULES_MAX, sizeof(*d->rules), reader_take_rule}, &list,
        &d->rule_count);
    d->rules = list;
    return result;
}

static const char *const default_words[] = {"deny", "allow"};
static const char *const nameless_words[] = {"allow", "deny"};
static const char *const update_words[] = {"recheck", "new_only"};
static const char *const mode_words[] = {"enforce", "audit"};

static const struct reader_field document_fields[] = {
    {"version", read_version, 0, NULL, true},
    {"default", reader_either, offsetof(struct policy_document, allows_by_default), default_words,
     false},
    {"nameless", reader_either, offsetof(struct policy_document, denies_nameless), nameless_words,
     false},
    {"phases", reader_phases, 0, NULL, false},
    {"rules", read_rules, 0, NULL, false},
    READER_FIELD(policy_document, dns, reader_dns, NULL),
    READER_FIELD(policy_document, tls, reader_tls, NULL),
    {"secrets", reader_secrets, 0, NULL, false},
    READER_FIELD(policy_document, upstream, reader_upstream, NULL),
    READER_FIELD(policy_document, limits, reader_limits, NULL),
    READER_FIELD(policy_document, log, reader_log, NULL),
    {"on_update", reader_either, offsetof(struct policy_document, spares_live_flows), update_words,
     false},
    {"mode", reader_either, offsetof(struct policy_document, is_audit), mode_words, false},
    READER_FIELD(policy_document, ingress, reader_ingress, NULL),
    {0},
};

static int compare_ids(const void *a, const void *b)
{
    const struct policy_rule *const *x = a, *const *y = b;
    int order = strcmp((*x)->id, (*y)->id);
    return order ? order : (*x > *y) - (*x < *y);
}

static int check_ids(struct reader *r, const struct policy_document *d)
{
    const struct policy_rule *sorted[POLICY_RULES_MAX];
    for (size_t i = 0; i < d->rule_count; i++)
        sorted[i] = &d->rules[i];
    qsort(sorted, d->rule_count, sizeof(sorted[0]), compare_ids);
    for (size_t i = 1; i < d->rule_count; i++) {
        if (strcmp(sorted[i - 1]->id, sorted[i]->id))
            continue;
        reader_enter(r, "rules");
        reader_enter_index(r, (size_t)(sorted[i] - d->rules));
        reader_enter(r, "id");
        return reader_fail(r, "\"%s\" is the id of rule %zu already; choose another", sorted[i]->id,
                           (size_t)(sorted[i - 1] - d->rules));
    }
    return 0;
}

static bool has_secret(const struct policy_document *d, const char *name, size_t size)
{
    for (size_t i = 0; i < d->secret_count; i++)
        if (strlen(d->secrets[i].name) == size && !memcmp(d->secrets[i].name, name, size))
            return d->secrets[i].use == POLICY_SECRET_IS_FILLED_IN;
    return false;
}

/* What is meant to be put in must never go out as it stands. */
static int check_references(struct reader *r, const struct policy_document *d, const char *name,
                            const char *value)
{
    static const char start[] = "${secret.";
    const size_t start_size = sizeof(start) - 1;
    for (const char *at = strstr(value, "${"); at; at = strstr(at + 2, "${")) {
        const char *end = strchr(at, '}');
        if (strncmp(at, start, start_size) || !end ||
            !has_secret(d, at + start_size, (size_t)(end - at) - start_size)) {
            if (name)
                reader_enter(r, name);
            return reader_fail(r, "has a \"${\" that names no secret of this document that is "
                                  "filled in; write "
                                  "${secret.NAME}, and NAME in \"secrets\"");
        }
    }
    return 0;
}

static int check_fields(struct reader *r, const struct policy_document *d, const char *key,
                        const struct policy_field *list, size_t count)
{
    size_t before = reader_enter(r, key);
    for (size_t i = 0; i < count; i++) {
        int result = check_references(r, d, list[i].name, list[i].value);
        if (result < 0)
            return result;
    }
    reader_leave(r, before);
    return 0;
}

static int check_transform(struct reader *r, const struct policy_document *d,
                           const struct policy_transform *t)
{
    int result = check_fields(r, d, "set_headers", t->set, t->set_count);
    if (result == 0)
        result = check_fields(r, d, "set_query", t->parameters, t->parameter_count);
    if (result < 0 || !t->basic)
        return result;
    size_t before = reader_enter(r, "set_basic");
    result = check_references(r, d, NULL, t->basic);
    if (result == 0)
        reader_leave(r, before);
    return result;
}

static int check_transforms(struct reader *r, const struct policy_document *d,
                            const struct policy_rule *rule)
{
    for (size_t i = 0; i < rule->transform_count; i++) {
        size_t before = reader_enter(r, "transforms");
        reader_enter_index(r, i);
        int result = check_transform(r, d, &rule->transforms[i]);
        if (result < 0)
            return result;
        reader_leave(r, before);
    }
    return 0;
}

static int check_rules(struct reader *r, const struct policy_document *d)
{
    size_t before = reader_enter(r, "rules");
    for (size_t i = 0; i < d->rule_count; i++) {
        const struct policy_rule *rule = &d->rules[i];
        size_t here = reader_enter_index(r, i);
        if ((rule->http || rule->transform_count) &&
            policy_rule_tls(d, rule) == POLICY_TLS_PASSTHROUGH)
            return reader_fail(r, "looks at HTTP, or changes it, and lets TLS pass unopened; leave "
                                  "out \"passthrough\" or what needs HTTP");
        int result = check_transforms(r, d, rule);
        if (result < 0)
            return result;
        reader_leave(r, here);
    }
    reader_leave(r, before);
    return 0;
}

static int check_document(struct reader *r, const struct policy_document *d)
{
    if (d->denies_nameless && !d->allows_by_default)
        return reader_fail(r, "has \"nameless\", which says something of \"default\": \"allow\" "
                              "only; leave it out");
    int result = check_ids(r, d);
    if (result == 0)
        result = reader_check_phases(r, d, (struct policy_rule *)d->rules);
    return result < 0 ? result : check_rules(r, d);
}

static void set_no_memory(struct policy_error *e)
{
    snprintf(e->text, sizeof(e->text), "memory ran out; try again when there is more");
}

static void set_json_error(struct policy_error *e, const json_error_t *error)
{
    char shown[JSON_ERROR_TEXT_LENGTH];
    e->line = error->line > 0 ? (unsigned)error->line : 0;
    e->column = error->column > 0 ? (unsigned)error->column : 0;
    text_line(error->text, strlen(error->text), shown, sizeof(shown));
    snprintf(e->text, sizeof(e->text),
             "line %u, column %u: is not JSON as it is read here: %s; "
             "correct it",
             e->line, e->column, shown);
}

static json_t *load(const char *json, size_t size, struct policy_error *e)
{
    json_error_t error;
    if (size > POLICY_DOCUMENT_MAX_BYTES) {
        snprintf(e->text, sizeof(e->text), "has %zu bytes; write at most %d", size,
                 POLICY_DOCUMENT_MAX_BYTES);
        return NULL;
    }
    bool no_memory;
    json_t *root = json_text_load(json, size, &error, &no_memory);
    if (no_memory)
        set_no_memory(e);
    else if (!root)
        set_json_error(e, &error);
    return root;
}

/* What the reader found wrong has a place in the text too. */
static void add_position(struct policy_error *e, const char *json, size_t size)
{
    char text[sizeof(e->text)];
    if (!policy_position_of(json, size, e->pointer, &e->line, &e->column))
        return;
    int used = snprintf(text, sizeof(text), "line %u, column %u: ", e->line, e->column);
    snprintf(text + used, sizeof(text) - (size_t)used, "%.*s", (int)sizeof(text) - used - 1,
             e->text);
    memcpy(e->text, text, sizeof(text));
}

struct policy *policy_parse(const char *json, size_t size, struct policy_error *e)
{
    *e = (struct policy_error){.line = 0};
    json_t *root = load(json, size, e);
    if (!root)
        return NULL;
    struct policy *p = calloc(1, sizeof(*p));
    if (!p) {
        set_no_memory(e);
        json_decref(root);
        return NULL;
    }
    struct reader r = {.arena = &p->arena, .e = e};
    reader_set_defaults(&p->document);
    int result = reader_object(&r, root, document_fields, &p->document);
    if (result == 0)
        result = check_document(&r, &p->document);
    json_decref(root);
    if (result == 0)
        return p;
    policy_free(p);
    add_position(e, json, size);
    return NULL;
}

void policy_free(struct policy *p)
{
    if (!p)
        return;
    arena_done(&p->arena);
    free(p);
}

const struct policy_document *policy_get_document(const struct policy *p)
{
    return &p->document;
}

bool policy_allows_anything(const struct policy *p)
{
    const struct policy_document *d = &p->document;
    bool allows = d->allows_by_default || d->dns.is_open || d->is_audit;
    for (size_t i = 0; i < d->rule_count && !allows; i++)
        allows = d->rules[i].is_allow;
    return allows;
}

enum policy_tls policy_rule_tls(const struct policy_document *d, const struct policy_rule *rule)
{
    return rule && rule->tls != POLICY_TLS_AUTO ? rule->tls : d->tls.mode;
}
