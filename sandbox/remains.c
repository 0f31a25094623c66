// SPDX-License-Identifier: Apache-2.0
#include "sandbox/remains.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#define PROCESSES_MAX 4096 /* that one look is worth */
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
