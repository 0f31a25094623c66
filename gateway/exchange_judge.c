// SPDX-License-Identifier: Apache-2.0
/*
 * What the policy says of a request. The rule that holds it together: a connection stays where it
 * was dialled, so a request is allowed on it only as what leads there. One that is allowed by name
 * goes to the connection that was dialled by that name; one that is allowed by address is judged by
 * the address that the connection leads to, which the guest's own need not be.
 */
#include "gateway/exchange_parts.h"

#include "lib/http/syntax.h"

#include <stdio.h>

static const char no_proxy[] = "this host may not be used as a proxy";
static const char no_trace[] = "TRACE would show fields that are added on the way";

static void refuse(struct decision *d, unsigned status, const char *reason, const char *words)
{
    *d = (struct decision){.status = status, .words = words, .rule = -1};
    snprintf(d->reason, sizeof(d->reason), "%s", reason);
}

/* What an audit only logs. */
static void deny(struct decision *d, unsigned status, const char *reason, const char *words)
{
    bool is_audit = gateway.document->is_audit;
    refuse(d, is_audit ? 0 : status, reason, words);
    d->would_deny = is_audit;
}

static void deny_elsewhere(struct decision *d)
{
    deny(d, 421, "name_conflict", "this connection is for another host, port or scheme");
    d->is_elsewhere = true;
}

/* True: it is allowed. */
static bool take_verdict(struct decision *d, const struct policy_verdict *v)
{
    if (v->action != POLICY_ALLOW) {
        unsigned status = v->cause == POLICY_CAUSE_NAME_CONFLICT ? 421
                          : v->cause == POLICY_CAUSE_MALFORMED   ? 400
                                                                 : 403;
        refuse(d, status, v->reason, v->words ? v->words : "");
        return false;
    }
    *d = (struct decision){.rule = v->would_deny ? -1 : v->rule, .would_deny = v->would_deny};
    memcpy(d->reason, v->reason, sizeof(d->reason));
    return true;
}

static void judge(const struct policy_flow *flow, struct policy_verdict *ret)
{
    policy_judge(gateway.policy, &gateway.operator, flow, ret);
}

static uint16_t default_port(const struct exchange *x)
{
    return x->setup.is_tls ? 443 : 80;
}

/*
 * Whether the request is for what the connection is for. An authority's port is the connection's,
 * and its name the one that was dialled, else the one in the client's hello.
 */
static bool is_directed_here(const struct exchange *x, const struct http_request *r,
                             const struct policy_name *authority)
{
    const struct policy_flow *f = x->setup.evidence;
    const char *name = x->name[0]                          ? x->name
                       : f->sni.state == POLICY_NAME_GIVEN ? f->sni.text
                                                           : NULL;
    uint16_t port = r->authority.port ? r->authority.port : default_port(x);
    if (r->authority.host && port != f->port)
        return false;
    if (r->scheme && (strcmp(r->scheme, "https") == 0) != x->setup.is_tls)
        return false;
    if (!name || authority->state == POLICY_NAME_ABSENT)
        return true;
    return authority->state == POLICY_NAME_GIVEN && strcmp(authority->text, name) == 0;
}

/*
 * The verdict is of a flow that would be dialled as it says; whether this one was. One that is not
 * dialled yet will be.
 */
static bool is_dialled_so(const struct exchange *x, const struct policy_flow *flow,
                          const struct policy_verdict *v, struct decision *d)
{
    struct policy_flow there = *flow;
    struct policy_verdict again;
    if (!x->is_dialled)
        return true;
    if (v->name)
        return strcmp(v->name, x->name) == 0;
    if (IN6_ARE_ADDR_EQUAL(&flow->address, &x->address))
        return true;
    there.address = x->address;
    judge(&there, &again);
    if (!take_verdict(d, &again))
        return false;
    return !again.name || strcmp(again.name, x->name) == 0;
}

static void choose_dial(struct exchange *x, const struct policy_verdict *v)
{
    if (x->is_dialled)
        return;
    snprintf(x->name, sizeof(x->name), "%s", v->name ? v->name : "");
    x->dial = v->name ? EXCHANGE_DIAL_NAME : EXCHANGE_DIAL_ADDRESS;
}

/* Whom a name leads to is the proxy's to say, so it has to be allowed by name, and nobody looks
 * into a tunnel, so nothing that needs it may hold for it. */
void exchange_judge_tunnel(struct exchange *x, const struct policy_name *sni, struct decision *d)
{
    struct policy_verdict v;
    bool is_name = x->tunnel_to.kind == POLICY_HOST_NAME;
    struct policy_flow flow = policy_flow_init(
        POLICY_TCP, is_name ? &x->setup.evidence->address : &x->tunnel_to.address, x->tunnel_port);
    flow.sni = *sni;
    flow.authority.state = flow.request.state = POLICY_NAME_ABSENT;
    if (is_name)
        flow.target = (struct policy_name){POLICY_NAME_GIVEN, x->tunnel_to.name};
    judge(&flow, &v);
    if (v.action != POLICY_ALLOW) {
        take_verdict(d, &v);
        return;
    }
    bool is_open = v.would_deny || !is_name || v.name || v.rule < 0 ||
                   gateway.document->rules[v.rule].to == POLICY_TO_ANY;
    if (!is_open || (v.terminates_tls && !v.would_deny))
        deny(d, 403, is_open ? "connect" : "default", no_proxy);
}

/* The place that a tunnel is to lead to, judged as a flow of its own. */
static void judge_target(struct exchange *x, const struct http_request *r, struct decision *d)
{
    static const struct policy_name absent = {.state = POLICY_NAME_ABSENT};
    const char *host = r->authority.host;
    x->tunnel_port = r->authority.port;
    if (policy_host_parse(host, strlen(host), &x->tunnel_to, NULL) < 0)
        refuse(d, 400, "malformed", "that is no host name or port");
    else
        exchange_judge_tunnel(x, &absent, d);
}

static bool applies_fields(const struct decision *d)
{
    bool has_transforms = d->rule >= 0 && gateway.document->rules[d->rule].transform_count > 0;
    return has_transforms || gateway.document->secret_count > 0;
}

/* What methods ask for besides. */
static void judge_method(struct exchange *x, const struct http_request *r, struct decision *d)
{
    if (r->form == HTTP_TARGET_AUTHORITY) {
        bool is_proxy = d->rule >= 0 && gateway.document->rules[d->rule].allows_connect;
        if (!is_proxy && !d->would_deny)
            deny(d, 403, "connect", no_proxy);
        if (d->status == 0)
            judge_target(x, r, d);
    } else if (strcmp(r->method, "TRACE") == 0 && applies_fields(d)) {
        refuse(d, 403, "trace", no_trace);
    }
}

struct policy_request exchange_policy_request(const struct exchange *x,
                                              const struct http_request *r,
                                              struct policy_field *fields)
{
    size_t count = 0;
    for (size_t i = 0; i < r->field_count; i++)
        fields[count++] = (struct policy_field){r->fields[i].name, r->fields[i].value};
    if (r->authority.host)
        fields[count++] = (struct policy_field){"host", r->authority.host};
    if (x->upgrade)
        fields[count++] = (struct policy_field){"upgrade", x->upgrade};
    return (struct policy_request){
        .state = POLICY_NAME_GIVEN,
        .method = r->method,
        .path = r->path,
        .query = r->query,
        .fields = fields,
        .field_count = count,
    };
}

/* 0, or a negative error. A CONNECT's authority is not that of the host that it is sent to. */
static int read_authority(const struct http_request *r, struct policy_host *host,
                          struct policy_name *ret)
{
    *ret = (struct policy_name){.state = POLICY_NAME_ABSENT};
    if (!r->authority.host || r->form == HTTP_TARGET_AUTHORITY)
        return 0;
    int e = policy_host_parse(r->authority.host, strlen(r->authority.host), host, NULL);
    if (e < 0)
        return e;
    if (host->kind == POLICY_HOST_NAME)
        *ret = (struct policy_name){POLICY_NAME_GIVEN, host->name};
    else
        ret->state = POLICY_NAME_LITERAL;
    return 0;
}

static void judge_with(struct exchange *x, const struct http_request *r,
                       const struct policy_flow *flow, struct decision *d)
{
    struct policy_verdict v;
    judge(flow, &v);
    if (!take_verdict(d, &v))
        return;
    if (!v.would_deny && !is_dialled_so(x, flow, &v, d)) {
        if (d->status == 0)
            deny_elsewhere(d);
        if (d->status != 0)
            return;
    }
    judge_method(x, r, d);
    if (d->status == 0)
        choose_dial(x, &v);
}

void exchange_judge(struct exchange *x, const struct http_request *r, struct decision *ret)
{
    struct policy_host host;
    struct policy_flow flow = *x->setup.evidence;
    bool misdirected = false;
    int e = read_authority(r, &host, &flow.authority);
    if (e < 0) {
        refuse(ret, e == -ENOMEM ? 503 : 400, e == -ENOMEM ? "limit:memory" : "malformed",
               "the field Host is no host name");
        return;
    }
    if (r->form != HTTP_TARGET_AUTHORITY && !is_directed_here(x, r, &flow.authority)) {
        misdirected = true;
        deny_elsewhere(ret);
        if (ret->status != 0)
            return;
    }
    if (flow.sni.state == POLICY_NAME_PENDING)
        flow.sni.state = POLICY_NAME_ABSENT;
    struct policy_field *fields = calloc(r->field_count + 2, sizeof(*fields));
    if (!fields) {
        refuse(ret, 503, "limit:memory", "no memory for this request");
        return;
    }
    flow.request = exchange_policy_request(x, r, fields);
    judge_with(x, r, &flow, ret);
    if (misdirected && ret->status == 0)
        deny_elsewhere(ret);
    free(fields);
}
