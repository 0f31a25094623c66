// SPDX-License-Identifier: Apache-2.0
#include "sandbox/events.h"

#include "sandbox/kept.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>

#define OPEN_TRIES 10
/*
 * A starter that is killed writes nothing. Its record is closed then, which the watch tells, and is
 * stale a moment later: as whoever finds it tells of the end, it is looked for.
 */
#define LOOK_NS      (500 * NSEC_PER_MSEC)
#define LOOK_STEP_MS 100

static int64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

/* ---- files ---- */

static int open_file(int folder, const char *name)
{
    struct stat st;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)))
        base_closep(&fd);
    return fd;
}

/* Whether name still is, or is not, the file. */
static bool is_still(int folder, const char *name, int fd)
{
    struct stat named, open;
    if (fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) < 0)
        return fd < 0;
    return fd >= 0 && fstat(fd, &open) == 0 && named.st_ino == open.st_ino &&
           named.st_dev == open.st_dev;
}

/* Both of the same moment, so that no line is read twice or left out. */
static void open_files(struct events_reader *r)
{
    for (int i = 0; i < OPEN_TRIES; i++) {
        base_closep(&r->log);
        base_closep(&r->old);
        r->log = open_file(r->folder, "log");
        r->old = open_file(r->folder, "log.old");
        if (is_still(r->folder, "log", r->log))
            return;
    }
}

/* The log was given up: it is the old one now, to which who had it open may still append. */
static void follow_rotation(struct events_reader *r)
{
    if (r->log >= 0) {
        base_closep(&r->old);
        buf_done(&r->old_line);
        r->old = r->log;
        r->old_line = r->log_line;
        r->log_line = BUF_INIT(EVENTS_LINE_MAX_BYTES);
    }
    r->log = open_file(r->folder, "log");
}

static bool watch(struct events_reader *r, const char *path)
{
    char folder[PATH_MAX + 16];
    r->watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    snprintf(folder, sizeof(folder), "%s/" EVENTS_FOLDER, path);
    if (r->watch < 0 ||
        inotify_add_watch(r->watch, folder, IN_MODIFY | IN_CREATE | IN_MOVED_TO) < 0)
        return false;
    snprintf(folder, sizeof(folder), "%s/sandboxes", path);
    return inotify_add_watch(r->watch, folder, IN_CLOSE_WRITE) >= 0;
}

int events_open_in(struct events_reader *r, int runtime, const char *path, struct sandbox_error *e)
{
    *r = EVENTS_CLOSED;
    r->log_line = r->old_line = BUF_INIT(EVENTS_LINE_MAX_BYTES);
    r->folder = kept_open_folder(runtime, EVENTS_FOLDER, true);
    int error = r->folder < 0 ? r->folder : watch(r, path) ? 0 : -errno;
    if (error < 0) {
        events_close(r);
        return sandbox_error_set(e, error,
                                 "%s/" EVENTS_FOLDER ": %s; make it a folder of yours, or raise "
                                 "fs.inotify.max_user_instances",
                                 path, strerror(-error));
    }
    open_files(r);
    r->look_until_ns = now_ns(); /* once, for those that were killed before */
    return 0;
}

int events_open(struct events_reader *r, struct sandbox_error *e)
{
    struct registry registry;
    *r = EVENTS_CLOSED;
    int error = registry_open(&registry, e);
    if (error < 0)
        return error;
    error = events_open_in(r, registry.folder, registry.path, e);
    registry_close(&registry);
    return error;
}

void events_close(struct events_reader *r)
{
    base_closep(&r->folder);
    base_closep(&r->watch);
    base_closep(&r->log);
    base_closep(&r->old);
    buf_done(&r->log_line);
    buf_done(&r->old_line);
    *r = EVENTS_CLOSED;
}

/* ---- lines ---- */

/* Reads on until the end of a line, which becomes a NUL. 0 and its size; -EAGAIN: it has not come.
 * What is too long to be a line of ours is passed by. */
static int read_line(int fd, struct buf *line, size_t *ret_size)
{
    char piece[4096];
    while (fd >= 0) {
        ssize_t n = read(fd, piece, sizeof(piece));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EAGAIN;
        const char *end = memchr(piece, '\n', (size_t)n);
        size_t used = end ? (size_t)(end - piece) : (size_t)n;
        if (buf_append(line, piece, used) == -ENOMEM) {
            line->failed = false;
            return lseek(fd, -n, SEEK_CUR) < 0 ? -errno : -ENOMEM;
        }
        if (!end)
            continue;
        if (lseek(fd, (off_t)used + 1 - n, SEEK_CUR) < 0)
            return -errno;
        *ret_size = line->failed ? 0 : line->size;
        if (*ret_size > 0)
            return 0;
        buf_reset(line);
    }
    return -EAGAIN;
}

static int next_of(struct events_reader *r, int fd, struct buf *line, const char **ret,
                   size_t *ret_size)
{
    int error = read_line(fd, line, ret_size);
    if (error < 0)
        return error;
    r->given = line;
    *ret = line->data;
    return 0;
}

int events_next(struct events_reader *r, const char **ret, size_t *ret_size)
{
    if (r->given)
        buf_reset(r->given);
    r->given = NULL;
    for (;;) {
        int error = next_of(r, r->old, &r->old_line, ret, ret_size);
        if (error == -EAGAIN)
            error = next_of(r, r->log, &r->log_line, ret, ret_size);
        if (error != -EAGAIN || is_still(r->folder, "log", r->log))
            return error;
        follow_rotation(r);
    }
}

/* ---- more of them ---- */

static void see_nothing(void *userdata _unused_, const char *name _unused_, char *text _unused_)
{
}

void events_look(struct events_reader *r)
{
    char buffer[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    struct registry registry;
    struct sandbox_error ignored;
    ssize_t size;
    while ((size = read(r->watch, buffer, sizeof(buffer))) > 0)
        for (ssize_t at = 0; at < size;) {
            const struct inotify_event *e = (const struct inotify_event *)(buffer + at);
            if (e->mask & IN_CLOSE_WRITE)
                r->look_until_ns = now_ns() + LOOK_NS;
            at += (ssize_t)sizeof(*e) + e->len;
        }
    if (!r->look_until_ns || registry_open(&registry, &ignored) < 0)
        return;
    if (now_ns() >= r->look_until_ns)
        r->look_until_ns = 0;
    registry_list(&registry, see_nothing, NULL);
    registry_close(&registry);
}

int events_wait_ms(const struct events_reader *r)
{
    return r->look_until_ns ? LOOK_STEP_MS : -1;
}
