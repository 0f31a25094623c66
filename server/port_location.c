// SPDX-License-Identifier: Apache-2.0
#include "server/port_location.h"

#include "lib/base/buf.h"
#include "lib/http/head.h"
#include "lib/http/syntax.h"

/* Nothing of a head is longer. */
#define LOCATION_MAX_BYTES (2 * HTTP_HEAD_MAX_BYTES)

bool port_location_is_field(const char *name)
{
    return http_words_equal(name, "Location") || http_words_equal(name, "Content-Location");
}

/* As browsers see it: https://url.spec.whatwg.org/#url-parsing */
static bool is_slash(char c)
{
    return c == '/' || c == '\\';
}

/* 1 of ".", 2 of "..", 0 of all else. */
static int count_dots(const char *at, const char *end)
{
    int dots = 0;
    for (; at < end; dots++) {
        if (*at == '.')
            at++;
        else if (end - at >= 3 && at[0] == '%' && at[1] == '2' && (at[2] | 0x20) == 'e')
            at += 3;
        else
            return 0;
    }
    return dots <= 2 ? dots : 0;
}

static void remove_last(struct buf *path)
{
    while (path->size > 0 && path->data[--path->size] != '/')
        ;
}

/* Appends the segments of a path to one, without dots: RFC 3986, 5.2.4. Each begins with a slash,
 * but for the first one of a relative path. */
static void append_segments(struct buf *path, const char *at, const char *end)
{
    while (at < end) {
        at += is_slash(*at);
        const char *stop = at;
        while (stop < end && !is_slash(*stop))
            stop++;
        int dots = count_dots(at, stop);
        if (dots == 2)
            remove_last(path);
        if (dots == 0 || stop == end)
            buf_append(path, "/", 1);
        if (dots == 0)
            buf_append(path, at, (size_t)(stop - at));
        at = stop;
    }
}

/* That of the request, without what stands behind its last slash. */
static void append_folder(struct buf *path, const char *of)
{
    const char *end = of + strcspn(of, "?#"), *last = end;
    while (last > of && !is_slash(last[-1]))
        last--;
    if (last > of)
        append_segments(path, of, last - 1);
}

static bool is_below(const char *path, const char *prefix)
{
    size_t size = strlen(prefix);
    return !strncmp(path, prefix, size) && (path[size] == '/' || path[size] == '\0');
}

static bool is_own(const struct http_authority *a, const struct port_place *p, uint16_t usual)
{
    const struct http_authority own[] = {
        p->asked, p->told, {"localhost", p->port}, {"127.0.0.1", p->port}};
    for (size_t i = 0; i < ARRAY_SIZE(own); i++)
        if (own[i].host && http_authority_equal(&own[i], a, usual))
            return true;
    return false;
}

/* Whether the authority at the start of text is the program's; how long it is. */
static bool read_authority(const char *text, const struct port_place *p, uint16_t usual,
                           size_t *ret_size)
{
    char host[HTTP_HOST_MAX_BYTES + 8];
    size_t size = strcspn(text, "/\\?#"), host_size;
    struct http_authority a = {.host = host};
    if (size >= sizeof(host) || !http_authority_parse(text, size, &host_size, &a.port))
        return false;
    memcpy(host, text, host_size);
    host[host_size] = '\0';
    *ret_size = size;
    return is_own(&a, p, usual);
}

/* What follows scheme and authority; NULL: it leads elsewhere. */
static const char *skip_origin(const char *text, const struct port_place *p, bool *ret_is_whole)
{
    size_t scheme = strcspn(text, ":/\\?#"), size;
    uint16_t usual = http_scheme_port("http");
    if (text[scheme] == ':') {
        if (http_is_word(text, scheme, "https"))
            usual = http_scheme_port("https");
        else if (!http_is_word(text, scheme, "http"))
            return NULL;
        text += scheme + 1;
    }
    *ret_is_whole = is_slash(text[0]) && is_slash(text[1]);
    if (!*ret_is_whole)
        return text;
    return read_authority(text + 2, p, usual, &size) ? text + 2 + size : NULL;
}

/* rest: a path, of which is_whole says that it begins at the root. */
static int write_location(const char *rest, bool is_whole, const struct port_place *p, char **ret)
{
    struct buf path = BUF_INIT(LOCATION_MAX_BYTES), all = BUF_INIT(LOCATION_MAX_BYTES);
    const char *end = rest + strcspn(rest, "?#");
    if (!is_whole && !is_slash(rest[0]))
        append_folder(&path, p->path);
    append_segments(&path, rest, end);
    if (path.size == 0)
        buf_append(&path, "/", 1);
    buf_append(&path, "", 1);
    if (!path.failed && !is_below(path.data, p->prefix))
        buf_append_str(&all, p->prefix);
    buf_append_str(&all, path.failed ? "" : path.data);
    buf_append_str(&all, end);
    bool is_failed = path.failed || all.failed;
    if (is_failed)
        buf_done(&all);
    else
        *ret = all.data;
    buf_done(&path);
    return is_failed ? -ENOMEM : 1;
}

/* Who follows it leaves them out before all else. */
static void remove_tabs(char *text)
{
    size_t size = 0;
    for (const char *at = text; *at; at++)
        if (*at != '\t')
            text[size++] = *at;
    text[size] = '\0';
}

int port_location_read(const char *value, const struct port_place *p, char **ret)
{
    _cleanup_free_ char *text = strdup(value);
    bool is_whole = false;
    if (!text)
        return -ENOMEM;
    remove_tabs(text);
    const char *rest = skip_origin(text, p, &is_whole);
    bool is_path = rest && *rest && *rest != '?' && *rest != '#';
    return is_path || (rest && is_whole) ? write_location(rest, is_whole, p, ret) : 0;
}
