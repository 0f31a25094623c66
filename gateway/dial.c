// SPDX-License-Identifier: Apache-2.0
/*
 * From an allowed flow to a connected socket: the addresses of its name, each judged, tried one
 * after the other.
 */
#include "gateway/flow.h"
#include "gateway/names.h"

#include <sys/socket.h>

/* Of one address, while there is another one to try. */
#define ATTEMPT_MS 3000

static void on_ready(struct watch *w, uint32_t events);

void dial_cancel(struct flow *f)
{
    names_cancel(f->dial.lookup);
    f->dial.lookup = NULL;
}

/* Begins with the next address. 0: connected or under way; or a positive errno. */
static int try_next(struct flow *f)
{
    const struct in6_addr *to = &f->dial.candidates[f->dial.next++];
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(f->evidence.port)};
    if (!IN6_IS_ADDR_V4MAPPED(to))
        return ENETUNREACH;
    memcpy(&a.sin_addr, to->s6_addr + 12, sizeof(a.sin_addr));
    watch_close(&f->peer);
    f->peer.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (f->peer.fd < 0)
        return errno;
    if (connect(f->peer.fd, (const struct sockaddr *)&a, sizeof(a)) < 0 && errno != EINPROGRESS)
        return errno;
    f->dial.attempt_until_ns = gateway_now_ns() + ATTEMPT_MS * NSEC_PER_MSEC;
    f->peer.ready = on_ready;
    watch_for(&f->peer, EPOLLOUT);
    bool is_last = f->dial.next == f->dial.candidate_count;
    flow_set_deadline(f,
                      is_last ? f->dial.until_ns : MIN(f->dial.attempt_until_ns, f->dial.until_ns));
    return 0;
}

/* The address tried last came to nothing. */
static void go_on(struct flow *f, int error)
{
    while (f->dial.next < f->dial.candidate_count && gateway_now_ns() < f->dial.until_ns) {
        error = try_next(f);
        if (error == 0)
            return;
    }
    flow_fail(f, error);
}

static void on_ready(struct watch *w, uint32_t events)
{
    struct flow *f = container_of(w, struct flow, peer);
    int error = 0;
    socklen_t size = sizeof(error);
    if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
        error = errno;
    if (error != 0) {
        go_on(f, error);
        return;
    }
    watch_for(w, 0);
    f->dial.state = DIAL_DONE;
    flow_set_deadline(f, INT64_MAX);
    flow_connected(f);
}

void dial_on_time(struct flow *f)
{
    go_on(f, ETIMEDOUT);
}

static void begin_trying(struct flow *f)
{
    f->dial.state = DIAL_TRYING;
    f->dial.until_ns =
        gateway_now_ns() + (int64_t)gateway.document->limits.connect_timeout_ms * NSEC_PER_MSEC;
    go_on(f, EHOSTUNREACH);
}

static void add_candidate(struct flow *f, const struct in6_addr *address)
{
    struct dial *d = &f->dial;
    /* The guest's own choice first, when it is among them. */
    bool is_choice = IN6_ARE_ADDR_EQUAL(address, &f->evidence.address);
    if (is_choice)
        memmove(d->candidates + 1, d->candidates, d->candidate_count * sizeof(*address));
    d->candidates[is_choice ? 0 : d->candidate_count] = *address;
    d->candidate_count++;
}

static void on_found(void *context, const struct dns_addresses *found)
{
    struct flow *f = context;
    struct policy_verdict v, dropped = {.reason = ""};
    f->dial.lookup = NULL;
    for (size_t i = 0; found && i < found->count; i++) {
        policy_judge_candidate(gateway.policy, &gateway.operator, & f->evidence, f->name,
                               &found->list[i].address, &v);
        if (v.action == POLICY_ALLOW)
            add_candidate(f, &found->list[i].address);
        else
            dropped = v;
    }
    if (f->dial.candidate_count > 0)
        begin_trying(f);
    else if (dropped.reason[0])
        flow_deny(f, dropped.reason, dropped.words, found);
    else
        flow_fail(f, EHOSTUNREACH);
}

void dial_begin(struct flow *f)
{
    if (!f->name[0]) {
        add_candidate(f, &f->evidence.address);
        begin_trying(f);
        return;
    }
    f->dial.state = DIAL_LOOKING_UP;
    flow_set_deadline(f, INT64_MAX);
    struct lookup *l = names_look_up(f->name, on_found, f);
    if (l)
        f->dial.lookup = l;
}
