// SPDX-License-Identifier: Apache-2.0
/*
 * Values in the place of placeholders, in the content of a request.
 */
#include "lib/secret/internal.h"

#include <strings.h>

/* How a value is written in content of that type (RFC 9110, section 8.3.1). */
static enum secret_form form_of(const char *content_type)
{
    static const char form[] = "application/x-www-form-urlencoded";
    if (!content_type)
        return SECRET_RAW;
    size_t size = strcspn(content_type, "; \t");
    if (size == strlen(form) && !strncasecmp(content_type, form, size))
        return SECRET_FORM_FIELD;
    bool is_json = size > 5 && (content_type[size - 5] == '/' || content_type[size - 5] == '+') &&
                   !strncasecmp(content_type + size - 4, "json", 4);
    return is_json ? SECRET_JSON : SECRET_RAW;
}

bool secrets_body_begin(struct secrets_body *b, struct secrets_exchange *x,
                        const char *content_type, bool is_encoded)
{
    const struct secrets *s = x->secrets;
    *b = (struct secrets_body){.exchange = x};
    if (!s)
        return false;
    uint64_t active = is_encoded ? 0 : x->allowed & s->in_body;
    finder_begin(&b->fill, s->fill, s->values[form_of(content_type)], active);
    secrets_watch_begin(&b->watch, s);
    return active != 0;
}

/* Appends what may be sent; more may come unless is_last. */
static int take(struct secrets_body *b, const void *data, size_t size, bool is_last,
                struct buf *out)
{
    struct secrets_exchange *x = b->exchange;
    size_t before = out->size;
    struct secrets_violation violation;
    secrets_watch_take(&b->watch, data, size);
    secrets_note_seen(x, secrets_watch_seen(&b->watch));
    if (secrets_get_violation(x, &violation))
        return -EACCES;
    int r = finder_take(&b->fill, data, size, out);
    if (r == 0 && is_last)
        r = finder_end(&b->fill, out);
    x->used |= b->fill.seen & b->fill.active;
    if (r < 0)
        secret_cut_buf(out, before);
    return r;
}

int secrets_body_take(struct secrets_body *b, const void *data, size_t size, struct buf *out)
{
    return b->exchange->secrets ? take(b, data, size, false, out) : buf_append(out, data, size);
}

int secrets_body_end(struct secrets_body *b, struct buf *out)
{
    return b->exchange->secrets ? take(b, "", 0, true, out) : 0;
}
