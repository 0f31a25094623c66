// SPDX-License-Identifier: Apache-2.0
/*
 * Values out of answers.
 */
#include "lib/secret/forms.h"
#include "lib/secret/internal.h"
#include "lib/secret/pages.h"

/* What encoders leave as it is: RFC 3986; JavaScript's encodeURIComponent(), Python's quote(). */
static const struct form_percent percents[] = {
    {.kept = ""},
    {.kept = "", .is_lower = true},
    {.kept = "", .has_plus = true},
    {.kept = "!'()*"},
    {.kept = "/"},
};

/* RFC 8259; PHP's json_encode(); Go's json.Marshal(). */
static const struct form_json jsons[] = {
    {.also_escaped = ""},
    {.also_escaped = "", .has_slash = true},
    {.also_escaped = "<>&"},
};

/* Numbers of forms: the value itself, and those of each kind. */
enum {
    AT_RAW,
    AT_BASE64,
    AT_HEX = AT_BASE64 + 2 * 3,
    AT_PERCENT = AT_HEX + 2,
    AT_JSON = AT_PERCENT + ARRAY_SIZE(percents),
    FORM_COUNT = AT_JSON + ARRAY_SIZE(jsons),
};

static size_t write_form(unsigned form, const char *value, size_t size, char *ret)
{
    if (form >= AT_JSON)
        return form_json(value, size, &jsons[form - AT_JSON], ret);
    if (form >= AT_PERCENT)
        return form_percent(value, size, &percents[form - AT_PERCENT], ret);
    if (form >= AT_HEX)
        return form_hex(value, size, form == AT_HEX, ret);
    if (form >= AT_BASE64)
        return form_base64_core(value, size, (form - AT_BASE64) % 3,
                                (form - AT_BASE64) / 3 ? BASE64_URL : BASE64_STANDARD, ret);
    if (ret)
        memcpy(ret, value, size);
    return size;
}

/* All forms of values, and of the placeholders that stand for them. */
struct forms {
    size_t count;
    struct finder_needle *needles;
    struct finder_bytes *replacements;
    char *values; /* secret */
    char *placeholders;
    size_t value_bytes, placeholder_bytes;
};

static void add_forms(struct forms *f, const struct secrets *s, size_t secret)
{
    const struct finder_bytes *value = &s->values[SECRET_RAW][secret];
    const char *placeholder = s->placeholders[secret];
    for (unsigned form = 0; form < FORM_COUNT; form++) {
        char *to = f->values ? f->values + f->value_bytes : NULL;
        char *by = f->values ? f->placeholders + f->placeholder_bytes : NULL;
        size_t size = write_form(form, value->data, value->size, to);
        size_t by_size = write_form(form, placeholder, strlen(placeholder), by);
        f->value_bytes += size;
        f->placeholder_bytes += by_size;
        if (size == 0)
            continue;
        if (to) {
            f->needles[f->count] = (struct finder_needle){{to, size}, (unsigned)secret};
            f->replacements[f->count] = (struct finder_bytes){by, by_size};
        }
        f->count++;
    }
}

static void add_all(struct forms *f, const struct secrets *s)
{
    f->count = f->value_bytes = f->placeholder_bytes = 0;
    for (size_t i = 0; i < s->count; i++)
        if (s->document->secrets[i].scrub != POLICY_SCRUB_OFF)
            add_forms(f, s, i);
}

int secrets_make_scrub(struct secrets *s)
{
    struct forms f = {0};
    add_all(&f, s);
    size_t size = f.value_bytes;
    _cleanup_free_ struct finder_needle *needles = calloc(f.count + 1, sizeof(*needles));
    s->scrub_replacements = calloc(f.count + 1, sizeof(*s->scrub_replacements));
    s->scrub_text = malloc(f.placeholder_bytes + 1);
    char *values = secret_memory_new(size);
    int r = -ENOMEM;
    if (needles && s->scrub_replacements && s->scrub_text && values) {
        f.needles = needles;
        f.replacements = s->scrub_replacements;
        f.values = values;
        f.placeholders = s->scrub_text;
        add_all(&f, s);
        r = finder_new(needles, f.count, &s->scrub);
    }
    secret_memory_free(values, size);
    return r;
}

void secrets_scrub_begin(struct secrets_scrub *c, struct secrets_exchange *x)
{
    const struct secrets *s = x->secrets;
    finder_begin(&c->stream, s ? s->scrub : NULL, s ? s->scrub_replacements : NULL,
                 FINDER_ALL_TAGS);
}

int secrets_scrub_take(struct secrets_scrub *c, const void *data, size_t size, struct buf *out)
{
    return c->stream.finder ? finder_take(&c->stream, data, size, out)
                            : buf_append(out, data, size);
}

int secrets_scrub_end(struct secrets_scrub *c, struct buf *out)
{
    return c->stream.finder ? finder_end(&c->stream, out) : 0;
}

size_t secrets_scrub_longest(const struct secrets *s)
{
    return finder_longest(s->scrub);
}

int secrets_scrub_text(struct secrets_exchange *x, const char *text, struct buf *out)
{
    struct secrets_scrub c;
    size_t before = out->size, size = strlen(text);
    if (!x->secrets)
        return 0;
    finder_begin(&c.stream, x->secrets->scrub, NULL, 0);
    finder_take(&c.stream, text, size, NULL);
    if (!c.stream.seen)
        return 0;
    secrets_scrub_begin(&c, x);
    int r = secrets_scrub_take(&c, text, size, out);
    if (r == 0)
        r = secrets_scrub_end(&c, out);
    if (r < 0)
        secret_cut_buf(out, before);
    return r < 0 ? r : 1;
}
