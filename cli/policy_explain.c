// SPDX-License-Identifier: Apache-2.0
#include "cli/policy_explain.h"

#include "lib/policy/document.h"
#include "lib/text/shown.h"

#include <stdarg.h>

#define PORT_HTTP    80
#define PORT_HTTPS   443
#define RECORD_A     1
#define RECORD_AAAA  28
#define ROLE_COLUMN  9
#define SUBJECT_WIDE 40

enum target_kind { TARGET_TCP, TARGET_UDP, TARGET_ICMP, TARGET_HTTP, TARGET_HTTPS, TARGET_DNS };

static const struct {
    const char *prefix;
    enum target_kind kind;
    uint16_t port; /* when none is given; 0: one has to be */
} prefixes[] = {
    {"https://", TARGET_HTTPS, PORT_HTTPS},
    {"http://", TARGET_HTTP, PORT_HTTP},
    {"tcp://", TARGET_TCP, 0},
    {"udp://", TARGET_UDP, 0},
    {"icmp://", TARGET_ICMP, 0},
    {"dns:", TARGET_DNS, 0},
    {"", TARGET_TCP, 0},
};

static struct explain_step *add_step(struct explanation *x, const char *name, const char *format,
                                     ...) _printf_(3, 4);

static struct explain_step *add_step(struct explanation *x, const char *name, const char *format,
                                     ...)
{
    struct explain_step *step = &x->steps[x->step_count++];
    char text[sizeof(step->subject)];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    step->name = name;
    text_line(text, strlen(text), step->subject, sizeof(step->subject));
    return step;
}

/*
 * An address that stands for any public one: of some, one that only networks which hold them all
 * hold, so that a rule on one of them doesn't matter.
 */
static struct in6_addr choose_public(const struct policy *p)
{
    static const char *const texts[] = {"11.22.33.44", "45.67.89.10", "93.1.2.3", "151.5.6.7",
                                        "212.9.8.7"};
    const struct policy_document *d = policy_get_document(p);
    struct policy_net net = {0};
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        bool is_named = false;
        policy_net_parse(texts[i], strlen(texts[i]), &net);
        for (size_t j = 0; j < d->rule_count && !is_named; j++)
            for (size_t k = 0; k < d->rules[j].range_count && !is_named; k++) {
                const struct policy_address_range *range = &d->rules[j].ranges[k];
                is_named = memcmp(&range->first, &net.address, sizeof(net.address)) <= 0 &&
                           memcmp(&range->last, &net.address, sizeof(net.address)) >= 0;
            }
        if (!is_named)
            break;
    }
    return net.address;
}

static void explain_query(const struct policy *p, struct explanation *x, uint16_t type,
                          const char *type_name)
{
    struct explain_step *step = add_step(x, "dns", "%s %s", x->host.name, type_name);
    policy_judge_query(p, x->host.name, type, &step->verdict);
    x->is_allowed = step->verdict.action == POLICY_ALLOW;
}

static void judge(const struct policy *p, struct explanation *x, struct explain_step *step)
{
    policy_judge(p, NULL, &x->flow, &step->verdict);
    x->is_allowed = step->verdict.action == POLICY_ALLOW;
}

static bool is_denied(const struct explanation *x)
{
    return x->step_count && x->steps[x->step_count - 1].verdict.action == POLICY_DENY;
}

/* The name that the flow shows in its first bytes, when it is one that shows some. */
static void explain_hello(const struct policy *p, struct explanation *x, enum target_kind kind)
{
    bool is_name = x->host.kind == POLICY_HOST_NAME;
    struct policy_name shown = {is_name ? POLICY_NAME_GIVEN : POLICY_NAME_ABSENT, x->host.name};
    if (kind == TARGET_HTTPS) {
        x->flow.sni = shown;
        struct explain_step *step =
            add_step(x, "hello", "TLS, %s%s", is_name ? "SNI " : "no name", x->host.name);
        judge(p, x, step);
        /* What is not opened shows no more, and nothing can be opened without a name. */
        if (!step->verdict.terminates_tls || !is_name) {
            x->flow.authority.state = POLICY_NAME_ABSENT;
            x->flow.request.state = POLICY_NAME_ABSENT;
            judge(p, x, step);
        }
    } else {
        x->flow.sni.state = POLICY_NAME_ABSENT;
    }
    if (kind != TARGET_TCP)
        return;
    x->flow.authority.state = x->flow.request.state = POLICY_NAME_ABSENT;
    judge(p, x, add_step(x, "bytes", "neither TLS nor HTTP"));
}

static void explain_request(const struct policy *p, struct explanation *x, const char *method)
{
    bool is_name = x->host.kind == POLICY_HOST_NAME;
    x->flow.authority =
        (struct policy_name){is_name ? POLICY_NAME_GIVEN : POLICY_NAME_LITERAL, x->host.name};
    x->flow.request = (struct policy_request){
        .state = POLICY_NAME_GIVEN,
        .method = method,
        .path = x->path,
        .query = *x->query ? x->query : NULL,
    };
    judge(p, x, add_step(x, "request", "%s %s", method, x->path));
}

static void explain_flow(const struct policy *p, struct explanation *x, enum target_kind kind,
                         uint16_t port, const struct explain_options *o)
{
    static const char *const protocols[] = {"tcp", "udp", "icmp"};
    char address[POLICY_ADDRESS_TEXT_BYTES];
    bool is_name = x->host.kind == POLICY_HOST_NAME;
    enum policy_protocol protocol = kind == TARGET_UDP    ? POLICY_UDP
                                    : kind == TARGET_ICMP ? POLICY_ICMP
                                                          : POLICY_TCP;
    struct in6_addr to = x->host.address;
    if (is_name)
        to = o->has_address ? o->address : choose_public(p);
    x->has_flow = true;
    x->flow = policy_flow_init(protocol, &to, port);
    x->resolved[0] = x->host.name;
    x->flow.resolved = x->resolved;
    x->flow.resolved_count = is_name;
    policy_address_print(&to, address);
    judge(p, x,
          add_step(x, "connect", "%s port %u of %s", protocols[protocol], port,
                   is_name && !o->has_address ? "a public address" : address));
    if (protocol == POLICY_TCP && !is_denied(x))
        explain_hello(p, x, kind);
    if ((kind == TARGET_HTTP || kind == TARGET_HTTPS) && !is_denied(x) &&
        x->flow.request.state == POLICY_NAME_PENDING)
        explain_request(p, x, o->method);
    struct explain_step *last = &x->steps[x->step_count - 1];
    if (last->verdict.action != POLICY_ALLOW || !last->verdict.name || !o->has_address)
        return;
    struct explain_step *dial = add_step(x, "dial", "%s", address);
    policy_judge_candidate(p, NULL, &x->flow, x->host.name, &to, &dial->verdict);
    x->is_allowed = dial->verdict.action == POLICY_ALLOW;
}

static int refuse(struct sandbox_error *e, const char *target, const char *why)
{
    return sandbox_error_set(e, -EINVAL, "policy explain: %s: %s; see glovebox policy --help",
                             target, why);
}

/* "HOST[:PORT]" of size bytes; an IPv6 address alone needs no brackets. */
static int take_host(struct explanation *x, const char *text, size_t size, uint16_t *ret_port,
                     const char **why)
{
    struct policy_net net;
    if (!memchr(text, '/', size) && policy_net_parse(text, size, &net) == 0) {
        x->host = (struct policy_host){.kind = POLICY_HOST_ADDRESS, .address = net.address};
        *ret_port = 0;
        return 0;
    }
    return policy_host_parse_with_port(text, size, &x->host, ret_port, why);
}

/* Cuts "/PATH?QUERY#FRAGMENT" up. */
static int take_path(struct explanation *x, const char *text)
{
    size_t path = strcspn(text, "?#");
    size_t query = text[path] == '?' ? strcspn(text + path + 1, "#") : 0;
    if (path + 2 > sizeof(x->path) || query + 1 > sizeof(x->query))
        return -EINVAL;
    snprintf(x->path, sizeof(x->path), "%s%.*s", text[0] == '/' ? "" : "/", (int)path, text);
    snprintf(x->query, sizeof(x->query), "%.*s", (int)query, text + path + 1);
    return 0;
}

static int explain_dns(const struct policy *p, struct explanation *x, const char *rest,
                       const char *target, struct sandbox_error *e)
{
    const char *why = "", *slash = strchr(rest, '/'), *type_name = slash ? slash + 1 : "A";
    uint16_t port, type;
    if (policy_dns_type_parse(type_name, &type) < 0)
        return refuse(e, target, "has no type of DNS record behind the '/'");
    size_t size = slash ? (size_t)(slash - rest) : strlen(rest);
    if (policy_host_parse_with_port(rest, size, &x->host, &port, &why) < 0)
        return refuse(e, target, why);
    if (x->host.kind == POLICY_HOST_ADDRESS || port)
        return refuse(e, target, "is not a name alone");
    explain_query(p, x, type, type_name);
    return 0;
}

int policy_explain(const struct policy *p, const char *target, const struct explain_options *o,
                   struct explanation *ret, struct sandbox_error *e)
{
    size_t i = 0;
    while (strncmp(target, prefixes[i].prefix, strlen(prefixes[i].prefix)))
        i++;
    enum target_kind kind = prefixes[i].kind;
    const char *rest = target + strlen(prefixes[i].prefix), *why = "";
    memset(ret, 0, sizeof(*ret));
    text_line(target, strlen(target), ret->target, sizeof(ret->target));
    if (kind == TARGET_DNS)
        return explain_dns(p, ret, rest, target, e);

    uint16_t port;
    size_t size = strcspn(rest, "/?#");
    bool is_http = kind == TARGET_HTTP || kind == TARGET_HTTPS;
    /* What stands before an '@' is not the host. */
    const char *at = is_http ? memrchr(rest, '@', size) : NULL;
    if (at) {
        size -= (size_t)(at + 1 - rest);
        rest = at + 1;
    }
    if (take_host(ret, rest, size, &port, &why) < 0)
        return refuse(e, target, why);
    if (!port)
        port = prefixes[i].port;
    if ((port == 0) != (kind == TARGET_ICMP))
        return refuse(e, target, port ? "has a port, and ICMP has none" : "has no port");
    if (rest[size] && !is_http)
        return refuse(e, target, "has a path, which only http:// and https:// have");
    if (take_path(ret, rest + size) < 0)
        return refuse(e, target, "has a path that is too long");
    if (ret->host.kind == POLICY_HOST_NAME)
        explain_query(p, ret, RECORD_A, "A");
    if (!is_denied(ret))
        explain_flow(p, ret, kind, port, o);
    return 0;
}

static const char *action_name(const struct policy_verdict *v)
{
    static const char *const names[] = {
        [POLICY_DENY] = "deny", [POLICY_ALLOW] = "allow", [POLICY_WAIT] = "wait"};
    return v->would_deny ? "would deny" : names[v->action];
}

static const char *answer_name(enum policy_answer answer)
{
    return answer == POLICY_YES ? "yes" : answer == POLICY_NO ? "no" : "can't tell";
}

static const char *near_text(enum policy_cause near)
{
    switch (near) {
    case POLICY_CAUSE_PORT:
        return "but for the port";
    case POLICY_CAUSE_PROTO:
        return "but for the protocol";
    case POLICY_CAUSE_REQUEST:
        return "but for the request";
    default:
        return "but for a name";
    }
}

static void print_step(const struct policy_document *d, const struct explain_step *step, FILE *out)
{
    const struct policy_verdict *v = &step->verdict;
    fprintf(out, "  %-*s%-*s  %-6s %s", ROLE_COLUMN, step->name, SUBJECT_WIDE, step->subject,
            action_name(v), v->reason);
    if (v->near != POLICY_CAUSE_NONE)
        fprintf(out, " (rule:%s matches %s)", d->rules[v->near_rule].id, near_text(v->near));
    if (v->terminates_tls && v->action != POLICY_DENY)
        fputs(" (TLS is terminated)", out);
    fputc('\n', out);
}

void explanation_print(const struct policy *p, const struct explanation *x, FILE *out)
{
    const struct policy_document *d = policy_get_document(p);
    const struct policy_verdict *last = &x->steps[x->step_count - 1].verdict;
    fprintf(out, "%s\n", x->target);
    for (size_t i = 0; i < x->step_count; i++)
        print_step(d, &x->steps[i], out);
    if (x->has_flow && d->rule_count) {
        fputs("rules, each by itself:\n", out);
        for (size_t i = 0; i < d->rule_count; i++)
            fprintf(out, "  %-*s  %s\n", SUBJECT_WIDE + ROLE_COLUMN, d->rules[i].id,
                    answer_name(policy_answer(p, NULL, &x->flow, (int)i)));
    }
    fprintf(out, "%s: %s", x->is_allowed ? "allowed" : "denied", last->reason);
    if (!x->is_allowed && last->words)
        fprintf(out, "; the guest is told: %s", last->words);
    fputc('\n', out);
}

static json_t *make_step(const struct policy_document *d, const struct explain_step *step)
{
    const struct policy_verdict *v = &step->verdict;
    return json_pack("{s:s, s:s, s:s, s:s, s:s?, s:s?, s:s?, s:b}", "step", step->name, "subject",
                     step->subject, "action", action_name(v), "reason", v->reason, "rule",
                     v->rule >= 0 ? d->rules[v->rule].id : NULL, "near_rule",
                     v->near_rule >= 0 ? d->rules[v->near_rule].id : NULL, "words", v->words,
                     "terminates_tls", v->terminates_tls);
}

json_t *explanation_make_json(const struct policy *p, const struct explanation *x)
{
    const struct policy_document *d = policy_get_document(p);
    json_t *steps = json_array(), *rules = json_array();
    for (size_t i = 0; i < x->step_count; i++)
        json_array_append_new(steps, make_step(d, &x->steps[i]));
    for (size_t i = 0; x->has_flow && i < d->rule_count; i++)
        json_array_append_new(rules,
                              json_pack("{s:s, s:s}", "rule", d->rules[i].id, "answer",
                                        answer_name(policy_answer(p, NULL, &x->flow, (int)i))));
    return json_pack("{s:s, s:b, s:s, s:o, s:o}", "target", x->target, "allowed", x->is_allowed,
                     "reason", x->steps[x->step_count - 1].verdict.reason, "steps", steps, "rules",
                     rules);
}
