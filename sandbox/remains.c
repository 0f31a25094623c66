// SPDX-License-Identifier: Apache-2.0
#include "sandbox/remains.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PROCESSES_MAX 4096 /* that one look is worth */
#define MEASURED_MAX  512  /* they run on meanwhile */
#define CHILDREN_TEXT 8192 /* of one thread; the rest is seen when these have gone */

struct look {
    pid_t found[PROCESSES_MAX];
    size_t count;
};

static ssize_t read_text(int folder, const char *name, char *ret, size_t size)
{
    _cleanup_close_ int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, ret, size - 1);
    ret[MAX(n, (ssize_t)0)] = '\0';
    return n;
}

static void note_children(struct look *l, const char *text)
{
    char *end;
    for (long pid; (pid = strtol(text, &end, 10)) > 0 && end > text; text = end)
        if (l->count < PROCESSES_MAX)
            l->found[l->count++] = (pid_t)pid;
}

/* folder: /proc/PID/task/TID. Behind its name, which may hold anything, stands its state. */
static bool thread_is_at_work(struct look *l, int folder)
{
    char text[CHILDREN_TEXT];
    if (read_text(folder, "stat", text, sizeof(text)) > 0) {
        const char *name_end = strrchr(text, ')');
        if (name_end && !strncmp(name_end, ") R", 3))
            return true;
    }
    if (read_text(folder, "children", text, sizeof(text)) > 0)
        note_children(l, text);
    return false;
}

static bool process_is_at_work(struct look *l, pid_t pid)
{
    char path[64];
    bool found = false;
    const struct dirent *e;
    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    DIR *threads = opendir(path);
    while (threads && !found && (e = readdir(threads))) {
        if (e->d_name[0] == '.')
            continue;
        _cleanup_close_ int folder =
            openat(dirfd(threads), e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        found = folder >= 0 && thread_is_at_work(l, folder);
    }
    if (threads)
        closedir(threads);
    return found;
}

static void note_children_of(struct look *l, pid_t pid)
{
    char path[64], text[CHILDREN_TEXT];
    const struct dirent *e;
    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    DIR *threads = opendir(path);
    while (threads && (e = readdir(threads))) {
        snprintf(path, sizeof(path), "%.32s/children", e->d_name);
        if (e->d_name[0] != '.' && read_text(dirfd(threads), path, text, sizeof(text)) > 0)
            note_children(l, text);
    }
    if (threads)
        closedir(threads);
}

/* proc_pid_stat(5): utime and stime. */
static void add_times(pid_t pid, int64_t *user_ns, int64_t *system_ns)
{
    const int64_t tick_ns = NSEC_PER_SEC / sysconf(_SC_CLK_TCK);
    char path[64], text[CHILDREN_TEXT];
    int64_t user, system;
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    const char *name_end =
        read_text(AT_FDCWD, path, text, sizeof(text)) > 0 ? strrchr(text, ')') : NULL;
    if (!name_end ||
        sscanf(name_end, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNd64 " %" SCNd64,
               &user, &system) != 2)
        return;
    *user_ns += user * tick_ns;
    *system_ns += system * tick_ns;
}

void remains_measure(pid_t pid, int64_t *user_ns, int64_t *system_ns)
{
    _cleanup_free_ struct look *l = malloc(sizeof(*l));
    if (!l)
        return;
    l->count = 0;
    note_children_of(l, pid);
    for (size_t i = 0; i < MIN(l->count, (size_t)MEASURED_MAX); i++) {
        add_times(l->found[i], user_ns, system_ns);
        note_children_of(l, l->found[i]);
    }
}

bool remains_are_at_work(pid_t pid)
{
    _cleanup_free_ struct look *l = malloc(sizeof(*l));
    if (!l)
        return false;
    l->found[0] = pid;
    l->count = 1;
    for (size_t i = 0; i < l->count; i++)
        if (process_is_at_work(l, l->found[i]))
            return true;
    return false;
}
