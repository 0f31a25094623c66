// SPDX-License-Identifier: Apache-2.0
#include "kernel/proc/shadow.h"

#include "kernel/core/kernel.h"
#include "kernel/core/memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

/* Below kernel.shadow_dir: the stub itself, and the directory that the tasks have as their root. */
#define STUB_NAME "stub"
#define ROOT_NAME "root"

static size_t entries, in_flight;

void shadow_hold(void)
{
    in_flight++;
}

void shadow_release(void)
{
    in_flight--;
}

/* Removes what is below the directory; recursion is as deep as a path has components. */
static void clear_directory(int dir_fd)
{
    DIR *dir = fdopendir(dir_fd);
    if (!dir) {
        close(dir_fd);
        return;
    }
    struct dirent *e;
    while ((e = readdir(dir))) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        if (unlinkat(dirfd(dir), e->d_name, 0) == 0)
            continue;
        int child = openat(dirfd(dir), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (child >= 0)
            clear_directory(child);
        unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR);
    }
    closedir(dir);
}

static int clear_all(void)
{
    if (in_flight > 0)
        return -EAGAIN;
    int fd = openat(kernel.shadow_dir.n, ROOT_NAME, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    clear_directory(fd);
    entries = 0;
    return 0;
}

/*
 * The path without "", "." and "..", each ".." taking the component before it away, below
 * ROOT_NAME. Directories that are only passed through ("x/../y") are made too: the host walks
 * through them.
 */
static int make_directories(const char *path, char *out, size_t size)
{
    size_t length = strlen(ROOT_NAME);
    memcpy(out, ROOT_NAME, length + 1);
    while (*path) {
        size_t n = strcspn(path, "/");
        const char *next = path + n + strspn(path + n, "/");
        bool last = *next == '\0';
        if (n == 2 && path[0] == '.' && path[1] == '.') {
            char *slash = strrchr(out, '/');
            if (slash)
                *slash = '\0';
            length = strlen(out);
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

static int try_link(const char *path)
{
    char out[GUEST_PATH_MAX + 16];
    struct stat st;
    int r = make_directories(path, out, sizeof(out));
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

int shadow_link(const char *path)
{
    if (entries >= SHADOW_ENTRIES_MAX)
        clear_all();
    int r = try_link(path);
    if (r != -ENOTDIR && r != -EISDIR && r != -EMLINK && r != -ENOSPC)
        return r;
    /* A directory where a file was, or the other way round. */
    r = clear_all();
    return r < 0 ? r : try_link(path);
}
