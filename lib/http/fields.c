// SPDX-License-Identifier: Apache-2.0
#include "lib/http/fields.h"

#include "lib/http/syntax.h"

static const char *const hop_names[] = {
    "Connection",
    "Content-Length",
    "HTTP2-Settings",
    "Host",
    "Keep-Alive",
    "Proxy-Authenticate",
    "Proxy-Authentication-Info",
    "Proxy-Authorization",
    "Proxy-Connection",
    "TE",
    "Transfer-Encoding",
    "Upgrade",
};

static const char *const no_trailer_names[] = {
    "Age",
    "Authentication-Info",
    "Authorization",
    "Cache-Control",
    "Content-Encoding",
    "Content-Range",
    "Content-Type",
    "Cookie",
    "Date",
    "Expect",
    "Expires",
    "Forwarded",
    "If-Match",
    "If-Modified-Since",
    "If-None-Match",
    "If-Range",
    "If-Unmodified-Since",
    "Location",
    "Max-Forwards",
    "Pragma",
    "Range",
    "Retry-After",
    "Set-Cookie",
    "Trailer",
    "Vary",
    "Via",
    "WWW-Authenticate",
    "Warning",
};

static bool is_among(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (http_names_alike(name, names[i]))
            return true;
    }
    return false;
}

bool http_field_is_hop(const char *name)
{
    return is_among(hop_names, ARRAY_SIZE(hop_names), name);
}

bool http_field_is_no_trailer(const char *name)
{
    return http_field_is_hop(name) ||
           is_among(no_trailer_names, ARRAY_SIZE(no_trailer_names), name);
}

const char *http_field_get(const struct http_field *fields, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (http_words_equal(fields[i].name, name))
            return fields[i].value;
    }
    return NULL;
}

const char *http_list_next(const char **list, size_t *ret_size)
{
    if (!*list)
        return NULL;
    const char *start = *list + strspn(*list, " \t");
    const char *end = start + strcspn(start, ",");
    *list = *end ? end + 1 : NULL;
    while (end > start && http_is_blank_byte((unsigned char)end[-1]))
        end--;
    *ret_size = (size_t)(end - start);
    return start;
}

bool http_field_lists(const struct http_field *fields, size_t count, const char *name,
                      const char *element)
{
    for (size_t i = 0; i < count; i++) {
        if (!http_words_equal(fields[i].name, name))
            continue;
        size_t size;
        const char *list = fields[i].value;
        for (const char *one; (one = http_list_next(&list, &size));) {
            if (http_is_word(one, size, element))
                return true;
        }
    }
    return false;
}

size_t http_fields_forward(struct http_field *fields, size_t count)
{
    size_t kept = 0;
    /* Those that a Connection lists first, while all of these still are in their places. */
    for (size_t i = 0; i < count; i++) {
        if (!http_field_is_hop(fields[i].name) &&
            http_field_lists(fields, count, "Connection", fields[i].name))
            fields[i].value = NULL;
    }
    for (size_t i = 0; i < count; i++) {
        if (fields[i].value && !http_field_is_hop(fields[i].name))
            fields[kept++] = fields[i];
    }
    return kept;
}
