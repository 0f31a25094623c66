// SPDX-License-Identifier: Apache-2.0
#include "gateway/flows.h"

#include "gateway/channel.h"
#include "gateway/log.h"
#include "gateway/names.h"
#include "lib/base/list.h"

#include <linux/tcp.h>
#include <stdio.h>
#include <sys/socket.h>

/* Of one address, while there is another one to try. */
#define ATTEMPT_MS 3000

enum state { LOOKING_UP, DIALLING, OPEN };

struct flow {
    struct list link;
    uint64_t id;
    enum state state;
    struct policy_flow evidence; /* points into names */
    char *names;                 /* POLICY_RESOLVED_MAX texts; NULL once it is open */
    const char *resolved[POLICY_RESOLVED_MAX];
    char name[POLICY_NAME_MAX_BYTES + 1]; /* it was allowed by; "": by address */
    char reason[POLICY_REASON_MAX_BYTES];
    bool would_deny;
    int pid;
    char program[GATEWAY_PROGRAM_MAX + 1];
    struct lookup *lookup;
    struct in6_addr candidates[DNS_ADDRESSES_MAX];
    size_t candidate_count, next;
    int fd; /* -1: none */
    int64_t since_ns, attempt_until_ns, until_ns;
};

static struct list flows = {&flows, &flows};
static size_t flow_count;
static struct rate rate;

/* ---- the log ---- */

static struct log_entry entry_of(const struct flow *f, const char *event)
{
    return (struct log_entry){
        .event = event,
        .flow = f->id,
        .name = f->name[0] ? f->name : NULL,
        .address = &f->evidence.address,
        .port = f->evidence.port,
        .pid = f->pid,
        .program = f->program,
        .since_ns = f->since_ns,
    };
}

static const struct in6_addr *dialled(const struct flow *f)
{
    return f->next > 0 ? &f->candidates[f->next - 1] : NULL;
}

/* ---- making and unmaking ---- */

static void flow_free(struct flow *f)
{
    names_cancel(f->lookup);
    base_closep(&f->fd);
    list_remove(&f->link);
    flow_count--;
    free(f->names);
    free(f);
}

/* Copies the names for the address: those in names.c may change until the flow is dialled. */
static bool take_names(struct flow *f)
{
    const size_t size = POLICY_NAME_MAX_BYTES + 1;
    size_t count = names_of(&f->evidence.address, f->resolved);
    f->names = count ? malloc(count * size) : NULL;
    if (count && !f->names)
        return false;
    for (size_t i = 0; i < count; i++) {
        char *copy = f->names + i * size;
        snprintf(copy, size, "%s", f->resolved[i]);
        f->resolved[i] = copy;
    }
    f->evidence.resolved = f->resolved;
    f->evidence.resolved_count = count;
    return true;
}

static struct flow *flow_new(const struct gateway_packet *p)
{
    struct flow *f = calloc(1, sizeof(*f));
    if (!f)
        return NULL;
    f->id = p->id;
    f->fd = -1;
    f->pid = p->pid;
    memcpy(f->program, p->program, sizeof(p->program));
    f->since_ns = gateway_now_ns();
    f->evidence = policy_flow_init(POLICY_TCP, &p->address, p->port);
    /* What passes is not looked into: no name will show, and no request. */
    f->evidence.sni.state = f->evidence.authority.state = POLICY_NAME_ABSENT;
    f->evidence.request.state = POLICY_NAME_ABSENT;
    list_append(&flows, &f->link);
    flow_count++;
    if (take_names(f))
        return f;
    flow_free(f);
    return NULL;
}

static void deny(struct flow *f, const char *reason, const char *words,
                 const struct dns_addresses *found)
{
    struct log_entry e = entry_of(f, "connect");
    if (!e.name && f->evidence.resolved_count == 1)
        e.name = f->evidence.resolved[0];
    e.is_decision = true;
    e.reason = reason;
    e.resolved = found;
    log_write(&e);
    log_denial(&e, words);
    channel_send_connected(f->id, EACCES, -1);
    flow_free(f);
}

static void fail(struct flow *f, int error)
{
    struct log_entry e = entry_of(f, "connect");
    e.is_decision = e.is_allowed = true;
    e.reason = f->reason;
    e.dialled = dialled(f);
    e.error = error;
    log_write(&e);
    channel_send_connected(f->id, error, -1);
    flow_free(f);
}

/* ---- dialling ---- */

static void open_flow(struct flow *f)
{
    struct log_entry e = entry_of(f, "connect");
    e.is_decision = e.is_allowed = true;
    e.would_deny = f->would_deny;
    e.reason = f->reason;
    e.dialled = dialled(f);
    log_write(&e);
    f->state = OPEN;
    free(f->names);
    f->names = NULL;
    f->evidence.resolved_count = 0;
    channel_send_connected(f->id, 0, f->fd);
}

/* Begins with the next address. 0: connected or under way; or a positive errno. */
static int dial(struct flow *f)
{
    const struct in6_addr *to = &f->candidates[f->next++];
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(f->evidence.port)};
    if (!IN6_IS_ADDR_V4MAPPED(to))
        return ENETUNREACH;
    memcpy(&a.sin_addr, to->s6_addr + 12, sizeof(a.sin_addr));
    base_closep(&f->fd);
    f->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (f->fd < 0)
        return errno;
    f->attempt_until_ns = gateway_now_ns() + ATTEMPT_MS * NSEC_PER_MSEC;
    if (connect(f->fd, (const struct sockaddr *)&a, sizeof(a)) < 0 && errno != EINPROGRESS)
        return errno;
    return 0;
}

/* The address tried last came to nothing. */
static void dial_next(struct flow *f, int error)
{
    while (f->next < f->candidate_count && gateway_now_ns() < f->until_ns) {
        error = dial(f);
        if (error == 0)
            return;
    }
    fail(f, error);
}

static void begin_dial(struct flow *f)
{
    f->state = DIALLING;
    f->until_ns =
        gateway_now_ns() + (int64_t)gateway.document->limits.connect_timeout_ms * NSEC_PER_MSEC;
    dial_next(f, EHOSTUNREACH);
}

static void add_candidate(struct flow *f, const struct in6_addr *address)
{
    /* The guest's own choice first, when it is among them. */
    bool is_choice = IN6_ARE_ADDR_EQUAL(address, &f->evidence.address);
    if (is_choice)
        memmove(f->candidates + 1, f->candidates, f->candidate_count * sizeof(*address));
    f->candidates[is_choice ? 0 : f->candidate_count] = *address;
    f->candidate_count++;
}

static void on_found(void *context, const struct dns_addresses *found)
{
    struct flow *f = context;
    struct policy_verdict v, dropped = {.reason = ""};
    f->lookup = NULL;
    for (size_t i = 0; found && i < found->count; i++) {
        policy_judge_candidate(gateway.policy, &gateway.operator, & f->evidence, f->name,
                               &found->list[i].address, &v);
        if (v.action == POLICY_ALLOW)
            add_candidate(f, &found->list[i].address);
        else
            dropped = v;
    }
    if (f->candidate_count > 0)
        begin_dial(f);
    else if (dropped.reason[0])
        deny(f, dropped.reason, dropped.words, found);
    else
        fail(f, EHOSTUNREACH);
}

/* ---- requests ---- */

static void judge(struct flow *f)
{
    struct policy_verdict v;
    policy_judge(gateway.policy, &gateway.operator, & f->evidence, &v);
    if (v.action != POLICY_ALLOW) {
        deny(f, v.reason, v.words ? v.words : "this needs to look into the connection", NULL);
        return;
    }
    snprintf(f->reason, sizeof(f->reason), "%s", v.reason);
    f->would_deny = v.would_deny;
    if (!v.name) {
        add_candidate(f, &f->evidence.address);
        begin_dial(f);
        return;
    }
    snprintf(f->name, sizeof(f->name), "%s", v.name);
    struct lookup *l = names_look_up(f->name, on_found, f);
    if (l)
        f->lookup = l;
}

static bool has_room(void)
{
    return flow_count < MIN(gateway.document->limits.max_flows, (uint64_t)GATEWAY_FLOWS_MAX);
}

void flows_connect(const struct gateway_packet *p)
{
    bool is_full = !has_room();
    bool is_fast = !rate_take(&rate, gateway.document->limits.max_new_per_s);
    struct flow *f = IN6_IS_ADDR_V4MAPPED(&p->address) ? flow_new(p) : NULL;
    if (!f) {
        channel_send_connected(p->id, ENETUNREACH, -1);
        return;
    }
    if (!is_full && !is_fast) {
        judge(f);
        return;
    }
    struct log_entry e = entry_of(f, "connect");
    e.is_decision = true;
    e.reason = is_full ? "limit:max_flows" : "limit:max_new_per_s";
    log_write(&e);
    log_denial(&e, "the policy's limit is reached");
    channel_send_connected(f->id, EADDRNOTAVAIL, -1);
    flow_free(f);
}

/* ---- the end ---- */

/* Payload as the host's TCP counts it; what it still held for the peer is on its way. */
static void count_bytes(const struct flow *f, struct log_entry *e)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof(info);
    if (getsockopt(f->fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0)
        return;
    e->has_counts = true;
    e->guest_tx = info.tcpi_bytes_sent - info.tcpi_bytes_retrans + info.tcpi_notsent_bytes;
    e->guest_rx = info.tcpi_bytes_received;
}

static void close_flow(struct flow *f, bool is_reset)
{
    if (f->state == OPEN) {
        struct log_entry e = entry_of(f, "close");
        count_bytes(f, &e);
        e.dialled = dialled(f);
        log_write(&e);
    }
    if (is_reset && f->fd >= 0) {
        const struct linger at_once = {.l_onoff = 1};
        setsockopt(f->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    }
    flow_free(f);
}

bool flows_close(uint64_t id, bool is_reset)
{
    struct flow *f;
    list_for_each(f, &flows, link)
    {
        if (f->id != id)
            continue;
        bool is_open = f->state == OPEN;
        close_flow(f, is_reset);
        return !is_open;
    }
    return false;
}

void flows_end(void)
{
    struct flow *f, *next;
    list_for_each_safe(f, next, &flows, link)
    {
        close_flow(f, false);
    }
}

/* ---- the loop ---- */

size_t flows_fill_poll(struct pollfd p[FLOWS_DIALS_MAX])
{
    size_t count = 0;
    struct flow *f;
    list_for_each(f, &flows, link)
    {
        if (f->state == DIALLING && count < FLOWS_DIALS_MAX)
            p[count++] = (struct pollfd){.fd = f->fd, .events = POLLOUT};
    }
    return count;
}

static int64_t deadline_of(const struct flow *f)
{
    bool is_last = f->next == f->candidate_count;
    return is_last ? f->until_ns : MIN(f->attempt_until_ns, f->until_ns);
}

int flows_wait_ms(void)
{
    int64_t until = INT64_MAX, now = gateway_now_ns();
    struct flow *f;
    list_for_each(f, &flows, link)
    {
        if (f->state == DIALLING)
            until = MIN(until, deadline_of(f));
    }
    return until == INT64_MAX ? -1 : (int)(MAX(until - now, (int64_t)0) / NSEC_PER_MSEC) + 1;
}

static void on_dialled(struct flow *f)
{
    int error = 0;
    socklen_t size = sizeof(error);
    if (getsockopt(f->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
        error = errno;
    if (error == 0)
        open_flow(f);
    else
        dial_next(f, error);
}

static bool has_event(int fd, const struct pollfd *p, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (p[i].fd == fd)
            return p[i].revents != 0;
    return false;
}

void flows_step(const struct pollfd *p, size_t count)
{
    struct flow *f, *next;
    int64_t now = gateway_now_ns();
    list_for_each_safe(f, next, &flows, link)
    {
        if (f->state != DIALLING)
            continue;
        if (has_event(f->fd, p, count))
            on_dialled(f);
        else if (now >= deadline_of(f))
            dial_next(f, ETIMEDOUT);
    }
}
