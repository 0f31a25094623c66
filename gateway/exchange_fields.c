// SPDX-License-Identifier: Apache-2.0
#include "gateway/exchange_fields.h"

#include "lib/http/syntax.h"
#include "lib/secret/secrets.h"

int exchange_fields_init(struct exchange_fields *f, const struct http_field *fields, size_t count,
                         size_t more_count)
{
    *f = (struct exchange_fields){.count = count, .capacity = count + more_count};
    f->list = calloc(f->capacity + 1, sizeof(*f->list));
    f->values = calloc(f->capacity + 1, sizeof(*f->values));
    if (!f->list || !f->values) {
        exchange_fields_done(f);
        return -ENOMEM;
    }
    for (size_t i = 0; i < f->capacity; i++)
        f->values[i] = BUF_INIT(EXCHANGE_VALUE_MAX_BYTES);
    if (count > 0)
        memcpy(f->list, fields, count * sizeof(*fields));
    return 0;
}

void exchange_fields_done(struct exchange_fields *f)
{
    for (size_t i = 0; f->values && i < f->capacity; i++)
        secret_wipe_buf(&f->values[i]);
    free(f->values);
    free(f->list);
    *f = (struct exchange_fields){0};
}

void exchange_fields_remove(struct exchange_fields *f, const char *name)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->count; i++) {
        if (http_names_alike(f->list[i].name, name)) {
            secret_wipe_buf(&f->values[i]);
            continue;
        }
        if (kept != i) {
            f->list[kept] = f->list[i];
            f->values[kept] = f->values[i];
            f->values[i] = BUF_INIT(EXCHANGE_VALUE_MAX_BYTES);
        }
        kept++;
    }
    f->count = kept;
}

int exchange_fields_add(struct exchange_fields *f, const char *name, const char *value)
{
    if (f->count == f->capacity)
        return -ENOMEM;
    f->list[f->count++] = (struct http_field){name, value};
    return 0;
}

void exchange_fields_take(struct exchange_fields *f, size_t i, struct buf *value)
{
    secret_wipe_buf(&f->values[i]);
    f->values[i] = *value;
    f->list[i].value = value->data ? value->data : "";
    *value = BUF_INIT(EXCHANGE_VALUE_MAX_BYTES);
}
