// SPDX-License-Identifier: Apache-2.0
/* host calls: close fstat getdents64 newfstatat openat2 readlinkat */
#include "kernel/fs/layer/lower.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>

#define RESOLVE_OURS (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)
#define LIST_BYTES   32768
/* Of paths that a view is asked about, and of links in it. */
#define VIEW_PATH_MAX 256

static int open_beneath(int dir, const char *name, int flags)
{
    struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC | O_NOFOLLOW),
                           .resolve = RESOLVE_OURS};
    long fd = syscall(SYS_openat2, dir, name, &how, sizeof(how));
    return fd < 0 ? -errno : (int)fd;
}

static struct lower *lower_alloc(const char *name, bool is_dir)
{
    size_t size = strlen(name) + 1;
    struct lower *l = calloc(1, sizeof(*l) + size);
    if (!l)
        return NULL;
    l->refs = 1;
    l->is_dir = is_dir;
    memcpy(l->name, name, size);
    fdcache_init(&l->fd, NULL);
    return l;
}

struct lower *lower_new_root(struct hostfd fd, bool is_dir)
{
    struct lower *l = lower_alloc("", is_dir);
    if (!l) {
        hostfd_close(&fd);
        return NULL;
    }
    /* Not part of the cache: it could not be opened again. */
    l->fd.n = fd.n;
    return l;
}

/* ---- views ---- */

/* Appends the path of l below the directory that has the view, and a slash. False: no room. */
static bool append_path(const struct lower *l, char *path, size_t size)
{
    if (!l->parent || !l->parent->view)
        return true;
    if (!append_path(l->parent, path, size))
        return false;
    size_t used = strlen(path);
    int n = snprintf(path + used, size - used, "%s/", l->name);
    return n > 0 && (size_t)n < size - used;
}

static enum lower_verdict verdict_of(const struct lower *l, const char *name)
{
    char path[VIEW_PATH_MAX] = "";
    if (!append_path(l, path, sizeof(path)) || strlen(path) + strlen(name) >= sizeof(path))
        return LOWER_HIDDEN;
    strcat(path, name);
    return l->view->verdict(path);
}

static bool view_shows(const struct lower *l, enum lower_verdict verdict, int dir, const char *name,
                       mode_t mode)
{
    char target[VIEW_PATH_MAX];
    if (verdict == LOWER_PARTLY || verdict == LOWER_WHOLE)
        return S_ISDIR(mode);
    if (verdict == LOWER_HIDDEN || !S_ISLNK(mode))
        return verdict == LOWER_FILE && S_ISREG(mode);
    ssize_t length = readlinkat(dir, name, target, sizeof(target));
    if (length <= 0 || (size_t)length >= sizeof(target))
        return false;
    target[length] = '\0';
    return l->view->shows_link(target);
}

struct lower *lower_new(struct lower *parent, const char *name, bool is_dir)
{
    struct lower *l = lower_alloc(name, is_dir);
    if (!l)
        return NULL;
    l->parent = lower_get(parent);
    l->depth = parent->depth + 1;
    l->public_only = parent->public_only;
    if (parent->view && is_dir && verdict_of(parent, name) == LOWER_PARTLY)
        l->view = parent->view;
    return l;
}

struct lower *lower_get(struct lower *l)
{
    l->refs++;
    return l;
}

void lower_put(struct lower *l)
{
    while (l && --l->refs == 0) {
        struct lower *parent = l->parent;
        if (parent)
            fdcache_done(&l->fd);
        else
            close(l->fd.n);
        free(l);
        l = parent;
    }
}

/*
 * The file must still be what it was when its name was looked up: nothing that blocks or acts. And
 * a kernel that was started by root on the host must not read for its guests what root alone may.
 */
static int check_opened(const struct lower *l, int fd)
{
    struct stat st;
    mode_t needed = l->is_dir ? S_IROTH | S_IXOTH : S_IROTH;
    int r = fstat(fd, &st) < 0 ? -errno : 0;
    if (r == 0 && !l->is_dir && !S_ISREG(st.st_mode))
        r = -ENOENT;
    if (r == 0 && l->public_only && (st.st_mode & needed) != needed)
        r = -EACCES;
    if (r == 0)
        return fd;
    close(fd);
    return r;
}

int lower_open(struct lower *l)
{
    if (!l->parent)
        return l->fd.n;
    if (l->fd.n >= 0) {
        fdcache_touch(&l->fd);
        return l->fd.n;
    }
    if (l->depth > LOWER_DEPTH_MAX)
        return -ENAMETOOLONG;
    int dir = lower_open(l->parent);
    if (dir < 0)
        return dir;
    int fd = open_beneath(dir, l->name,
                          l->is_dir ? O_PATH | O_DIRECTORY : O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && (!l->is_dir || l->public_only))
        fd = check_opened(l, fd);
    if (fd >= 0)
        fdcache_opened(&l->fd, fd);
    return fd;
}

bool lower_ends_with(const struct lower *l, const char *end)
{
    size_t size = strlen(end);
    for (; l; l = l->parent) {
        size_t from = size;
        while (from > 0 && end[from - 1] != '/')
            from--;
        if (strlen(l->name) != size - from || memcmp(l->name, end + from, size - from) != 0)
            return false;
        if (from == 0)
            return true;
        size = from - 1;
    }
    return false;
}

static bool is_shown(mode_t mode)
{
    return S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode);
}

int lower_stat(struct lower *l, const char *name, struct stat *ret)
{
    int dir = lower_open(l);
    if (dir < 0)
        return dir;
    struct stat st;
    enum lower_verdict verdict = l->view ? verdict_of(l, name) : LOWER_WHOLE;
    if (verdict == LOWER_HIDDEN)
        return -ENOENT;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
        return -errno;
    if (!is_shown(st.st_mode) || (l->view && !view_shows(l, verdict, dir, name, st.st_mode)))
        return -ENOENT;
    *ret = st;
    return 0;
}

ssize_t lower_readlink(struct lower *link, char *buffer, size_t size)
{
    int dir = lower_open(link->parent);
    if (dir < 0)
        return dir;
    ssize_t n = readlinkat(dir, link->name, buffer, size);
    return n < 0 ? -errno : n;
}

static int list_entry_checked(struct lower *l, const struct dirent64 *e,
                              int (*entry)(void *, const char *, uint64_t, uint8_t), void *context)
{
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
        return 0;
    uint8_t type = e->d_type;
    if (type == DT_UNKNOWN) {
        struct stat st;
        if (lower_stat(l, e->d_name, &st) < 0)
            return 0;
        type = IFTODT(st.st_mode);
    }
    if (!is_shown(DTTOIF(type)))
        return 0;
    return entry(context, e->d_name, e->d_ino, type);
}

struct view_listing {
    struct lower *dir;
    int (*entry)(void *, const char *, uint64_t, uint8_t);
    void *context;
};

static int list_shown_name(void *context, const char *name)
{
    const struct view_listing *v = context;
    struct stat st;
    if (lower_stat(v->dir, name, &st) < 0)
        return 0;
    return v->entry(v->context, name, st.st_ino, IFTODT(st.st_mode));
}

static int list_view(struct lower *l, int (*entry)(void *, const char *, uint64_t, uint8_t),
                     void *context)
{
    char path[VIEW_PATH_MAX] = "";
    struct view_listing v = {l, entry, context};
    if (!append_path(l, path, sizeof(path)))
        return -ENAMETOOLONG;
    size_t length = strlen(path);
    if (length > 0)
        path[length - 1] = '\0';
    return l->view->list(path, list_shown_name, &v);
}

int lower_list(struct lower *l,
               int (*entry)(void *context, const char *name, uint64_t ino, uint8_t d_type),
               void *context)
{
    if (l->view)
        return list_view(l, entry, context);
    int dir = lower_open(l);
    if (dir < 0)
        return dir;
    _cleanup_close_ int fd = open_beneath(dir, ".", O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return fd;
    _cleanup_free_ char *buffer = malloc(LIST_BYTES);
    if (!buffer)
        return -ENOMEM;
    for (;;) {
        ssize_t size = getdents64(fd, buffer, LIST_BYTES);
        if (size <= 0)
            return size < 0 ? -errno : 0;
        for (ssize_t at = 0; at < size;) {
            const struct dirent64 *e = (const struct dirent64 *)(buffer + at);
            int r = list_entry_checked(l, e, entry, context);
            if (r < 0)
                return r;
            at += e->d_reclen;
        }
    }
}
