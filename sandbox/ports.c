// SPDX-License-Identifier: Apache-2.0
#include "sandbox/ports.h"

#include "sandbox/socket_file.h"

#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

#define EVENTS_MAX 64
/* How long nobody is let in when there is no descriptor for him, or the kernel has no room. */
#define REST_NS (50 * NSEC_PER_MSEC)

struct port_client {
    struct port_source source; /* fd -1: gone, but the kernel was not told */
    int32_t number;
    size_t asked;
    struct list link;
};

struct port_asked {
    int32_t number;             /* the kernel's */
    struct port_client *client; /* NULL: it came to a published port */
    uint64_t client_number;
    uint32_t type;
    int fd; /* of a published port: to be reset if nothing comes of it; -1 */
    struct port_searched *searched; /* NULL: it is not */
    struct list link;
};

static int64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

static int32_t next(int32_t *last)
{
    *last = *last == INT32_MAX ? 1 : *last + 1;
    return *last;
}

/* ---- sources ---- */

/* A source that is not watched is still seen when its other end goes. */
static int watch(struct ports *p, struct port_source *s, bool is_watched)
{
    struct epoll_event e = {.events = is_watched ? EPOLLIN : 0, .data.ptr = s};
    if (s->fd < 0 || s->is_watched == is_watched)
        return 0;
    if (epoll_ctl(p->epoll, EPOLL_CTL_MOD, s->fd, &e) < 0)
        return -errno;
    s->is_watched = is_watched;
    return 0;
}

static int add_source(struct ports *p, struct port_source *s)
{
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = s};
    if (epoll_ctl(p->epoll, EPOLL_CTL_ADD, s->fd, &e) < 0)
        return -errno;
    s->is_watched = true;
    return 0;
}

/* Nobody new, until there may be room for him. */
static void set_deaf(struct ports *p, bool is_deaf)
{
    p->deaf_until_ns = is_deaf ? now_ns() + REST_NS : 0;
    watch(p, &p->listener, !is_deaf);
    for (size_t i = 0; i < p->published; i++)
        watch(p, &p->publishers[i].source, !is_deaf && p->own_asked < PORT_ASKED_MAX);
}

/* ---- what is asked ---- */

static void forget(struct ports *p, struct port_asked *a)
{
    if (a->client)
        a->client->asked--;
    else
        p->own_asked--;
    base_closep(&a->fd);
    list_remove(&a->link);
    free(a);
}

static bool answer(struct port_client *c, const struct port_answer *head, const char *text)
{
    struct iovec parts[] = {{(void *)head, sizeof(*head)}, {(void *)text, head->text_size}};
    const struct msghdr m = {.msg_iov = parts, .msg_iovlen = head->text_size ? 2 : 1};
    ssize_t n;
    do
        n = sendmsg(c->source.fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n >= 0;
}

static bool answer_error(struct port_client *c, const struct port_question *q, int error)
{
    const struct port_answer head = {
        .version = PORT_VERSION, .type = q->type, .number = q->number, .error = error};
    return answer(c, &head, NULL);
}

/* Sends a's question to the kernel. fd: a connection for it, or -1. */
static bool send_question(struct ports *p, struct port_asked *a, struct control_packet *q, int fd)
{
    q->value = a->number = next(&p->last_number);
    q->status = a->client ? a->client->number : 0;
    return fd >= 0 ? sandbox_send_descriptors(p->sandbox, q, &fd, 1)
                   : sandbox_send_text(p->sandbox, q, NULL);
}

/* Likewise, with the end of a pair in the place of *fd, which may be taken. 0 or negative errno. */
static int send_searched(struct ports *p, struct port_asked *a, struct control_packet *q, int *fd)
{
    int end;
    int r = port_search_begin(&p->search, fd, a->client, &a->searched, &q->status, &end);
    if (r < 0)
        return r;
    q->value = a->number = next(&p->last_number);
    bool is_sent = sandbox_send_descriptors(p->sandbox, q, &end, 1);
    close(end);
    if (!is_sent)
        port_search_answer(a->searched, EAGAIN, !a->client);
    return is_sent ? 0 : -EAGAIN;
}

/*
 * A question to the kernel, with a descriptor or -1, which may be taken. 0; negative errno: it
 * can't be asked now, -EAGAIN, or not at all.
 */
static int ask(struct ports *p, struct port_client *c, const struct control_packet *packet, int *fd,
               struct port_asked **ret)
{
    struct control_packet q = *packet;
    struct port_asked *a = calloc(1, sizeof(*a));
    int r = 0;
    if (!a)
        return -EAGAIN;
    a->client = c;
    a->fd = -1;
    if (*fd >= 0 && !scrubber_is_idle(p->scrubber))
        r = send_searched(p, a, &q, fd);
    else if (!send_question(p, a, &q, *fd))
        r = -EAGAIN;
    else if (*fd >= 0)
        p->has_unsearched = true;
    if (r < 0) {
        free(a);
        return r;
    }
    if (c)
        c->asked++;
    else
        p->own_asked++;
    list_append(&p->asked, &a->link);
    *ret = a;
    return 0;
}

static bool ask_for(struct ports *p, struct port_client *c, const struct port_question *q,
                    const struct control_packet *packet, int *fd)
{
    struct port_asked *a;
    int r = ask(p, c, packet, fd, &a);
    if (r < 0)
        return answer_error(c, q, -r);
    a->client_number = q->number;
    a->type = q->type;
    return true;
}

static bool tell_published(const struct ports *p, struct port_client *c,
                           const struct port_question *q)
{
    struct port_published text[PORT_PUBLISHED_MAX];
    const struct port_answer head = {
        .version = PORT_VERSION,
        .type = PORT_PUBLISHED,
        .number = q->number,
        .text_size = (uint32_t)(p->published * sizeof(text[0])),
    };
    for (size_t i = 0; i < p->published; i++) {
        const struct port_forward *f = &p->publishers[i].forward;
        text[i] = (struct port_published){.port = f->port, .guest_port = f->guest_port};
        memcpy(text[i].address, &f->address, sizeof(text[i].address));
    }
    return answer(c, &head, (const char *)text);
}

/* False: it is none, or its answer is not taken. */
static bool take_question(struct ports *p, struct port_client *c, const struct port_question *q,
                          int *fd)
{
    int none = -1;
    const struct control_packet connect = {
        .type = CONTROL_PORT_CONNECT,
        .reason = q->port,
        .wall_ns = (int64_t)MIN(q->wait_ms, (uint32_t)PORTS_WAIT_MAX_MS) * NSEC_PER_MSEC,
    };
    const struct control_packet list = {.type = CONTROL_PORT_LIST};
    if (q->version != PORT_VERSION)
        return false;
    switch (q->type) {
    case PORT_CONNECT:
        if (q->port == 0 || *fd < 0)
            return answer_error(c, q, q->port == 0 ? EINVAL : EBADF);
        return ask_for(p, c, q, &connect, fd);
    case PORT_LIST:
        return ask_for(p, c, q, &list, &none);
    case PORT_PUBLISHED:
        return tell_published(p, c, q);
    default:
        return false;
    }
}

/* ---- clients ---- */

/* False: the kernel can't be told now that its connections are to be cut. */
static bool try_cut(struct ports *p, struct port_client *c)
{
    if (p->sandbox && !sandbox_send(p->sandbox, CONTROL_PORT_CUT, c->number) && errno == EAGAIN)
        return false;
    list_remove(&c->link);
    p->client_count--;
    free(c);
    return true;
}

static void drop(struct ports *p, struct port_client *c)
{
    struct port_asked *a, *next_asked;
    list_for_each_safe(a, next_asked, &p->asked, link)
    {
        if (a->client == c)
            forget(p, a);
    }
    base_closep(&c->source.fd);
    c->source.fd = -1;
    port_search_cut(&p->search, c);
    try_cut(p, c);
}

static void on_client(struct ports *p, struct port_source *s)
{
    struct port_client *c = container_of(s, struct port_client, source);
    struct port_question q;
    int fd = -1;
    /* With nothing more to be read for now it is told of its end alone. */
    if (!s->is_watched) {
        drop(p, c);
        return;
    }
    ssize_t n = socket_file_receive(s->fd, &q, sizeof(q), &fd);
    _cleanup_close_ int given = n >= 0 ? fd : -1;
    if (n == -EAGAIN)
        return;
    if (n != sizeof(q) || !take_question(p, c, &q, &given) ||
        watch(p, s, c->asked < PORT_ASKED_MAX) < 0)
        drop(p, c);
}

static void admit(struct ports *p, struct port_source *s)
{
    _cleanup_close_ int fd = socket_file_accept(s->fd);
    if (socket_file_is_short(fd))
        set_deaf(p, true);
    if (fd < 0 || p->client_count >= PORT_CLIENTS_MAX)
        return;
    struct port_client *c = calloc(1, sizeof(*c));
    if (!c)
        return;
    c->source = (struct port_source){.fd = fd, .ready = on_client};
    if (add_source(p, &c->source) < 0) {
        free(c);
        return;
    }
    fd = -1;
    c->number = next(&p->last_client);
    list_append(&p->clients, &c->link);
    p->client_count++;
}

/* ---- published ports ---- */

static void on_publisher(struct ports *p, struct port_source *s)
{
    const struct port_publisher *of = container_of(s, struct port_publisher, source);
    const struct control_packet connect = {
        .type = CONTROL_PORT_CONNECT,
        .reason = of->forward.guest_port,
        .wall_ns = PORTS_WAIT_DEFAULT_MS * NSEC_PER_MSEC,
    };
    int fd = port_forward_accept(s->fd);
    if (fd < 0) {
        if (socket_file_is_short(fd))
            set_deaf(p, true);
        return;
    }
    struct port_asked *a;
    if (ask(p, NULL, &connect, &fd, &a) < 0) {
        if (fd >= 0)
            port_forward_refuse(fd);
        set_deaf(p, true);
        return;
    }
    a->fd = fd; /* -1: it is searched */
    if (p->own_asked >= PORT_ASKED_MAX)
        for (size_t i = 0; i < p->published; i++)
            watch(p, &p->publishers[i].source, false);
}

int ports_publish(struct ports *p, const struct sandbox_spec *spec, struct sandbox_error *e)
{
    for (size_t i = 0; i < spec->publish_count; i++) {
        struct port_publisher *of = &p->publishers[i];
        of->forward = spec->publish[i];
        int fd = port_forward_listen(&of->forward, spec->publishes_openly, e);
        if (fd < 0)
            return sandbox_error_prefix(e, fd, "--publish");
        of->source = (struct port_source){.fd = fd, .ready = on_publisher};
        p->published = i + 1;
    }
    return 0;
}

/* ---- answers ---- */

static struct port_asked *find(struct ports *p, int32_t number, bool is_list)
{
    struct port_asked *a;
    list_for_each(a, &p->asked, link)
    {
        if (a->number == number && (a->type == PORT_LIST) == is_list)
            return a;
    }
    return NULL;
}

static void answer_published(struct ports *p, struct port_asked *a, int error)
{
    if (error && a->fd >= 0) {
        port_forward_refuse(a->fd);
        a->fd = -1;
    }
    forget(p, a);
    if (!p->deaf_until_ns)
        set_deaf(p, false);
}

/* ---- what nobody looks into ---- */

/* Those of all clients and of the published ports; and a list, since that is answered after them.
 */
static void try_clear(struct ports *p)
{
    struct control_packet list = {.type = CONTROL_PORT_LIST};
    const struct port_client *c;
    if (!p->is_clearing || p->clearing_asked)
        return;
    list_for_each(c, &p->clients, link)
    {
        if (!sandbox_send(p->sandbox, CONTROL_PORT_CUT, c->number))
            return;
    }
    list.value = next(&p->last_number);
    if (sandbox_send(p->sandbox, CONTROL_PORT_CUT, 0) && sandbox_send_text(p->sandbox, &list, NULL))
        p->clearing_asked = list.value;
}

bool ports_begin_search(struct ports *p)
{
    p->is_clearing = p->has_unsearched;
    try_clear(p);
    return p->is_clearing;
}

bool ports_are_searched(const struct ports *p)
{
    return !p->is_clearing;
}

static struct port_asked *find_unsearched(struct ports *p)
{
    struct port_asked *a;
    list_for_each(a, &p->asked, link)
    {
        if (a->type != PORT_LIST && !a->searched)
            return a;
    }
    return NULL;
}

/* The kernel has cut them off, and forgotten those that waited for a place. */
static void end_clearing(struct ports *p)
{
    struct port_asked *a;
    p->is_clearing = p->has_unsearched = false;
    while ((a = find_unsearched(p))) {
        const struct port_question q = {.type = a->type, .number = a->client_number};
        struct port_client *c = a->client;
        if (!c) {
            answer_published(p, a, EAGAIN);
            continue;
        }
        forget(p, a);
        if (!answer_error(c, &q, EAGAIN) || watch(p, &c->source, true) < 0)
            drop(p, c);
    }
}

/* A copy of a list with no secret's value in the name of a program; NULL without memory. */
static const char *scrub_list(struct scrubber *s, const char *text, size_t size)
{
    static struct ports_listener listed[PORTS_LISTED_MAX];
    memcpy(listed, text, size);
    for (size_t i = 0; i < size / sizeof(listed[0]); i++)
        if (scrubber_replace_in_place(s, listed[i].program, sizeof(listed[i].program)) < 0)
            return NULL;
    return (const char *)listed;
}

/* The kernel process may have been taken over: its records are read by who asked, as a stranger's.
 */
void ports_take(struct ports *p, const struct control_packet *packet, const char *text)
{
    bool is_list = packet->type == CONTROL_PORT_LISTED;
    if (is_list && packet->value == p->clearing_asked && p->is_clearing) {
        end_clearing(p);
        return;
    }
    struct port_asked *a = find(p, packet->value, is_list);
    if (!a)
        return;
    struct port_client *c = a->client;
    if (a->searched)
        port_search_answer(a->searched, packet->status, !c);
    if (!c) {
        answer_published(p, a, packet->status);
        return;
    }
    const struct port_answer head = {
        .version = PORT_VERSION,
        .type = a->type,
        .number = a->client_number,
        .error = is_list ? 0 : packet->status,
        .is_cut = is_list && packet->status,
        .text_size = is_list ? (uint32_t)MIN(packet->text_size, PORT_TEXT_MAX_BYTES) : 0,
    };
    forget(p, a);
    if (p->scrubber && head.text_size)
        text = scrub_list(p->scrubber, text, head.text_size);
    if (!text || !answer(c, &head, text) || watch(p, &c->source, true) < 0)
        drop(p, c);
}

/* ---- the whole ---- */

void ports_init(struct ports *p)
{
    *p = (struct ports){.epoll = -1, .listener = {.fd = -1, .ready = admit}};
    list_init(&p->clients);
    list_init(&p->asked);
    port_search_init(&p->search);
}

/* What there is to do is done in any step. */
static void on_searched(struct ports *p _unused_, struct port_source *s _unused_)
{
}

static int open_search(struct ports *p)
{
    int r = p->scrubber ? port_search_open(&p->search, p->sandbox, p->scrubber) : 0;
    p->search_source = (struct port_source){.fd = p->search.epoll, .ready = on_searched};
    return r < 0 || !p->scrubber ? r : add_source(p, &p->search_source);
}

int ports_open(struct ports *p, const struct registry *r, struct sandbox *s,
               struct sandbox_error *e)
{
    int error = 0;
    p->sandbox = s;
    p->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (p->epoll >= 0)
        p->listener.fd = socket_file_listen_as(r, SOCKET_FILE_PORTS, PORT_CLIENTS_MAX);
    if (p->epoll < 0)
        error = -errno;
    else if (p->listener.fd < 0)
        error = p->listener.fd;
    else
        error = add_source(p, &p->listener);
    for (size_t i = 0; i < p->published && error == 0; i++)
        error = add_source(p, &p->publishers[i].source);
    if (error == 0)
        error = open_search(p);
    if (error < 0)
        return sandbox_error_set(e, error, "%s/sandboxes/%s: socket: %s; make room there", r->path,
                                 r->name, strerror(-error));
    return 0;
}

int ports_poll_descriptor(const struct ports *p)
{
    return p->epoll;
}

static bool has_to_tell(const struct ports *p)
{
    const struct port_client *c;
    list_for_each(c, &p->clients, link)
    {
        if (c->source.fd < 0)
            return true;
    }
    return p->is_clearing && !p->clearing_asked;
}

int64_t ports_deadline(const struct ports *p)
{
    int64_t rest = has_to_tell(p) ? now_ns() + REST_NS : p->deaf_until_ns;
    int64_t search = port_search_deadline(&p->search);
    return rest && search ? MIN(rest, search) : MAX(rest, search);
}

void ports_step(struct ports *p)
{
    struct epoll_event events[EVENTS_MAX];
    struct port_client *c, *next_client;
    if (p->deaf_until_ns && now_ns() >= p->deaf_until_ns)
        set_deaf(p, false);
    list_for_each_safe(c, next_client, &p->clients, link)
    {
        if (c->source.fd < 0)
            try_cut(p, c);
    }
    int n = p->epoll < 0 ? 0 : epoll_wait(p->epoll, events, EVENTS_MAX, 0);
    for (int i = 0; i < n; i++) {
        struct port_source *s = events[i].data.ptr;
        s->ready(p, s);
    }
    try_clear(p);
    port_search_step(&p->search);
}

void ports_close(struct ports *p)
{
    struct port_client *c;
    p->sandbox = NULL;
    port_search_close(&p->search);
    while ((c = list_first(&p->clients, struct port_client, link)))
        drop(p, c);
    while (!list_is_empty(&p->asked))
        forget(p, list_first(&p->asked, struct port_asked, link));
    for (size_t i = 0; i < p->published; i++)
        base_closep(&p->publishers[i].source.fd);
    p->published = 0;
    base_closep(&p->listener.fd);
    base_closep(&p->epoll);
    p->listener.fd = p->epoll = -1;
}
