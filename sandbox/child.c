// SPDX-License-Identifier: Apache-2.0
#include "sandbox/child.h"

#include "lib/base/control.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Above every number that is given out. */
#define LOWEST_PARKED_FD 16

/*
 * The signal comes when the starter's thread ends. It may have ended before prctl: getppid() is 0
 * in a PID namespace of one's own whether it lives or not, so its pidfd is asked.
 */
static int step_parent_death(struct child *c)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return -errno;
    struct pollfd starter = {.fd = c->starter, .events = POLLIN};
    if (poll(&starter, 1, 0) != 0)
        return -ESRCH;
    return 0;
}

/*
 * Before it has memory or children of its own. A thread that moves itself alone spares the host a
 * lock that everybody's fork and exit would have to wait for; this process has only the one.
 */
static int step_cgroups(struct child *c)
{
    for (size_t i = 0; i < c->join_count; i++)
        if (write(c->joins[i], "0", 1) != 1)
            return -errno;
    return 0;
}

static int write_map(const char *path, const char *text, size_t size)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = write(fd, text, size) == (ssize_t)size ? 0 : -errno;
    close(fd);
    return r;
}

/*
 * user_namespaces(7): the new namespace's first process may map the one id of whoever made it, and
 * the group only after it has given up setgroups(2).
 */
static int step_user_map(struct child *c)
{
    char map[32];
    int r = write_map("/proc/self/setgroups", "deny", 4);
    if (r < 0)
        return r;
    r = write_map("/proc/self/uid_map", map,
                  (size_t)snprintf(map, sizeof(map), "0 %u 1\n", c->uid));
    if (r < 0)
        return r;
    return write_map("/proc/self/gid_map", map,
                     (size_t)snprintf(map, sizeof(map), "0 %u 1\n", c->gid));
}

/* Away from the caller's terminal: its Ctrl-C is for glovebox, and there is no way to type into it.
 */
static int step_session(struct child *c _unused_)
{
    return setsid() < 0 ? -errno : 0;
}

/* First all of them out of the way of the numbers that are given out, then each to its place. */
static int step_descriptors(struct child *c)
{
    int parked[CHILD_SOURCE_COUNT];
    for (int i = 0; i < CHILD_SOURCE_COUNT; i++) {
        parked[i] = c->sources[i];
        if (parked[i] < 0)
            continue;
        parked[i] = fcntl(c->sources[i], F_DUPFD_CLOEXEC, LOWEST_PARKED_FD);
        if (parked[i] < 0)
            return -errno;
    }
    for (int i = 0; i < CHILD_SOURCE_COUNT; i++) {
        if (parked[i] < 0)
            close(i);
        else if (dup2(parked[i], i) < 0)
            return -errno;
    }
    if (syscall(SYS_close_range, CHILD_SOURCE_COUNT, ~0U, 0) < 0)
        return -errno;
    return 0;
}

static int step_directory(struct child *c _unused_)
{
    umask(0);
    return chdir("/") < 0 ? -errno : 0;
}

/* An ignored or blocked signal would pass through execve(2). */
static int step_signals(struct child *c _unused_)
{
    sigset_t none;
    for (int sig = 1; sig < NSIG; sig++)
        signal(sig, SIG_DFL);
    sigemptyset(&none);
    return sigprocmask(SIG_SETMASK, &none, NULL) < 0 ? -errno : 0;
}

static int step_exec(struct child *c)
{
    /* What glibc keeps for rseq(2) the host writes anew at each switch between it and a task. */
    char *const environment[] = {"GLIBC_TUNABLES=glibc.pthread.rseq=0", NULL};
    execve(c->program, (char *const *)c->arguments, environment);
    return -errno;
}

static const struct {
    const char *name;
    int (*run)(struct child *c);
} steps[] = {
    {"parent-death signal", step_parent_death},
    {"cgroup", step_cgroups},
    {"user map", step_user_map},
    {"session", step_session},
    {"descriptors", step_descriptors},
    {"working directory", step_directory},
    {"signals", step_signals},
    {"exec", step_exec},
};

int child_main(void *argument)
{
    struct child *c = argument;
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        int r = steps[i].run(c);
        if (r < 0) {
            c->failed_step = steps[i].name;
            c->error = -r;
            break;
        }
    }
    _exit(127);
}
