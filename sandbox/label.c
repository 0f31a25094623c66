// SPDX-License-Identifier: Apache-2.0
#include "sandbox/label.h"

#include "lib/text/utf8.h"

#include <ctype.h>
#include <stdio.h>

bool label_is_key(const char *key, size_t size)
{
    bool good = size > 0 && size <= LABEL_KEY_MAX_BYTES;
    for (size_t i = 0; good && i < size; i++)
        good = isalnum((unsigned char)key[i]) || (i > 0 && strchr("._-/", key[i]));
    return good;
}

static bool is_value(const char *value)
{
    size_t size = strlen(value);
    if (size > LABEL_VALUE_MAX_BYTES)
        return false;
    while (size > 0) {
        uint32_t code;
        int n = text_utf8_decode(value, size, &code);
        if (n <= 0 || code < 0x20 || (code >= 0x7f && code < 0xa0))
            return false;
        value += n;
        size -= (size_t)n;
    }
    return true;
}

static bool is_label(const char *word, size_t key_size)
{
    return label_is_key(word, key_size) && (!word[key_size] || is_value(word + key_size + 1));
}

int labels_add(struct strv *labels, const char *word, struct sandbox_error *e)
{
    size_t size = strcspn(word, "=");
    _cleanup_free_ char *key = strndup(word, size);
    if (!label_is_key(word, size))
        return sandbox_error_set(e, -EINVAL,
                                 "not a key; use 1 to %d letters, digits, '.', '_', '-' and '/', "
                                 "the first a letter or digit",
                                 LABEL_KEY_MAX_BYTES);
    if (!is_label(word, size))
        return sandbox_error_set(e, -EINVAL,
                                 "not a value; use at most %d bytes of UTF-8 without control "
                                 "characters",
                                 LABEL_VALUE_MAX_BYTES);
    if (!key || (labels->count >= LABELS_MAX && !strv_env_get(labels, key)))
        return sandbox_error_set(e, key ? -E2BIG : -ENOMEM, "more than %d labels; leave some out",
                                 LABELS_MAX);
    return strv_env_set(labels, key, word[size] ? word + size + 1 : "") < 0
               ? sandbox_error_set(e, -ENOMEM, "out of memory; free some")
               : 0;
}

void labels_write(const struct strv *labels, char ret[static LABELS_TEXT_MAX_BYTES])
{
    ret[0] = '\0';
    for (size_t i = 0; i < labels->count; i++)
        labels_append(ret, labels->items[i]);
}

void labels_append(char text[static LABELS_TEXT_MAX_BYTES], const char *word)
{
    size_t used = strlen(text), size = strlen(word), key = strcspn(word, "=");
    if (word[key] != '=' || !is_label(word, key) || size + 1 >= LABELS_TEXT_MAX_BYTES - used)
        return;
    memcpy(text + used, word, size);
    strcpy(text + used + size, "\n");
}

const char *labels_find(const char *text, const char *key, size_t *ret_size)
{
    size_t size = strlen(key);
    for (const char *at = text; *at; at += strcspn(at, "\n") + 1)
        if (!strncmp(at, key, size) && at[size] == '=') {
            *ret_size = strcspn(at, "\n") - size - 1;
            return at + size + 1;
        }
    return NULL;
}

bool labels_match(const char *text, const char *filter)
{
    char key[LABEL_KEY_MAX_BYTES + 1];
    size_t size = strcspn(filter, "="), value_size;
    if (size >= sizeof(key))
        return false;
    memcpy(key, filter, size);
    key[size] = '\0';
    const char *value = labels_find(text, key, &value_size);
    return value && (!filter[size] || (strlen(filter + size + 1) == value_size &&
                                       !memcmp(filter + size + 1, value, value_size)));
}
