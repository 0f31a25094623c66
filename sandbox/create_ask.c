// SPDX-License-Identifier: Apache-2.0
#include "sandbox/create_ask.h"

#include "sandbox/memory_file.h"

#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>

bool create_is_option_name(const char *name, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!isalnum((unsigned char)name[i]) && (name[i] != '-' || i == 0))
            return false;
    return size > 0;
}

/* Nothing that this program ignores or blocks is to be so in a sandbox's starter. */
static int set_signals(posix_spawnattr_t *a)
{
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    int error = posix_spawnattr_setflags(a, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    if (!error)
        error = posix_spawnattr_setsigdefault(a, &all);
    return error ? error : posix_spawnattr_setsigmask(a, &none);
}

/* Of our descriptors it gets standard error only. Both are above it. */
static int set_descriptors(posix_spawn_file_actions_t *f, int input, int output)
{
    int error = posix_spawn_file_actions_adddup2(f, input, STDIN_FILENO);
    if (!error)
        error = posix_spawn_file_actions_adddup2(f, output, STDOUT_FILENO);
    return error ? error : posix_spawn_file_actions_addclosefrom_np(f, STDERR_FILENO + 1);
}

/* 0 or a positive errno. */
static int spawn(const char *program, int input, int output, pid_t *ret)
{
    char *const words[] = {(char *)program, CREATE_VERB, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&files);
    if (error)
        return error;
    error = posix_spawnattr_init(&attributes);
    if (!error) {
        error = set_signals(&attributes);
        if (!error)
            error = set_descriptors(&files, input, output);
        if (!error)
            error = posix_spawn(ret, program, &files, &attributes, words, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&files);
    return error;
}

/* Where 0, 1 or 2 is closed it would be one of those. */
static int above_standard(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    int above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int error = errno;
    close(fd);
    errno = error;
    return above;
}

int create_ask(const char *program, const struct buf *options, struct create_request *ret,
               struct sandbox_error *e)
{
    struct create_request r = CREATE_NOT_ASKED;
    int fds[2];
    if (options->failed || options->size > CREATE_OPTIONS_MAX_BYTES)
        return sandbox_error_set(e, -E2BIG,
                                 "create: the options are too long; pass large data in a file");
    _cleanup_close_ int input =
        above_standard(memory_file_new("glovebox-options", options->data, options->size));
    if (input < 0 || pipe2(fds, O_CLOEXEC) < 0)
        return sandbox_error_set(e, -errno, "create: %s; free memory or descriptors and try again",
                                 strerror(errno));
    _cleanup_close_ int output = above_standard(fds[1]);
    r.pipe = above_standard(fds[0]);
    int error = output < 0 || r.pipe < 0 || fcntl(r.pipe, F_SETFL, O_NONBLOCK) < 0 ? errno : 0;
    if (!error)
        error = spawn(program, input, output, &r.pid);
    if (error) {
        base_closep(&r.pipe);
        return sandbox_error_set(e, -error, "create: %s: %s; install Glovebox again", program,
                                 strerror(error));
    }
    *ret = r;
    return 0;
}

int create_ask_end(struct create_request *r, char name[static SANDBOX_NAME_MAX_BYTES + 1],
                   struct sandbox_error *e)
{
    struct create_answer *a = &r->answer;
    ssize_t n = 1;
    while (n > 0 && r->done < sizeof(*a)) {
        n = read(r->pipe, (char *)a + r->done, sizeof(*a) - r->done);
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n > 0)
            r->done += (size_t)n;
    }
    if (n < 0 && errno == EAGAIN)
        return -EAGAIN;
    base_closep(&r->pipe);
    r->pipe = -1;
    /* It ends by itself now. Somebody else may have waited for it. */
    while (waitpid(r->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    a->text[sizeof(a->text) - 1] = '\0';
    if (r->done < sizeof(*a) || a->error > 0)
        return sandbox_error_set(e, -EPIPE,
                                 "create: glovebox has ended without a word; is it of this "
                                 "version? See the machine's log");
    if (a->error < 0)
        return sandbox_error_set(e, a->error, "%s", a->text);
    snprintf(name, SANDBOX_NAME_MAX_BYTES + 1, "%.*s", SANDBOX_NAME_MAX_BYTES, a->text);
    return 0;
}
