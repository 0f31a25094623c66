// SPDX-License-Identifier: Apache-2.0
#include "sandbox/secret_source.h"

#include "lib/secret/secrets.h"
#include "lib/text/shown.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

void secret_source_describe(const struct policy_secret *p, char *ret, size_t size)
{
    static const char *const kinds[] = {"env ", "file ", "fd ", "command ", "literal"};
    char word[128] = "";
    if (p->source != POLICY_SECRET_LITERAL)
        text_line(p->source_words[0], strlen(p->source_words[0]), word, sizeof(word));
    snprintf(ret, size, "%s%s", kinds[p->source], word);
}

static int too_long(struct sandbox_error *e)
{
    return sandbox_error_set(e, -E2BIG, "it gives more than %d bytes; give a shorter value",
                             SECRET_VALUE_MAX_BYTES);
}

static int too_late(struct sandbox_error *e)
{
    return sandbox_error_set(e, -ETIMEDOUT,
                             "it does not end in %d s; make it faster, or give a file",
                             SECRET_COMMAND_MS / 1000);
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / NSEC_PER_MSEC;
}

/* Whether fd becomes readable before the deadline; 0: there is none. */
static bool wait_readable(int fd, int64_t deadline_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int n;
    do {
        int64_t left = deadline_ms ? deadline_ms - now_ms() : -1;
        if (deadline_ms && left <= 0)
            return false;
        n = poll(&p, 1, (int)left);
    } while (n < 0 && errno == EINTR);
    return n != 0;
}

/* Reads to the end. A byte more than fits is how too much is found. */
static ssize_t read_all(int fd, int64_t deadline_ms, char *ret, size_t capacity,
                        struct sandbox_error *e)
{
    size_t size = 0;
    char more;
    for (;;) {
        bool is_full = size == capacity;
        if (!wait_readable(fd, deadline_ms))
            return too_late(e);
        ssize_t n = read(fd, is_full ? &more : ret + size, is_full ? 1 : capacity - size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return sandbox_error_set(e, -errno, "%s; give what can be read", strerror(errno));
        if (n > 0 && is_full)
            return too_long(e);
        if (n == 0)
            return (ssize_t)size;
        size += (size_t)n;
    }
}

static ssize_t without_newline(const char *value, ssize_t size)
{
    return size > 0 && value[size - 1] == '\n' ? size - 1 : size;
}

static ssize_t copy(const char *value, char *ret, size_t capacity, struct sandbox_error *e)
{
    size_t size = strlen(value);
    if (size > capacity)
        return too_long(e);
    memcpy(ret, value, size);
    return (ssize_t)size;
}

static ssize_t read_variable(const char *name, char *ret, size_t capacity, struct sandbox_error *e)
{
    const char *value = getenv(name);
    if (!value)
        return sandbox_error_set(e, -ENOENT, "it is not set; export it, or leave the secret out");
    return copy(value, ret, capacity, e);
}

/*
 * Opened twice: first without touching it, as opening a device does things, and a FIFO that is
 * opened so that it can't block is at its end while it has no writer.
 */
static ssize_t read_file(const char *path, char *ret, size_t capacity, struct sandbox_error *e)
{
    char again[64];
    struct stat st;
    _cleanup_close_ int place = open(path, O_PATH | O_CLOEXEC);
    if (place < 0 || fstat(place, &st) < 0)
        return sandbox_error_set(e, -errno, "%s; check the path", strerror(errno));
    if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode))
        return sandbox_error_set(e, -EINVAL,
                                 "it is neither a regular file nor a FIFO; give one of these");
    snprintf(again, sizeof(again), "/proc/self/fd/%d", place);
    _cleanup_close_ int fd = open(again, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return sandbox_error_set(e, -errno, "%s; check its permissions", strerror(errno));
    ssize_t size = read_all(fd, 0, ret, capacity, e);
    return without_newline(ret, size);
}

static ssize_t read_descriptor(const char *number, char *ret, size_t capacity,
                               struct sandbox_error *e)
{
    int fd = atoi(number); /* the reader of documents has checked it */
    int flags = fcntl(fd, F_GETFD);
    if (flags < 0 || (flags & FD_CLOEXEC))
        return sandbox_error_set(e, -EBADF, "it is not open; redirect it, as in %d<FILE", fd);
    return without_newline(ret, read_all(fd, 0, ret, capacity, e));
}

static int spawn(const char *const *words, int output, pid_t *ret)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    int error = posix_spawn_file_actions_init(&actions);
    if (error)
        return error;
    error = posix_spawnattr_init(&attributes);
    if (error == 0) {
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        if (error == 0)
            error = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
        if (error == 0)
            error =
                posix_spawnp(ret, words[0], &actions, &attributes, (char *const *)words, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Reaps it, killed when it does not end by itself in time. */
static int wait_end(pid_t pid, int64_t deadline_ms, struct sandbox_error *e)
{
    int status = 0;
    _cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    bool is_late = fd >= 0 && !wait_readable(fd, deadline_ms);
    if (is_late)
        kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (is_late)
        return too_late(e);
    if (WIFSIGNALED(status))
        return sandbox_error_set(e, -ECANCELED, "signal %d ended it; run it by itself to see why",
                                 WTERMSIG(status));
    if (WEXITSTATUS(status) != 0)
        return sandbox_error_set(e, -ECANCELED,
                                 "it ended with status %d; run it by itself to see why",
                                 WEXITSTATUS(status));
    return 0;
}

static ssize_t run_command(const struct policy_secret *p, char *ret, size_t capacity,
                           struct sandbox_error *e)
{
    int ends[2];
    pid_t pid;
    int64_t deadline_ms = now_ms() + SECRET_COMMAND_MS;
    _cleanup_free_ const char **words = calloc(p->source_word_count + 1, sizeof(*words));
    if (!words || pipe2(ends, O_CLOEXEC) < 0)
        return sandbox_error_set(e, -ENOMEM, "out of memory or descriptors; free some");
    memcpy(words, p->source_words, p->source_word_count * sizeof(*words));
    _cleanup_close_ int input = ends[0];
    int error = spawn(words, ends[1], &pid);
    close(ends[1]);
    if (error)
        return sandbox_error_set(e, -error, "%s; check the command", strerror(error));
    ssize_t size = read_all(input, deadline_ms, ret, capacity, e);
    if (size < 0) {
        kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
        return size;
    }
    int r = wait_end(pid, deadline_ms, e);
    return r < 0 ? r : without_newline(ret, size);
}

static ssize_t read_value(const struct policy_secret *p, char *ret, size_t capacity,
                          struct sandbox_error *e)
{
    switch (p->source) {
    case POLICY_SECRET_ENV:
        return read_variable(p->source_words[0], ret, capacity, e);
    case POLICY_SECRET_FILE:
        return read_file(p->source_words[0], ret, capacity, e);
    case POLICY_SECRET_FD:
        return read_descriptor(p->source_words[0], ret, capacity, e);
    case POLICY_SECRET_EXEC:
        return run_command(p, ret, capacity, e);
    case POLICY_SECRET_LITERAL:
        return copy(p->source_words[0], ret, capacity, e);
    }
    return sandbox_error_set(e, -EINVAL, "there is no such source; give another one");
}

ssize_t secret_source_read(const struct policy_secret *p, char *ret, size_t capacity,
                           struct sandbox_error *e)
{
    char source[160];
    ssize_t size = read_value(p, ret, capacity, e);
    if (size >= 0)
        return size;
    secret_source_describe(p, source, sizeof(source));
    return sandbox_error_prefix(e, (int)size, "%s", source);
}
