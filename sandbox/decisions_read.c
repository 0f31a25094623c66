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

static int open_record(const struct decisions_reader *r, const char *name)
{
    return openat(r->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* The older file may have become one between the two looks. */
static void open_files(struct decisions_reader *r)
{
    char older[KEPT_FILE_NAME_MAX + 2];
    kept_name_beside(r->name, older);
    r->file = open_record(r, r->name);
    r->older = open_record(r, older);
    if (r->file >= 0 && r->older >= 0 && is_same_file(r->file, r->older)) {
        close(r->file);
        r->file = open_record(r, r->name);
    }
}

int decisions_reader_open(struct decisions_reader *r, const char *name, struct sandbox_error *e)
{
    struct registry registry;
    struct kept_entries all;
    *r = DECISIONS_READER_CLOSED;
    int error = registry_open(&registry, e);
    if (error < 0)
        return error;
    r->folder = kept_open_folder(registry.folder, DECISIONS_FOLDER, false);
    registry_close(&registry);
    if (r->folder >= 0 && kept_list(r->folder, name, &all) == 0) {
        if (all.count > 0) {
            memcpy(r->name, all.items[all.count - 1].file, sizeof(r->name));
            open_files(r);
        }
        free(all.items);
    }
    if (r->file >= 0)
        return 0;
    decisions_reader_close(r);
    if (!name)
        return sandbox_error_set(e, -ENOENT,
                                 "nothing is known of a sandbox; start one with glovebox run");
    return sandbox_error_set(e, -ENOENT,
                             "%s: nothing is known of a sandbox of this name; glovebox ps lists "
                             "those that run, and the last %d are kept",
                             name, DECISIONS_KEPT_MAX);
}

const char *decisions_reader_sandbox(const struct decisions_reader *r)
{
    const char *dot = strchr(r->name, '.');
    return dot ? dot + 1 : r->name;
}

bool decisions_reader_is_live(const struct decisions_reader *r)
{
    _cleanup_close_ int fd = open_record(r, r->name);
    return fd >= 0 && kept_is_locked(fd);
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

/* The file that has taken the place of ours, of which then nothing more comes; or -1. */
static int open_next(const struct decisions_reader *r)
{
    _cleanup_close_ int next = open_record(r, r->name);
    return next < 0 || is_same_file(next, r->file) ? -1 : TAKE_FD(next);
}

/* What is left of the older file; 0: nothing, and it is closed. */
static ssize_t read_older(struct decisions_reader *r, char *data, size_t size)
{
    ssize_t n = r->older < 0 ? 0 : read(r->older, data, size);
    if (n > 0)
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
        return 0;
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
