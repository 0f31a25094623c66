// SPDX-License-Identifier: Apache-2.0
/*
 * Values in the place of placeholders, in the head of a request.
 */
#include "lib/secret/forms.h"
#include "lib/secret/internal.h"

#include <strings.h>

static uint64_t find(const struct finder *f, const char *text, size_t size)
{
    struct finder_stream s;
    finder_begin(&s, f, NULL, 0);
    finder_take(&s, text, size, NULL);
    return s.seen;
}

/* 1: out has it; 0: none of active is there. */
static int fill(struct secrets_exchange *x, const char *text, size_t size, enum secret_form form,
                uint64_t active, struct buf *out)
{
    struct finder_stream s;
    size_t before = out->size;
    active &= x->allowed;
    if (!active || !(find(x->secrets->fill, text, size) & active))
        return 0;
    finder_begin(&s, x->secrets->fill, x->secrets->values[form], active);
    int r = finder_take(&s, text, size, out);
    if (r == 0)
        r = finder_end(&s, out);
    if (r == 0 && out->size - before > SECRET_FIELD_MAX_BYTES)
        r = -E2BIG;
    if (r < 0) {
        secret_cut_buf(out, before);
        return r;
    }
    x->used |= s.seen & active;
    return 1;
}

/* The decoded credentials of "Basic" (RFC 7617), NUL behind them; NULL: it has none. */
static char *decode_basic(const char *name, const char *value, size_t *ret_size)
{
    if (strcasecmp(name, "authorization") || strncasecmp(value, "basic ", 6))
        return NULL;
    value += 6 + strspn(value + 6, " ");
    char *decoded = malloc(strlen(value) + 1);
    if (!decoded || !form_base64_decode(value, strlen(value), decoded, ret_size)) {
        free(decoded);
        return NULL;
    }
    return decoded;
}

void secrets_check_field(struct secrets_exchange *x, const char *name, const char *value)
{
    size_t size;
    secrets_check(x, name, strlen(name));
    secrets_check(x, value, strlen(value));
    if (!x->secrets)
        return;
    _cleanup_free_ char *decoded = decode_basic(name, value, &size);
    if (decoded)
        secrets_check(x, decoded, size);
}

static int append_basic(const struct buf *credentials, struct buf *out)
{
    size_t before = out->size;
    size_t size = form_base64(credentials->data, credentials->size, BASE64_STANDARD, NULL);
    char *text = malloc(size + 1);
    if (!text)
        return -ENOMEM;
    form_base64(credentials->data, credentials->size, BASE64_STANDARD, text);
    int r = size > SECRET_FIELD_MAX_BYTES ? -E2BIG : buf_append_str(out, "Basic ");
    if (r == 0)
        r = buf_append(out, text, size);
    if (r < 0)
        secret_cut_buf(out, before);
    explicit_bzero(text, size);
    free(text);
    return r < 0 ? r : 1;
}

static int fill_basic(struct secrets_exchange *x, const char *name, const char *value,
                      struct buf *out)
{
    size_t size;
    _cleanup_free_ char *decoded = decode_basic(name, value, &size);
    if (!decoded)
        return 0;
    struct buf filled = BUF_INIT(SECRET_FIELD_MAX_BYTES);
    int r = fill(x, decoded, size, SECRET_RAW, x->secrets->in_basic, &filled);
    if (r > 0)
        r = append_basic(&filled, out);
    secret_wipe_buf(&filled);
    return r;
}

int secrets_fill_field(struct secrets_exchange *x, const char *name, const char *value,
                       struct buf *out)
{
    if (!x->secrets)
        return 0;
    int r = fill_basic(x, name, value, out);
    return r ? r : fill(x, value, strlen(value), SECRET_RAW, x->secrets->in_headers, out);
}

int secrets_fill_query(struct secrets_exchange *x, const char *query, struct buf *out)
{
    if (!x->secrets)
        return 0;
    return fill(x, query, strlen(query), SECRET_PERCENT, x->secrets->in_query, out);
}

static size_t find_secret(const struct secrets *s, const char *name, size_t size)
{
    size_t i = 0;
    while (s && i < s->count &&
           (strlen(s->document->secrets[i].name) != size ||
            memcmp(s->document->secrets[i].name, name, size)))
        i++;
    return i;
}

/* The secret NAME; size is that of the name. */
static int append_secret(struct secrets_exchange *x, const char *name, size_t size, struct buf *out)
{
    size_t i = find_secret(x->secrets, name, size);
    if (!x->secrets || i == x->secrets->count)
        return -EACCES;
    uint64_t bit = UINT64_C(1) << i;
    if (!(x->allowed & bit)) {
        x->violated |= bit;
        return -EACCES;
    }
    x->used |= bit;
    const struct finder_bytes *value = &x->secrets->values[SECRET_RAW][i];
    return buf_append(out, value->data, value->size);
}

int secrets_expand(struct secrets_exchange *x, const char *value, struct buf *out)
{
    static const char start[] = "${secret.";
    size_t before = out->size;
    const char *at;
    int r = 0;
    while (r == 0 && (at = strstr(value, start))) {
        const char *name = at + strlen(start), *end = strchrnul(name, '}');
        r = buf_append(out, value, (size_t)(at - value));
        if (r == 0)
            r = append_secret(x, name, (size_t)(end - name), out);
        value = *end ? end + 1 : end;
    }
    if (r == 0)
        r = buf_append_str(out, value);
    if (r == 0 && out->size - before > SECRET_FIELD_MAX_BYTES)
        r = -E2BIG;
    if (r < 0)
        secret_cut_buf(out, before);
    return r;
}
