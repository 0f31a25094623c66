// SPDX-License-Identifier: Apache-2.0
#include "serve/serve_parts.h"

#include "lib/text/shown.h"
#include "sandbox/ended.h"
#include "sandbox/memory_file.h"
#include "sandbox/socket_file.h"

#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

/* A server that fails so often in so long is not started again. */
#define FAILURES_MAX 5
#define FAILURES_NS  (60 * NSEC_PER_SEC)

#define LAST_WORDS_MAX 512 /* messages of one that is ended, and may still write */

struct loop {
    struct serve *serve;
    struct server_child server;
    struct jobs jobs;
    struct measurings measurings;
    struct registry registry;
    int signals;
    bool is_ready;     /* once: the person was told */
    bool is_wrong;     /* the server has said what it can't */
    bool is_deaf;      /* it takes no answers */
    char failure[512]; /* why it ends, in its own words; safe to show */
    int64_t failures_ns[FAILURES_MAX];
};

static struct launch_message message;

static int64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

/* ---- what the server asks ---- */

static void reply(struct loop *l, enum launch_type type, uint64_t id, int error, const void *data,
                  size_t size, int fd)
{
    const struct launch_packet p = {.type = type,
                                    .id = id,
                                    .error = error,
                                    .data_size = (uint32_t)MIN(size, (size_t)LAUNCH_DATA_MAX)};
    /* One that is gone shows in its pidfd. */
    if (server_child_send(&l->server, &p, data, fd) == -ETIMEDOUT)
        l->is_deaf = true;
}

static void reply_error(struct loop *l, enum launch_type type, uint64_t id, int error)
{
    const char *words = strerror(error);
    reply(l, type, id, error, words, strlen(words), -1);
}

static enum launch_type answer_of(enum launch_type asked)
{
    return asked == LAUNCH_CREATE    ? LAUNCH_CREATED
           : asked == LAUNCH_DELIVER ? LAUNCH_DELIVERED
                                     : LAUNCH_POLICY_SET;
}

static void on_done(void *userdata, enum launch_type type, uint64_t id, int error, const char *text)
{
    reply(userdata, answer_of(type), id, error, text, strlen(text), -1);
}

static void add_job(struct loop *l, const struct launch_packet *p)
{
    int r = jobs_add(&l->jobs, p, message.data);
    if (r == -EINVAL)
        l->is_wrong = true;
    else if (r < 0)
        reply_error(l, answer_of(p->type), p->id, -r);
}

/* The name in the message: false when it is none that the server may say. */
static bool read_name(const struct launch_packet *p, char ret[LAUNCH_NAME_SIZE + 1])
{
    if (!launch_is_name(message.data, p->data_size))
        return false;
    memcpy(ret, message.data, LAUNCH_NAME_SIZE);
    ret[LAUNCH_NAME_SIZE] = '\0';
    return true;
}

/* An ended_see_fn: the latest of that name. */
static bool see_kept(void *userdata, const char *name _unused_, const struct record *r _unused_,
                     const char *output, size_t output_size)
{
    int *fd = userdata;
    *fd = memory_file_new("glovebox-kept", output, output_size);
    if (*fd < 0)
        *fd = -errno;
    return false;
}

static int open_kept(struct loop *l, const char *name)
{
    int fd = -ENOENT;
    int r = ended_list(l->registry.folder, name, see_kept, &fd);
    return r < 0 ? r : fd;
}

static void open_for_server(struct loop *l, const struct launch_packet *p)
{
    static const char *const suffixes[] = {
        [LAUNCH_EXECS] = SOCKET_FILE_EXECS,
        [LAUNCH_FILES] = SOCKET_FILE_FILES,
        [LAUNCH_PORTS] = SOCKET_FILE_PORTS,
    };
    char name[LAUNCH_NAME_SIZE + 1];
    const char *suffix = p->kind < ARRAY_SIZE(suffixes) ? suffixes[p->kind] : NULL;
    if ((!suffix && p->kind != LAUNCH_KEPT) || !read_name(p, name)) {
        l->is_wrong = true;
        return;
    }
    _cleanup_close_ int fd =
        suffix ? socket_file_connect_at_once(&l->registry, name, suffix) : open_kept(l, name);
    if (fd >= 0)
        reply(l, LAUNCH_OPENED, p->id, 0, NULL, 0, fd);
    else
        reply_error(l, LAUNCH_OPENED, p->id, fd == -ECONNREFUSED ? ENOENT : -fd);
}

/* A measured_fn. */
static void on_measured(void *userdata, uint64_t id, int error, const struct launch_usage *usage)
{
    if (error)
        reply_error(userdata, LAUNCH_USED, id, error);
    else
        reply(userdata, LAUNCH_USED, id, 0, usage, sizeof(*usage), -1);
}

static void tell_usage(struct loop *l, const struct launch_packet *p)
{
    char name[LAUNCH_NAME_SIZE + 1];
    if (!read_name(p, name)) {
        l->is_wrong = true;
        return;
    }
    measurings_add(&l->measurings, &l->registry, p->id, name);
}

static void be_ready(struct loop *l, const struct launch_packet *p)
{
    char key[64];
    struct serve *s = l->serve;
    snprintf(key, sizeof(key), "%.*s", (int)MIN(p->data_size, 63u), message.data);
    if (!l->is_ready)
        s->ready(s->userdata, key);
    l->is_ready = true;
    explicit_bzero(key, sizeof(key));
    explicit_bzero(message.data, p->data_size);
}

static void take_message(struct loop *l)
{
    ssize_t size = recv(l->server.channel, &message, sizeof(message), MSG_DONTWAIT | MSG_TRUNC);
    if (size <= 0)
        return; /* its end shows in its pidfd */
    const struct launch_packet *p = &message.packet;
    if ((size_t)size > sizeof(message) || !launch_is_valid(&message, (size_t)size)) {
        l->is_wrong = true;
        return;
    }
    switch (p->type) {
    case LAUNCH_READY:
        be_ready(l, p);
        break;
    case LAUNCH_FAILED:
        text_line(message.data, p->data_size, l->failure, sizeof(l->failure));
        break;
    case LAUNCH_CREATE:
    case LAUNCH_POLICY:
    case LAUNCH_DELIVER:
        add_job(l, p);
        break;
    case LAUNCH_OPEN:
        open_for_server(l, p);
        break;
    case LAUNCH_USAGE:
        tell_usage(l, p);
        break;
    default:
        l->is_wrong = true;
    }
}

/* ---- the server's end ---- */

static void describe_end(const struct loop *l, int status, char *text, size_t size)
{
    if (l->failure[0])
        snprintf(text, size, "%s", l->failure);
    else if (l->is_wrong)
        snprintf(text, size, "it asked for what it may not");
    else if (l->is_deaf)
        snprintf(text, size, "it took no answers");
    else if (WIFSIGNALED(status))
        snprintf(text, size, "it was ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(text, size, "it ended with status %d", WEXITSTATUS(status));
}

/* Whether it may be started once more. */
static bool note_failure(struct loop *l)
{
    int64_t now = now_ns();
    for (size_t i = 0; i + 1 < FAILURES_MAX; i++)
        l->failures_ns[i] = l->failures_ns[i + 1];
    l->failures_ns[FAILURES_MAX - 1] = now;
    return l->failures_ns[0] == 0 || now - l->failures_ns[0] > FAILURES_NS;
}

/* What it said before its end, which may have been seen first. The rest is nobody's any more. */
static void read_last_words(struct loop *l)
{
    for (int i = 0; i < LAST_WORDS_MAX; i++) {
        ssize_t size = recv(l->server.channel, &message, sizeof(message), MSG_DONTWAIT | MSG_TRUNC);
        if (size <= 0)
            return;
        if ((size_t)size <= sizeof(message) && launch_is_valid(&message, (size_t)size) &&
            message.packet.type == LAUNCH_FAILED)
            text_line(message.data, message.packet.data_size, l->failure, sizeof(l->failure));
    }
}

static int on_server_ended(struct loop *l, struct sandbox_error *e)
{
    char why[512], line[640];
    read_last_words(l);
    describe_end(l, server_child_end(&l->server), why, sizeof(why));
    jobs_forget(&l->jobs);
    measurings_forget(&l->measurings);
    bool has_said = l->failure[0];
    l->is_wrong = l->is_deaf = false;
    l->failure[0] = '\0';
    if (!l->is_ready)
        return sandbox_error_set(e, -EPIPE, "serve: %s%s", why,
                                 has_said ? ""
                                          : ", so the server can't start; see glovebox doctor");
    if (!note_failure(l))
        return sandbox_error_set(e, -EPIPE, "serve: the server fails again and again: %s", why);
    snprintf(line, sizeof(line), "serve: the server failed: %s; it is started again", why);
    l->serve->say(line);
    return server_child_start(l->serve, &l->server, e);
}

/* ---- the loop ---- */

/* Whether to go on. */
static bool take_signal(struct loop *l)
{
    struct signalfd_siginfo s;
    struct sandbox_error e;
    if (read(l->signals, &s, sizeof(s)) != (ssize_t)sizeof(s))
        return true;
    if (s.ssi_signo != SIGHUP || !settings_exist(l->serve))
        return false;
    if (settings_send(l->serve, &l->server, &e) < 0)
        l->serve->say(e.text);
    return true;
}

#define FIXED_COUNT 4

/* 1: go on; 0: a signal has come that ends it; or negative errno. */
static int turn(struct loop *l, struct sandbox_error *e)
{
    struct pollfd p[FIXED_COUNT + JOBS_MAX + MEASURINGS_MAX] = {
        {.fd = l->signals, .events = POLLIN},
        {.fd = l->server.channel, .events = POLLIN},
        {.fd = l->server.pidfd, .events = POLLIN},
        {.fd = l->serve->say_pending(), .events = POLLOUT},
    };
    size_t count = jobs_fill_poll(&l->jobs, p + FIXED_COUNT);
    struct pollfd *measured = p + FIXED_COUNT + count;
    size_t measured_count = measurings_fill_poll(&l->measurings, measured);
    if (poll(p, FIXED_COUNT + count + measured_count, measurings_wait_ms(&l->measurings)) < 0)
        return errno == EINTR ? 1 : -errno;
    if (p[0].revents && !take_signal(l))
        return 0;
    jobs_step(&l->jobs, p + FIXED_COUNT, count);
    measurings_step(&l->measurings, measured, measured_count);
    if (p[1].revents & POLLIN)
        take_message(l);
    if (l->is_wrong || l->is_deaf || p[2].revents) {
        int r = on_server_ended(l, e);
        return r < 0 ? r : 1;
    }
    return 1;
}

static int watch_signals(struct sandbox_error *e)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
        sigaddset(&set, ends[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return fd < 0 ? sandbox_error_set(e, -errno, "serve: signalfd: %s; free memory and try again",
                                      strerror(errno))
                  : fd;
}

int serve_run(struct serve *s, struct sandbox_error *e)
{
    struct loop l = {.serve = s, .server = SERVER_CHILD_NONE, .registry = REGISTRY_CLOSED};
    jobs_init(&l.jobs, s, on_done, &l);
    l.measurings.done = on_measured;
    l.measurings.userdata = &l;
    int r = registry_open(&l.registry, e);
    if (r < 0)
        return r;
    r = l.signals = watch_signals(e);
    if (r >= 0)
        r = server_child_start(s, &l.server, e);
    if (r == 0)
        r = 1;
    while (r == 1)
        r = turn(&l, e);
    server_child_end(&l.server);
    jobs_done(&l.jobs);
    measurings_forget(&l.measurings);
    base_closep(&l.signals);
    registry_close(&l.registry);
    return r;
}
