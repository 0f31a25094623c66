// SPDX-License-Identifier: Apache-2.0
#include "lib/policy/text.h"

#include "lib/policy/document.h"

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
