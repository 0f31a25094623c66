// SPDX-License-Identifier: Apache-2.0
#include "probes/support.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>

/*
 * By two signs: that whoever starts the probes says so, and the kernel's own release, which no
 * machine has by accident.
 */
bool probe_is_inside(void)
{
    static const char sign[] = "-glovebox";
    const char *said = getenv("GLOVEBOX_PROBE_INSIDE");
    struct utsname name;
    if (!said || strcmp(said, "1") || uname(&name) < 0)
        return false;
    size_t size = strlen(name.release);
    return size >= sizeof(sign) - 1 && !strcmp(name.release + size - (sizeof(sign) - 1), sign);
}

bool probe_is_root(void)
{
    return geteuid() == 0;
}

void probe_need_root(void)
{
    if (!probe_is_root())
        probe_skip("only for the sandbox's root (--user root)");
}

void probe_become_user(void)
{
    if (probe_is_root() && (setgid(1000) < 0 || setuid(1000) < 0))
        probe_unproved("could not become an ordinary user: %s", strerror(errno));
}

const char *probe_self(void)
{
    static char path[PATH_MAX];
    if (!path[0] && readlink("/proc/self/exe", path, sizeof(path) - 1) <= 0)
        probe_unproved("/proc/self/exe: %s", strerror(errno));
    return path;
}

pid_t probe_fork(void)
{
    pid_t pid = fork();
    if (pid < 0)
        probe_unproved("fork: %s", strerror(errno));
    return pid;
}

int probe_wait(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            probe_unproved("waitpid: %s", strerror(errno));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int probe_run_child(void (*f)(void *), void *argument)
{
    pid_t pid = probe_fork();
    if (pid == 0) {
        f(argument);
        _exit(0);
    }
    return probe_wait(pid);
}

pid_t probe_sleeper(void)
{
    pid_t pid = probe_fork();
    while (pid == 0)
        pause();
    return pid;
}

void probe_kill(pid_t pid)
{
    kill(pid, SIGKILL);
    probe_wait(pid);
}

void probe_thread(void *(*f)(void *), void *argument)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    int error = pthread_create(&thread, &attributes, f, argument);
    if (error)
        probe_unproved("thread: %s", strerror(error));
}

void probe_check_kernel(void)
{
    int two[2];
    char c = 0;
    if (pipe2(two, O_CLOEXEC) < 0)
        probe_unproved("afterwards no pipe can be made: %s", strerror(errno));
    pid_t pid = probe_fork();
    if (pid == 0) {
        if (write(two[1], "x", 1) != 1)
            _exit(1);
        execl(probe_self(), "probe", SELF_EXIT_TEXT, "7", (char *)NULL);
        _exit(2);
    }
    int status = probe_wait(pid);
    if (read(two[0], &c, 1) != 1 || c != 'x' || status != 7)
        probe_unproved("afterwards the kernel does not serve as before: status %d", status);
    close(two[0]);
    close(two[1]);
}

uint32_t probe_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

int64_t probe_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / NSEC_PER_MSEC;
}

void probe_write_file(const char *name, const void *data, size_t size, mode_t mode)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size || fchmod(fd, mode) < 0)
        probe_unproved("could not write %s: %s", name, strerror(errno));
    close(fd);
}

ssize_t probe_read_file(const char *name, char *data, size_t size)
{
    int fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    size_t total = 0;
    ssize_t n = -1;
    if (fd < 0)
        return -1;
    while (total < size - 1 && (n = read(fd, data + total, size - 1 - total)) > 0)
        total += (size_t)n;
    close(fd);
    data[total] = '\0';
    return n < 0 ? -1 : (ssize_t)total;
}

char *probe_pages(size_t count, int protection)
{
    void *p = mmap(NULL, count * PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        probe_unproved("mmap: %s", strerror(errno));
    return p;
}
