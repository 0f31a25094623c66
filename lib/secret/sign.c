// SPDX-License-Identifier: Apache-2.0
/*
 * The secrets that a request is signed with.
 */
#include "lib/secret/internal.h"
#include "lib/secret/sigv4.h"

/* Its place; -1: none is meant. Its value is among all secrets, as the reader has checked. */
static int find_place(const struct secrets *s, const char *name)
{
    for (size_t i = 0; name && i < s->count; i++)
        if (!strcmp(s->document->secrets[i].name, name))
            return (int)i;
    return -1;
}

static uint64_t bit(int place)
{
    return place < 0 ? 0 : UINT64_C(1) << place;
}

static bool is_placeholder(const struct secrets *s, int place, const char *text, size_t size)
{
    return place >= 0 && strlen(s->placeholders[place]) == size &&
           !memcmp(s->placeholders[place], text, size);
}

int secrets_find_keys(struct secrets_exchange *x, const char *id, size_t size,
                      struct sigv4_keys *ret)
{
    const struct secrets *s = x->secrets;
    uint64_t refused = 0;
    for (size_t i = 0; s && i < s->count; i++) {
        const struct policy_secret *p = &s->document->secrets[i];
        int id_place = find_place(s, p->aws.access_key_id_ref);
        int token_place = find_place(s, p->aws.session_token_ref);
        const struct finder_bytes *values = s->values[SECRET_RAW];
        uint64_t filled = bit(id_place) | bit(token_place), key = bit((int)i);
        if (p->use != POLICY_SECRET_SIGNS || !is_placeholder(s, id_place, id, size))
            continue;
        if (!(x->signs & key) || (x->allowed & filled) != filled) {
            refused |= key;
            continue;
        }
        *ret = (struct sigv4_keys){.id = values[id_place].data,
                                   .id_size = values[id_place].size,
                                   .key = values[i].data,
                                   .key_size = values[i].size};
        if (token_place >= 0) {
            ret->token = values[token_place].data;
            ret->token_size = values[token_place].size;
        }
        x->used |= key | filled;
        return 1;
    }
    x->violated |= refused;
    return refused ? -EACCES : 0;
}
