// SPDX-License-Identifier: Apache-2.0
#include "sandbox/create.h"

#include "sandbox/run.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

struct creation {
    int pipe; /* -1: reported */
};

struct wires {
    int reports[2]; /* from the starter */
    int thanks[2];  /* to the guard: one byte, the name has come */
};

static void tell(struct creation *c, int error, const char *text)
{
    struct sandbox_report r = {.error = error};
    snprintf(r.text, sizeof(r.text), "%s", text);
    if (c->pipe < 0)
        return;
    ssize_t n = write(c->pipe, &r, sizeof(r));
    (void)n; /* a creator that is gone needs no word */
    close(c->pipe);
    c->pipe = -1;
}

/* From now on nobody listens. */
static void on_ready(void *userdata, const char *name)
{
    tell(userdata, 0, name);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) {
        dup2(null, STDERR_FILENO);
        close(null);
    }
}

static void say(const char *line)
{
    dprintf(STDERR_FILENO, "glovebox: %s\n", line);
}

static void drop_bytes(void *userdata _unused_, const char *data _unused_, size_t size _unused_)
{
}

/* Of the caller's descriptors: standard error, and the pipe. */
static bool leave_caller(int pipe)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    bool is_left = null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDOUT_FILENO) >= 0 &&
                   setsid() >= 0 && chdir("/") == 0;
    if (pipe > STDERR_FILENO + 1)
        is_left &= syscall(SYS_close_range, STDERR_FILENO + 1, pipe - 1, 0) == 0;
    return is_left && syscall(SYS_close_range, pipe + 1, ~0U, 0) == 0;
}

static _noreturn_ void live(const struct sandbox_spec *spec, int pipe)
{
    struct creation c = {pipe};
    struct sandbox_outcome outcome;
    struct sandbox_error e;
    const struct sandbox_io io = {.input = -1,
                                  .output = -1,
                                  .errors = -1,
                                  .take_output = drop_bytes,
                                  .take_errors = drop_bytes,
                                  .trace = -1,
                                  .say = say,
                                  .ready = on_ready,
                                  .ready_userdata = &c};
    if (!leave_caller(pipe)) {
        tell(&c, -errno, "create: the caller's descriptors can't be left; free some and try again");
        _exit(1);
    }
    int r = sandbox_run(spec, &io, &outcome, &e);
    if (r < 0)
        tell(&c, r, e.text);
    else /* it was told already, unless it ended before it began */
        tell(&c, outcome.refused ? outcome.refused : -ECHILD,
             outcome.message.text[0] ? outcome.message.text : outcome.words);
    _exit(0);
}

void sandbox_create_as_guard(const struct sandbox_spec *spec, int report, int thanks)
{
    char byte;
    ssize_t n;
    /* What a terminal sends to the creator is not for this one. */
    pid_t starter = setsid() < 0 ? -1 : fork();
    if (starter == 0)
        live(spec, report);
    close(report);
    if (starter < 0)
        _exit(1);
    while ((n = read(thanks, &byte, 1)) < 0 && errno == EINTR)
        ;
    if (n != 1)
        kill(starter, SIGTERM);
    _exit(0);
}

static int read_report(int pipe, struct sandbox_report *ret)
{
    size_t done = 0;
    while (done < sizeof(*ret)) {
        ssize_t n = read(pipe, (char *)ret + done, sizeof(*ret) - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -EPIPE;
        done += (size_t)n;
    }
    ret->text[sizeof(ret->text) - 1] = '\0';
    return 0;
}

static int open_wires(struct wires *w)
{
    if (pipe2(w->reports, O_CLOEXEC) < 0)
        return -errno;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, w->thanks) == 0)
        return 0;
    int error = errno;
    close(w->reports[0]);
    close(w->reports[1]);
    return -error;
}

int sandbox_create(const struct sandbox_spec *spec, sandbox_name_fn take_name,
                   struct sandbox_error *e)
{
    struct wires w = {0};
    struct sandbox_report report;
    int r = open_wires(&w);
    if (r < 0)
        return sandbox_error_set(e, r, "create: pipe: %s; raise the limit of open files",
                                 strerror(-r));
    pid_t pid = fork();
    if (pid == 0) {
        close(w.reports[0]);
        close(w.thanks[1]);
        sandbox_create_as_guard(spec, w.reports[1], w.thanks[0]);
    }
    int error = errno;
    close(w.reports[1]);
    close(w.thanks[0]);
    r = pid < 0 ? -error : read_report(w.reports[0], &report);
    bool is_told = r == 0 && report.error == 0 && take_name(report.text);
    if (is_told)
        (void)send(w.thanks[1], "", 1, MSG_NOSIGNAL); /* a guard that is gone has nothing to do */
    close(w.reports[0]);
    close(w.thanks[1]);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    if (pid < 0)
        return sandbox_error_set(e, -error, "create: fork: %s; free memory and try again",
                                 strerror(error));
    if (r < 0)
        return sandbox_error_set(e, -EPIPE,
                                 "create: the sandbox's starter has ended without a "
                                 "word; see the machine's log");
    if (report.error < 0)
        return sandbox_error_set(e, report.error, "%s", report.text);
    if (!is_told)
        return sandbox_error_set(
            e, -EPIPE,
            "create: its name can't be written, so the sandbox ends again; see "
            "to what reads it");
    return 0;
}
