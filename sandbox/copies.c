// SPDX-License-Identifier: Apache-2.0
#include "sandbox/copies.h"

#include "lib/base/copy.h"
#include "sandbox/copy_scrub.h"
#include "sandbox/socket_file.h"

#include <stdio.h>
#include <sys/socket.h>

static const struct copy_client free_client = {.fd = -1};

void copies_init(struct copies *c)
{
    *c = (struct copies){.listener.fd = -1};
    for (size_t i = 0; i < CONTROL_COPIES_MAX; i++)
        c->clients[i] = free_client;
}

int copies_open(struct copies *c, const struct registry *r, struct sandbox *s,
                struct sandbox_error *e)
{
    int fd = socket_file_listen_as(r, SOCKET_FILE_COPIES, CONTROL_COPIES_MAX);
    if (fd < 0)
        return sandbox_error_set(e, fd, "%s/sandboxes/%s: socket: %s; make room there", r->path,
                                 r->name, strerror(-fd));
    c->listener.fd = fd;
    c->sandbox = s;
    return 0;
}

static void drop(struct copies *c, struct copy_client *client)
{
    if (client->number)
        sandbox_send(c->sandbox, CONTROL_COPY_END, client->number);
    close(client->fd);
    copy_scrub_free(client->scrub);
    *client = free_client;
}

void copies_begin_search(struct copies *c)
{
    for (size_t i = 0; i < CONTROL_COPIES_MAX; i++)
        if (c->clients[i].fd >= 0 && c->clients[i].number && !c->clients[i].scrub)
            drop(c, &c->clients[i]);
}

static void admit(struct copies *c)
{
    _cleanup_close_ int fd = listener_accept(&c->listener);
    for (size_t i = 0; i < CONTROL_COPIES_MAX && fd >= 0; i++)
        if (c->clients[i].fd < 0)
            c->clients[i].fd = TAKE_FD(fd);
}

/* A number that no copy had: an answer to an old one must not reach the next. */
static int32_t new_number(struct copies *c)
{
    c->last_number = c->last_number == INT32_MAX ? 1 : c->last_number + 1;
    return c->last_number;
}

/* False: he has no room for it. */
static bool answer(struct copy_client *client, const char *records, size_t size)
{
    client->is_waiting = false;
    return send(client->fd, records, size, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

/* What was searched, or else the kernel is asked for more. */
static bool go_on(struct copies *c, struct copy_client *client)
{
    const char *records;
    size_t size = client->scrub ? copy_scrub_next(client->scrub, &records) : 0;
    return size > 0 ? answer(client, records, size)
                    : sandbox_send(c->sandbox, CONTROL_COPY_NEXT, client->number);
}

/* False: it is none, or not its turn. */
static bool pass_on(struct copies *c, struct copy_client *client,
                    const struct copy_question_message *m, size_t size)
{
    const struct copy_packet *p = &m->packet;
    if (size < sizeof(*p) || size > sizeof(*m) || p->version != COPY_VERSION ||
        p->text_size != size - sizeof(*p) || p->text_size > COPY_PATH_MAX_BYTES ||
        client->is_waiting)
        return false;
    client->is_waiting = true;
    if (p->type == COPY_NEXT && client->number && p->text_size == 0)
        return go_on(c, client);
    if (p->type != COPY_OPEN || client->number || p->text_size == 0)
        return false;
    client->number = new_number(c);
    bool is_searched = !scrubber_is_idle(c->scrubber);
    client->scrub = is_searched ? copy_scrub_new(c->scrubber) : NULL;
    if (is_searched && !client->scrub)
        return false;
    const struct control_packet packet = {.type = CONTROL_COPY_OPEN,
                                          .value = client->number,
                                          .reason = p->follows == 1,
                                          .text_size = p->text_size};
    return sandbox_send_text(c->sandbox, &packet, m->text);
}

static void read_client(struct copies *c, struct copy_client *client)
{
    static struct copy_question_message m;
    ssize_t n = recv(client->fd, &m, sizeof(m), MSG_DONTWAIT | MSG_TRUNC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0 || !pass_on(c, client, &m, (size_t)n))
        drop(c, client);
}

static bool take(struct copies *c, struct copy_client *client, const char *records, size_t size)
{
    if (!client->scrub)
        return answer(client, records, size);
    int r = copy_scrub_take(client->scrub, records, size);
    return (r == 0 || r == -EPROTO) && go_on(c, client);
}

void copies_take(struct copies *c, int32_t number, const char *records, size_t size)
{
    for (size_t i = 0; i < CONTROL_COPIES_MAX; i++) {
        struct copy_client *client = &c->clients[i];
        if (client->fd < 0 || client->number != number || !client->is_waiting)
            continue;
        if (!take(c, client, records, size))
            drop(c, client);
        return;
    }
}

void copies_fill_poll(struct copies *c, struct pollfd p[COPIES_POLL_MAX])
{
    listener_fill_poll(&c->listener, &p[0]);
    for (size_t i = 0; i < CONTROL_COPIES_MAX; i++)
        p[1 + i] = (struct pollfd){.fd = c->clients[i].fd, .events = POLLIN};
}

void copies_step(struct copies *c, const struct pollfd p[COPIES_POLL_MAX])
{
    for (size_t i = 0; i < CONTROL_COPIES_MAX; i++)
        if (p[1 + i].revents && p[1 + i].fd == c->clients[i].fd)
            read_client(c, &c->clients[i]);
    if (p[0].revents)
        admit(c);
}

void copies_close(struct copies *c)
{
    for (size_t i = 0; i < CONTROL_COPIES_MAX; i++)
        if (c->clients[i].fd >= 0)
            drop(c, &c->clients[i]);
    listener_close(&c->listener);
}
