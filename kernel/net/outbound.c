// SPDX-License-Identifier: Apache-2.0
/* host calls: shutdown */
#include "kernel/net/outbound.h"

#include "kernel/net/gateway.h"
#include "kernel/net/wire.h"
#include "lib/base/map.h"

struct outbound {
    struct wire wire;
    struct gateway_request request; /* its id is the flow's */
    struct list link;
};

static struct list flows = {&flows, &flows};
static struct map flows_by_id;

static int take_over(struct outbound *o, struct hostfd fd, bool is_pair)
{
    o->wire.is_pair = is_pair;
    int r = wire_connect(&o->wire, fd);
    if (r == 0)
        r = map_set(&flows_by_id, o->request.id, o);
    if (r < 0)
        return r;
    list_append(&flows, &o->link);
    socket_wake(tcp_socket(o->wire.owner), SOCKET_CHANGED);
    return 0;
}

static void on_connected(struct gateway_request *r, int error, const struct gateway_message *m,
                         struct hostfd fd)
{
    struct outbound *o = container_of(r, struct outbound, request);
    struct tcp_socket *t = o->wire.owner;
    /* Its descriptor got lost on the way: this process may have no more. */
    if (error == 0 && !hostfd_is_open(fd)) {
        gateway_close(r->id, true);
        error = ENOBUFS;
    }
    if (error == 0)
        error = -take_over(o, fd, m->packet.type == GATEWAY_ACCEPTED);
    else
        hostfd_close(&fd);
    if (error == 0)
        return;
    wire_end(t, true);
    tcp_refuse(t, error);
}

static void on_end(struct wire *w, bool is_reset)
{
    struct outbound *o = container_of(w, struct outbound, wire);
    gateway_cancel(&o->request);
    if (hostfd_is_open(w->fd))
        gateway_close(o->request.id, is_reset);
    map_remove(&flows_by_id, o->request.id);
    list_remove(&o->link);
}

int outbound_begin(struct tcp_socket *t, const struct thread *thread)
{
    struct outbound *o = calloc(1, sizeof(*o));
    if (!o)
        return -ENOBUFS;
    wire_init(&o->wire, t, on_end);
    o->request.done = on_connected;
    list_init(&o->link);
    list_init(&o->request.link);
    int r = gateway_connect(&o->request, IPPROTO_TCP, &t->inet.remote, thread);
    if (r < 0) {
        free(o);
        return r;
    }
    t->wire = &o->wire;
    tcp_socket(t)->state = SOCKET_CONNECTING;
    return 0;
}

void outbound_cut_all(void)
{
    struct outbound *o;
    list_for_each(o, &flows, link)
    {
        wire_cut(&o->wire);
    }
}

void outbound_told(uint64_t id, enum gateway_type type, struct hostfd fd)
{
    struct outbound *o = map_get(&flows_by_id, id);
    struct wire *w = o ? &o->wire : NULL;
    if (w && type == GATEWAY_FINISH && w->is_pair) {
        w->is_finished = true;
    } else if (w && type == GATEWAY_STOP && w->is_pair) {
        w->is_stopped = true;
        shutdown(w->fd.n, SHUT_WR);
    } else if (w && type == GATEWAY_DIRECT && w->is_stopped && hostfd_is_open(fd)) {
        wire_replace(w, fd);
        return;
    } else if (w && (type == GATEWAY_RESET || type == GATEWAY_DIRECT)) {
        wire_cut(w);
    }
    hostfd_close(&fd);
}
