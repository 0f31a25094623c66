// SPDX-License-Identifier: Apache-2.0
#include "lib/secret/internal.h"

#include "lib/secret/forms.h"
#include "lib/secret/pages.h"
#include "lib/secret/placeholder.h"

#include <stdarg.h>
#include <stdio.h>

#define CORES 6 /* base 64: three alignments, two alphabets */

static int refuse(struct secret_error *e, const char *name, const char *format, ...) _printf_(3, 4);

static int refuse(struct secret_error *e, const char *name, const char *format, ...)
{
    va_list args;
    e->name = name;
    e->reason = (size_t)snprintf(e->text, sizeof(e->text), "secret %.64s: ", name);
    va_start(args, format);
    vsnprintf(e->text + e->reason, sizeof(e->text) - e->reason, format, args);
    va_end(args);
    return -EINVAL;
}

static int no_memory(struct secret_error *e)
{
    *e = (struct secret_error){.text = "secrets: memory ran out; free some and try again",
                               .reason = strlen("secrets: ")};
    return -ENOMEM;
}

bool secrets_is_placeholder(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_-.";
    size_t size = strlen(text);
    return size >= PLACEHOLDER_MIN_BYTES && size <= PLACEHOLDER_MAX_BYTES &&
           strspn(text, letters) == size;
}

/* RFC 9110, section 5.5: what is no part of a field's value, and what would end it. */
static int check_bytes(const struct secret_value *v, struct secret_error *e)
{
    for (size_t i = 0; i < v->size; i++) {
        unsigned char c = (unsigned char)v->value[i];
        if (c == '\r' || c == '\n')
            return refuse(e, v->name,
                          "the value has more than one line, which no header field can hold; give "
                          "one line");
        if (c < 0x20 || c == 0x7f)
            return refuse(e, v->name,
                          "the value has a control character (0x%02x) at byte %zu; take it out", c,
                          i + 1);
    }
    if (v->value[0] == ' ' || v->value[v->size - 1] == ' ')
        return refuse(e, v->name, "the value begins or ends with a blank; take it out");
    return 0;
}

/* What SASLprep (RFC 4013) would make of others depends on tables, and on who has which. */
static int check_password(const struct secret_value *v, struct secret_error *e)
{
    for (size_t i = 0; i < v->size; i++)
        if ((unsigned char)v->value[i] >= 0x80)
            return refuse(e, v->name,
                          "the password has other characters than ASCII at byte %zu; give the "
                          "role one without",
                          i + 1);
    return 0;
}

static int check_use(const struct secret_value *v, const struct policy_secret *p,
                     struct secret_error *e)
{
    if (p->use == POLICY_SECRET_SIGNS && v->size > SECRET_SIGNING_KEY_MAX_BYTES)
        return refuse(e, v->name, "a key to sign with has more than %d bytes; give a shorter one",
                      SECRET_SIGNING_KEY_MAX_BYTES);
    return p->use == POLICY_SECRET_POSTGRES ? check_password(v, e) : 0;
}

static int check_value(const struct secret_value *v, const struct policy_secret *p,
                       struct secret_error *e)
{
    int r = check_use(v, p, e);
    if (r < 0)
        return r;
    if (strcmp(v->name, p->name) != 0)
        return refuse(e, p->name, "the value is missing; give all secrets of the policy");
    if (v->size == 0)
        return refuse(e, v->name, "the value is empty; give one");
    if (v->size > SECRET_VALUE_MAX_BYTES)
        return refuse(e, v->name, "the value has more than %d bytes; give a shorter one",
                      SECRET_VALUE_MAX_BYTES);
    if (v->size < SECRET_LEAST_BYTES && p->scrub != POLICY_SCRUB_OFF)
        return refuse(e, v->name,
                      "the value has less than %d bytes, and would be found everywhere in answers; "
                      "give a longer one, or set \"scrub\": \"off\" in a policy",
                      SECRET_LEAST_BYTES);
    if (!secrets_is_placeholder(v->placeholder))
        return refuse(e, v->name,
                      "the placeholder is not %d to %d letters, digits, '_', '-' and '.'; write "
                      "another one",
                      PLACEHOLDER_MIN_BYTES, PLACEHOLDER_MAX_BYTES);
    /* A key is many lines, and is filled in nowhere: who uses it reads it. */
    return p->use == POLICY_SECRET_SSH ? 0 : check_bytes(v, e);
}

static bool has_part(const char *whole, size_t size, const char *part, size_t part_size)
{
    return memmem(whole, size, part, part_size) != NULL;
}

/*
 * What could be taken for two placeholders would be filled in for the wrong one; a placeholder that
 * tells a value, or that a value has in it, would go where the value may not.
 */
static int check_placeholders(const struct secret_value *values, size_t count,
                              struct secret_error *e)
{
    for (size_t i = 0; i < count; i++) {
        const char *placeholder = values[i].placeholder;
        size_t size = strlen(placeholder);
        for (size_t k = 0; k < count; k++) {
            const struct secret_value *other = &values[k];
            if (k != i &&
                has_part(other->placeholder, strlen(other->placeholder), placeholder, size))
                return refuse(e, values[i].name,
                              "its placeholder is part of that of %.64s; write another one",
                              other->name);
            if (has_part(other->value, other->size, placeholder, size) ||
                (other->size >= SECRET_LEAST_BYTES &&
                 has_part(placeholder, size, other->value, other->size)))
                return refuse(e, values[i].name,
                              "its placeholder and the value of %.64s are part of each other; "
                              "write another placeholder",
                              other->name);
        }
    }
    return 0;
}

static int check(const struct policy_document *d, const struct secret_value *values, size_t count,
                 struct secret_error *e)
{
    size_t total = 0;
    if (count != d->secret_count || count > POLICY_SECRETS_MAX)
        return refuse(e, count < d->secret_count ? d->secrets[count].name : "?",
                      "the value is missing; give all secrets of the policy");
    for (size_t i = 0; i < count; i++) {
        int r = check_value(&values[i], &d->secrets[i], e);
        if (r < 0)
            return r;
        total += values[i].size;
        if (total > SECRET_VALUES_MAX_BYTES)
            return refuse(e, values[i].name,
                          "all values together have more than %d KiB; give shorter ones",
                          SECRET_VALUES_MAX_BYTES / 1024);
    }
    return check_placeholders(values, count, e);
}

static size_t write_value(enum secret_form form, const struct secret_value *v, char *ret)
{
    switch (form) {
    case SECRET_PERCENT:
    case SECRET_FORM_FIELD:
        return form_percent(v->value, v->size, &(struct form_percent){.kept = ""}, ret);
    case SECRET_JSON:
        return form_json(v->value, v->size, &(struct form_json){.also_escaped = ""}, ret);
    default:
        if (ret)
            memcpy(ret, v->value, v->size);
        return v->size;
    }
}

static int copy_values(struct secrets *s, const struct secret_value *values)
{
    size_t at = 0;
    for (int form = 0; form < SECRET_FORMS; form++)
        for (size_t i = 0; i < s->count; i++)
            s->memory_bytes += write_value((enum secret_form)form, &values[i], NULL);
    s->memory = secret_memory_new(s->memory_bytes);
    if (!s->memory)
        return -ENOMEM;
    for (int form = 0; form < SECRET_FORMS; form++) {
        for (size_t i = 0; i < s->count; i++) {
            size_t size = write_value((enum secret_form)form, &values[i], s->memory + at);
            s->values[form][i] = (struct finder_bytes){s->memory + at, size};
            at += size;
        }
    }
    for (size_t i = 0; i < s->count; i++) {
        s->placeholders[i] = strdup(values[i].placeholder);
        if (!s->placeholders[i])
            return -ENOMEM;
    }
    return 0;
}

/* The placeholders as needles; with cores also in base 64, for which text has room. */
static size_t make_needles(const struct secrets *s, bool has_cores, char *text,
                           struct finder_needle *needles)
{
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++) {
        const char *placeholder = s->placeholders[i];
        size_t size = strlen(placeholder);
        needles[count++] = (struct finder_needle){{placeholder, size}, (unsigned)i};
        for (unsigned core = 0; has_cores && core < CORES; core++) {
            enum base64_alphabet alphabet = core / 3 ? BASE64_URL : BASE64_STANDARD;
            size_t written = form_base64_core(placeholder, size, core % 3, alphabet, text);
            needles[count++] = (struct finder_needle){{text, written}, (unsigned)i};
            text += written;
        }
    }
    return count;
}

static int make_finders(struct secrets *s)
{
    _cleanup_free_ struct finder_needle *needles =
        calloc(s->count * (1 + CORES) + 1, sizeof(*needles));
    _cleanup_free_ char *text = malloc(s->count * CORES * 2 * PLACEHOLDER_MAX_BYTES + 1);
    if (!needles || !text)
        return -ENOMEM;
    int r = finder_new(needles, make_needles(s, false, text, needles), &s->fill);
    if (r == 0)
        r = finder_new(needles, make_needles(s, true, text, needles), &s->watch);
    return r < 0 ? r : secrets_make_scrub(s);
}

static void note_places(struct secrets *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct policy_secret *p = &s->document->secrets[i];
        uint64_t bit = UINT64_C(1) << i;
        s->in_headers |= p->in_headers ? bit : 0;
        s->in_basic |= p->in_basic ? bit : 0;
        s->in_query |= p->in_query ? bit : 0;
        s->in_body |= p->in_body ? bit : 0;
    }
}

int secrets_new(const struct policy_document *document, const struct secret_value *values,
                size_t count, struct secrets **ret, struct secret_error *e)
{
    int r = check(document, values, count, e);
    if (r < 0)
        return r;
    struct secrets *s = calloc(1, sizeof(*s));
    if (!s)
        return no_memory(e);
    *s = (struct secrets){.references = 1, .document = document, .count = count};
    note_places(s);
    r = copy_values(s, values);
    if (r == 0)
        r = make_finders(s);
    if (r < 0) {
        secrets_put(s);
        return no_memory(e);
    }
    *ret = s;
    return 0;
}

struct secrets *secrets_get(struct secrets *s)
{
    s->references++;
    return s;
}

void secrets_put(struct secrets *s)
{
    if (!s || --s->references > 0)
        return;
    finder_free(s->fill);
    finder_free(s->watch);
    finder_free(s->scrub);
    free(s->scrub_replacements);
    free(s->scrub_text);
    secret_memory_free(s->memory, s->memory_bytes);
    for (size_t i = 0; i < s->count; i++)
        free(s->placeholders[i]);
    free(s);
}

size_t secrets_count(const struct secrets *s)
{
    return s->count;
}

void secret_cut_buf(struct buf *b, size_t size)
{
    if (!b->data || b->size <= size)
        return;
    explicit_bzero(b->data + size, b->size - size);
    b->size = size;
}

void secret_wipe_buf(struct buf *b)
{
    buf_wipe(b);
}

const char *secrets_value(const struct secrets *s, size_t i, size_t *ret_size)
{
    *ret_size = s->values[SECRET_RAW][i].size;
    return s->values[SECRET_RAW][i].data;
}

static struct secret_value value_at(const struct secrets *s, size_t i)
{
    const struct finder_bytes *value = &s->values[SECRET_RAW][i];
    return (struct secret_value){s->document->secrets[i].name, s->placeholders[i], value->data,
                                 value->size};
}

int secrets_renew(const struct secrets *old, const struct secret_value *v, struct secrets **ret,
                  struct secret_error *e)
{
    struct secret_value values[POLICY_SECRETS_MAX];
    bool is_known = false;
    for (size_t i = 0; i < old->count; i++) {
        values[i] = value_at(old, i);
        if (strcmp(values[i].name, v->name) != 0)
            continue;
        values[i].value = v->value;
        values[i].size = v->size;
        is_known = true;
    }
    if (is_known)
        return secrets_new(old->document, values, old->count, ret, e);
    *e = (struct secret_error){.text = "secret: the sandbox has none of that name; add it with "
                                       "NAME=SOURCE@HOST, or with glovebox policy set"};
    return -ENOENT;
}

/* The place of the one of that name; -1. */
static int find_name(const struct secrets *s, const char *name)
{
    for (size_t i = 0; s && i < s->count; i++)
        if (!strcmp(s->document->secrets[i].name, name))
            return (int)i;
    return -1;
}

/* 0 and *ret; or what refuse() returns. */
static int choose_value(const struct secrets *old, const char *name,
                        const struct secret_value *fresh, size_t fresh_count,
                        struct secret_value *ret, struct secret_error *e)
{
    const struct secret_value *found = NULL;
    int i = find_name(old, name);
    for (size_t k = 0; k < fresh_count; k++) {
        if (strcmp(fresh[k].name, name) != 0)
            continue;
        if (found || i >= 0)
            return refuse(e, name, "there are two values for it; give one");
        found = &fresh[k];
    }
    if (!found && i < 0)
        return refuse(e, name,
                      "it is new, and no value came with it; use glovebox policy set, which reads "
                      "its source");
    *ret = found ? *found : value_at(old, (size_t)i);
    return 0;
}

int secrets_follow(const struct secrets *old, const struct policy_document *document,
                   const struct secret_value *fresh, size_t fresh_count, struct secrets **ret,
                   struct secret_error *e)
{
    struct secret_value values[POLICY_SECRETS_MAX];
    size_t count = document->secret_count, kept = 0;
    for (size_t i = 0; i < count; i++) {
        const char *name = document->secrets[i].name;
        int r = choose_value(old, name, fresh, fresh_count, &values[i], e);
        if (r < 0)
            return r;
        kept += find_name(old, name) >= 0;
    }
    if (fresh_count != count - kept)
        return refuse(e, fresh[0].name, "a value came that is of no new secret; give the new ones");
    if (count > 0)
        return secrets_new(document, values, count, ret, e);
    *ret = NULL;
    return 0;
}

static bool is_searched(const struct secrets *s, size_t i)
{
    return s->document->secrets[i].scrub != POLICY_SCRUB_OFF;
}

bool secrets_cover(const struct secrets *outer, const struct secrets *inner)
{
    for (size_t i = 0; inner && i < inner->count; i++) {
        bool is_covered = !is_searched(inner, i);
        const struct secret_value v = value_at(inner, i);
        for (size_t k = 0; outer && k < outer->count && !is_covered; k++) {
            const struct secret_value o = value_at(outer, k);
            is_covered = is_searched(outer, k) && o.size == v.size &&
                         !memcmp(o.value, v.value, v.size) && !strcmp(o.placeholder, v.placeholder);
        }
        if (!is_covered)
            return false;
    }
    return true;
}

const struct policy_document *secrets_document(const struct secrets *s)
{
    return s->document;
}

const char *secrets_placeholder(const struct secrets *s, size_t i)
{
    return s->placeholders[i];
}
