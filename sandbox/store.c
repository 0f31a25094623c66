// SPDX-License-Identifier: Apache-2.0
#include "sandbox/store.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

#define FOLDER_PREFIX ".glovebox-"
/* Younger ones may be between their making and their locking. */
#define SWEEP_AGE_SECONDS 60
#define SWEEP_AT_ONCE     64 /* names of files and folders */
/*
 * Which folders a new sandbox looks into: all while there are few, so that it takes no longer for
 * the others' sake; of more, another part each time.
 */
#define GLANCE_FIRST  16
#define GLANCE_ONE_IN 16

int store_make(struct store *s, const char *parent, struct sandbox_error *e)
{
    uint64_t number;
    if (getrandom(&number, sizeof(number), 0) != sizeof(number) ||
        (size_t)snprintf(s->path, sizeof(s->path), "%s/" FOLDER_PREFIX "%016" PRIx64, parent,
                         number) >= sizeof(s->path))
        return sandbox_error_set(e, -ENAMETOOLONG,
                                 "files of sandboxes: the path of %s is too long; set TMPDIR to "
                                 "another directory",
                                 parent);
    bool is_made = mkdir(s->path, 0700) == 0;
    if (is_made)
        s->folder = open(s->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (s->folder >= 0 && flock(s->folder, LOCK_EX | LOCK_NB) == 0)
        return 0;
    int error = errno;
    if (is_made)
        rmdir(s->path);
    base_closep(&s->folder);
    s->folder = -1;
    return sandbox_error_set(e, -error,
                             "files of sandboxes: a folder in %s: %s; set TMPDIR to a directory "
                             "with room that you may write to",
                             parent, strerror(error));
}

/* All files of an open folder: the kernel makes no folders in it, and its jail lets it make none.
 */
static void empty_folder(int fd)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    const struct dirent *e;
    if (!dir) {
        base_closep(&copy);
        return;
    }
    while ((e = readdir(dir)))
        unlinkat(fd, e->d_name, 0);
    closedir(dir);
}

/* Not yet emptied it looks as old as it is, or the next one would take it for one just made. */
static void close_files(struct store_sweep *w)
{
    const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, w->time};
    if (!w->files)
        return;
    futimens(dirfd(w->files), times);
    closedir(w->files);
    w->files = NULL;
}

static void sweep_end(struct store_sweep *w)
{
    close_files(w);
    if (w->folders)
        closedir(w->folders);
    w->folders = NULL;
}

void store_remove_empty(struct store *s)
{
    if (s->folder < 0 || (rmdir(s->path) < 0 && errno == ENOTEMPTY))
        return;
    base_closep(&s->folder);
    s->folder = -1;
}

void store_remove(struct store *s)
{
    sweep_end(&s->sweep);
    if (s->folder < 0)
        return;
    empty_folder(s->folder);
    store_remove_empty(s);
    base_closep(&s->folder);
    s->folder = -1;
}

static bool is_worth_a_glance(size_t i)
{
    return i < GLANCE_FIRST || i % GLANCE_ONE_IN == (size_t)getpid() % GLANCE_ONE_IN;
}

void store_sweep_begin(struct store *s)
{
    char parent[PATH_MAX];
    snprintf(parent, sizeof(parent), "%s", s->path);
    char *slash = strrchr(parent, '/');
    if (s->folder < 0 || !slash)
        return;
    *slash = '\0';
    s->sweep = (struct store_sweep){.folders = opendir(parent)};
}

static void sweep_folder(struct store_sweep *w)
{
    struct stat st;
    const struct dirent *e = readdir(w->folders);
    if (!e) {
        sweep_end(w);
        return;
    }
    if (strncmp(e->d_name, FOLDER_PREFIX, strlen(FOLDER_PREFIX)) != 0 ||
        !is_worth_a_glance(w->seen++))
        return;
    _cleanup_close_ int fd =
        openat(dirfd(w->folders), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid() ||
        st.st_mtime > time(NULL) - SWEEP_AGE_SECONDS || flock(fd, LOCK_EX | LOCK_NB) < 0)
        return;
    w->files = fdopendir(fd);
    if (!w->files)
        return;
    fd = -1; /* transferred */
    w->time = st.st_mtim;
    snprintf(w->name, sizeof(w->name), "%s", e->d_name);
}

static void sweep_file(struct store_sweep *w)
{
    const struct dirent *e = readdir(w->files);
    if (e) {
        unlinkat(dirfd(w->files), e->d_name, 0);
        return;
    }
    unlinkat(dirfd(w->folders), w->name, AT_REMOVEDIR);
    close_files(w);
}

bool store_sweep_step(struct store *s)
{
    struct store_sweep *w = &s->sweep;
    for (int i = 0; i < SWEEP_AT_ONCE && w->folders; i++) {
        if (w->files)
            sweep_file(w);
        else
            sweep_folder(w);
    }
    return w->folders != NULL;
}
