// SPDX-License-Identifier: Apache-2.0
/* host calls: close fcntl fstat getdents64 linkat mkdirat newfstatat openat unlinkat */
#include "kernel/proc/shadow.h"

#include "kernel/core/kernel.h"
#include "kernel/core/memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

/* Below kernel.shadow_dir: the stub itself, and the directory that the tasks have as their root. */
#define STUB_NAME "stub"
#define ROOT_NAME "root"

#define SHADOW_PATH_MAX (GUEST_PATH_MAX + 16)

static size_t entries;
static struct list uses = {&uses, &uses};
static struct waitq released = {{&released.entries, &released.entries}};
static const struct call *first_waiter;

/* ---- removing ---- */

static bool is_in_use(const char *path)
{
    const struct shadow_use *u;
    list_for_each(u, &uses, link) if (!strcmp(u->path, path)) return true;
    return false;
}

/*
 * Removes what is not in use below the directory at path, which has room for SHADOW_PATH_MAX bytes;
 * recursion is as deep as a path has components.
 */
static void clear_directory(int dir_fd, char *path)
{
    size_t length = strlen(path);
    DIR *dir = fdopendir(dir_fd);
    if (!dir) {
        close(dir_fd);
        return;
    }
    struct dirent *e;
    while ((e = readdir(dir))) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        if (length + 1 + strlen(e->d_name) >= SHADOW_PATH_MAX)
            continue;
        path[length] = '/';
        memcpy(path + length + 1, e->d_name, strlen(e->d_name) + 1);
        int child = openat(dirfd(dir), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (child >= 0)
            clear_directory(child, path);
        /* A directory with something left in it stays. */
        if (!is_in_use(path) && unlinkat(dirfd(dir), e->d_name, child >= 0 ? AT_REMOVEDIR : 0) == 0)
            entries--;
        path[length] = '\0';
    }
    closedir(dir);
}

static void clear_unused(void)
{
    char path[SHADOW_PATH_MAX] = ROOT_NAME;
    const struct shadow_use *u;
    list_for_each(u, &uses, link) if (u->needs_others) return;
    int fd = openat(kernel.shadow_dir.n, ROOT_NAME, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        clear_directory(fd, path);
}

/* ---- making ---- */

/*
 * Into out: the path without "", "." and "..", each ".." taking the component before it away, below
 * ROOT_NAME. Directories that are only passed through ("x/../y") are made too: the host walks
 * through them.
 */
static int make_directories(const char *path, char *out, size_t size, bool *ret_passes)
{
    size_t length = strlen(ROOT_NAME);
    memcpy(out, ROOT_NAME, length + 1);
    *ret_passes = false;
    while (*path) {
        size_t n = strcspn(path, "/");
        const char *next = path + n + strspn(path + n, "/");
        bool last = *next == '\0';
        if (n == 2 && path[0] == '.' && path[1] == '.') {
            char *slash = strrchr(out, '/');
            if (slash)
                *slash = '\0';
            length = strlen(out);
            *ret_passes = true;
        } else if (n > 0 && !(n == 1 && path[0] == '.')) {
            if (length + 1 + n + 1 > size)
                return -ENAMETOOLONG;
            out[length++] = '/';
            memcpy(out + length, path, n);
            length += n;
            out[length] = '\0';
            if (!last && mkdirat(kernel.shadow_dir.n, out, 0755) == 0)
                entries++;
            else if (!last && errno != EEXIST)
                return -errno;
        }
        path = next;
    }
    return 0;
}

static int try_link(const char *path, char *out, bool *ret_passes)
{
    struct stat st;
    int r = make_directories(path, out, SHADOW_PATH_MAX, ret_passes);
    if (r < 0)
        return r;
    if (linkat(kernel.shadow_dir.n, STUB_NAME, kernel.shadow_dir.n, out, 0) == 0) {
        entries++;
        return 0;
    }
    if (errno != EEXIST)
        return -errno;
    if (fstatat(kernel.shadow_dir.n, out, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    return S_ISREG(st.st_mode) ? 0 : -EISDIR;
}

/* A directory where a file is to be, the other way round, or no room. */
static bool is_in_the_way(int r)
{
    return r == -ENOTDIR || r == -EISDIR || r == -EMLINK || r == -ENOSPC;
}

int shadow_link(const struct call *c, const char *path, struct shadow_use *use)
{
    char out[SHADOW_PATH_MAX];
    bool passes;
    if (first_waiter && first_waiter != c)
        return -EAGAIN;
    if (entries >= SHADOW_ENTRIES_MAX)
        clear_unused();
    int r = try_link(path, out, &passes);
    if (is_in_the_way(r)) {
        clear_unused();
        r = try_link(path, out, &passes);
    }
    if (is_in_the_way(r) && !list_is_empty(&uses))
        return -EAGAIN;
    if (r < 0 || !use)
        return r;
    use->path = strdup(out);
    if (!use->path)
        return -ENOMEM;
    use->needs_others = passes;
    list_append(&uses, &use->link);
    return 0;
}

/* ---- the end of a use ---- */

void shadow_release(struct shadow_use *use)
{
    if (!use->path)
        return;
    list_remove(&use->link);
    free(use->path);
    use->path = NULL;
    waitq_wake(&released, 0);
}

static void wait_no_more(struct call *c)
{
    first_waiter = NULL;
    waitq_wake(&released, 0);
}

long shadow_wait(struct call *c)
{
    int r = call_wait_on(c, &released);
    if (r < 0)
        return r;
    if (!first_waiter) {
        first_waiter = c;
        c->release = wait_no_more;
    }
    return call_park(c, RESTART_NONE);
}
