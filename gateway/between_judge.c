// SPDX-License-Identifier: Apache-2.0
#include "gateway/between_parts.h"
#include "gateway/budget.h"
#include "gateway/channel.h"
#include "gateway/control.h"
#include "lib/tls/session.h"

#include <stdio.h>

/* ---- the end ---- */

/* Nothing is read any more; what waits for the program is sent. */
static void close_softly(struct between *b)
{
    b->stage = CLOSING;
    b->peer_ended = b->guest_ended = true;
    watch_close(&b->flow->peer);
    b->until_ns = gateway_now_ns() + BETWEEN_LINGER_MS * NSEC_PER_MSEC;
    between_run(b);
}

/* Settings, without which a server says nothing, and GOAWAY(HTTP_1_1_REQUIRED). */
static const uint8_t use_http_1_1[] = {0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 8, 7,
                                       0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 13};

static void deny(struct between *b, const struct policy_verdict *v)
{
    struct log_entry e = flow_log_entry(b->flow, "connect");
    bool hides_name = b->flight.kind == FLIGHT_TLS && b->flight.hello.hello.has_ech &&
                      v->cause == POLICY_CAUSE_NAME_CONFLICT;
    e.is_decision = true;
    e.reason = hides_name ? "ech" : v->reason;
    e.words = v->words ? v->words : "this needs to look into the connection";
    log_write(&e);
    log_denial(&e, e.words);
    if (b->flight.kind == FLIGHT_HTTP2 && b->guest_rx == 0) {
        buf_append(&b->to_guest, use_http_1_1, sizeof(use_http_1_1));
        close_softly(b);
        return;
    }
    if (b->flight.kind != FLIGHT_TLS && b->flight.kind != FLIGHT_TLS_BROKEN) {
        flow_cut(b->flow);
        return;
    }
    uint8_t alert[TLS_ALERT_RECORD_BYTES];
    tls_alert_write(alert, TLS_ALERT_FATAL, TLS_ALERT_ACCESS_DENIED);
    buf_append(&b->to_guest, alert, sizeof(alert));
    close_softly(b);
}

void between_time_out(struct between *b)
{
    struct log_entry e = flow_log_entry(b->flow, "connect");
    e.is_decision = true;
    e.reason = "limit:first_flight";
    log_write(&e);
    log_denial(&e, "what it said first did not come to an end");
    flow_cut(b->flow);
}

/* ---- evidence ---- */

/* Evidence of the first bytes. */
static void see(struct between *b)
{
    struct flow *f = b->flow;
    const struct tls_hello *hello = &b->flight.hello.hello;
    struct policy_host host;
    const char *why;
    struct policy_name *sni = &f->evidence.sni;
    sni->state = POLICY_NAME_ABSENT;
    f->is_tls = b->flight.kind == FLIGHT_TLS || b->flight.kind == FLIGHT_TLS_BROKEN;
    if (b->flight.kind == FLIGHT_TLS_BROKEN)
        sni->state = POLICY_NAME_UNREADABLE;
    if (b->flight.kind != FLIGHT_TLS || hello->name_kind == TLS_NAME_NONE)
        return;
    if (policy_host_parse(hello->server_name, strlen(hello->server_name), &host, &why) < 0) {
        sni->state = POLICY_NAME_UNREADABLE;
        return;
    }
    if (hello->name_kind == TLS_NAME_ADDRESS || host.kind != POLICY_HOST_NAME) {
        sni->state = POLICY_NAME_LITERAL;
        return;
    }
    snprintf(f->sni, sizeof(f->sni), "%s", host.name);
    *sni = (struct policy_name){POLICY_NAME_GIVEN, f->sni};
}

/* Begins with it, unless it is under way. */
static void dial_for(struct flow *f, const struct policy_verdict *v)
{
    if (f->dial.state != DIAL_NOT_YET)
        return;
    flow_allow(f, v);
    dial_begin(f);
}

void between_hand_over(struct between *b)
{
    const struct buf *first = &b->flight.bytes;
    b->has_open_line = !gateway.document->is_audit && b->flight.kind == FLIGHT_OTHER &&
                       b->flight.is_open && !b->guest_ended &&
                       flight_line_take(&b->line, first->data, first->size) == FLIGHT_MORE;
    b->stage = budget_is_set() || b->has_open_line ? PASSING : HANDING_OVER;
    b->until_ns = INT64_MAX;
    buf_append(&b->to_peer, first->data, first->size);
    flight_done(&b->flight);
    flight_init(&b->flight);
    if (b->stage == HANDING_OVER)
        channel_send_stop(b->flow->id);
}

/* A request that would pass unread, as what came of it first could be anything. */
static void deny_late_request(struct between *b)
{
    struct log_entry e = flow_log_entry(b->flow, "connect");
    e.is_decision = true;
    e.reason = "malformed";
    log_write(&e);
    log_denial(&e, "a request whose method is no usual one has to come with its whole line");
    flow_cut(b->flow);
}

bool between_go_on_with_line(struct between *b, const char *data, size_t size)
{
    enum flight_kind kind = flight_line_take(&b->line, data, size);
    if (kind == FLIGHT_HTTP) {
        deny_late_request(b);
        return false;
    }
    b->has_open_line = kind == FLIGHT_MORE;
    /* Who has heard an end is not handed over any more. */
    if (!b->has_open_line && !budget_is_set() && !b->told_guest_end) {
        b->stage = HANDING_OVER;
        channel_send_stop(b->flow->id);
    }
    return true;
}

static void conflict(struct policy_verdict *v)
{
    v->action = POLICY_DENY;
    v->cause = POLICY_CAUSE_NAME_CONFLICT;
    v->words = NULL;
    snprintf(v->reason, sizeof(v->reason), "name_conflict");
}

/* ---- relaying ---- */

static void log_request(void *context, const struct exchange_record *r)
{
    struct log_entry e = flow_log_entry(context, "request");
    e.is_decision = true;
    e.is_allowed = r->is_allowed;
    e.would_deny = r->would_deny;
    e.reason = r->reason;
    e.request = r;
    e.words = r->words;
    log_write(&e);
    if (!r->is_allowed)
        log_denial(&e, r->words ? r->words : "the request was refused");
}

static void end_sandbox(void *context, const char *secret)
{
    (void)context;
    control_say_violation(secret);
}

static void begin_relay(struct between *b, const struct relay_setup *setup)
{
    const struct buf *first = &b->flight.bytes;
    b->relay = relay_new(setup, first->data, first->size);
    if (!b->relay) {
        flow_cut(b->flow);
        return;
    }
    between_send_at_once(b);
    b->stage = RELAYING;
    flight_done(&b->flight);
    flight_init(&b->flight);
    b->until_ns = INT64_MAX;
}

/* Requests in the clear: what each of them says is judged, when it is there. */
static void relay_requests(struct between *b)
{
    struct flow *f = b->flow;
    f->evidence.authority.state = f->evidence.request.state = POLICY_NAME_PENDING;
    begin_relay(b, &(struct relay_setup){.evidence = &f->evidence,
                                         .name = f->name,
                                         .dialled = flow_dialled(f),
                                         .context = f,
                                         .log = log_request,
                                         .terminate = end_sandbox});
}

/* The one name that a TLS flow shows, or that its address has. NULL: none, or too many. */
static const char *name_for_tls(const struct policy_flow *e)
{
    if (e->sni.state == POLICY_NAME_GIVEN)
        return e->sni.text;
    return e->resolved_count == 1 ? e->resolved[0] : NULL;
}

static bool was_resolved(const struct policy_flow *e, const char *name)
{
    for (size_t i = 0; i < e->resolved_count; i++)
        if (!strcmp(e->resolved[i], name))
            return true;
    return e->resolved_count == 0;
}

/* Whether its TLS ends here; then that has begun, or was denied. */
static bool terminate_tls(struct between *b)
{
    struct flow *f = b->flow;
    struct policy_verdict v;
    const char *name = name_for_tls(&f->evidence);
    f->evidence.authority.state = f->evidence.request.state = POLICY_NAME_PENDING;
    policy_judge(gateway.policy, &gateway.operator, & f->evidence, &v);
    if (v.action == POLICY_DENY || !v.terminates_tls)
        return false;
    if (!name) {
        v.cause = POLICY_CAUSE_NAME_MISSING;
        snprintf(v.reason, sizeof(v.reason), "name_missing");
    } else if (!was_resolved(&f->evidence, name) || (f->name[0] && strcmp(name, f->name) != 0)) {
        conflict(&v);
    }
    if (v.cause == POLICY_CAUSE_NAME_MISSING || v.cause == POLICY_CAUSE_NAME_CONFLICT) {
        deny(b, &v);
        return true;
    }
    const struct policy_rule *rule =
        v.action == POLICY_ALLOW && v.rule >= 0 ? &gateway.document->rules[v.rule] : NULL;
    if (v.action == POLICY_ALLOW)
        flow_allow(f, &v);
    snprintf(f->name, sizeof(f->name), "%s", name);
    begin_relay(b, &(struct relay_setup){.evidence = &f->evidence,
                                         .name = f->name,
                                         .is_tls = true,
                                         .is_raw = rule && rule->is_raw,
                                         .dialled = flow_dialled(f),
                                         .context = f,
                                         .log = log_request,
                                         .terminate = end_sandbox});
    return true;
}

/* ---- databases ---- */

static void log_login(void *context, const struct exchange_record *r)
{
    struct log_entry e = flow_log_entry(context, "login");
    e.is_decision = true;
    e.is_allowed = r->is_allowed;
    e.reason = r->reason;
    e.request = r;
    log_write(&e);
    if (!r->is_allowed)
        log_denial(&e, "the login was refused");
    else if (r->secret_count)
        ((struct flow *)context)->login = r->secrets[0];
}

/* A server that a secret logs in to is so by its name alone. */
bool between_is_for_postgres(const struct flow *f, const struct policy_verdict *v)
{
    const struct policy_document *d = gateway.document;
    bool passes = v->rule >= 0 && d->rules[v->rule].tls == POLICY_TLS_PASSTHROUGH;
    return v->action == POLICY_ALLOW && v->name && !v->would_deny && !passes &&
           policy_find_postgres(d, v->name, f->evidence.port);
}

static void deny_postgres(struct between *b, struct policy_verdict *v, const char *words)
{
    v->action = POLICY_DENY;
    v->cause = POLICY_CAUSE_MALFORMED;
    v->words = words;
    snprintf(v->reason, sizeof(v->reason), "malformed");
    deny(b, v);
}

static void log_in(struct between *b, struct policy_verdict *v)
{
    struct flow *f = b->flow;
    if (b->flight.kind == FLIGHT_TLS) {
        deny_postgres(b, v, "TLS is to be asked for here, as sslnegotiation=postgres does");
        return;
    }
    /* What a server says unasked may be another's: nothing before TLS is believed. */
    if (b->guest_rx > 0 || b->guest_ended) {
        deny_postgres(b, v, "the first word of a login is the program's");
        return;
    }
    if (f->dial.state == DIAL_NOT_YET)
        flow_allow(f, v);
    struct postgres *p = postgres_new(v->name, f->evidence.port, f, log_login);
    if (!p) {
        flow_cut(f);
        return;
    }
    begin_relay(
        b, &(struct relay_setup){.evidence = &f->evidence,
                                 .name = f->name,
                                 .postgres = p,
                                 .dialled = f->dial.state == DIAL_DONE ? flow_dialled(f) : NULL});
}

/* ---- the verdict ---- */

/*
 * A server may read a hello that we can't, and find another name in it. So what a name allows has
 * none of those; what is allowed by its address may say what it likes.
 */
static void refuse_unreadable(const struct flow *f, struct policy_verdict *v)
{
    if (v->action != POLICY_ALLOW || !v->name || v->would_deny ||
        f->evidence.sni.state != POLICY_NAME_UNREADABLE)
        return;
    v->action = POLICY_DENY;
    v->cause = POLICY_CAUSE_MALFORMED;
    v->words = "its TLS hello can't be read, so nobody knows for whom it is";
    snprintf(v->reason, sizeof(v->reason), "malformed");
}

/* Whether its requests could be allowed, if they were such as can be read here. */
static bool waits_for_requests(const struct flow *f)
{
    struct policy_verdict v;
    struct policy_flow flow = f->evidence;
    flow.authority.state = flow.request.state = POLICY_NAME_PENDING;
    policy_judge(gateway.policy, &gateway.operator, & flow, &v);
    return v.action != POLICY_DENY;
}

/*
 * HTTP/2 in the clear has requests that nobody reads here. Where a name allows they could be for
 * another host of the server's, which for those of HTTP/1 is looked at; a rule may say that what it
 * allows is none of HTTP's.
 */
static void refuse_clear_http2(const struct between *b, struct policy_verdict *v)
{
    const struct flow *f = b->flow;
    bool is_raw = v->rule >= 0 && gateway.document->rules[v->rule].is_raw;
    bool passes = v->would_deny || !v->name || is_raw;
    if (b->flight.kind != FLIGHT_HTTP2 ||
        (v->action == POLICY_ALLOW ? passes : !waits_for_requests(f)))
        return;
    v->action = POLICY_DENY;
    v->cause = POLICY_CAUSE_MALFORMED;
    v->words = "HTTP/2 without TLS is not read, so nobody knows what it asks for; use TLS, or "
               "HTTP/1.1";
    snprintf(v->reason, sizeof(v->reason), "http2_clear");
}

/* Of what is not looked into any further. */
static void judge_once(struct between *b)
{
    struct flow *f = b->flow;
    struct policy_verdict v;
    f->evidence.authority.state = f->evidence.request.state = POLICY_NAME_ABSENT;
    policy_judge(gateway.policy, &gateway.operator, & f->evidence, &v);
    /* It was dialled by a name, and means another one of those that the address has. */
    if (v.action == POLICY_ALLOW && f->dial.state != DIAL_NOT_YET && f->name[0] && v.name &&
        strcmp(v.name, f->name) != 0)
        conflict(&v);
    refuse_unreadable(f, &v);
    refuse_clear_http2(b, &v);
    if (v.action != POLICY_ALLOW) {
        deny(b, &v);
    } else if (between_is_for_postgres(f, &v)) {
        log_in(b, &v);
    } else if (f->dial.state == DIAL_DONE) {
        between_hand_over(b);
    } else {
        b->stage = DIALLING;
        dial_for(f, &v);
    }
}

void between_judge(struct between *b)
{
    see(b);
    if (b->flight.kind == FLIGHT_HTTP)
        relay_requests(b);
    else if (b->flight.kind != FLIGHT_TLS || !terminate_tls(b))
        judge_once(b);
}

void between_judge_silence(struct between *b)
{
    struct policy_verdict v;
    struct policy_flow silent = b->flow->evidence;
    silent.sni.state = silent.authority.state = silent.request.state = POLICY_NAME_ABSENT;
    policy_judge(gateway.policy, &gateway.operator, & silent, &v);
    int64_t until =
        b->flow->since_ns + (int64_t)gateway.document->limits.first_flight_ms * NSEC_PER_MSEC;
    if (v.action == POLICY_ALLOW)
        dial_for(b->flow, &v);
    else if (silent.resolved_count > 0 && gateway_now_ns() < until)
        b->until_ns = until; /* it has a name, and what it wants is to be said */
    else
        deny(b, &v);
}
