// SPDX-License-Identifier: Apache-2.0
/* Ports of a sandbox, over one connection to its starter (sandbox/port_ask.h). */
#include "lib/text/shown.h"
#include "library/library.h"
#include "sandbox/port_ask.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

struct shown {
    char address[INET6_ADDRSTRLEN], program[4 * PORTS_PROGRAM_MAX + 16];
};

struct glovebox_ports {
    int socket;
    uint64_t number; /* of the last question: answers to earlier ones come too late */
    struct port_message message;
    struct glovebox_listener listeners[PORTS_LISTED_MAX];
    struct shown shown[PORTS_LISTED_MAX];
    char sandbox[GLOVEBOX_NAME_SIZE];
};

_public_ int glovebox_ports_open(const char *sandbox, struct glovebox_ports **ret,
                                 struct glovebox_error *e)
{
    struct sandbox_error s;
    struct glovebox_ports *p = calloc(1, sizeof(*p));
    if (!p)
        return library_fail_with(e, -ENOMEM, "%s: out of memory; free some and try again", sandbox);
    p->socket = port_reach(sandbox, &s);
    if (p->socket < 0) {
        int r = p->socket;
        free(p);
        return library_fail(e, r, &s);
    }
    snprintf(p->sandbox, sizeof(p->sandbox), "%s", sandbox);
    *ret = p;
    return 0;
}

_public_ void glovebox_ports_close(struct glovebox_ports *p)
{
    if (p)
        close(p->socket);
    free(p);
}

/* ---- questions ---- */

/* The answer to the last question. 0 or negative errno. */
static int await(struct glovebox_ports *p, uint32_t type, int64_t deadline_ms)
{
    for (;;) {
        int r = port_receive(p->socket, &p->message);
        const struct port_answer *a = &p->message.answer;
        if (r == 0 && a->number == p->number)
            return a->type == type ? -a->error : -EPROTO;
        if (r == -EAGAIN)
            r = library_wait(p->socket, deadline_ms);
        if (r < 0)
            return r == -EAGAIN ? -ETIMEDOUT : r;
    }
}

static int fail(struct glovebox_ports *p, int error, const char *words, struct glovebox_error *e)
{
    return library_fail_with(e, error,
                             error == -ECONNRESET ? "%s: it has ended; see glovebox ps"
                             : error == -EPROTO ? "%s: it says what it must not; stop it, a guest "
                                                  "may have taken its kernel over"
                                                : "%s: %s; see glovebox port",
                             p->sandbox, words);
}

static void show(const struct ports_listener *l, struct shown *s, struct glovebox_listener *ret)
{
    struct in6_addr address;
    memcpy(&address, l->address, sizeof(address));
    bool is_v4 = IN6_IS_ADDR_V4MAPPED(&address);
    inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? l->address + 12 : l->address, s->address,
              sizeof(s->address));
    text_line(l->program, strlen(l->program), s->program, sizeof(s->program));
    *ret = (struct glovebox_listener){.address = s->address,
                                      .program = s->program,
                                      .pid = l->pid,
                                      .uid = l->uid,
                                      .port = l->port};
}

_public_ int glovebox_ports_list(struct glovebox_ports *p, int timeout_ms,
                                 const struct glovebox_listener **ret, size_t *ret_count,
                                 struct glovebox_error *e)
{
    int64_t deadline_ms = library_deadline(timeout_ms);
    int r = port_ask_list(p->socket, ++p->number);
    if (r == 0)
        r = await(p, PORT_LIST, deadline_ms);
    if (r < 0)
        return fail(p, r, r == -ETIMEDOUT ? "no answer in time" : port_error_words(-r), e);
    for (size_t i = 0; i < p->message.count; i++)
        show(&p->message.listeners[i], &p->shown[i], &p->listeners[i]);
    *ret = p->listeners;
    *ret_count = p->message.count;
    return 0;
}

_public_ int glovebox_ports_connect(struct glovebox_ports *p, uint16_t port, int timeout_ms,
                                    struct glovebox_error *e)
{
    int wait_ms = timeout_ms < 0 ? PORTS_WAIT_DEFAULT_MS : MIN(timeout_ms, PORTS_WAIT_MAX_MS), fd;
    int r = port_ask_pair(p->socket, ++p->number, port, (unsigned)wait_ms, &fd);
    if (r < 0)
        return fail(p, r, port_error_words(-r), e);
    /* The sandbox is asked to give up by then; somewhat later it does not answer at all. */
    r = await(p, PORT_CONNECT, library_deadline(wait_ms + 1000));
    if (r == 0)
        return fd;
    close(fd);
    return fail(p, r, port_error_words(-r), e);
}
