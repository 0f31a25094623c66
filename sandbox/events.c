// SPDX-License-Identifier: Apache-2.0
#include "sandbox/events.h"

#include "lib/text/shown.h"
#include "sandbox/kept.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

#define LOG "log"
#define OLD "log.old"

/* By hand: it is the library's too, which needs nothing else for JSON. After text_line() nothing is
 * in it that has to be escaped but these two. */
static void add_text(struct buf *b, const char *key, const char *text)
{
    char line[1024];
    if (!text || !text[0])
        return;
    text_line(text, strlen(text), line, sizeof(line));
    buf_printf(b, ",\"%s\":\"", key);
    for (const char *at = line; *at; at++) {
        buf_append(b, "\\", *at == '"' || *at == '\\');
        buf_append(b, at, 1);
    }
    buf_append_str(b, "\"");
}

static void add_number(struct buf *b, const char *key, int64_t value)
{
    buf_printf(b, ",\"%s\":%" PRId64, key, value);
}

static void make_line(const struct event *e, struct buf *b)
{
    buf_printf(b, "{\"time_ms\":%" PRId64, kept_now_ms());
    add_text(b, "type", e->type);
    add_text(b, "sandbox", e->sandbox);
    if (e->pid > 0)
        add_number(b, "pid", e->pid);
    add_text(b, "tag", e->tag);
    add_text(b, "command", e->command);
    add_text(b, "cause", e->cause);
    add_text(b, "words", e->words);
    if (e->status >= 0)
        add_number(b, "status", e->status);
    if (e->wall_ns >= 0)
        add_number(b, "wall_ms", e->wall_ns / NSEC_PER_MSEC);
    buf_append_str(b, "}\n");
}

/* Whether fd is still the log. */
static bool is_log(int folder, const struct stat *file)
{
    struct stat st;
    return fstatat(folder, LOG, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == file->st_ino &&
           st.st_dev == file->st_dev;
}

/* Somebody else who is at it does it for us. */
static void rotate(int folder, int fd, const struct stat *st)
{
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && is_log(folder, st))
        renameat(folder, LOG, folder, OLD);
}

/* False: it went to a file that was given up meanwhile. */
static bool append(int folder, const char *line, size_t size)
{
    struct stat st;
    _cleanup_close_ int fd = openat(
        folder, LOG, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
        write(fd, line, size) != (ssize_t)size || fstat(fd, &st) < 0)
        return true;
    if (st.st_nlink == 0)
        return false;
    if (st.st_size > (off_t)EVENTS_MAX_BYTES)
        rotate(folder, fd, &st);
    return true;
}

void events_note(int runtime, const struct event *e)
{
    struct buf line = BUF_INIT(EVENTS_LINE_MAX_BYTES);
    _cleanup_close_ int folder = kept_open_folder(runtime, EVENTS_FOLDER, true);
    make_line(e, &line);
    if (folder >= 0 && !line.failed && !append(folder, line.data, line.size))
        append(folder, line.data, line.size);
    buf_done(&line);
}
