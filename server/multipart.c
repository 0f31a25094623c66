// SPDX-License-Identifier: Apache-2.0
#include "server/multipart.h"

#include <stdio.h>
#include <strings.h>

/* ---- parameters of a field ---- */

static bool is_token_end(char c)
{
    return c == ';' || c == ' ' || c == '\t' || c == '\0' || c == '"' || c == '=';
}

/*
 * The next parameter of *at ("; name=value" or "; name="value""): 1, and both
 * appended; 0: there is none; -EINVAL.
 */
static int next_parameter(const char **at, struct buf *name, struct buf *value)
{
    const char *c = *at;
    buf_reset(name);
    buf_reset(value);
    c += strspn(c, " \t");
    if (!*c)
        return 0;
    if (*c++ != ';')
        return -EINVAL;
    c += strspn(c, " \t");
    if (!*c)
        return 0;
    const char *start = c;
    while (!is_token_end(*c))
        c++;
    buf_append(name, start, (size_t)(c - start));
    if (*c++ != '=' || name->size == 0)
        return -EINVAL;
    if (*c != '"') {
        start = c;
        while (!is_token_end(*c))
            c++;
        buf_append(value, start, (size_t)(c - start));
    } else {
        for (c++; *c != '"'; c++) {
            if (*c == '\\' && (c[1] == '"' || c[1] == '\\'))
                c++;
            if (!*c)
                return -EINVAL;
            buf_append(value, c, 1);
        }
        c++;
    }
    *at = c;
    return name->failed || value->failed ? -ENOMEM : 1;
}

static const char *text_of(const struct buf *b)
{
    return b->data ? b->data : "";
}

static bool is_boundary(const struct buf *b)
{
    static const char allowed[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "'()+_,-./:=? ";
    return b->size > 0 && b->size <= MULTIPART_BOUNDARY_MAX &&
           strspn(text_of(b), allowed) == b->size && b->data[b->size - 1] != ' ';
}

static int set_boundary(struct multipart *m, const struct buf *value)
{
    if (m->delimiter_size || !is_boundary(value))
        return -EINVAL;
    m->delimiter_size =
        (size_t)snprintf(m->delimiter, sizeof(m->delimiter), "\r\n--%s", text_of(value));
    return 0;
}

int multipart_init(struct multipart *m, const char *content_type)
{
    static const char type[] = "multipart/form-data";
    struct buf name = BUF_INIT(1024), value = BUF_INIT(1024);
    /* A body begins with a delimiter whose line's beginning is that of the body.
     */
    *m = (struct multipart){.matched = 2, .head = BUF_INIT(MULTIPART_HEAD_MAX)};
    if (strncasecmp(content_type, type, strlen(type)) != 0)
        return -EINVAL;
    const char *at = content_type + strlen(type);
    int r;
    while ((r = next_parameter(&at, &name, &value)) > 0) {
        r = strcasecmp(text_of(&name), "boundary") ? 0 : set_boundary(m, &value);
        if (r < 0)
            break;
    }
    buf_done(&name);
    buf_done(&value);
    return r < 0 ? r : m->delimiter_size ? 0 : -EINVAL;
}

void multipart_done(struct multipart *m)
{
    buf_done(&m->head);
    free(m->name);
    free(m->filename);
    m->name = m->filename = NULL;
}

bool multipart_is_over(const struct multipart *m)
{
    return m->state == MULTIPART_OVER;
}

/* ---- the head of a part ---- */

static int set_once(char **field, const struct buf *value)
{
    if (*field)
        return -EINVAL;
    *field = strdup(text_of(value));
    return *field ? 0 : -ENOMEM;
}

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c | 0x20 : c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* filename*=UTF-8''..., RFC 8187. */
static int set_extended(char **field, const struct buf *value)
{
    static const char charset[] = "UTF-8''";
    struct buf text = BUF_INIT(MULTIPART_HEAD_MAX);
    if (strncasecmp(text_of(value), charset, strlen(charset)) != 0)
        return -EINVAL;
    int r = 0;
    for (const char *at = value->data + strlen(charset); r == 0 && *at; at++) {
        char c = *at;
        if (c == '%') {
            int high = hex_digit(at[1]), low = high < 0 ? -1 : hex_digit(at[2]);
            c = low < 0 ? '\0' : (char)(high << 4 | low);
            at += low < 0 ? 0 : 2;
        }
        r = c == '\0' ? -EINVAL : buf_append(&text, &c, 1);
    }
    if (r == 0)
        r = set_once(field, &text);
    buf_done(&text);
    return r;
}

static int take_disposition(struct multipart *m, const char *at)
{
    static const char type[] = "form-data";
    struct buf name = BUF_INIT(1024), value = BUF_INIT(MULTIPART_HEAD_MAX);
    char *extended = NULL;
    at += strspn(at, " \t");
    if (m->name || strncasecmp(at, type, strlen(type)) != 0)
        return -EINVAL;
    at += strlen(type);
    int r;
    while ((r = next_parameter(&at, &name, &value)) > 0) {
        if (!strcasecmp(text_of(&name), "name"))
            r = set_once(&m->name, &value);
        else if (!strcasecmp(text_of(&name), "filename"))
            r = set_once(&m->filename, &value);
        else if (!strcasecmp(text_of(&name), "filename*"))
            r = set_extended(&extended, &value);
        if (r < 0)
            break;
    }
    if (extended) { /* it wins, wherever it stands */
        free(m->filename);
        m->filename = extended;
    }
    buf_done(&name);
    buf_done(&value);
    return r;
}

static int take_head_line(struct multipart *m, char *line)
{
    char *colon = strchr(line, ':');
    if (!colon || colon == line)
        return -EINVAL;
    *colon = '\0';
    if (strpbrk(line, " \t"))
        return -EINVAL;
    return strcasecmp(line, "Content-Disposition") ? 0 : take_disposition(m, colon + 1);
}

/* All lines of a head, with the empty one at their end. */
static int take_head(struct multipart *m)
{
    char *line = m->head.data;
    if (memchr(line, '\0', m->head.size))
        return -EINVAL;
    free(m->name);
    free(m->filename);
    m->name = m->filename = NULL;
    for (char *end; (end = strstr(line, "\r\n")) && end != line; line = end + 2) {
        *end = '\0';
        int r = take_head_line(m, line);
        if (r < 0)
            return r;
    }
    return m->name ? 0 : -EINVAL;
}

static bool is_head_whole(const struct buf *b)
{
    return (b->size == 2 && !memcmp(b->data, "\r\n", 2)) ||
           (b->size >= 4 && !memcmp(b->data + b->size - 4, "\r\n\r\n", 4));
}

static enum multipart_event read_head(struct multipart *m, const char **at, size_t *size)
{
    while (*size > 0) {
        if (buf_append(&m->head, *at, 1) < 0)
            return MULTIPART_BAD;
        ++*at;
        --*size;
        if (!is_head_whole(&m->head))
            continue;
        if (take_head(m) < 0)
            return MULTIPART_BAD;
        buf_reset(&m->head);
        m->state = MULTIPART_BODY;
        m->is_in_part = true;
        return MULTIPART_BEGIN;
    }
    return MULTIPART_MORE;
}

/* ---- bodies and delimiters ---- */

/* Behind a delimiter: "--", or blanks and the end of the line. */
static enum multipart_event read_after(struct multipart *m, const char **at, size_t *size)
{
    while (*size > 0) {
        char c = **at;
        ++*at;
        --*size;
        if (m->after_size == 0 && (c == ' ' || c == '\t'))
            continue;
        m->after[m->after_size++] = c;
        if (m->after_size < 2)
            continue;
        m->after_size = 0;
        if (!memcmp(m->after, "--", 2))
            m->state = MULTIPART_OVER;
        else if (!memcmp(m->after, "\r\n", 2))
            m->state = MULTIPART_HEAD;
        else
            return MULTIPART_BAD;
        return MULTIPART_MORE;
    }
    return MULTIPART_MORE;
}

/* What was taken for the beginning of a delimiter and is none: its bytes are
 * those of one. */
static enum multipart_event give_owed(struct multipart *m, size_t data_max, const char **ret,
                                      size_t *ret_size)
{
    *ret = m->delimiter + m->owed_at;
    *ret_size = MIN(m->owed - m->owed_at, data_max);
    m->owed_at += *ret_size;
    return MULTIPART_DATA;
}

/* Bytes that can't be of a delimiter. */
static size_t count_plain(const char *at, size_t size)
{
    const char *end = memchr(at, '\r', size);
    return end ? (size_t)(end - at) : size;
}

/*
 * One byte of what may be a delimiter. Only its first byte is a CR: what does
 * not go on as one begins none but with the byte at hand, which is not consumed
 * then.
 */
static bool match_byte(struct multipart *m, const char **at, size_t *size)
{
    if (**at != m->delimiter[m->matched]) {
        m->owed = m->is_in_part ? m->matched : 0;
        m->owed_at = 0;
        m->matched = 0;
        return false;
    }
    m->matched++;
    ++*at;
    --*size;
    return m->matched == m->delimiter_size;
}

static enum multipart_event read_body(struct multipart *m, const char **at, size_t *size,
                                      size_t data_max, const char **ret, size_t *ret_size)
{
    while (*size > 0 || m->owed_at < m->owed) {
        if (m->owed_at < m->owed)
            return give_owed(m, data_max, ret, ret_size);
        size_t plain = m->matched ? 0 : count_plain(*at, *size);
        if (plain > 0) {
            *ret = *at;
            *ret_size = m->is_in_part ? MIN(plain, data_max) : plain;
            *at += *ret_size;
            *size -= *ret_size;
            if (m->is_in_part)
                return MULTIPART_DATA;
        } else if (match_byte(m, at, size)) {
            m->matched = 0;
            m->state = MULTIPART_AFTER;
            if (!m->is_in_part)
                return MULTIPART_MORE;
            m->is_in_part = false;
            return MULTIPART_END;
        }
    }
    return MULTIPART_MORE;
}

enum multipart_event multipart_next(struct multipart *m, const char **at, size_t *size,
                                    size_t data_max, const char **ret, size_t *ret_size)
{
    for (;;) {
        enum multipart_state before = m->state;
        enum multipart_event event = MULTIPART_MORE;
        switch (before) {
        case MULTIPART_PREAMBLE:
        case MULTIPART_BODY:
            event = read_body(m, at, size, data_max, ret, ret_size);
            break;
        case MULTIPART_AFTER:
            event = read_after(m, at, size);
            break;
        case MULTIPART_HEAD:
            event = read_head(m, at, size);
            break;
        case MULTIPART_OVER: /* the epilogue means nothing */
            *at += *size;
            *size = 0;
            break;
        }
        if (event != MULTIPART_MORE || m->state == before)
            return event;
    }
}
