// SPDX-License-Identifier: Apache-2.0
#include "sandbox/kept.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#define NAME_TRIES 1000

int64_t kept_now_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return ts.tv_sec * 1000 + ts.tv_nsec / NSEC_PER_MSEC;
}

int kept_open_folder(int runtime, const char *folder, bool is_made)
{
    if (is_made && mkdirat(runtime, folder, 0700) < 0 && errno != EEXIST)
        return -errno;
    int fd = openat(runtime, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int kept_create(int folder, const char *name, char ret_file[static KEPT_FILE_NAME_MAX + 1])
{
    int64_t number = kept_now_ms();
    for (int i = 0; i < NAME_TRIES; i++) {
        char file[KEPT_FILE_NAME_MAX + 1];
        snprintf(file, sizeof(file), "%" PRId64 ".%s", number + i, name);
        int fd = openat(folder, file,
                        O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0)
            memcpy(ret_file, file, sizeof(file));
        if (fd >= 0 || errno != EEXIST)
            return fd < 0 ? -errno : fd;
    }
    return -EEXIST;
}

/* Where files without a name can't be: with a name, which readers that find half a file pass by. */
static int keep_written(int folder, const char *name, const struct buf *text)
{
    char file[KEPT_FILE_NAME_MAX + 1];
    _cleanup_close_ int fd = kept_create(folder, name, file);
    if (fd < 0)
        return fd;
    if (write(fd, text->data, text->size) == (ssize_t)text->size)
        return 0;
    int error = errno;
    unlinkat(folder, file, 0);
    return error ? -error : -ENOSPC;
}

int kept_keep(int folder, const char *name, const struct buf *text)
{
    _cleanup_close_ int fd = openat(folder, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
    if (fd < 0)
        return keep_written(folder, name, text);
    errno = 0;
    if (write(fd, text->data, text->size) != (ssize_t)text->size)
        return errno ? -errno : -ENOSPC;
    return kept_link(folder, name, fd);
}

int kept_link(int folder, const char *name, int fd)
{
    char path[32];
    int64_t number = kept_now_ms();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    for (int i = 0; i < NAME_TRIES; i++) {
        char file[KEPT_FILE_NAME_MAX + 1];
        snprintf(file, sizeof(file), "%" PRId64 ".%s", number + i, name);
        if (linkat(AT_FDCWD, path, folder, file, AT_SYMLINK_FOLLOW) == 0)
            return 0;
        if (errno != EEXIST)
            return -errno;
    }
    return -EEXIST;
}

void kept_name_beside(const char *file, char ret[static KEPT_FILE_NAME_MAX + 2])
{
    snprintf(ret, KEPT_FILE_NAME_MAX + 2, "%s~", file);
}

void kept_remove(int folder, const char *file)
{
    char beside[KEPT_FILE_NAME_MAX + 3];
    kept_name_beside(file, beside);
    unlinkat(folder, beside, 0);
    strcat(beside, "~"); /* of one that was killed when it made another */
    unlinkat(folder, beside, 0);
    unlinkat(folder, file, 0);
}

bool kept_is_locked(int fd)
{
    struct flock whole = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_GETLK, &whole) < 0 || whole.l_type != F_UNLCK;
}

bool kept_is_live(int folder, const char *file)
{
    for (;;) {
        struct stat st, now;
        _cleanup_close_ int fd =
            openat(folder, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
            return errno != ENOENT;
        if (kept_is_locked(fd) || fstat(fd, &st) < 0)
            return true;
        if (fstatat(folder, file, &now, AT_SYMLINK_NOFOLLOW) < 0)
            return errno != ENOENT;
        if (now.st_ino == st.st_ino)
            return false;
    }
}

static bool parse(const char *file, struct kept_entry *ret)
{
    char *end;
    size_t size = strlen(file);
    if (!isdigit((unsigned char)file[0]) || file[size - 1] == '~' || size > KEPT_FILE_NAME_MAX)
        return false;
    errno = 0;
    ret->number = strtoll(file, &end, 10);
    memcpy(ret->file, file, size + 1);
    return !errno && *end == '.';
}

const char *kept_sandbox(const struct kept_entry *e)
{
    return strchr(e->file, '.') + 1;
}

static int compare(const void *a, const void *b)
{
    int64_t x = ((const struct kept_entry *)a)->number, y = ((const struct kept_entry *)b)->number;
    return (x > y) - (x < y);
}

static int take(DIR *dir, const char *name, struct kept_entries *to)
{
    const struct dirent *d;
    size_t capacity = 0;
    while (to->count < KEPT_ENTRIES_MAX) {
        struct kept_entry e;
        errno = 0;
        d = readdir(dir);
        if (!d)
            return -errno;
        if (!parse(d->d_name, &e) || (name && strcmp(kept_sandbox(&e), name)))
            continue;
        if (to->count == capacity) {
            capacity = MAX(2 * capacity, (size_t)64);
            struct kept_entry *items = reallocarray(to->items, capacity, sizeof(*items));
            if (!items)
                return -ENOMEM;
            to->items = items;
        }
        to->items[to->count++] = e;
    }
    return 0;
}

int kept_list(int folder, const char *name, struct kept_entries *ret)
{
    struct kept_entries all = {0};
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = again < 0 ? NULL : fdopendir(again);
    int r = dir ? take(dir, name, &all) : -errno;
    if (dir)
        closedir(dir);
    else
        base_closep(&again);
    if (r < 0) {
        free(all.items);
        return r;
    }
    if (all.count > 0)
        qsort(all.items, all.count, sizeof(*all.items), compare);
    *ret = all;
    return 0;
}

int kept_forget(int runtime, const char *folder_name, const char *name)
{
    struct kept_entries all;
    int count = 0;
    _cleanup_close_ int folder = kept_open_folder(runtime, folder_name, false);
    int r = folder < 0 ? folder : kept_list(folder, name, &all);
    if (r < 0)
        return r == -ENOENT ? 0 : r;
    for (size_t i = 0; i < all.count; i++) {
        if (kept_is_live(folder, all.items[i].file))
            continue;
        kept_remove(folder, all.items[i].file);
        count++;
    }
    free(all.items);
    return count;
}

size_t kept_count_surplus(const struct kept_entries *all, size_t most, int64_t older_s)
{
    int64_t now = kept_now_ms(), oldest = now - older_s * 1000;
    size_t count = all->count > most ? all->count - most : 0;
    while (count < all->count && all->items[count].number < oldest)
        count++;
    while (count > 0 && all->items[count - 1].number > now - KEPT_NEW_S * 1000LL)
        count--;
    return count;
}
