// SPDX-License-Identifier: Apache-2.0
#include "sandbox/copy_folder.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define TRIES 16

struct level {
    int fd;
    bool is_ours; /* made by us: gets mode and time at its end */
    unsigned mode;
    struct timespec mtime;
};

struct copy_folder {
    struct level levels[COPY_DEPTH_MAX + 1]; /* the first is where the root goes */
    size_t depth;                            /* in use */
    char *root;                              /* its name; NULL: it is the first level itself */
    bool needs_directory;                    /* the root has to be one */
    unsigned umask;
    bool names_late; /* files have no name until they are whole, where the target can do that */
    int file;        /* being written; -1 */
    struct copy_entry entry;
    char name[COPY_NAME_MAX_BYTES + 1], temporary[32]; /* temporary "": it has no name yet */
};

static int open_beneath(const char *path)
{
    const struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
                                 .resolve = RESOLVE_NO_SYMLINKS};
    int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
    return fd < 0 ? -errno : fd;
}

static int explain_open(int error, struct sandbox_error *e)
{
    if (error == -ELOOP)
        return sandbox_error_set(e, error,
                                 "a symbolic link is in this path, which is not followed; give the "
                                 "path that it leads to, if that is meant (realpath says it)");
    return sandbox_error_set(e, error, "%s; give a directory or file that can be made",
                             strerror(-error));
}

/* The parent of a path that ends in a name, which is *ret_name. A descriptor or negative errno. */
static int open_parent(char *path, const char **ret_name)
{
    char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
        return -EINVAL;
    *ret_name = name;
    if (!slash)
        return open_beneath(".");
    if (slash == path)
        return open_beneath("/");
    *slash = '\0';
    return open_beneath(path);
}

/* Sets the first level, and what the root's name is there. */
static int open_target(struct copy_folder *f, const char *path, const char *name, bool is_content)
{
    char copy[PATH_MAX];
    size_t size = strlen(path);
    int fd = open_beneath(path);
    if (size >= sizeof(copy))
        return -ENAMETOOLONG;
    if (fd < 0 && fd != -ENOENT && fd != -ENOTDIR)
        return fd;
    memcpy(copy, path, size + 1);
    while (size > 1 && copy[size - 1] == '/')
        copy[--size] = '\0';
    bool is_new = fd < 0;
    if (is_new && path[size] == '/' && fd == -ENOTDIR)
        return fd;
    f->needs_directory = is_content || (is_new && path[size] == '/');
    if (is_new)
        fd = open_parent(copy, &name);
    else if (is_content)
        name = NULL;
    if (fd < 0)
        return fd;
    f->levels[0].fd = fd;
    f->depth = 1;
    f->root = name ? strdup(name) : NULL;
    return name && !f->root ? -ENOMEM : 0;
}

int copy_folder_open(const char *path, const char *name, bool is_content, struct copy_folder **ret,
                     struct sandbox_error *e)
{
    struct copy_folder *f = calloc(1, sizeof(*f));
    if (!f)
        return sandbox_error_set(e, -ENOMEM, "out of memory; free some and try again");
    f->file = -1;
    f->names_late = access("/proc/self/fd", X_OK) == 0;
    f->umask = umask(0);
    umask(f->umask);
    int r = open_target(f, path, name, is_content);
    if (r < 0) {
        copy_folder_free(f);
        return explain_open(r, e);
    }
    *ret = f;
    return 0;
}

static int here(const struct copy_folder *f)
{
    return f->levels[f->depth - 1].fd;
}

/* Lets go of what was begun. */
static void drop_file(struct copy_folder *f)
{
    if (f->file >= 0)
        close(f->file);
    if (f->file >= 0 && f->temporary[0])
        unlinkat(here(f), f->temporary, 0);
    f->file = -1;
}

void copy_folder_free(struct copy_folder *f)
{
    if (!f)
        return;
    drop_file(f);
    while (f->depth > 0)
        close(f->levels[--f->depth].fd);
    free(f->root);
    free(f);
}

static int write_error(struct sandbox_error *e, int error)
{
    return sandbox_error_set(e, -error, "%s; make room in the target, the copy is not complete",
                             strerror(error));
}

/* What to call an entry: the reader has checked its name, and the root's is ours. */
static const char *name_of(const struct copy_folder *f, const struct copy_entry *entry)
{
    return *entry->name ? entry->name : f->root;
}

/* ---- directories ---- */

static int push(struct copy_folder *f, int fd, bool is_ours, const struct copy_entry *d)
{
    if (f->depth > COPY_DEPTH_MAX) {
        close(fd);
        return ENAMETOOLONG;
    }
    f->levels[f->depth++] = (struct level){fd, is_ours, d->mode, d->mtime};
    return 0;
}

static int begin_directory(void *userdata, const struct copy_entry *d, struct sandbox_error *e)
{
    struct copy_folder *f = userdata;
    const char *name = name_of(f, d);
    if (!name) {
        int again = fcntl(here(f), F_DUPFD_CLOEXEC, 0);
        return again < 0 ? write_error(e, errno) : push(f, again, false, d);
    }
    bool is_ours = mkdirat(here(f), name, 0700) == 0;
    if (!is_ours && errno != EEXIST)
        return errno == ENOSPC || errno == EDQUOT ? write_error(e, errno) : errno;
    int fd = openat(here(f), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == EMFILE || errno == ENFILE ? write_error(e, errno) : errno;
    return push(f, fd, is_ours, d);
}

static unsigned mode_of(const struct copy_folder *f, unsigned mode)
{
    return mode & 0777 & ~f->umask;
}

static int leave(void *userdata, struct sandbox_error *e _unused_)
{
    struct copy_folder *f = userdata;
    struct level *l = &f->levels[--f->depth];
    if (l->is_ours) {
        const struct timespec times[2] = {l->mtime, l->mtime};
        /* The caller is to be able to remove it again. */
        fchmod(l->fd, mode_of(f, l->mode) | S_IRWXU);
        futimens(l->fd, times);
    }
    close(l->fd);
    return 0;
}

/* ---- files and links ---- */

static void new_temporary(struct copy_folder *f)
{
    uint64_t random = 0;
    if (getrandom(&random, sizeof(random), 0) < 0)
        random = (uint64_t)getpid();
    snprintf(f->temporary, sizeof(f->temporary), ".glovebox-%016" PRIx64, random);
}

/* Gives what was made its name. 0, or a positive errno: it is gone again. */
static int put_in_place(struct copy_folder *f, const char *name)
{
    if (renameat(here(f), f->temporary, here(f), name) == 0)
        return 0;
    int error = errno;
    unlinkat(here(f), f->temporary, 0);
    return error;
}

static int check_root(const struct copy_folder *f, const struct copy_entry *entry,
                      struct sandbox_error *e)
{
    if (*entry->name || (f->root && !f->needs_directory))
        return 0;
    return sandbox_error_set(e, -ENOTDIR,
                             "it is no directory, and can't become one; leave out the '/' at the "
                             "end of the path and of the target");
}

/* Without a name, so that nothing is left of it when this process is killed; or with one. */
static void open_file(struct copy_folder *f)
{
    f->temporary[0] = '\0';
    if (f->names_late)
        f->file = openat(here(f), ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
    for (int i = 0; i < TRIES && f->file < 0; i++) {
        new_temporary(f);
        f->file = openat(here(f), f->temporary,
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    }
}

/* Gives a file without a name its own, or a temporary one where that is taken. 0 or positive errno.
 */
static int name_file(struct copy_folder *f)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", f->file);
    if (linkat(AT_FDCWD, path, here(f), f->name, AT_SYMLINK_FOLLOW) == 0)
        return 0;
    for (int i = 0; i < TRIES && errno == EEXIST; i++) {
        new_temporary(f);
        if (linkat(AT_FDCWD, path, here(f), f->temporary, AT_SYMLINK_FOLLOW) == 0)
            return 0;
    }
    f->temporary[0] = '\0';
    return errno;
}

static int begin_file(void *userdata, const struct copy_entry *entry, struct sandbox_error *e)
{
    struct copy_folder *f = userdata;
    struct stat st;
    int r = check_root(f, entry, e);
    if (r < 0)
        return r;
    snprintf(f->name, sizeof(f->name), "%s", name_of(f, entry));
    /* rename(2) would say so too, when all was written. */
    if (fstatat(here(f), f->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
        return EISDIR;
    open_file(f);
    if (f->file < 0)
        return write_error(e, errno);
    f->entry = *entry;
    return 0;
}

/* It is larger than a file may be where it goes, or for whoever copies (setrlimit(2)): others may
 * not be. */
static int give_up_file(struct copy_folder *f, int error, struct sandbox_error *e)
{
    drop_file(f);
    return error == EFBIG ? EFBIG : write_error(e, error);
}

static int data(void *userdata, int64_t offset, const void *bytes, size_t size,
                struct sandbox_error *e)
{
    struct copy_folder *f = userdata;
    const char *at = bytes;
    while (size > 0) {
        ssize_t n = pwrite(f->file, at, size, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return give_up_file(f, n < 0 ? errno : ENOSPC, e);
        at += n;
        offset += n;
        size -= (size_t)n;
    }
    return 0;
}

static int end_file(void *userdata, int64_t size, bool is_whole, struct sandbox_error *e)
{
    struct copy_folder *f = userdata;
    const struct timespec times[2] = {f->entry.mtime, f->entry.mtime};
    if (!is_whole) {
        drop_file(f);
        return 0;
    }
    if (ftruncate(f->file, size) < 0)
        return give_up_file(f, errno, e);
    fchmod(f->file, mode_of(f, f->entry.mode));
    futimens(f->file, times);
    int error = f->temporary[0] ? 0 : name_file(f);
    if (close(f->file) < 0 && !error)
        error = errno;
    f->file = -1;
    if (f->temporary[0] && error)
        unlinkat(here(f), f->temporary, 0);
    else if (f->temporary[0])
        error = put_in_place(f, f->name);
    return error ? write_error(e, error) : 0;
}

static int make_link(void *userdata, const struct copy_entry *l, struct sandbox_error *e)
{
    struct copy_folder *f = userdata;
    const struct timespec times[2] = {l->mtime, l->mtime};
    int r = check_root(f, l, e);
    if (r < 0)
        return r;
    new_temporary(f);
    if (symlinkat(l->target, here(f), f->temporary) < 0)
        return errno == ENOSPC || errno == EDQUOT ? write_error(e, errno) : errno;
    utimensat(here(f), f->temporary, times, AT_SYMLINK_NOFOLLOW);
    return put_in_place(f, name_of(f, l));
}

const struct copy_sink copy_folder_sink = {
    .begin_directory = begin_directory,
    .leave = leave,
    .begin_file = begin_file,
    .data = data,
    .end_file = end_file,
    .link = make_link,
};
