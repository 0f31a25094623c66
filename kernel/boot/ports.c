// SPDX-License-Identifier: Apache-2.0
#include "kernel/boot/ports.h"

#include "kernel/boot/control.h"
#include "kernel/net/inbound.h"
#include "kernel/proc/process.h"

#include <stdio.h>

struct listed {
    struct ports_listener listeners[PORTS_LISTED_MAX];
    size_t count;
    bool is_cut;
};

_Static_assert(sizeof(((struct listed *)NULL)->listeners) + sizeof(struct control_packet) <=
                   CONTROL_PACKET_MAX_BYTES,
               "a list is one packet");

static void tell(int32_t number, int error)
{
    const struct control_packet p = {
        .type = CONTROL_PORT_ANSWERED, .value = number, .status = error};
    control_send_packet(&p, NULL);
}

void ports_start(void)
{
    inbound_told = tell;
}

void ports_connect(const struct control_packet *p, struct hostfd fd)
{
    const struct inbound_question q = {
        .number = p->value, .asker = p->status, .port = (uint16_t)p->reason, .wait_ns = p->wall_ns};
    inbound_connect(&q, fd);
}

void ports_cut(const struct control_packet *p)
{
    inbound_cut(p->value);
}

static void add(void *context, const struct net_socket_info *info)
{
    struct listed *l = context;
    if (!info->listening || info->protocol != IPPROTO_TCP || info->type != SOCK_STREAM)
        return;
    if (l->count == PORTS_LISTED_MAX) {
        l->is_cut = true;
        return;
    }
    struct ports_listener *p = &l->listeners[l->count++];
    *p = (struct ports_listener){.port = info->local_port,
                                 .v6_only = info->v6_only,
                                 .uid = info->uid,
                                 .pid = info->pid,
                                 .waiting = (uint32_t)info->rx_bytes,
                                 .backlog = (uint32_t)info->tx_bytes};
    memcpy(p->address, &info->local, sizeof(p->address));
    struct process *maker = process_find(info->pid);
    if (maker && process_leader(maker))
        snprintf(p->program, sizeof(p->program), "%s", process_leader(maker)->name);
}

void ports_list(const struct control_packet *p)
{
    static struct listed l;
    l.count = 0;
    l.is_cut = false;
    net_for_each_socket(add, &l);
    const struct control_packet answer = {
        .type = CONTROL_PORT_LISTED,
        .value = p->value,
        .status = l.is_cut,
        .text_size = (uint32_t)(l.count * sizeof(l.listeners[0])),
    };
    control_send_packet(&answer, (const char *)l.listeners);
}
