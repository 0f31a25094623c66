// SPDX-License-Identifier: Apache-2.0
/*
 * A file or folder of this machine, into a sandbox. No link in it is followed: what is named is
 * opened by its name in a directory that is open.
 */
#include "sandbox/copy_in.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

struct walk {
    struct copy_in *copy;
    char path[FILES_PATH_MAX_BYTES + 1]; /* in the sandbox, of what is copied now */
    size_t size, depth;
};

static int copy_entry(struct walk *w, int folder, const char *name, struct sandbox_error *e);

/* Puts the name behind the path; false: it is too long. Undone by setting size. */
static bool append_name(struct walk *w, const char *name)
{
    size_t length = strlen(name);
    size_t slash = w->size > 0 && w->path[w->size - 1] == '/' ? 0 : 1;
    if (w->size + slash + length > FILES_PATH_MAX_BYTES)
        return false;
    memcpy(w->path + w->size, "/", slash);
    memcpy(w->path + w->size + slash, name, length + 1);
    w->size += slash + length;
    return true;
}

static void cut(struct walk *w, size_t size)
{
    w->size = size;
    w->path[size] = '\0';
}

static ssize_t read_fd(void *userdata, char *data, size_t size, struct sandbox_error *e)
{
    ssize_t n;
    do
        n = read(*(const int *)userdata, data, size);
    while (n < 0 && errno == EINTR);
    if (n >= 0)
        return n;
    int error = errno;
    return sandbox_error_set(e, -error, "read: %s; the copy is not complete", strerror(error));
}

static struct copy_in_file file_of(const struct walk *w, const struct stat *st)
{
    return (struct copy_in_file){.path = w->path,
                                 .mode = st->st_mode & 0777,
                                 .mtime_s = st->st_mtim.tv_sec,
                                 .mtime_ns = (uint32_t)st->st_mtim.tv_nsec};
}

static int copy_content(struct walk *w, DIR *folder, struct sandbox_error *e)
{
    for (;;) {
        errno = 0;
        const struct dirent *d = readdir(folder);
        if (!d && errno) {
            copy_in_leave_out(w->copy, w->path, strerror(errno));
            return 0;
        }
        if (!d)
            return 0;
        if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
            continue;
        int r = copy_entry(w, dirfd(folder), d->d_name, e);
        if (r < 0)
            return r;
    }
}

/* fd is taken over. is_there: the directory itself is not to be made. */
static int copy_folder(struct walk *w, int fd, const struct stat *st, bool is_there,
                       struct sandbox_error *e)
{
    const struct copy_in_file f = file_of(w, st);
    if (w->depth >= COPY_IN_DEPTH_MAX) {
        copy_in_leave_out(w->copy, w->path, "it is too deep");
        close(fd);
        return 0;
    }
    int r = is_there ? 0 : copy_in_directory(w->copy, &f, e);
    DIR *folder = r == 0 ? fdopendir(fd) : NULL;
    if (!folder) {
        close(fd);
        return r < 0 ? r : 0;
    }
    w->depth++;
    r = copy_content(w, folder, e);
    w->depth--;
    closedir(folder);
    return r;
}

static int copy_link(struct walk *w, int folder, const char *name, struct sandbox_error *e)
{
    char target[FILES_PATH_MAX_BYTES + 2];
    ssize_t size = readlinkat(folder, name, target, sizeof(target));
    if (size <= 0 || size > FILES_PATH_MAX_BYTES) {
        copy_in_leave_out(w->copy, w->path, size < 0 ? strerror(errno) : "its target is too long");
        return 0;
    }
    target[size] = '\0';
    return copy_in_link(w->copy, w->path, target, e);
}

/* What is opened is what was looked at: a FIFO would wait, a device do something. */
static int open_same(int folder, const char *name, int flags, struct stat *st)
{
    struct stat opened;
    if (!S_ISDIR(st->st_mode) && !S_ISREG(st->st_mode))
        return -EOPNOTSUPP;
    int fd = openat(folder, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &opened) < 0 || (opened.st_mode & S_IFMT) != (st->st_mode & S_IFMT)) {
        close(fd);
        return -ESTALE;
    }
    *st = opened;
    return fd;
}

static const char *reason_of(const struct stat *st, int error)
{
    return error != EOPNOTSUPP     ? strerror(error)
           : S_ISFIFO(st->st_mode) ? "it is a FIFO"
           : S_ISSOCK(st->st_mode) ? "it is a socket"
                                   : "it is a device";
}

/* What name in folder is, at w->path. */
static int copy_named(struct walk *w, int folder, const char *name, bool follows, bool is_there,
                      struct sandbox_error *e)
{
    struct stat st;
    if (fstatat(folder, name, &st, follows ? 0 : AT_SYMLINK_NOFOLLOW) < 0) {
        copy_in_leave_out(w->copy, w->path, strerror(errno));
        return 0;
    }
    if (S_ISLNK(st.st_mode))
        return copy_link(w, folder, name, e);
    int fd = open_same(folder, name, follows ? 0 : O_NOFOLLOW, &st);
    if (fd < 0) {
        copy_in_leave_out(w->copy, w->path, reason_of(&st, -fd));
        return 0;
    }
    if (S_ISDIR(st.st_mode))
        return copy_folder(w, fd, &st, is_there, e);
    const struct copy_in_file f = file_of(w, &st);
    int r = copy_in_file(w->copy, &f, read_fd, &fd, e);
    close(fd);
    return r;
}

static int copy_entry(struct walk *w, int folder, const char *name, struct sandbox_error *e)
{
    size_t before = w->size;
    if (!append_name(w, name)) {
        copy_in_leave_out(w->copy, name, strerror(ENAMETOOLONG));
        return 0;
    }
    int r = copy_named(w, folder, name, false, false, e);
    cut(w, before);
    return r < 0 ? r : 0;
}

/* ---- what was asked for ---- */

/* The last component, without the slashes behind it; *ret_content: it is "." behind a slash. */
static void find_name(const char *source, char name[FILES_NAME_MAX_BYTES + 1], bool *ret_content)
{
    size_t end = strlen(source);
    while (end > 1 && source[end - 1] == '/')
        end--;
    size_t start = end;
    while (start > 0 && source[start - 1] != '/')
        start--;
    size_t size = MIN(end - start, (size_t)FILES_NAME_MAX_BYTES);
    memcpy(name, source + start, size);
    name[size] = '\0';
    *ret_content = !strcmp(name, ".") || !strcmp(name, "") || !strcmp(name, "..");
}

static int refuse(struct sandbox_error *e, int error, const char *target, const char *why)
{
    return sandbox_error_set(e, -error, "%s: %s", target, why);
}

static bool append_target(struct walk *w, const char *target)
{
    size_t size = strlen(target);
    if (size > FILES_PATH_MAX_BYTES)
        return false;
    memcpy(w->path, target, size + 1);
    w->size = size;
    return true;
}

/* Where the copy is to be, and whether its directory is there already. */
static int find_place(struct walk *w, const char *source, bool is_folder, const char *target,
                      bool *ret_there, struct sandbox_error *e)
{
    char name[FILES_NAME_MAX_BYTES + 1];
    bool is_content;
    mode_t mode = 0;
    int r = copy_in_stat(w->copy, target, &mode, e);
    if (r < 0)
        return r;
    if (r > 0 && r != ENOENT)
        return refuse(e, r, target, "it can't be looked at there; give another target");
    find_name(source, name, &is_content);
    bool ends_in_slash = target[strlen(target) - 1] == '/';
    if (r == 0 && !S_ISDIR(mode) && (is_folder || ends_in_slash))
        return refuse(e, ENOTDIR, target, "is no directory there; give another target");
    if (r == ENOENT && !is_folder && ends_in_slash)
        return refuse(e, ENOENT, target,
                      "there is no such directory; make it, or leave out the "
                      "'/' at the end");
    *ret_there = is_content && r == 0;
    bool fits = append_target(w, target);
    if (fits && r == 0 && S_ISDIR(mode) && !is_content)
        fits = append_name(w, name);
    return fits ? 0 : refuse(e, ENAMETOOLONG, target, "the path is too long; give a shorter one");
}

int copy_in_tree(struct copy_in *c, const char *source, bool follows, const char *target,
                 struct sandbox_error *e)
{
    struct walk w = {.copy = c};
    struct stat st;
    bool is_there = false;
    /* As cp(1): with a slash behind it a link is what it leads to. */
    bool ends_in_slash = source[strlen(source) - 1] == '/';
    follows |= ends_in_slash;
    if ((follows ? stat(source, &st) : lstat(source, &st)) < 0) {
        int error = errno;
        return sandbox_error_set(e, -error, "%s: %s; give a file or folder of this machine", source,
                                 strerror(error));
    }
    int r = find_place(&w, source, S_ISDIR(st.st_mode), target, &is_there, e);
    if (r == 0)
        r = copy_named(&w, AT_FDCWD, source, follows, is_there, e);
    return r < 0 ? r : 0;
}
