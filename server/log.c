// SPDX-License-Identifier: Apache-2.0
#include "server/log.h"

#include "sandbox/outlet.h"
#include "server/json.h"
#include "server/keys.h"
#include "server/loop.h"
#include "server/server.h"
#include "server/text.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>

#define AGAIN_NS (50 * NSEC_PER_MSEC)

static struct outlet sink = OUTLET_CLOSED;
static bool is_text;  /* in place of JSON */
static bool is_file;  /* takes all at once, whatever its size */
static bool is_split; /* the line that was written last is not whole */
static bool is_broken;
static struct buf waiting = BUF_INIT(LOG_WAITING_MAX);
static uint64_t lost, lost_untold;
static struct timer again;

uint64_t log_lost(void)
{
    return lost;
}

/* ---- lines ---- */

static void append_ascii(struct buf *line, const char *text)
{
    json_t *value = json_string(text);
    char *quoted = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;
    /* jansson leaves DEL as it is. */
    for (const char *at = quoted ? quoted : "null"; *at; at++)
        if (*at == 0x7f)
            buf_append_str(line, "\\u007f");
        else
            buf_append(line, at, 1);
    free(quoted);
    json_decref(value);
}

/* What looks like a key is none of the log's business, wherever it was put. */
static void mask_keys(char *path)
{
    for (char *at = path; (at = strstr(at, "e2b_")); at += 4)
        for (char *digit = at + 4; *digit && strchr("0123456789abcdefABCDEF", *digit); digit++)
            *digit = '*';
}

/* Of visible ASCII already (lib/http/head.h). */
static void append_path(struct buf *line, const char *path)
{
    char text[LOG_PATH_MAX + 4];
    size_t size = strlen(path);
    snprintf(text, sizeof(text), "%.*s%s", LOG_PATH_MAX, path, size > LOG_PATH_MAX ? "..." : "");
    mask_keys(text);
    append_ascii(line, text);
}

static const char *name_of(int64_t key)
{
    const struct key *k = key ? keys_get(key) : NULL;
    return k ? k->name : "";
}

static const char *level_of(unsigned status)
{
    bool is_own = status == 500 || status == 503 || status == 507;
    return is_own ? "error" : status >= 400 ? "warn" : "info";
}

static void write_json(struct buf *line, const char *time, const struct log_entry *e)
{
    buf_printf(line,
               "{\"time\":\"%s\",\"level\":\"%s\",\"request\":\"%s\",\"client\":\"%s\",\"key\":",
               time, level_of(e->status), e->request, e->client);
    if (e->key) {
        buf_printf(line, "%" PRId64 ",\"keyName\":", e->key);
        append_ascii(line, name_of(e->key));
    } else {
        buf_append_str(line, "null,\"keyName\":null");
    }
    if (e->sandbox[0])
        buf_printf(line, ",\"sandbox\":\"%s\"", e->sandbox);
    else
        buf_append_str(line, ",\"sandbox\":null");
    buf_append_str(line, ",\"method\":");
    append_ascii(line, e->method ? e->method : "");
    buf_append_str(line, ",\"path\":");
    append_path(line, e->path ? e->path : "");
    buf_printf(line, ",\"status\":%u,\"bytes\":%" PRIu64 ",\"ms\":%.3f,\"cut\":%s}\n", e->status,
               e->bytes, (double)e->took_ns / NSEC_PER_MSEC, e->is_cut ? "true" : "false");
}

static void write_text(struct buf *line, const char *time, const struct log_entry *e)
{
    buf_printf(line, "%s %s %s %s ", time, level_of(e->status), e->client, e->request);
    if (e->key)
        append_ascii(line, name_of(e->key));
    else
        buf_append_str(line, "-");
    buf_printf(line, " %s ", e->sandbox[0] ? e->sandbox : "-");
    append_ascii(line, e->method ? e->method : "");
    buf_append_str(line, " ");
    append_path(line, e->path ? e->path : "");
    buf_printf(line, " %u %" PRIu64 " %.3fms%s\n", e->status, e->bytes,
               (double)e->took_ns / NSEC_PER_MSEC, e->is_cut ? " cut" : "");
}

/* Takes a line, or counts it as lost. */
static void take(struct buf *line)
{
    /* Behind what is left of a line that was given up. */
    if (is_split && waiting.size == 0)
        is_split = buf_append_str(&waiting, "\n") < 0;
    bool fits = !line->failed && waiting.size + line->size <= LOG_WAITING_MAX &&
                buf_append(&waiting, line->data, line->size) == 0;
    if (!fits) {
        waiting.failed = false;
        lost++;
        lost_untold++;
    }
    buf_done(line);
}

static void tell_lost(void)
{
    char time[TIME_TEXT_SIZE + 1];
    struct buf line = BUF_INIT(LOG_LINE_MAX);
    uint64_t count = lost_untold;
    text_write_time(server_wall_ms(), time);
    buf_printf(&line,
               is_text ? "%s warn - lines were lost: %" PRIu64 "\n"
                       : "{\"time\":\"%s\",\"level\":\"warn\",\"lost\":%" PRIu64 "}\n",
               time, count);
    lost_untold = 0;
    take(&line);
}

void log_request(const struct log_entry *e)
{
    char time[TIME_TEXT_SIZE + 1];
    struct buf line = BUF_INIT(LOG_LINE_MAX);
    if (sink.fd < 0)
        return;
    text_write_time(e->began_ms, time);
    if (is_text)
        write_text(&line, time, e);
    else
        write_json(&line, time, e);
    take(&line);
}

void log_say(const char *level, const char *text)
{
    char time[TIME_TEXT_SIZE + 1];
    struct buf line = BUF_INIT(LOG_LINE_MAX);
    if (sink.fd < 0)
        return;
    text_write_time(server_wall_ms(), time);
    buf_printf(&line, is_text ? "%s %s - " : "{\"time\":\"%s\",\"level\":\"%s\",\"message\":", time,
               level);
    append_ascii(&line, text);
    buf_append_str(&line, is_text ? "\n" : "}\n");
    take(&line);
}

/* ---- output ---- */

static void on_again(struct timer *t _unused_)
{
    log_flush();
}

/* How much to give to one write: whole lines, of a pipe what it takes whole or not at all. */
static size_t next_size(void)
{
    if (is_file || waiting.size <= LOG_LINE_MAX)
        return waiting.size;
    size_t size = LOG_LINE_MAX;
    while (size > 0 && waiting.data[size - 1] != '\n')
        size--;
    return size ? size : LOG_LINE_MAX;
}

static size_t count_lines(void)
{
    size_t count = 0;
    for (size_t i = 0; i < waiting.size; i++)
        count += waiting.data[i] == '\n';
    return count;
}

/* All that waits is lost. */
static void give_up(int error)
{
    size_t count = count_lines();
    lost += count;
    lost_untold += count;
    buf_reset(&waiting);
    if (!is_broken) {
        is_broken = true; /* before what is said is a line itself */
        server_say("the log can't be written: %s; its lines are lost until it can",
                   strerror(error));
        buf_reset(&waiting);
    }
}

/* Not whether it would wait: then it is tried again. */
static bool has_room(void)
{
    struct pollfd p = {.fd = sink.fd, .events = POLLOUT};
    if (is_file || poll(&p, 1, 0) == 1)
        return true;
    timer_set(&again, server_now_ns() + AGAIN_NS);
    return false;
}

static bool write_some(void)
{
    if (!has_room())
        return false;
    ssize_t n = outlet_write(&sink, waiting.data, next_size(), true);
    if (n == -EAGAIN) {
        timer_set(&again, server_now_ns() + AGAIN_NS);
        return false;
    }
    if (n < 0) {
        give_up((int)-n);
        return false;
    }
    is_split = n > 0 && waiting.data[n - 1] != '\n';
    is_broken = false;
    buf_consume(&waiting, (size_t)n);
    return true;
}

void log_flush(void)
{
    if (sink.fd < 0)
        return;
    while (waiting.size > 0 && write_some())
        ;
    if (waiting.size > 0 || !lost_untold || is_broken)
        return;
    tell_lost();
    while (waiting.size > 0 && write_some())
        ;
}

void log_open(int fd, bool wants_text)
{
    struct stat st;
    again.fire = on_again;
    base_closep(&sink.fd);
    outlet_open_sealed(&sink, fd);
    is_text = wants_text;
    is_file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    is_split = is_broken = false;
}
