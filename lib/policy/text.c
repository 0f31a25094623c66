// SPDX-License-Identifier: Apache-2.0
#include "lib/policy/text.h"

#include "lib/policy/document.h"

#include <strings.h>

/*
 * The pieces between the stars, each at the first place where it fits: a later place could only
 * leave less for the ones behind. So each byte of the text is looked at once.
 */
bool policy_glob_matches(const char *glob, const char *text, size_t size)
{
    const char *star = strchr(glob, '*');
    if (!star)
        return strlen(glob) == size && !memcmp(glob, text, size);
    size_t piece = (size_t)(star - glob);
    if (piece > size || memcmp(glob, text, piece))
        return false;
    text += piece;
    size -= piece;
    for (glob = star + 1; (star = strchr(glob, '*')); glob = star + 1) {
        piece = (size_t)(star - glob);
        const char *found = piece ? memmem(text, size, glob, piece) : text;
        if (!found)
            return false;
        size -= (size_t)(found - text) + piece;
        text = found + piece;
    }
    piece = strlen(glob);
    return piece <= size && !memcmp(glob, text + size - piece, piece);
}

bool policy_text_matches(const struct policy_text *t, const char *text, size_t size)
{
    size_t length = strlen(t->text);
    switch (t->kind) {
    case POLICY_TEXT_EXACT:
        return length == size && !memcmp(t->text, text, size);
    case POLICY_TEXT_PREFIX:
        return length <= size && !memcmp(t->text, text, length);
    case POLICY_TEXT_GLOB:
        return policy_glob_matches(t->text, text, size);
    }
    return false;
}

static int hex_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "%XX" that servers may take for something else than it is: RFC 3986, section 6.2.2.2, and what
 * would end or divide the path. */
static bool is_plain_escape(const char *escape)
{
    int high = hex_of(escape[1]), low = high < 0 ? -1 : hex_of(escape[2]);
    int code = low < 0 ? 0 : 16 * high + low;
    bool is_unreserved = (code >= '0' && code <= '9') || (code >= 'a' && code <= 'z') ||
                         (code >= 'A' && code <= 'Z') || (code && strchr("-._~", code));
    return code && code != '/' && code != '\\' && !is_unreserved;
}

bool policy_path_is_plain(const char *path)
{
    for (const char *c = path; *c; c++) {
        if (*c == '\\' || (*c == '%' && !is_plain_escape(c)))
            return false;
        if (*c != '/')
            continue;
        /* Some servers end a segment's name at its parameters: "..;a=b" is ".." to them. */
        size_t size = strcspn(c + 1, "/;");
        bool is_dots = (size == 1 || size == 2) && !memcmp(c + 1, "..", size);
        if (is_dots || (size == 0 && c[1]))
            return false;
    }
    return true;
}

static bool has_method(const struct policy_http *http, const char *method)
{
    for (size_t i = 0; i < http->method_count; i++)
        if (!strcmp(http->methods[i], method))
            return true;
    return http->method_count == 0;
}

/* One of the fields "name=value" between '&', as they stand: nothing is decoded. */
static bool has_query(const struct policy_named_text *wanted, const char *query)
{
    size_t name_size = strlen(wanted->name);
    for (const char *end; query; query = *end ? end + 1 : NULL) {
        end = strchrnul(query, '&');
        const char *equals = memchr(query, '=', (size_t)(end - query));
        size_t size = (size_t)((equals ? equals : end) - query);
        const char *value = equals ? equals + 1 : end;
        if (size == name_size && !memcmp(query, wanted->name, size) &&
            policy_text_matches(&wanted->value, value, (size_t)(end - value)))
            return true;
    }
    return false;
}

static bool has_header(const struct policy_named_text *wanted, const struct policy_request *request)
{
    for (size_t i = 0; i < request->field_count; i++) {
        const struct policy_field *field = &request->fields[i];
        if (!strcasecmp(field->name, wanted->name) &&
            policy_text_matches(&wanted->value, field->value, strlen(field->value)))
            return true;
    }
    return false;
}

bool policy_http_matches(const struct policy_http *http, const struct policy_request *request)
{
    if (!http)
        return true;
    if (!request->method || !request->path || !has_method(http, request->method))
        return false;
    if (http->has_path && (!policy_path_is_plain(request->path) ||
                           !policy_text_matches(&http->path, request->path, strlen(request->path))))
        return false;
    for (size_t i = 0; i < http->query_count; i++)
        if (!has_query(&http->queries[i], request->query))
            return false;
    for (size_t i = 0; i < http->header_count; i++)
        if (!has_header(&http->headers[i], request))
            return false;
    return true;
}
