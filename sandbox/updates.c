// SPDX-License-Identifier: Apache-2.0
#include "sandbox/updates.h"

#include "lib/base/update.h"
#include "lib/policy/policy.h"
#include "sandbox/scrubber.h"
#include "sandbox/socket_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

/* Of a gateway, before others have their turn. */
#define LINES_AT_ONCE 256

void updates_init(struct updates *u, updates_line_fn take_line, updates_violation_fn take_violation,
                  void *userdata)
{
    *u = (struct updates){.listener.fd = -1,
                          .gateway = -1,
                          .take_line = take_line,
                          .take_violation = take_violation,
                          .userdata = userdata};
    for (size_t i = 0; i < UPDATES_CLIENTS_MAX; i++)
        u->clients[i].fd = -1;
}

int updates_open(struct updates *u, const struct registry *r, int gateway, struct sandbox_error *e)
{
    if (gateway < 0)
        return 0;
    int fd = socket_file_listen(r, UPDATES_CLIENTS_MAX);
    if (fd < 0)
        return sandbox_error_set(e, fd, "%s/sandboxes/%s: socket: %s; make room there", r->path,
                                 r->name, strerror(-fd));
    u->listener.fd = fd;
    u->gateway = gateway;
    return 0;
}

/* ---- clients ---- */

static void drop(struct updates *u, size_t i)
{
    base_closep(&u->clients[i].fd);
    memmove(&u->clients[i], &u->clients[i + 1],
            (UPDATES_CLIENTS_MAX - i - 1) * sizeof(*u->clients));
    u->clients[UPDATES_CLIENTS_MAX - 1] = (struct update_client){.fd = -1};
}

/* Tells and drops. */
static void answer(struct updates *u, size_t i, uint64_t generation, int error, const char *text,
                   size_t size)
{
    struct update_message m = {.packet = {.version = UPDATE_VERSION,
                                          .type = UPDATE_DONE,
                                          .generation = generation,
                                          .error = error,
                                          .text_size = (uint32_t)size}};
    memcpy(m.text, text, size);
    send(u->clients[i].fd, &m, sizeof(m.packet) + size, MSG_DONTWAIT | MSG_NOSIGNAL);
    drop(u, i);
}

static void refuse(struct updates *u, size_t i, int error, const char *text)
{
    answer(u, i, 0, error, text, strlen(text));
}

/* A place for one more: a free one, or that of who has said nothing. -1: all are waiting. */
static int find_place(struct updates *u)
{
    for (int i = 0; i < UPDATES_CLIENTS_MAX; i++)
        if (u->clients[i].fd < 0)
            return i;
    for (size_t i = 0; i < UPDATES_CLIENTS_MAX; i++)
        if (u->clients[i].number == 0) {
            drop(u, i);
            return UPDATES_CLIENTS_MAX - 1;
        }
    return -1;
}

static void admit(struct updates *u)
{
    _cleanup_close_ int fd = listener_accept(&u->listener);
    int place = fd < 0 ? -1 : find_place(u);
    if (place >= 0)
        u->clients[place] = (struct update_client){.fd = TAKE_FD(fd)};
}

static bool is_document(int fd)
{
    const int wanted = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK;
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & wanted) == wanted && fstat(fd, &st) == 0 &&
           st.st_size <= POLICY_DOCUMENT_MAX_BYTES;
}

/* To the gateway, with a number of ours. */
static void pass_on(struct updates *u, size_t i, const struct update_packet *asked, int fd)
{
    struct update_packet p = {.version = UPDATE_VERSION,
                              .type = asked->type,
                              .number = ++u->last_number,
                              .generation = asked->generation};
    memcpy(p.phase, asked->phase, sizeof(p.phase));
    struct sandbox_error e;
    int r = p.type == UPDATE_SECRET ? scrubber_renew(u->scrubber, fd, &e) : 0;
    if (r < 0)
        refuse(u, i, -r, e.text);
    else if (updates_send(u->gateway, &p, fd) < 0)
        refuse(u, i, EAGAIN, "the gateway has no time for it now; try again");
    else
        u->clients[i].number = p.number;
}

static bool is_wish(const struct update_packet *p)
{
    return p->type == UPDATE_SET || p->type == UPDATE_SECRET;
}

static void read_client(struct updates *u, size_t i)
{
    struct update_packet p;
    int received;
    ssize_t n = socket_file_receive(u->clients[i].fd, &p, sizeof(p), &received);
    _cleanup_close_ int fd = n < 0 ? -1 : received;
    if (n == -EAGAIN)
        return;
    if (n <= 0)
        drop(u, i);
    else if (n != sizeof(p) || p.version != UPDATE_VERSION || !is_wish(&p) || p.text_size ||
             !update_has_phase(&p) || u->clients[i].number)
        refuse(u, i, EPROTO, "this is not what another version says; use the same one");
    else if (fd < 0 ? p.type != UPDATE_SET || !p.phase[0] : !is_document(fd))
        refuse(u, i, EPROTO, "there is no sealed document with it; use glovebox policy set");
    else
        pass_on(u, i, &p, fd);
}

/* ---- the gateway ---- */

static void end_gateway(struct updates *u)
{
    u->gateway = -1;
    while (u->clients[0].fd >= 0)
        refuse(u, 0, ECONNRESET, "its gateway has ended; start the sandbox again");
}

static void finish(struct updates *u, const struct update_message *m)
{
    for (size_t i = 0; i < UPDATES_CLIENTS_MAX; i++)
        if (u->clients[i].fd >= 0 && u->clients[i].number == m->packet.number) {
            answer(u, i, m->packet.generation, m->packet.error, m->text, m->packet.text_size);
            return;
        }
}

/* False when there is nothing (more) to read. */
static bool read_gateway(struct updates *u)
{
    static struct update_message m;
    ssize_t n = recv(u->gateway, &m, sizeof(m), MSG_DONTWAIT | MSG_TRUNC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        end_gateway(u);
        return false;
    }
    if ((size_t)n > sizeof(m) || !update_is_valid(&m, (size_t)n))
        return true; /* a guest may have taken it over; that is no reason to listen to it less */
    if (m.packet.type == UPDATE_LINE)
        u->take_line(u->userdata, m.text, m.packet.text_size);
    else if (m.packet.type == UPDATE_VIOLATION)
        u->take_violation(u->userdata, m.text, m.packet.text_size);
    else if (m.packet.type == UPDATE_DONE && m.packet.number)
        finish(u, &m);
    return true;
}

/* ---- the loop ---- */

size_t updates_fill_poll(struct updates *u, struct pollfd p[UPDATES_POLL_MAX])
{
    p[0] = (struct pollfd){.fd = u->gateway, .events = POLLIN};
    listener_fill_poll(&u->listener, &p[1]);
    for (size_t i = 0; i < UPDATES_CLIENTS_MAX; i++)
        p[2 + i] = (struct pollfd){.fd = u->clients[i].fd, .events = POLLIN};
    return UPDATES_POLL_MAX;
}

void updates_hear(struct updates *u)
{
    for (int i = 0; u->gateway >= 0 && i < LINES_AT_ONCE && read_gateway(u); i++)
        ;
}

/* Clients are dropped, and their places move: none is looked at twice. */
void updates_step(struct updates *u, const struct pollfd *p, size_t count)
{
    for (size_t i = count - 2; i-- > 0;)
        if (p[2 + i].revents)
            read_client(u, i);
    if (p[1].revents)
        admit(u);
    if (p[0].revents)
        updates_hear(u);
}

static int64_t now_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000 + ts.tv_nsec / NSEC_PER_MSEC;
}

void updates_drain(struct updates *u, int limit_ms)
{
    int64_t until = now_ms() + limit_ms, left;
    while (u->gateway >= 0 && (left = until - now_ms()) > 0) {
        struct pollfd p = {.fd = u->gateway, .events = POLLIN};
        if (poll(&p, 1, (int)left) == 1)
            read_gateway(u);
    }
}

void updates_close(struct updates *u)
{
    end_gateway(u);
    listener_close(&u->listener);
}
