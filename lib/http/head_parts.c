// SPDX-License-Identifier: Apache-2.0
#include "lib/http/head_parts.h"

#include "lib/http/syntax.h"

enum http_error http_field_line(struct http_lines *l)
{
    char *line = l->text.data + l->line_at;
    size_t size = l->text.size - l->line_at, name_size = 0;
    if (http_is_blank_byte((unsigned char)line[0]))
        return HTTP_ERROR_FIELD_FOLDED;
    while (name_size < size && http_is_token_byte((unsigned char)line[name_size]))
        name_size++;
    if (name_size > 0 && name_size < size && http_is_blank_byte((unsigned char)line[name_size]))
        return HTTP_ERROR_FIELD_BLANK;
    if (name_size == 0 || name_size == size || line[name_size] != ':')
        return HTTP_ERROR_FIELD;
    line[name_size] = '\0';
    size_t start = name_size + 1;
    while (start < size && http_is_blank_byte((unsigned char)line[start]))
        start++;
    while (size > start && http_is_blank_byte((unsigned char)line[size - 1]))
        size--;
    /* The value goes to right behind the name, so that the fields can be walked. */
    memmove(line + name_size + 1, line + start, size - start);
    l->text.size = l->line_at + name_size + 1 + (size - start);
    if (buf_append(&l->text, "", 1) < 0)
        return HTTP_ERROR_MEMORY;
    http_lines_keep(l);
    return HTTP_ERROR_NONE;
}

enum http_error http_field_next(struct http_lines *l, size_t *count, size_t most)
{
    return ++*count > most ? HTTP_ERROR_FIELDS_MANY : http_field_line(l);
}

struct http_field *http_field_table(const char *text, size_t count)
{
    struct http_field *table = calloc(count + 1, sizeof(*table));
    if (!table)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        table[i].name = text;
        text += strlen(text) + 1;
        table[i].value = text;
        text += strlen(text) + 1;
    }
    return table;
}

enum http_error http_version_parse(const char *text, size_t size, enum http_version *ret)
{
    /* HTTP-version: the name in upper case, one digit, a dot, one digit. */
    if (size != 8 || memcmp(text, "HTTP/", 5) != 0 || text[5] < '0' || text[5] > '9' ||
        text[6] != '.' || text[7] < '0' || text[7] > '9')
        return HTTP_ERROR_START_LINE;
    if (text[5] != '1' || text[7] > '1')
        return HTTP_ERROR_VERSION;
    *ret = text[7] == '1' ? HTTP_1_1 : HTTP_1_0;
    return HTTP_ERROR_NONE;
}

enum http_error http_options_read(const struct http_field *fields, size_t count,
                                  struct http_options *ret)
{
    struct http_options options = {0};
    unsigned seen = 0;
    for (size_t i = 0; i < count; i++) {
        if (!http_words_equal(fields[i].name, "Connection"))
            continue;
        size_t size;
        const char *list = fields[i].value;
        for (const char *one; (one = http_list_next(&list, &size));) {
            /* Each is compared with each field, so there can't be any number of them. */
            if (++seen > HTTP_OPTIONS_MAX || (size > 0 && !http_token_is_valid(one, size)))
                return HTTP_ERROR_CONNECTION;
            options.closes |= http_is_word(one, size, "close");
            options.upgrades |= http_is_word(one, size, "upgrade");
        }
    }
    *ret = options;
    return HTTP_ERROR_NONE;
}
