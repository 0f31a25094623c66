// SPDX-License-Identifier: Apache-2.0
/*
 * From an allowed flow to a connected socket: the addresses of its name, each judged, tried as RFC
 * 8305 ("Happy Eyeballs") has it: the program's own choice first, then the families in turn; the
 * next one when one has failed, or has not answered for a quarter of a second, while it goes on.
 */
#include "gateway/flow.h"
#include "gateway/kept.h"
#include "gateway/names.h"
#include "gateway/route.h"
#include "gateway/tunnel.h"
#include "lib/policy/floor.h"
#include "lib/secret/secrets.h"

#include <sys/socket.h>

#define NEXT_MS 250 /* "Connection Attempt Delay" of RFC 8305, 5 */
/* Of one address, while there is another one to try and no place for it. */
#define ATTEMPT_MS 3000

static void on_ready(struct watch *w, uint32_t events);
static void ask_proxy(struct attempt *a);

void dial_init(struct flow *f)
{
    for (size_t i = 0; i < ARRAY_SIZE(f->dial.attempts); i++)
        f->dial.attempts[i] = (struct attempt){.watch = WATCH_NONE, .flow = f};
}

static void end_attempt(struct attempt *a)
{
    watch_close(&a->watch);
    tunnel_free(a->tunnel);
    a->tunnel = NULL;
}

static void close_attempts(struct flow *f)
{
    for (size_t i = 0; i < ARRAY_SIZE(f->dial.attempts); i++)
        end_attempt(&f->dial.attempts[i]);
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
static int open_peer(const struct in6_addr *to, uint16_t port, int type, int *ret)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = *to};
    bool is_v4 = IN6_IS_ADDR_V4MAPPED(to);
    memcpy(&in.sin_addr, to->s6_addr + 12, sizeof(in.sin_addr));
    const struct sockaddr *a = is_v4 ? (const struct sockaddr *)&in : (const struct sockaddr *)&in6;
    int fd = socket(a->sa_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
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
    const struct policy_upstream *proxy = gateway.document->upstream;
    const struct dial *d = &f->dial;
    a->candidate = f->dial.tried = f->dial.next++;
    const uint16_t port = f->evidence.port;
    int error = d->has_proxy
                    ? open_peer(&d->proxy, proxy->port, SOCK_STREAM, &a->watch.fd)
                    : open_peer(&d->candidates[a->candidate], port,
                                f->evidence.protocol == POLICY_UDP ? SOCK_DGRAM : SOCK_STREAM,
                                &a->watch.fd);
    if (error != 0)
        return error;
    a->until_ns = gateway_now_ns() + ATTEMPT_MS * NSEC_PER_MSEC;
    a->watch.events = 0;
    a->watch.ready = on_ready;
    watch_for(&a->watch, EPOLLOUT);
    return 0;
}

/* It leads to the peer. */
static void use_attempt(struct attempt *a)
{
    struct flow *f = a->flow;
    watch_for(&a->watch, 0);
    f->peer = (struct watch){.fd = a->watch.fd};
    a->watch.fd = -1;
    close_attempts(f);
    f->dial.tried = a->candidate;
    f->dial.state = DIAL_DONE;
    flow_set_deadline(f, INT64_MAX);
    flow_connected(f);
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

/* What was kept of its name leads nowhere, or not any more. */
static void fail(struct flow *f, int error)
{
    kept_forget(f->name);
    flow_fail(f, error);
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
    /* Of UDP nothing more is to be waited for. */
    if (is_begun && f->evidence.protocol == POLICY_UDP)
        use_attempt(place);
    else if (find_oldest(f))
        wait_for_attempts(f);
    else
        fail(f, error);
}

/* ---- a proxy ---- */

static void fail_tunnel(struct attempt *a)
{
    struct flow *f = a->flow;
    const char *words;
    int error = tunnel_error(a->tunnel, &words);
    f->dial.trouble = error ? NULL : words;
    end_attempt(a);
    go_on(f, error ? error : ENETUNREACH);
}

static bool send_to_proxy(struct attempt *a)
{
    const char *data;
    size_t size;
    tunnel_pending(a->tunnel, &data, &size);
    while (size > 0) {
        ssize_t n = send(a->watch.fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        tunnel_sent(a->tunnel, (size_t)n);
        tunnel_pending(a->tunnel, &data, &size);
    }
    return true;
}

static enum tunnel_progress hear_proxy(struct attempt *a)
{
    enum tunnel_progress progress = TUNNEL_MORE;
    char piece[512];
    while (progress == TUNNEL_MORE) {
        size_t room = MIN(tunnel_room(a->tunnel), sizeof(piece));
        ssize_t n = recv(a->watch.fd, piece, room, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return TUNNEL_MORE;
        if (n <= 0)
            return TUNNEL_FAILED;
        progress = tunnel_take(a->tunnel, piece, (size_t)n);
        if (!send_to_proxy(a))
            return TUNNEL_FAILED;
    }
    return progress;
}

static void go_on_asking(struct attempt *a)
{
    const char *data;
    size_t size;
    enum tunnel_progress progress = send_to_proxy(a) ? hear_proxy(a) : TUNNEL_FAILED;
    if (progress == TUNNEL_DONE) {
        use_attempt(a);
    } else if (progress == TUNNEL_FAILED) {
        fail_tunnel(a);
    } else {
        tunnel_pending(a->tunnel, &data, &size);
        watch_for(&a->watch, EPOLLIN | (size > 0 ? EPOLLOUT : 0U));
    }
}

static void on_proxy_ready(struct watch *w, uint32_t events)
{
    go_on_asking(container_of(w, struct attempt, watch));
}

static const char *password_for(const struct policy_upstream *proxy, size_t *ret_size)
{
    const struct policy_document *d = gateway.document;
    for (size_t i = 0; proxy->password_ref && i < d->secret_count; i++)
        if (!strcmp(d->secrets[i].name, proxy->password_ref))
            return secrets_value(gateway.secrets, i, ret_size);
    *ret_size = 0;
    return NULL;
}

/* What is too long for SOCKS5 is so for both: the first part of it would be another password. */
static bool can_be_told(const char *password, size_t size)
{
    return !password || (size <= TUNNEL_PASSWORD_MAX_BYTES && !memchr(password, '\0', size));
}

static void ask_proxy(struct attempt *a)
{
    struct flow *f = a->flow;
    const struct policy_upstream *proxy = gateway.document->upstream;
    size_t size;
    const char *password = password_for(proxy, &size);
    if (!can_be_told(password, size)) {
        f->dial.trouble = "the proxy's password is longer than 255 bytes, or no text";
        end_attempt(a);
        go_on(f, ENETUNREACH);
        return;
    }
    a->tunnel =
        tunnel_new(proxy, password, size, &f->dial.candidates[a->candidate], f->evidence.port);
    a->watch.ready = on_proxy_ready;
    if (a->tunnel) {
        go_on_asking(a);
        return;
    }
    end_attempt(a);
    go_on(f, ENOBUFS);
}

/* ---- attempts, again ---- */

static void on_ready(struct watch *w, uint32_t events)
{
    struct attempt *a = container_of(w, struct attempt, watch);
    struct flow *f = a->flow;
    int error = 0;
    socklen_t size = sizeof(error);
    if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
        error = errno;
    if (error != 0 && f->dial.has_proxy)
        f->dial.trouble = "the proxy can't be reached";
    if (error != 0) {
        end_attempt(a);
        go_on(f, error);
    } else if (f->dial.has_proxy) {
        ask_proxy(a);
    } else {
        use_attempt(a);
    }
}

void dial_on_time(struct flow *f)
{
    if (gateway_now_ns() >= f->dial.until_ns)
        close_attempts(f);
    else if (!find_free(f))
        end_attempt(find_oldest(f));
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
        fail(f, EHOSTUNREACH);
}

static void look_up_peer(struct flow *f)
{
    if (!f->name[0]) {
        add_candidate(f, &f->evidence.address);
        begin_trying(f);
        return;
    }
    struct dns_addresses kept;
    if (!names_is_pinned(f->name) && kept_find(f->name, &kept)) {
        on_found(f, &kept);
        return;
    }
    unsigned wanted = NAMES_KEEP | NAMES_V4 | (route_has_v6() ? NAMES_V6 : 0);
    unsigned first = is_v4(&f->evidence.address) ? NAMES_V4 : NAMES_V6;
    f->dial.state = DIAL_LOOKING_UP;
    flow_set_deadline(f, INT64_MAX);
    struct lookup *l = names_look_up(f->name, wanted, first, on_found, f);
    if (l)
        f->dial.lookup = l;
}

/* ---- where the proxy is ---- */

static bool is_in_floor(const struct in6_addr *address)
{
    enum policy_group class = policy_floor_class(&gateway.operator, address);
    return class != POLICY_GROUP_PUBLIC &&
           !policy_floor_is_exempt(&gateway.operator, address, class);
}

static void use_proxy(struct flow *f, const struct in6_addr *addresses, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (is_in_floor(&addresses[i]))
            continue;
        f->dial.proxy = addresses[i];
        f->dial.has_proxy = true;
        look_up_peer(f);
        return;
    }
    f->dial.trouble = count > 0 ? "the proxy has an address that no sandbox may reach"
                                : "the proxy's name is not known";
    flow_fail(f, ENETUNREACH);
}

static void on_proxy_found(void *context, const struct dns_addresses *found)
{
    struct flow *f = context;
    struct in6_addr addresses[DNS_FOUND_MAX];
    size_t count = 0;
    f->dial.lookup = NULL;
    for (size_t i = 0; found && i < found->count; i++)
        if (is_v4(&found->list[i].address) || route_has_v6())
            addresses[count++] = found->list[i].address;
    use_proxy(f, addresses, count);
}

void dial_begin(struct flow *f)
{
    const struct policy_upstream *proxy = gateway.document->upstream;
    if (!proxy || (f->name[0] && policy_patterns_match(&proxy->no_proxy, f->name))) {
        look_up_peer(f);
        return;
    }
    if (proxy->host.kind != POLICY_HOST_NAME) {
        use_proxy(f, &proxy->host.address, 1);
        return;
    }
    unsigned wanted = NAMES_V4 | (route_has_v6() ? NAMES_V6 : 0);
    f->dial.state = DIAL_LOOKING_UP;
    flow_set_deadline(f, INT64_MAX);
    struct lookup *l = names_look_up(proxy->host.name, wanted, NAMES_V4, on_proxy_found, f);
    if (l)
        f->dial.lookup = l;
}
