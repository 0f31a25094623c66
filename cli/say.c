// SPDX-License-Identifier: Apache-2.0
#include "cli/say.h"

#include "lib/base/buf.h"
#include "sandbox/outlet.h"
#include "sandbox/run.h"
#include "sandbox/terminal.h"

#include <poll.h>
#include <stdio.h>
#include <sys/uio.h>

#define HELD_MAX_BYTES (2 * (size_t)SANDBOX_LOG_MAX_BYTES)

static const char name[] = "glovebox: ";

static struct {
    bool is_used;
    struct outlet outlet;
    struct buf lines;
    size_t left_out; /* lines that nobody was told of */
} held;

/* Where a write might wait, each piece only when there is room for it. */
static bool has_room(void)
{
    struct pollfd p = {.fd = held.outlet.fd, .events = POLLOUT};
    return held.outlet.must_poll && poll(&p, 1, 0) > 0;
}

/* Line by line: of less than PIPE_BUF bytes each is taken by a pipe as a whole or not at all.
 * False: nobody takes any more. */
static bool write_held(void)
{
    while (held.lines.size > 0) {
        const char *end = memchr(held.lines.data, '\n', held.lines.size);
        size_t size = end ? (size_t)(end - held.lines.data) + 1 : held.lines.size;
        ssize_t n = outlet_write(&held.outlet, held.lines.data, size, has_room());
        if (n == -EAGAIN)
            return false;
        buf_consume(&held.lines, n < 0 ? held.lines.size : (size_t)n);
    }
    return true;
}

/* All of it or, without memory, nothing. */
static bool append(const char *line, const char *end)
{
    if (!buf_room(&held.lines, sizeof(name) - 1 + strlen(line) + strlen(end))) {
        held.lines.failed = false; /* the next one may fit again */
        return false;
    }
    buf_append_str(&held.lines, name);
    buf_append_str(&held.lines, line);
    buf_append_str(&held.lines, end);
    return true;
}

/* In the place of those that are missing; its length is provided for. */
static bool say_left_out(void)
{
    char line[100];
    if (held.left_out == 0)
        return true;
    snprintf(line, sizeof(line), "more was said than was read; %zu line%s left out", held.left_out,
             held.left_out == 1 ? " is" : "s are");
    if (!append(line, "\n"))
        return false;
    held.left_out = 0;
    return true;
}

static void hold(const char *line, const char *end)
{
    size_t size = sizeof(name) - 1 + strlen(line) + strlen(end);
    if (held.lines.size + size > HELD_MAX_BYTES || !say_left_out() || !append(line, end))
        held.left_out++;
}

void cli_say_begin(void)
{
    held.is_used = true;
    /* And what is said when it is full: twice, before a line that just fits and at the end. */
    held.lines = BUF_INIT(HELD_MAX_BYTES + 512);
    outlet_open(&held.outlet, STDERR_FILENO);
}

void cli_say_end(void)
{
    struct pollfd p = {.fd = held.outlet.fd, .events = POLLOUT};
    say_left_out();
    bool is_done = write_held();
    while (!is_done && poll(&p, 1, SANDBOX_DELIVERY_MS) > 0)
        is_done = write_held();
    outlet_close(&held.outlet);
    buf_done(&held.lines);
    held.is_used = false;
    held.left_out = 0;
}

int cli_say_pending(void)
{
    return held.is_used && !write_held() ? held.outlet.fd : -1;
}

/* In one write, so that lines of several processes don't mix. */
void cli_say(const char *line)
{
    const char *end = terminal_is_raw() ? "\r\n" : "\n";
    if (held.is_used) {
        hold(line, end);
        write_held();
        return;
    }
    struct iovec parts[] = {
        {(char *)name, sizeof(name) - 1},
        {(char *)line, strlen(line)},
        {(char *)end, strlen(end)},
    };
    /* Nobody is left to be told when this fails. */
    if (writev(STDERR_FILENO, parts, ARRAY_SIZE(parts)) < 0)
        return;
}

void cli_say_error(const struct sandbox_error *e)
{
    char line[2 * SANDBOX_ERROR_MAX_BYTES];
    text_line(e->text, strlen(e->text), line, sizeof(line));
    cli_say(line);
}

const struct text_style *cli_choose_style(int fd)
{
    const char *term = getenv("TERM");
    if (!isatty(fd))
        return NULL;
    return term && strcmp(term, "dumb") ? &text_style_terminal : &text_style_plain;
}
