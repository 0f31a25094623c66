// SPDX-License-Identifier: Apache-2.0
/*
 * What a struct secrets holds. Not for other rooms.
 */
#pragma once

#include "lib/secret/secrets.h"

/* How a value is written in the place of a placeholder. */
enum secret_form { SECRET_RAW, SECRET_PERCENT, SECRET_FORM_FIELD, SECRET_JSON, SECRET_FORMS };

struct secrets {
    unsigned references;
    const struct policy_document *document;
    size_t count;
    uint64_t in_headers, in_basic, in_query, in_body; /* secrets as bits */
    char *placeholders[POLICY_SECRETS_MAX];
    struct finder_bytes values[SECRET_FORMS][POLICY_SECRETS_MAX]; /* in the memory below */
    char *memory;
    size_t memory_bytes;
    struct finder *fill;  /* needle i is placeholder i, its tag too */
    struct finder *watch; /* placeholders, as they are and in base 64; the tag is the secret */
    struct finder *scrub; /* values in all forms */
    struct finder_bytes *scrub_replacements; /* by needle; they are in scrub_text */
    char *scrub_text;
};

/* Makes s->scrub from the values. 0, -ENOMEM. */
int secrets_make_scrub(struct secrets *s);

/* Whether it is a word that can stand for a secret: its size and characters. */
bool secrets_is_placeholder(const char *text);

void secrets_watch_begin(struct secrets_watch *w, const struct secrets *s);
void secrets_watch_take(struct secrets_watch *w, const void *data, size_t size);
/* The secrets whose placeholders were there, as bits. */
uint64_t secrets_watch_seen(const struct secrets_watch *w);

/* Notes as violations those of seen that may not go with this request. */
void secrets_note_seen(struct secrets_exchange *x, uint64_t seen);

/* Makes b as it was when it had so many bytes; what is dropped is wiped. */
void secret_cut_buf(struct buf *b, size_t size);
