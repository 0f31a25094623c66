// SPDX-License-Identifier: Apache-2.0
/*
 * From an allowed flow to a connected socket: the addresses of its name, each judged, tried as RFC
 * 8305 ("Happy Eyeballs") has it: the program's own choice first, then the families in turn; the
 * next one when one has failed, or has not answered for a quarter of a second, while it goes on.
 */
#include "gateway/flow.h"
#include "gateway/names.h"
#include "gateway/route.h"

#include <sys/socket.h>

#define NEXT_MS 250 /* "Connection Attempt Delay" of RFC 8305, 5 */
/* Of one address, while there is another one to try and no place for it. */
#define ATTEMPT_MS 3000

static void on_ready(struct watch *w, uint32_t events);

void dial_init(struct flow *f)
{
    for (size_t i = 0; i < ARRAY_SIZE(f->dial.attempts); i++)
        f->dial.attempts[i] = (struct attempt){.watch = WATCH_NONE, .flow = f};
}

static void close_attempts(struct flow *f)
{
    for (size_t i = 0; i < ARRAY_SIZE(f->dial.attempts); i++)
        watch_close(&f->dial.attempts[i].watch);
}

void dial_cancel(struct flow *f)
{
    names_cancel(f->dial.lookup);
    f->dial.lookup = NULL;
    close_attempts(f);
}

/* ---- attempts ---- */

static bool is_under_way(const struct attempt *a)
{
    return a->watch.fd >= 0;
}

static struct attempt *find_free(struct flow *f)
{
    for (size_t i = 0; i < ARRAY_SIZE(f->dial.attempts); i++)
        if (!is_under_way(&f->dial.attempts[i]))
            return &f->dial.attempts[i];
    return NULL;
}

/* The one that began first; NULL: none is under way. */
static struct attempt *find_oldest(struct flow *f)
{
    struct attempt *oldest = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(f->dial.attempts); i++) {
        struct attempt *a = &f->dial.attempts[i];
        if (is_under_way(a) && (!oldest || a->until_ns < oldest->until_ns))
            oldest = a;
    }
    return oldest;
}

static bool has_more(const struct flow *f)
{
    return f->dial.next < f->dial.candidate_count;
}

/* 0: connected or under way; or a positive errno. */
static int open_peer(const struct in6_addr *to, uint16_t port, int *ret)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = *to};
    bool is_v4 = IN6_IS_ADDR_V4MAPPED(to);
    memcpy(&in.sin_addr, to->s6_addr + 12, sizeof(in.sin_addr));
    const struct sockaddr *a = is_v4 ? (const struct sockaddr *)&in : (const struct sockaddr *)&in6;
    int fd = socket(a->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (fd < 0)
        return errno;
    if (connect(fd, a, is_v4 ? sizeof(in) : sizeof(in6)) < 0 && errno != EINPROGRESS) {
        int error = errno;
        close(fd);
        return error;
    }
    *ret = fd;
    return 0;
}

/* Begins with the next address, in a place that is free. As open_peer(). */
static int try_next(struct flow *f, struct attempt *a)
{
    a->candidate = f->dial.tried = f->dial.next++;
    int error = open_peer(&f->dial.candidates[a->candidate], f->evidence.port, &a->watch.fd);
    if (error != 0)
        return error;
    a->until_ns = gateway_now_ns() + ATTEMPT_MS * NSEC_PER_MSEC;
    a->watch.events = 0;
    a->watch.ready = on_ready;
    watch_for(&a->watch, EPOLLOUT);
    return 0;
}

static void wait_for_attempts(struct flow *f)
{
    int64_t at = f->dial.until_ns;
    if (has_more(f) && find_free(f))
        at = MIN(at, gateway_now_ns() + NEXT_MS * NSEC_PER_MSEC);
    else if (has_more(f))
        at = MIN(at, find_oldest(f)->until_ns);
    flow_set_deadline(f, at);
}

/* Begins with one more, if there is a place. error: why another one came to nothing, if it did. */
static void go_on(struct flow *f, int error)
{
    struct attempt *place = find_free(f);
    bool is_begun = false;
    while (place && !is_begun && has_more(f) && gateway_now_ns() < f->dial.until_ns) {
        int now = try_next(f, place);
        is_begun = now == 0;
        error = is_begun ? error : now;
    }
    if (find_oldest(f))
        wait_for_attempts(f);
    else
        flow_fail(f, error);
}

static void on_ready(struct watch *w, uint32_t events)
{
    struct attempt *a = container_of(w, struct attempt, watch);
    struct flow *f = a->flow;
    int error = 0;
    socklen_t size = sizeof(error);
    if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
        error = errno;
    if (error != 0) {
        watch_close(w);
        go_on(f, error);
        return;
    }
    watch_for(w, 0);
    f->peer = (struct watch){.fd = w->fd};
    w->fd = -1;
    close_attempts(f);
    f->dial.tried = a->candidate;
    f->dial.state = DIAL_DONE;
    flow_set_deadline(f, INT64_MAX);
    flow_connected(f);
}

void dial_on_time(struct flow *f)
{
    if (gateway_now_ns() >= f->dial.until_ns)
        close_attempts(f);
    else if (!find_free(f))
        watch_close(&find_oldest(f)->watch);
    go_on(f, ETIMEDOUT);
}

static void begin_trying(struct flow *f)
{
    f->dial.state = DIAL_TRYING;
    f->dial.until_ns =
        gateway_now_ns() + (int64_t)gateway.document->limits.connect_timeout_ms * NSEC_PER_MSEC;
    go_on(f, EHOSTUNREACH);
}

/* ---- candidates ---- */

static bool is_v4(const struct in6_addr *a)
{
    return IN6_IS_ADDR_V4MAPPED(a);
}

static void add_candidate(struct flow *f, const struct in6_addr *address)
{
    f->dial.candidates[f->dial.candidate_count++] = *address;
}

/* Moves candidate `from` to the place `to` before it. */
static void bring_forward(struct dial *d, size_t from, size_t to)
{
    struct in6_addr address = d->candidates[from];
    memmove(d->candidates + to + 1, d->candidates + to, (from - to) * sizeof(address));
    d->candidates[to] = address;
}

/*
 * The program's own choice first, when it is among them; else one of its family. Then one of the
 * other family, and so in turn; within each, as they came.
 */
static void put_in_order(struct flow *f)
{
    struct dial *d = &f->dial;
    bool wants_v4 = is_v4(&f->evidence.address);
    for (size_t i = 0; i < d->candidate_count; i++)
        if (IN6_ARE_ADDR_EQUAL(&d->candidates[i], &f->evidence.address))
            bring_forward(d, i, 0);
    for (size_t to = 0; to < d->candidate_count; to++, wants_v4 = !wants_v4) {
        size_t from = to;
        while (from < d->candidate_count && is_v4(&d->candidates[from]) != wants_v4)
            from++;
        if (from < d->candidate_count)
            bring_forward(d, from, to);
    }
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
    put_in_order(f);
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
    unsigned wanted = NAMES_V4 | (route_has_v6() ? NAMES_V6 : 0);
    unsigned first = is_v4(&f->evidence.address) ? NAMES_V4 : NAMES_V6;
    f->dial.state = DIAL_LOOKING_UP;
    flow_set_deadline(f, INT64_MAX);
    struct lookup *l = names_look_up(f->name, wanted, first, on_found, f);
    if (l)
        f->dial.lookup = l;
}
