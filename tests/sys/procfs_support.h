// SPDX-License-Identifier: Apache-2.0
/* Reading /proc, for the files that test it. */
#pragma once

#include "tests/harness/harness.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>

static char text[1 << 20];

/* The whole file into `text`, NUL-terminated: size, or -1. */
static inline ssize_t slurp(const char *path)
{
    int fd = open(path, O_RDONLY);
    size_t done = 0;
    ssize_t n = -1;
    if (fd < 0)
        return -1;
    while (done < sizeof(text) - 1 && (n = read(fd, text + done, sizeof(text) - 1 - done)) > 0)
        done += (size_t)n;
    int error = errno;
    close(fd);
    errno = error;
    text[done] = '\0';
    return n < 0 ? -1 : (ssize_t)done;
}

static inline ssize_t slurp_of(pid_t pid, const char *name)
{
    char path[128];
    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    return slurp(path);
}

/* Field n (from 1) of a stat line in `text`; the name counts as field 2. */
static inline long long stat_field(int n)
{
    char *at = strrchr(text, ')');
    if (!at)
        return -1;
    at += 2;
    for (int i = 3; i < n; i++) {
        at = strchr(at, ' ');
        if (!at)
            return -1;
        at++;
    }
    return n == 3 ? *at : strtoll(at, NULL, 10);
}

/* What follows "key:" at the start of a line of `text`; NULL: there is none. */
static inline const char *value_of(const char *key)
{
    size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, key, length) && line[length] == ':')
            return line + length + 1 + strspn(line + length + 1, " \t");
    }
    return NULL;
}

static inline long long number_of(const char *key)
{
    const char *value = value_of(key);
    return value ? strtoll(value, NULL, 10) : -1;
}

static inline bool is_listed(const char *directory, const char *name)
{
    DIR *d = opendir(directory);
    bool found = false;
    for (struct dirent *e; d && (e = readdir(d));)
        found |= !strcmp(e->d_name, name);
    if (d)
        closedir(d);
    return found;
}

/* A child that sleeps until it is killed. */
static inline pid_t start_sleeper(void)
{
    int ready[2];
    char c;
    if (pipe(ready) < 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(ready[1]);
    if (read(ready[0], &c, 1) != 1)
        pid = -1;
    close(ready[0]);
    return pid;
}

static inline void end_child(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static inline void wait_for_zombie(pid_t pid)
{
    siginfo_t info;
    ASSERT_EQ(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}
