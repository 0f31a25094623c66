// SPDX-License-Identifier: Apache-2.0
#include "cli/port_forward.h"

#include "cli/say.h"
#include "sandbox/port_ask.h"
#include "sandbox/socket_file.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>

/* How long nobody is let in when there is no descriptor for him, or the sandbox is busy. */
#define REST_MS 50

struct asked {
    uint64_t number; /* 0: free */
    int fd;          /* who connected, to be reset if nothing comes of it */
};

struct forwarding {
    const char *name;
    struct port_forward *forwards;
    int listeners[CLI_FORWARDS_MAX];
    size_t count;
    int socket, signals;
    struct asked asked[PORT_ASKED_MAX];
    size_t asked_count;
    uint64_t last_number;
    bool rests;
    int last_error; /* that was said */
};

/* A scanner is not to fill the terminal: what was said last is not said again. */
static void say_error(struct forwarding *f, int error)
{
    char line[256];
    if (error == f->last_error)
        return;
    f->last_error = error;
    snprintf(line, sizeof(line), "port: a connection was refused: %s", port_error_words(error));
    cli_say(line);
}

static void give_up(struct forwarding *f, int fd, int error)
{
    port_forward_refuse(fd);
    say_error(f, error);
}

static void admit(struct forwarding *f, size_t i)
{
    int fd = port_forward_accept(f->listeners[i]);
    size_t at = 0;
    if (fd < 0) {
        f->rests = socket_file_is_short(fd);
        return;
    }
    int r = port_ask_connect(f->socket, f->last_number + 1, f->forwards[i].guest_port,
                             PORTS_WAIT_DEFAULT_MS, fd);
    if (r < 0) {
        f->rests = true;
        give_up(f, fd, -r);
        return;
    }
    while (f->asked[at].number)
        at++;
    f->asked[at] = (struct asked){++f->last_number, fd};
    f->asked_count++;
}

static void take_answer(struct forwarding *f, const struct port_answer *a)
{
    for (size_t i = 0; i < PORT_ASKED_MAX; i++) {
        struct asked *asked = &f->asked[i];
        if (a->type != PORT_CONNECT || asked->number != a->number || a->number == 0)
            continue;
        if (a->error) {
            give_up(f, asked->fd, a->error);
        } else {
            close(asked->fd);
            f->last_error = 0;
        }
        asked->number = 0;
        f->asked_count--;
    }
}

static int take_answers(struct forwarding *f, struct sandbox_error *e)
{
    static struct port_message m;
    int r;
    while ((r = port_receive(f->socket, &m)) == 0)
        take_answer(f, &m.answer);
    if (r == -EAGAIN)
        return 0;
    return sandbox_error_set(e, r, "port: the sandbox %s has ended", f->name);
}

/* Until a signal comes. */
static int loop(struct forwarding *f, struct sandbox_error *e)
{
    for (;;) {
        struct pollfd p[2 + CLI_FORWARDS_MAX] = {{.fd = f->signals, .events = POLLIN},
                                                 {.fd = f->socket, .events = POLLIN}};
        bool is_open = !f->rests && f->asked_count < PORT_ASKED_MAX;
        for (size_t i = 0; i < f->count; i++)
            p[2 + i] = (struct pollfd){.fd = is_open ? f->listeners[i] : -1, .events = POLLIN};
        int n = poll(p, 2 + f->count, f->rests ? REST_MS : -1);
        if (n < 0 && errno != EINTR)
            return sandbox_error_set(e, -errno, "port: poll: %s; free memory", strerror(errno));
        if (n < 0)
            continue;
        f->rests = false;
        if (p[0].revents)
            return 0;
        int r = p[1].revents ? take_answers(f, e) : 0;
        if (r < 0)
            return r;
        for (size_t i = 0; i < f->count; i++)
            if (p[2 + i].revents && f->asked_count < PORT_ASKED_MAX && !f->rests)
                admit(f, i);
    }
}

static int listen_all(struct forwarding *f, size_t count, bool is_public, struct sandbox_error *e)
{
    for (size_t i = 0; i < count; i++) {
        int fd = port_forward_listen(&f->forwards[i], is_public, e);
        if (fd < 0)
            return sandbox_error_prefix(e, fd, "port");
        f->listeners[f->count++] = fd;
    }
    return 0;
}

static int print_all(const struct forwarding *f, struct sandbox_error *e)
{
    for (size_t i = 0; i < f->count; i++) {
        char text[PORT_FORWARD_TEXT_MAX];
        port_forward_format(&f->forwards[i].address, f->forwards[i].port, text);
        printf("%s -> %u\n", text, f->forwards[i].guest_port);
    }
    if (fflush(stdout) != 0)
        return sandbox_error_set(e, -errno, "port: standard output: %s; give it a place to go",
                                 strerror(errno));
    return 0;
}

static int take_signals(struct sandbox_error *e)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int fd = signalfd(-1, &set, SFD_CLOEXEC);
    return fd >= 0 ? fd
                   : sandbox_error_set(e, -errno, "port: signalfd: %s; free some descriptors",
                                       strerror(errno));
}

int cli_port_forward(const char *name, struct port_forward *forwards, size_t count, bool is_public,
                     struct sandbox_error *e)
{
    static struct forwarding f;
    f = (struct forwarding){.name = name, .forwards = forwards, .socket = -1, .signals = -1};
    int r = listen_all(&f, count, is_public, e);
    if (r >= 0)
        r = f.socket = port_reach(name, e);
    if (r >= 0)
        r = print_all(&f, e);
    if (r >= 0)
        r = f.signals = take_signals(e);
    if (r >= 0)
        r = loop(&f, e);
    for (size_t i = 0; i < f.count; i++)
        close(f.listeners[i]);
    base_closep(&f.signals);
    base_closep(&f.socket);
    return r;
}
