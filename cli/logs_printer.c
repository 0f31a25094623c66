// SPDX-License-Identifier: Apache-2.0
#include "cli/logs_printer.h"

#include "cli/ended.h"
#include "cli/say.h"
#include "sandbox/exec_messages.h"

#include <poll.h>
#include <stdio.h>

/* Of what becomes of a piece: every byte of it a line with a prefix, all of it escaped. */
#define OUT_MAX_BYTES (64u << 20)

void logs_printer_init(struct logs_printer *p, bool raw)
{
    const int fds[] = {STDOUT_FILENO, STDERR_FILENO};
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        struct logs_stream *s = &p->streams[i];
        *s = (struct logs_stream){.fd = fds[i],
                                  .style = raw ? NULL : cli_choose_style(fds[i]),
                                  .out = BUF_INIT(OUT_MAX_BYTES)};
        if (s->style)
            text_shown_init(&s->shown, s->style);
    }
}

static bool is_program(const char *wanted, const struct journal_piece *piece)
{
    char pid[16];
    snprintf(pid, sizeof(pid), "%d", piece->head.pid);
    return !strcmp(wanted, pid) || (strlen(wanted) == piece->head.tag_size &&
                                    !memcmp(wanted, piece->tag, piece->head.tag_size));
}

bool logs_printer_wants(const struct logs_printer *p, const struct journal_piece *piece)
{
    return piece->head.time_ns >= p->since_ns && (!p->program || is_program(p->program, piece));
}

static void add(struct logs_stream *s, const char *data, size_t size)
{
    if (s->style)
        text_shown_append_some(&s->shown, &s->out, data, size);
    else
        buf_append(&s->out, data, size);
}

/* Who writes to a terminal may have left it in the middle of something. */
static void end_line(struct logs_stream *s)
{
    char rest[TEXT_SHOWN_MAX_BYTES(0)];
    if (s->style)
        buf_append(&s->out, rest, text_shown_end(&s->shown, rest));
    buf_append(&s->out, "\n", 1);
    s->is_in_line = false;
}

static void begin_line(const struct logs_printer *p, struct logs_stream *s,
                       const struct journal_piece *piece)
{
    char text[512], tag[300];
    int size = 0;
    if (p->times) {
        ended_format_time(piece->head.time_ns, text);
        size = (int)strlen(text);
        size += snprintf(text + size, sizeof(text) - (size_t)size, " ");
    }
    if (!p->program && piece->head.pid > 0) {
        text_line(piece->tag, piece->head.tag_size, tag, sizeof(tag));
        size += snprintf(text + size, sizeof(text) - (size_t)size, "[%d%s%s] ", piece->head.pid,
                         tag[0] ? " " : "", tag);
    }
    add(s, text, (size_t)MIN(size, (int)sizeof(text) - 1));
    s->is_in_line = true;
    s->pid = piece->head.pid;
}

static int flush(struct logs_stream *s)
{
    while (s->out.size > 0) {
        ssize_t n = write(s->fd, s->out.data, s->out.size);
        struct pollfd p = {.fd = s->fd, .events = POLLOUT};
        if (n < 0 && errno == EAGAIN)
            poll(&p, 1, -1);
        else if (n < 0 && errno != EINTR)
            return -errno;
        else if (n > 0)
            buf_consume(&s->out, (size_t)n);
    }
    int r = s->out.failed ? -ENOMEM : 0;
    buf_reset(&s->out);
    return r;
}

int logs_printer_put(struct logs_printer *p, const struct journal_piece *piece)
{
    struct logs_stream *s = &p->streams[piece->head.stream == EXEC_ERR];
    const char *at = piece->data, *end = piece->data + piece->head.size;
    bool has_prefix = p->times || !p->program;
    if (!logs_printer_wants(p, piece))
        return 0;
    if (has_prefix && s->is_in_line && s->pid != piece->head.pid)
        end_line(s);
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *next = newline ? newline + 1 : end;
        if (has_prefix && !s->is_in_line)
            begin_line(p, s, piece);
        add(s, at, (size_t)(next - at));
        s->is_in_line = !newline;
        at = next;
    }
    return flush(s);
}

int logs_printer_end(struct logs_printer *p)
{
    int r = 0;
    for (size_t i = 0; i < ARRAY_SIZE(p->streams); i++) {
        struct logs_stream *s = &p->streams[i];
        char rest[TEXT_SHOWN_MAX_BYTES(0)];
        if (s->style)
            buf_append(&s->out, rest, text_shown_end(&s->shown, rest));
        int error = flush(s);
        r = r < 0 ? r : error;
        buf_done(&s->out);
    }
    return r;
}
