// SPDX-License-Identifier: Apache-2.0
#include "lib/http/lines.h"

#include "lib/http/syntax.h"

void http_lines_init(struct http_lines *l, size_t line_max_bytes, size_t total_max_bytes,
                     size_t more_bytes)
{
    *l = (struct http_lines){
        .text = BUF_INIT(total_max_bytes + more_bytes),
        .line_max_bytes = line_max_bytes,
        .total_max_bytes = total_max_bytes,
    };
}

void http_lines_done(struct http_lines *l)
{
    buf_done(&l->text);
}

void http_lines_reset(struct http_lines *l)
{
    buf_reset(&l->text);
    l->line_at = l->total_bytes = 0;
    l->has_cr = l->is_visible_only = false;
}

void http_lines_keep(struct http_lines *l)
{
    l->line_at = l->text.size;
}

/* Bytes at the start of data that may stand in the line. */
static size_t run_of(const struct http_lines *l, const char *data, size_t size)
{
    size_t n = 0;
    while (n < size) {
        unsigned char c = (unsigned char)data[n];
        if (l->is_visible_only ? !http_is_visible_byte(c) && c != ' ' : !http_is_value_byte(c))
            break;
        n++;
    }
    return n;
}

/* Takes at least one byte; *ret_is_end when it was the line's last one. */
static enum http_error take_some(struct http_lines *l, const char *data, size_t size,
                                 size_t *ret_taken, bool *ret_is_end)
{
    if (l->total_bytes == l->total_max_bytes)
        return HTTP_ERROR_HEAD_LONG;
    if (l->has_cr != (*data == '\n'))
        return HTTP_ERROR_LINE_END;
    if (*data == '\n' || *data == '\r') {
        l->has_cr = *data == '\r';
        *ret_is_end = *data == '\n';
        *ret_taken = 1;
        return HTTP_ERROR_NONE;
    }
    size_t run = run_of(l, data, MIN(size, l->total_max_bytes - l->total_bytes));
    if (run == 0)
        return HTTP_ERROR_BYTE;
    run = MIN(run, l->line_max_bytes - (l->text.size - l->line_at));
    if (run == 0)
        return HTTP_ERROR_FIELD_LONG;
    if (buf_append(&l->text, data, run) < 0)
        return HTTP_ERROR_MEMORY;
    *ret_taken = run;
    return HTTP_ERROR_NONE;
}

enum http_progress http_lines_take(struct http_lines *l, const char *data, size_t size,
                                   size_t *ret_taken, enum http_error *ret_error)
{
    bool is_end = false;
    *ret_taken = 0;
    while (!is_end && *ret_taken < size) {
        size_t taken = 0;
        enum http_error e = take_some(l, data + *ret_taken, size - *ret_taken, &taken, &is_end);
        if (e) {
            *ret_error = e;
            return HTTP_FAILED;
        }
        l->total_bytes += taken;
        *ret_taken += taken;
    }
    return is_end ? HTTP_DONE : HTTP_MORE;
}
