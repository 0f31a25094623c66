// SPDX-License-Identifier: Apache-2.0
/* A reader's half of decisions.h, which needs no more than libc: it is a part of libglovebox. */
#include "sandbox/decisions.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>

static bool is_same_file(int a, int b)
{
    struct stat x, y;
    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* A descriptor; -ENOENT: it isn't there; another: nobody knows. */
static int open_record(const struct decisions_reader *r, const char *name)
{
    int fd = openat(r->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* The older file may have become one between the two looks. 0 or negative errno. */
static int open_files(struct decisions_reader *r)
{
    char older[KEPT_FILE_NAME_MAX + 2];
    kept_name_beside(r->name, older);
    r->file = open_record(r, r->name);
    if (r->file < 0)
        return r->file;
    r->older = open_record(r, older);
    if (r->older < 0)
        return r->older == -ENOENT ? 0 : r->older;
    if (is_same_file(r->file, r->older)) {
        close(r->file);
        r->file = open_record(r, r->name);
    }
    return MIN(r->file, 0);
}

static int open_latest(struct decisions_reader *r, int runtime, const char *name)
{
    struct kept_entries all;
    r->folder = kept_open_folder(runtime, DECISIONS_FOLDER, false);
    int error = r->folder < 0 ? r->folder : kept_list(r->folder, name, &all);
    if (error < 0)
        return error;
    if (all.count > 0)
        memcpy(r->name, all.items[all.count - 1].file, sizeof(r->name));
    error = all.count > 0 ? open_files(r) : -ENOENT;
    free(all.items);
    return error;
}

int decisions_reader_open_in(struct decisions_reader *r, int runtime, const char *name,
                             struct sandbox_error *e)
{
    *r = DECISIONS_READER_CLOSED;
    int error = open_latest(r, runtime, name);
    if (error == 0)
        return 0;
    decisions_reader_close(r);
    if (error != -ENOENT)
        return sandbox_error_set(e, error, "%s%sthe record can't be read: %s; try again",
                                 name ? name : "", name ? ": " : "", strerror(-error));
    if (!name)
        return sandbox_error_set(e, -ENOENT,
                                 "nothing is known of a sandbox; start one with glovebox run");
    return sandbox_error_set(e, -ENOENT,
                             "%s: nothing is known of a sandbox of this name; glovebox ps lists "
                             "those that run, and the last %d are kept",
                             name, DECISIONS_KEPT_MAX);
}

int decisions_reader_open(struct decisions_reader *r, const char *name, struct sandbox_error *e)
{
    struct registry registry;
    *r = DECISIONS_READER_CLOSED;
    int error = registry_open(&registry, e);
    if (error < 0)
        return error;
    error = decisions_reader_open_in(r, registry.folder, name, e);
    registry_close(&registry);
    return error;
}

const char *decisions_reader_sandbox(const struct decisions_reader *r)
{
    const char *dot = strchr(r->name, '.');
    return dot ? dot + 1 : r->name;
}

bool decisions_reader_is_live(const struct decisions_reader *r)
{
    return kept_is_live(r->folder, r->name);
}

int decisions_reader_watch(const struct decisions_reader *r, struct sandbox_error *e)
{
    char folder[32];
    _cleanup_close_ int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    snprintf(folder, sizeof(folder), "/proc/self/fd/%d", r->folder);
    if (watch < 0 || inotify_add_watch(watch, folder, IN_MODIFY | IN_CREATE | IN_CLOSE_WRITE) < 0)
        return sandbox_error_set(e, -errno,
                                 "%s: its record can't be watched: %s; raise "
                                 "fs.inotify.max_user_instances, or look again and again",
                                 decisions_reader_sandbox(r), strerror(errno));
    return TAKE_FD(watch);
}

/* The file that has taken the place of ours, of which then nothing more comes; -ENOENT: none has;
 * or another negative errno. */
static int open_next(const struct decisions_reader *r)
{
    _cleanup_close_ int next = open_record(r, r->name);
    if (next < 0)
        return next;
    return is_same_file(next, r->file) ? -ENOENT : TAKE_FD(next);
}

/* What is left of the older file, or why it can't be read (-1); 0: nothing, and it is closed. */
static ssize_t read_older(struct decisions_reader *r, char *data, size_t size)
{
    ssize_t n = r->older < 0 ? 0 : read(r->older, data, size);
    if (n != 0)
        return n;
    base_closep(&r->older);
    r->older = -1;
    return 0;
}

ssize_t decisions_reader_read(struct decisions_reader *r, char *data, size_t size)
{
    ssize_t n = read_older(r, data, size);
    if (n == 0)
        n = read(r->file, data, size);
    if (n != 0)
        return n < 0 ? -errno : n;
    int next = open_next(r);
    if (next < 0)
        return next == -ENOENT ? 0 : next;
    r->older = r->file;
    r->file = next;
    n = read_older(r, data, size);
    if (n == 0)
        n = read(r->file, data, size);
    return n < 0 ? -errno : n;
}

void decisions_reader_close(struct decisions_reader *r)
{
    base_closep(&r->file);
    base_closep(&r->older);
    base_closep(&r->folder);
    *r = DECISIONS_READER_CLOSED;
}
