// SPDX-License-Identifier: Apache-2.0
#include "sandbox/notices.h"

#include "lib/base/control.h"
#include "sandbox/error.h"
#include "sandbox/run.h"

#ifdef __SANITIZE_ADDRESS__
#include <fcntl.h>
#include <sanitizer/common_interface_defs.h>
#endif
#include <stdio.h>

#define LINE_MAX_BYTES 1024

void notices_init(struct notices *n, void (*say)(const char *line), int trace)
{
    *n = (struct notices){
        .say = say,
        .line = BUF_INIT(LINE_MAX_BYTES),
        .trace = OUTLET_CLOSED,
        .pending = BUF_INIT(TEXT_SHOWN_MAX_BYTES(CONTROL_PACKET_MAX_BYTES)),
    };
    text_shown_init(&n->shown, &text_style_plain);
    if (trace >= 0)
        outlet_open(&n->trace, trace);
}

void notices_done(struct notices *n)
{
    outlet_close(&n->trace);
    buf_done(&n->line);
    buf_done(&n->pending);
}

void notices_say(struct notices *n, const char *prefix, const char *text, size_t size)
{
    char line[LINE_MAX_BYTES * 4 + 64];
    size_t prefix_size = strlen(prefix);
    n->log_bytes += size + 1;
    if (n->log_bytes > SANDBOX_LOG_MAX_BYTES) {
        if (!n->is_full)
            n->say("the rest of the log is left out");
        n->is_full = true;
        return;
    }
    while (size > 0 && text[size - 1] == '\n')
        size--;
    memcpy(line, prefix, prefix_size);
    text_line(text, size, line + prefix_size, sizeof(line) - prefix_size);
    text_line(text, size, n->last_line, sizeof(n->last_line));
    n->say(line);
}

#ifdef __SANITIZE_ADDRESS__
static bool begins_report(const struct buf *line)
{
    static const char *const words[] = {"Sanitizer: ", "runtime error: "};
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (line->size > 0 && memmem(line->data, line->size, words[i], strlen(words[i])))
            return true;
    return false;
}

/* A report of the kernel or the gateway goes where those of this process go (log_path), with all
 * that comes behind it: what is said here nobody may hear. */
static void keep_report(const struct buf *line)
{
    static bool has_begun;
    has_begun = has_begun || begins_report(line);
    if (!has_begun)
        return;
    _cleanup_close_ int fd = open(__sanitizer_get_report_path(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd >= 0)
        dprintf(fd, "%.*s\n", (int)line->size, line->data);
}
#else
static void keep_report(const struct buf *line _unused_)
{
}
#endif

static void say_log_line(struct notices *n)
{
    static const char gateway[] = "egress: "; /* its lines begin so: gateway/log.c */
    bool is_gateway =
        n->line.size >= strlen(gateway) && !memcmp(n->line.data, gateway, strlen(gateway));
    keep_report(&n->line);
    if (n->line.size > 0)
        notices_say(n, is_gateway ? "" : "kernel: ", n->line.data, n->line.size);
    buf_reset(&n->line);
}

void notices_take_log(void *notices, const char *data, size_t size)
{
    struct notices *n = notices;
    while (size > 0) {
        const char *newline = memchr(data, '\n', size);
        size_t piece = newline ? (size_t)(newline - data) : size;
        size_t room = n->line.max_bytes - n->line.size;
        buf_append(&n->line, data, MIN(piece, room));
        if (newline)
            say_log_line(n);
        piece += newline ? 1 : 0;
        data += piece;
        size -= piece;
    }
}

void notices_end_log(struct notices *n)
{
    say_log_line(n);
}

void notices_take_trace(struct notices *n, const char *text, size_t size)
{
    if (n->trace.fd < 0)
        return;
    text_shown_append(&n->shown, &n->pending, text, size);
    notices_write_trace(n, false);
}

bool notices_trace_is_full(const struct notices *n)
{
    return n->pending.size > n->trace_start;
}

void notices_write_trace(struct notices *n, bool polled)
{
    while (n->trace_start < n->pending.size) {
        ssize_t written = outlet_write(&n->trace, n->pending.data + n->trace_start,
                                       n->pending.size - n->trace_start, polled);
        if (written == -EAGAIN)
            return;
        if (written < 0) {
            char reason[64];
            snprintf(reason, sizeof(reason), "%.60s", strerror((int)-written));
            notices_say(n, "trace: the rest is left out: ", reason, strlen(reason));
            outlet_close(&n->trace);
            break;
        }
        n->trace_start += (size_t)written;
        polled = false;
    }
    n->trace_start = 0;
    buf_reset(&n->pending);
}
