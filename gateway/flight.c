// SPDX-License-Identifier: Apache-2.0
#include "gateway/flight.h"

#include "lib/http/head.h"

void flight_init(struct flight *f)
{
    *f = (struct flight){.bytes = BUF_INIT(FLIGHT_MAX_BYTES)};
    tls_hello_init(&f->hello);
}

void flight_done(struct flight *f)
{
    tls_hello_done(&f->hello);
    buf_done(&f->bytes);
}

size_t flight_held_bytes(const struct flight *f)
{
    return f->bytes.capacity + f->hello.message.capacity;
}

/* ---- HTTP ---- */

static const char *const methods[] =
    {
        "GET",    "HEAD",   "POST",      "PUT",       "DELETE", "CONNECT", "OPTIONS",
        "TRACE",  "PATCH",  "PROPFIND",  "PROPPATCH", "MKCOL",  "COPY",    "MOVE",
        "LOCK",   "UNLOCK", "QUERY",     "REPORT",    "SEARCH", "MERGE",   "LINK",
        "UNLINK", "PURGE",  "SUBSCRIBE", "PRI", /* of HTTP/2: told apart by its whole line */
};

/* Whether size bytes are a method, or could become one. Servers there are that know "get", too. */
static bool may_be_method(const char *text, size_t size, bool is_whole)
{
    for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
        if (strncasecmp(text, methods[i], size) == 0 && (!is_whole || !methods[i][size]))
            return true;
    return false;
}

static bool is_method(const char *text, size_t size)
{
    for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
        if (strlen(methods[i]) == size && !memcmp(text, methods[i], size))
            return true;
    return false;
}

static bool is_token_byte(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

/* What servers (Python's) cut a line at. */
static bool is_blank(char c)
{
    return c && strchr(" \t\v\f\x1c\x1d\x1e\x1f\x85\xa0", c);
}

/* In front of a request. */
static bool is_skipped(char c)
{
    return c == '\r' || c == '\n' || is_blank(c);
}

static bool has_word(const char *line, size_t size, const char *word)
{
    size_t length = strlen(word);
    for (size_t i = 0; i + length <= size; i++)
        if (strncasecmp(line + i, word, length) == 0)
            return true;
    return false;
}

/* Nothing that is read as HTTP/1. */
static bool is_preface(const char *line, size_t size)
{
    static const char preface[] = "PRI * HTTP/2.0";
    return size >= sizeof(preface) - 1 && size <= sizeof(preface) &&
           !memcmp(line, preface, sizeof(preface) - 1) &&
           (size < sizeof(preface) || line[size - 1] == '\r');
}

/* Any version, and the protocols that servers of HTTP (Node's) read in the same way. */
static bool has_version(const char *line, size_t size)
{
    return has_word(line, size, "HTTP/") || has_word(line, size, "RTSP/") ||
           has_word(line, size, "ICE/");
}

/* Of a method and a target alone, which is HTTP/0.9; some read fields behind it, too. */
static bool is_simple(const char *line, size_t method_size, size_t size)
{
    size_t at = method_size;
    while (at < size && is_blank(line[at]))
        at++;
    const char *target = line + at;
    while (at < size && !is_blank(line[at]) && line[at] != '\r')
        at++;
    size_t target_size = (size_t)(line + at - target);
    while (at < size && (is_blank(line[at]) || line[at] == '\r'))
        at++;
    return at == size && target_size > 0 && is_method(line, method_size) &&
           (target[0] == '/' || target[0] == '*' || has_word(target, target_size, "://"));
}

/* A line without its end: whether it is worth to wait for that. */
static bool may_be_request(const char *line, size_t method_size, size_t size)
{
    size_t at = method_size;
    while (at < size && is_blank(line[at]))
        at++;
    bool is_target =
        at < size && (line[at] == '/' || line[at] == '*' || line[at] == 'h' || line[at] == 'H');
    return is_target || may_be_method(line, method_size, true);
}

/*
 * Some servers take a request line of any length, so one that is too long for us is a request as
 * well: it is refused, where as another protocol it would pass without being judged.
 */
static enum flight_kind look_at_line(struct flight *f, const char *line, size_t method_size,
                                     size_t size)
{
    const char *end = memchr(line, '\n', MIN(size, (size_t)HTTP_LINE_MAX_BYTES + 1));
    f->is_open = !end;
    if (!end && !may_be_request(line, method_size, size))
        return FLIGHT_OTHER;
    if (!end)
        return size > HTTP_LINE_MAX_BYTES ? FLIGHT_HTTP : FLIGHT_MORE;
    size = (size_t)(end - line);
    if (is_preface(line, size))
        return FLIGHT_HTTP2;
    return has_version(line, size) || is_simple(line, method_size, size) ? FLIGHT_HTTP
                                                                         : FLIGHT_OTHER;
}

/*
 * "METHOD TARGET HTTP/1.x", in any form that a lenient server takes for it. Waiting may not cost
 * other protocols anything, so only what begins as HTTP does is waited for: a known method, or any
 * word before what can be a target.
 */
static enum flight_kind find_request_line(struct flight *f)
{
    const struct buf *b = &f->bytes;
    const char *line = b->data, *end = b->data + b->size;
    while (line < end && is_skipped(*line))
        line++;
    if (line == end)
        return b->size > HTTP_LINE_MAX_BYTES ? FLIGHT_HTTP : FLIGHT_MORE;
    const char *at = line;
    while (at < end && is_token_byte(*at))
        at++;
    size_t method_size = (size_t)(at - line);
    f->is_open = at == end;
    if (at == end)
        return may_be_method(line, method_size, false) ? FLIGHT_MORE : FLIGHT_OTHER;
    if (method_size == 0 || !is_blank(*at))
        return FLIGHT_OTHER;
    return look_at_line(f, line, method_size, (size_t)(end - line));
}

static bool ends_with(const struct flight_line *l, const char *word)
{
    size_t length = strlen(word);
    return strncasecmp(l->last + sizeof(l->last) - length, word, length) == 0;
}

/* Afterwards it may be over. True: a version was found. */
static bool take_byte(struct flight_line *l, char c)
{
    if (l->at == FLIGHT_LINE_BEFORE && is_skipped(c))
        return false;
    if (l->at <= FLIGHT_LINE_WORD) {
        l->at = is_token_byte(c) ? FLIGHT_LINE_WORD
                : is_blank(c)    ? FLIGHT_LINE_REST
                                 : FLIGHT_LINE_OVER;
        return false;
    }
    memmove(l->last, l->last + 1, sizeof(l->last) - 1);
    l->last[sizeof(l->last) - 1] = c;
    if (c == '\n')
        l->at = FLIGHT_LINE_OVER;
    return ends_with(l, "HTTP/") || ends_with(l, "RTSP/") || ends_with(l, "ICE/");
}

enum flight_kind flight_line_take(struct flight_line *l, const char *data, size_t size)
{
    for (size_t i = 0; i < size && l->at != FLIGHT_LINE_OVER; i++)
        if (take_byte(l, data[i]))
            return FLIGHT_HTTP;
    return l->at == FLIGHT_LINE_OVER ? FLIGHT_OTHER : FLIGHT_MORE;
}

/* ---- any ---- */

static enum flight_kind look(struct flight *f)
{
    size_t taken = 0;
    enum tls_hello_progress p =
        tls_hello_take(&f->hello, f->bytes.data + f->seen, f->bytes.size - f->seen, &taken);
    f->seen += taken;
    switch (p) {
    case TLS_HELLO_DONE:
        return FLIGHT_TLS;
    case TLS_HELLO_MALFORMED:
        return FLIGHT_TLS_BROKEN;
    case TLS_HELLO_NOT_TLS:
        return find_request_line(f);
    case TLS_HELLO_MORE:
        break;
    }
    return FLIGHT_MORE;
}

enum flight_kind flight_take(struct flight *f, const void *data, size_t size)
{
    if (buf_append(&f->bytes, data, size) < 0)
        f->kind = FLIGHT_TLS_BROKEN;
    else if (f->kind == FLIGHT_MORE && f->bytes.size > 0)
        f->kind = look(f);
    return f->kind;
}

enum flight_kind flight_end(struct flight *f)
{
    if (f->kind == FLIGHT_MORE)
        f->kind =
            f->seen > 0 && f->hello.progress == TLS_HELLO_MORE ? FLIGHT_TLS_BROKEN : FLIGHT_OTHER;
    return f->kind;
}
