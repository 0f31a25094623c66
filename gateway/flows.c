// SPDX-License-Identifier: Apache-2.0
#include "gateway/flows.h"

#include "gateway/budget.h"
#include "gateway/channel.h"
#include "gateway/flow.h"
#include "gateway/names.h"
#include "gateway/route.h"
#include "lib/base/map.h"
#include "lib/policy/same.h"

#include <linux/tcp.h>
#include <stdio.h>
#include <sys/socket.h>

/* A flow that lives longer has a line in the log as often as that. */
#define PROGRESS_S 60

/* What waits in all connections that the gateway stands between; the process has 64 MiB of data. */
#define HELD_MAX_BYTES ((size_t)40 << 20)

static struct list flows = {&flows, &flows};
static struct list timed = {&timed, &timed};
static struct list buried = {&buried, &buried};
static struct map by_id;
static size_t udp_count;
static struct rate rate;

/* ---- the log ---- */

const struct in6_addr *flow_dialled(const struct flow *f)
{
    return f->dial.next > 0 ? &f->dial.candidates[f->dial.tried] : NULL;
}

struct log_entry flow_log_entry(const struct flow *f, const char *event)
{
    const char *name = f->name[0]                        ? f->name
                       : f->evidence.resolved_count == 1 ? f->evidence.resolved[0]
                       : f->sni[0]                       ? f->sni
                                                         : NULL;
    return (struct log_entry){
        .event = event,
        .protocol = f->evidence.protocol,
        .flow = f->id,
        .name = name,
        .address = &f->evidence.address,
        .port = f->evidence.port,
        .pid = f->pid,
        .program = f->program,
        .since_ns = f->since_ns,
    };
}

/* ---- making and unmaking ---- */

static bool is_udp(const struct flow *f)
{
    return f->evidence.protocol == POLICY_UDP;
}

void flow_set_deadline(struct flow *f, int64_t at_ns)
{
    f->deadline_ns = at_ns;
    list_remove(&f->timed);
    if (at_ns != INT64_MAX)
        list_append(&timed, &f->timed);
}

/* What is known of flows under way may change meanwhile in names.c: so it is copied. */
static bool take_names(struct flow *f)
{
    const char *found[POLICY_RESOLVED_MAX];
    size_t count = names_of(&f->evidence.address, found), size = 0;
    for (size_t i = 0; i < count; i++)
        size += strlen(found[i]) + 1;
    if (count == 0)
        return true;
    f->names = malloc(size);
    f->resolved = calloc(count, sizeof(*f->resolved));
    if (!f->names || !f->resolved)
        return false;
    char *at = f->names;
    for (size_t i = 0; i < count; i++) {
        f->resolved[i] = at;
        at = stpcpy(at, found[i]) + 1;
    }
    f->evidence.resolved = f->resolved;
    f->evidence.resolved_count = count;
    return true;
}

static void flow_free(struct flow *f)
{
    list_remove(&f->link);
    free(f->names);
    free(f->resolved);
    free(f);
}

static struct flow *flow_new(const struct gateway_packet *p)
{
    struct flow *f = calloc(1, sizeof(*f));
    if (!f)
        return NULL;
    list_init(&f->link);
    list_init(&f->timed);
    f->id = p->id;
    f->peer = WATCH_NONE;
    dial_init(f);
    f->pid = p->pid;
    memcpy(f->program, p->program, sizeof(p->program));
    f->since_ns = f->told_ns = gateway_now_ns();
    f->deadline_ns = INT64_MAX;
    enum policy_protocol protocol = p->protocol == IPPROTO_UDP ? POLICY_UDP : POLICY_TCP;
    f->evidence = policy_flow_init(protocol, &p->address, p->port);
    if (!take_names(f) || map_set(&by_id, f->id, f) < 0) {
        flow_free(f);
        return NULL;
    }
    list_append(&flows, &f->link);
    udp_count += is_udp(f);
    return f;
}

void flow_bury(struct flow *f)
{
    map_remove(&by_id, f->id);
    udp_count -= is_udp(f);
    dial_cancel(f);
    between_bury(f->between);
    watch_close(&f->peer);
    list_remove(&f->timed);
    list_remove(&f->link);
    list_append(&buried, &f->link);
}

void flows_reap(void)
{
    struct flow *f;
    /* First: a request that was cut off is noted then, and tells of its flow. */
    between_reap();
    while ((f = list_first(&buried, struct flow, link)))
        flow_free(f);
}

/* ---- the end ---- */

/*
 * Payload as the host's TCP counts it; what it still held for the peer is on its way. Of UDP the
 * host counts nothing for a socket.
 */
static void count_bytes(const struct flow *f, struct log_entry *e)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof(info);
    if (is_udp(f)) {
        e->has_counts = f->is_counted;
        e->guest_tx = f->tx;
        e->guest_rx = f->rx;
        return;
    }
    if (getsockopt(f->peer.fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0)
        return;
    e->has_counts = true;
    e->guest_tx = info.tcpi_bytes_sent - info.tcpi_bytes_retrans + info.tcpi_notsent_bytes;
    e->guest_rx = info.tcpi_bytes_received;
}

static void log_counts(const struct flow *f, const char *event, const char *reason)
{
    struct log_entry e = flow_log_entry(f, event);
    if (f->dial.state != DIAL_DONE)
        return;
    if (f->between)
        between_count(f->between, &e);
    else
        count_bytes(f, &e);
    e.dialled = flow_dialled(f);
    e.reason = reason;
    log_write(&e);
}

/* The peer is told by a reset, and whoever holds a duplicate can't use it any more. */
void flow_reset_peer(const struct flow *f)
{
    const struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
    if (f->peer.fd >= 0)
        connect(f->peer.fd, &nowhere, sizeof(nowhere));
}

void flow_cut_for(struct flow *f, const char *reason)
{
    log_counts(f, "close", reason);
    flow_reset_peer(f);
    channel_send_reset(f->id);
    flow_bury(f);
}

void flow_close(struct flow *f)
{
    log_counts(f, "close", NULL);
    flow_bury(f);
}

void flow_cut(struct flow *f)
{
    flow_cut_for(f, NULL);
}

bool flows_close(uint64_t id, bool is_reset, const struct gateway_counts *counts)
{
    struct flow *f = map_get(&by_id, id);
    if (!f)
        return false;
    bool is_answered = f->is_answered;
    if (f->between && !is_reset) {
        between_guest_gone(f->between);
        return false;
    }
    if (counts && is_udp(f)) {
        f->is_counted = true;
        f->tx = counts->tx;
        f->rx = counts->rx;
    }
    log_counts(f, "close", NULL);
    if (is_reset)
        flow_reset_peer(f);
    flow_bury(f);
    return !is_answered;
}

void flows_end(void)
{
    struct flow *f, *next;
    list_for_each_safe(f, next, &flows, link)
    {
        flow_close(f);
    }
    flows_reap();
}

/* ---- before it is open ---- */

/* The program hears of it by its connect(2), or when that is over already, by a reset. */
static void refuse(struct flow *f, int error)
{
    if (f->is_answered)
        channel_send_reset(f->id);
    else
        channel_send_connected(f->id, error, -1);
    flow_bury(f);
}

void flow_deny(struct flow *f, const char *reason, const char *words,
               const struct dns_addresses *found)
{
    struct log_entry e = flow_log_entry(f, "connect");
    e.is_decision = true;
    e.reason = reason;
    e.words = words;
    e.resolved = found;
    log_write(&e);
    log_denial(&e, words);
    if (!f->between || !between_failed(f->between, reason, words))
        refuse(f, EACCES);
}

static void log_allowed(const struct flow *f, int error)
{
    struct log_entry e = flow_log_entry(f, "connect");
    e.is_decision = e.is_allowed = true;
    e.would_deny = f->would_deny;
    e.reason = f->reason;
    e.dialled = flow_dialled(f);
    e.error = error;
    log_write(&e);
}

/* A proxy is not the peer: that it failed is no more than that nothing leaves. */
static void fail_by_proxy(struct flow *f)
{
    const char *words = f->dial.trouble;
    struct log_entry e = flow_log_entry(f, "connect");
    e.is_decision = true;
    e.reason = "upstream_proxy";
    e.words = words;
    log_write(&e);
    log_denial(&e, words);
    if (!f->between || !between_failed(f->between, "upstream_proxy", words))
        refuse(f, ENETUNREACH);
}

void flow_fail(struct flow *f, int error)
{
    if (f->dial.trouble) {
        fail_by_proxy(f);
        return;
    }
    log_allowed(f, error);
    if (!f->between || !between_failed(f->between, "upstream", strerror(error)))
        refuse(f, error);
}

void flow_allow(struct flow *f, const struct policy_verdict *v)
{
    snprintf(f->reason, sizeof(f->reason), "%s", v->reason);
    snprintf(f->name, sizeof(f->name), "%s", v->name ? v->name : "");
    f->would_deny = v->would_deny;
}

/* Whether anything that is said on it could change the verdict. */
static bool has_more_to_show(const struct flow *f)
{
    if (f->name[0] || budget_is_set())
        return true;
    for (size_t i = 0; i < gateway.document->rule_count; i++)
        if (policy_rule_is_of_names(&gateway.document->rules[i]))
            return true;
    return gateway.document->allows_by_default;
}

void flow_connected(struct flow *f)
{
    log_allowed(f, 0);
    if (is_udp(f)) {
        f->is_answered = true;
        channel_send_datagrams(f->id, (uint32_t)gateway.document->limits.idle_udp_s, f->peer.fd);
    } else if (f->between) {
        between_connected(f->between);
    } else if (has_more_to_show(f)) {
        between_begin(f);
    } else {
        f->is_answered = true;
        channel_send_connected(f->id, 0, f->peer.fd);
    }
}

/* ---- requests ---- */

/* What the policy has besides rules and only TCP can be held to; NULL: nothing. */
static const char *why_no_datagrams(const struct flow *f)
{
    const struct policy_upstream *proxy = gateway.document->upstream;
    if (proxy && !(f->name[0] && policy_patterns_match(&proxy->no_proxy, f->name)))
        return "the policy's proxy does not carry UDP";
    return budget_is_set() ? "the policy's quotas and rates of bytes can't be held with UDP" : NULL;
}

static void judge_datagrams(struct flow *f, const struct policy_verdict *v)
{
    flow_allow(f, v);
    const char *why = why_no_datagrams(f);
    if (why)
        flow_deny(f, "proto", why, NULL);
    else
        dial_begin(f);
}

static void judge(struct flow *f)
{
    struct policy_verdict v;
    policy_judge(gateway.policy, &gateway.operator, & f->evidence, &v);
    if (v.action == POLICY_DENY) {
        flow_deny(f, v.reason, v.words, NULL);
    } else if (is_udp(f)) {
        judge_datagrams(f, &v);
    } else if (v.action == POLICY_WAIT || v.is_ambiguous) {
        between_begin(f);
    } else {
        flow_allow(f, &v);
        dial_begin(f);
    }
}

/* The limit that f is beyond, or NULL. */
static const char *find_limit(const struct flow *f)
{
    const struct policy_limits *l = &gateway.document->limits;
    bool is_fast = !rate_take(&rate, l->max_new_per_s);
    if (by_id.count > MIN(l->max_flows, (uint64_t)GATEWAY_FLOWS_MAX))
        return "limit:max_flows";
    if (is_udp(f) && udp_count > l->max_udp_peers)
        return "limit:max_udp_peers";
    return is_fast ? "limit:max_new_per_s" : budget_used_up();
}

void flows_connect(const struct gateway_packet *p)
{
    struct flow *f = flow_new(p);
    if (!f) {
        channel_send_connected(p->id, ENOBUFS, -1);
        return;
    }
    const char *limit = find_limit(f);
    if (!limit) {
        judge(f);
        return;
    }
    struct log_entry e = flow_log_entry(f, "connect");
    e.is_decision = true;
    e.reason = limit;
    log_write(&e);
    log_denial(&e, "the policy's limit is reached");
    refuse(f, EADDRNOTAVAIL);
}

/* ---- another policy ---- */

/* Ids rise, and a new flow is the last of the list. */
uint64_t flows_oldest(void)
{
    const struct flow *f = list_first(&flows, struct flow, link);
    return f ? f->id : UINT64_MAX;
}

uint64_t flows_newest(void)
{
    const struct flow *f =
        list_is_empty(&flows) ? NULL : container_of(flows.prev, struct flow, link);
    return f ? f->id : 0;
}

/* The kernel has it: what passes is seen here no more. */
static bool is_handed_over(const struct flow *f)
{
    return f->is_answered && !f->between && !is_udp(f);
}

/* It may stand between, and only count. */
static bool passes(const struct flow *f)
{
    return is_handed_over(f) || (f->between && between_passes(f->between));
}

/* It passes where it would have to be counted, or opened: nobody knows that it is no TLS when its
 * first bytes were not looked at. */
static bool passes_too_freely(const struct flow *f, const struct policy_verdict *v)
{
    bool may_be_tls = f->is_tls || f->evidence.sni.state == POLICY_NAME_PENDING;
    return (is_handed_over(f) && budget_is_set()) ||
           (passes(f) && ((v->terminates_tls && may_be_tls) || between_is_for_postgres(f, v)));
}

/* Who is logged in by a secret that was taken away would be so for as long as it likes. */
static bool has_lost_its_login(const struct flow *f)
{
    return f->login && !policy_find_secret(gateway.document, f->login);
}

/* What was dialled is still allowed, by the same way, with all that was seen of it. */
static bool is_still_allowed(const struct flow *f)
{
    struct policy_verdict v;
    policy_judge(gateway.policy, &gateway.operator, & f->evidence, &v);
    if (v.action == POLICY_WAIT)
        return f->between != NULL;
    if (passes_too_freely(f, &v) || has_lost_its_login(f))
        return false;
    if (v.action != POLICY_ALLOW || (v.name && f->name[0] && strcmp(v.name, f->name) != 0))
        return false;
    if (is_udp(f) && why_no_datagrams(f))
        return false;
    const struct in6_addr *to = flow_dialled(f);
    if (!f->name[0] || !to)
        return true;
    policy_judge_candidate(gateway.policy, &gateway.operator, & f->evidence, f->name, to, &v);
    return v.action == POLICY_ALLOW;
}

void flows_recheck(void)
{
    struct flow *f, *next;
    route_tell();
    if (gateway.document->spares_live_flows)
        return;
    list_for_each_safe(f, next, &flows, link)
    {
        if (is_still_allowed(f))
            continue;
        if (f->is_answered)
            flow_cut_for(f, "policy_changed");
        else
            flow_deny(f, "policy_changed", "there is another policy now", NULL);
    }
}

/* ---- time ---- */

/* Of what nobody waits for to the millisecond, all flows together: whom it concerns, and when. */
static int64_t swept_ns;

static int64_t sweep_period_ns(void)
{
    const struct policy_limits *l = &gateway.document->limits;
    uint64_t least_s = MIN(l->idle_tcp_s, l->write_stall_s);
    return MIN(MAX(least_s / 8, (uint64_t)1), (uint64_t)PROGRESS_S) * NSEC_PER_SEC;
}

/* Since the last byte in any direction, as the host's TCP has it. */
static int64_t idle_ms(const struct flow *f)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof(info);
    if (getsockopt(f->peer.fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0)
        return 0;
    return MIN(info.tcpi_last_data_sent, info.tcpi_last_data_recv);
}

static void sweep(struct flow *f, int64_t now)
{
    const struct policy_limits *l = &gateway.document->limits;
    /* Datagrams are counted, and found idle, by the kernel. */
    if (f->dial.state != DIAL_DONE || f->peer.fd < 0 || is_udp(f))
        return;
    if (idle_ms(f) >= (int64_t)l->idle_tcp_s * 1000) {
        flow_cut_for(f, "limit:idle_tcp");
    } else if (f->between &&
               between_stalled_ns(f->between) >= (int64_t)l->write_stall_s * NSEC_PER_SEC) {
        flow_cut_for(f, "limit:write_stall");
    } else if (now - f->told_ns >= PROGRESS_S * NSEC_PER_SEC) {
        f->told_ns = now;
        log_counts(f, "progress", NULL);
    }
}

static void sweep_all(int64_t now)
{
    struct flow *f, *next;
    if (now - swept_ns < sweep_period_ns())
        return;
    swept_ns = now;
    list_for_each_safe(f, next, &flows, link)
    {
        sweep(f, now);
    }
}

/* ---- memory ---- */

/* Who lets the most wait makes room for the others: without it, whoever asks for memory next would
 * be the one to go. */
static void make_room(void)
{
    while (between_all_held_bytes() > HELD_MAX_BYTES) {
        struct flow *f, *worst = NULL;
        list_for_each(f, &flows, link)
        {
            if (f->between &&
                (!worst || between_held_bytes(f->between) > between_held_bytes(worst->between)))
                worst = f;
        }
        if (!worst)
            return;
        flow_cut_for(worst, "limit:memory");
    }
}

/* ---- the loop ---- */

int flows_wait_ms(void)
{
    int64_t until = list_is_empty(&flows) ? INT64_MAX : swept_ns + sweep_period_ns();
    int64_t now = gateway_now_ns();
    struct flow *f;
    list_for_each(f, &timed, timed)
    {
        until = MIN(until, f->deadline_ns);
    }
    return until == INT64_MAX ? -1 : (int)(MAX(until - now, (int64_t)0) / NSEC_PER_MSEC) + 1;
}

void flows_step(void)
{
    struct flow *f, *next;
    int64_t now = gateway_now_ns();
    list_for_each_safe(f, next, &timed, timed)
    {
        if (now < f->deadline_ns)
            continue;
        flow_set_deadline(f, INT64_MAX);
        if (f->dial.state == DIAL_TRYING)
            dial_on_time(f);
        else if (f->between)
            between_on_time(f->between);
    }
    sweep_all(now);
    make_room();
    flows_reap();
}
