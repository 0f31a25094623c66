// SPDX-License-Identifier: Apache-2.0
/*
 * What the programs of this folder share. They are hostile guests: each case attacks, and checks
 * that what came of it is what is stated, that the kernel still serves, and that others are
 * unharmed. They run as root of a sandbox, which is nothing outside, and make ordinary users of
 * themselves.
 */
#pragma once

#include "tests/harness/harness.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define PAGE ((size_t)4096)

static inline int64_t hostile_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Repeatable: every run attacks in the same order. */
static inline uint32_t hostile_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* The exit status of a child, or 128 + signal. */
static inline int hostile_wait(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static inline void hostile_become_user(void)
{
    if (setgid(1000) < 0 || setuid(1000) < 0)
        _exit(99);
}

static inline bool hostile_copy_file(const char *from, const char *to, mode_t mode)
{
    char data[65536];
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0700);
    ssize_t n = -1;
    while (in >= 0 && out >= 0 && (n = read(in, data, sizeof(data))) > 0)
        if (write(out, data, (size_t)n) != n)
            break;
    close(in);
    close(out);
    return n == 0 && chmod(to, mode) == 0;
}

/* The kernel still makes processes, runs programs, moves bytes. */
static inline bool hostile_kernel_serves(void)
{
    int two[2];
    char c = 0;
    pid_t pid;
    if (pipe(two) < 0 || (pid = fork()) < 0)
        return false;
    if (pid == 0) {
        dup2(two[1], 1);
        execl("/bin/echo", "echo", (char *)NULL);
        _exit(127);
    }
    bool ok = read(two[0], &c, 1) == 1 && c == '\n' && hostile_wait(pid) == 0;
    close(two[0]);
    close(two[1]);
    return ok;
}
