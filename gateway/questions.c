// SPDX-License-Identifier: Apache-2.0
#include "gateway/questions.h"

#include "gateway/channel.h"
#include "gateway/log.h"
#include "gateway/names.h"
#include "gateway/route.h"
#include "lib/base/map.h"

#include <stdio.h>

#define NAMES_PERIOD_NS (60 * NSEC_PER_SEC) /* dns.max_unique_names is of a minute */

struct question {
    uint64_t id;
    bool is_stream;
    int pid;                               /* of whoever asks */
    char program[GATEWAY_PROGRAM_MAX + 1]; /* a guest's bytes */
    struct dns_query query;
    char name[POLICY_NAME_MAX_BYTES + 1]; /* canonical */
    char audit[POLICY_REASON_MAX_BYTES];  /* why a policy that only looks would deny it; or "" */
    size_t size;
    uint8_t message[GATEWAY_QUERY_MAX];
};

_Static_assert(DNS_ANSWER_MAX <= GATEWAY_DATA_MAX, "an answer is the data of one message");

static struct rate rate;
static struct map names; /* that were looked up since names_since_ns, as hashes */
static int64_t names_since_ns;

static void answer(const struct question *q, const struct dns_answer *a)
{
    uint8_t text[DNS_ANSWER_MAX];
    struct dns_answer whole = *a;
    whole.is_stream = q->is_stream;
    size_t size = dns_answer_write(q->message, &q->query, &whole, text);
    channel_send_answer(q->id, text, size);
}

static void answer_code(const struct question *q, int rcode)
{
    answer(q, &(struct dns_answer){.rcode = rcode});
}

static struct log_entry entry_of(const struct question *q)
{
    static char type[POLICY_DNS_TYPE_SIZE];
    policy_dns_type_name(q->query.type, type);
    return (struct log_entry){.event = "dns",
                              .name = q->name[0] ? q->name : q->query.name,
                              .dns_type = type,
                              .pid = q->pid,
                              .program = q->program[0] ? q->program : NULL,
                              .would_deny = q->audit[0],
                              .reason = q->audit[0] ? q->audit : NULL,
                              .is_decision = true};
}

/* ---- denied ---- */

static void refuse(const struct question *q, const char *reason, const char *words)
{
    struct log_entry e = entry_of(q);
    e.reason = reason;
    e.words = words;
    log_write(&e);
    log_denial(&e, words);
    answer(q, &(struct dns_answer){.rcode = DNS_NXDOMAIN, .blocked = words});
}

/* What the policy is not asked about: the message is none, or not of the Internet. */
static void reject(const struct question *q, int rcode, const char *reason)
{
    struct log_entry e = entry_of(q);
    if (q->query.question_size == 0)
        e.name = e.dns_type = NULL;
    e.reason = reason;
    log_write(&e);
    answer_code(q, rcode);
}

/* There is such a name, but no record of that type that the sandbox may have (reason), or could
 * use. */
static void answer_nothing(const struct question *q, const char *reason)
{
    struct log_entry e = entry_of(q);
    e.is_allowed = !reason;
    e.would_deny &= e.is_allowed;
    e.reason = reason ? reason : e.reason;
    log_write(&e);
    answer_code(q, DNS_NOERROR);
}

static void limit(const struct question *q, const char *which)
{
    struct log_entry e = entry_of(q);
    e.would_deny = false;
    e.reason = which;
    log_write(&e);
    answer_code(q, DNS_SERVFAIL);
}

/* ---- allowed ---- */

static uint32_t clamp_ttl(uint32_t ttl)
{
    const struct policy_dns *dns = &gateway.document->dns;
    return MIN(MAX(ttl, dns->ttl_least_s), dns->ttl_most_s);
}

/* Leaves out what the floor closes. The last verdict that did, for the log. */
static size_t keep_shown(const struct dns_addresses *found, struct dns_address *ret,
                         struct policy_verdict *dropped)
{
    struct policy_verdict v;
    size_t count = 0;
    for (size_t i = 0; i < found->count; i++) {
        policy_judge_shown(gateway.policy, &gateway.operator, & found->list[i].address, &v);
        if (v.action == POLICY_ALLOW)
            ret[count++] =
                (struct dns_address){found->list[i].address, clamp_ttl(found->list[i].ttl)};
        else
            *dropped = v;
    }
    return count;
}

static void on_found(void *context, const struct dns_addresses *found)
{
    struct question *q = context;
    struct dns_address shown[DNS_ADDRESSES_MAX];
    struct policy_verdict dropped = {.reason = ""};
    struct log_entry e = entry_of(q);
    size_t count = found ? keep_shown(found, shown, &dropped) : 0;
    bool is_dropped = found && found->count > 0 && count == 0;
    /* Some libraries (musl) make one NXDOMAIN an end for both families. */
    bool is_gone = is_dropped && q->query.type == DNS_TYPE_A;
    int rcode = !found                         ? DNS_SERVFAIL
                : found->rcode == DNS_NXDOMAIN ? DNS_NXDOMAIN
                : found->rcode != DNS_NOERROR  ? DNS_SERVFAIL
                : is_gone                      ? DNS_NXDOMAIN
                                               : DNS_NOERROR;
    e.is_allowed = !is_dropped;
    e.would_deny &= e.is_allowed;
    e.reason = dropped.reason[0] ? dropped.reason : e.reason;
    e.resolved = found;
    e.words = e.is_allowed ? NULL : dropped.words;
    log_write(&e);
    if (!e.is_allowed)
        log_denial(&e, dropped.words);
    for (size_t i = 0; i < count; i++)
        names_remember(q->name, &shown[i].address);
    answer(q, &(struct dns_answer){.rcode = rcode,
                                   .addresses = shown,
                                   .address_count = count,
                                   .blocked = e.is_allowed ? NULL : dropped.words});
    free(q);
}

/* False when it is one more than the policy allows a sandbox to ask for in a minute. */
static bool is_known_or_fits(const char *name)
{
    uint64_t key = map_hash_bytes(name, strlen(name));
    int64_t now = gateway_now_ns();
    if (now - names_since_ns >= NAMES_PERIOD_NS) {
        map_done(&names);
        names_since_ns = now;
    }
    if (map_get(&names, key))
        return true;
    return names.count < gateway.document->dns.max_unique_names &&
           map_set(&names, key, &names) == 0;
}

/* Whether a client that is sent there gets anywhere: else it is better off without being sent. */
static bool could_reach(const char *name)
{
    struct policy_host host;
    struct policy_verdict v;
    const char *why = NULL;
    if (policy_host_parse(name, strlen(name), &host, &why) < 0 || host.kind != POLICY_HOST_NAME)
        return false;
    policy_judge_query(gateway.policy, host.name, DNS_TYPE_A, &v);
    return v.action == POLICY_ALLOW || v.cause == POLICY_CAUSE_DNS_TYPE;
}

static void on_reply(void *context, const uint8_t *reply, size_t size)
{
    static struct dns_records found; /* used up at once */
    struct question *q = context;
    struct log_entry e = entry_of(q);
    const struct dns_records_wanted wanted = {q->name, q->query.type, could_reach};
    int error = reply ? dns_records_parse(reply, size, &wanted, &found) : -EIO;
    bool is_answer = error == 0 && (found.rcode == DNS_NOERROR || found.rcode == DNS_NXDOMAIN);
    e.is_allowed = true;
    e.error = reply ? -error : 0;
    log_write(&e);
    for (size_t i = 0; is_answer && i < found.count; i++)
        found.list[i].ttl = clamp_ttl(found.list[i].ttl);
    answer(q, &(struct dns_answer){.rcode = is_answer ? found.rcode : DNS_SERVFAIL,
                                   .records = is_answer ? &found : NULL});
    free(q);
}

static void look_up(const struct question *q)
{
    if (!is_known_or_fits(q->name)) {
        limit(q, "limit:dns_names");
        return;
    }
    struct question *kept = malloc(sizeof(*kept));
    if (!kept) {
        answer_code(q, DNS_SERVFAIL);
        return;
    }
    *kept = *q;
    if (dns_type_is_copied(q->query.type)) {
        names_ask(kept->name, q->query.type, on_reply, kept);
        return;
    }
    unsigned family = q->query.type == DNS_TYPE_AAAA ? NAMES_V6 : NAMES_V4;
    names_look_up(kept->name, family, family, on_found, kept);
}

/*
 * Addresses that nothing can be sent to would be tried first by many programs, and by some alone.
 * Of a name that the policy gives addresses there is nothing else.
 */
static bool is_of_use(const struct question *q)
{
    if (q->query.type == DNS_TYPE_AAAA)
        return route_has_v6();
    return q->query.type == DNS_TYPE_A || !names_is_pinned(q->name);
}

/* No policy allows some types, whatever it says: they are no data, or are nothing but bytes. */
static bool is_ever_given(uint16_t type)
{
    return type == DNS_TYPE_A || type == DNS_TYPE_AAAA || dns_type_is_copied(type);
}

static void judge(struct question *q)
{
    struct policy_verdict v;
    policy_judge_query(gateway.policy, q->name, q->query.type, &v);
    if (v.would_deny)
        snprintf(q->audit, sizeof(q->audit), "%s", v.reason);
    if (v.action != POLICY_ALLOW && v.cause != POLICY_CAUSE_DNS_TYPE)
        refuse(q, v.reason, v.words);
    else if (v.action != POLICY_ALLOW)
        answer_nothing(q, v.reason);
    else if (!is_ever_given(q->query.type))
        answer_nothing(q, "dns_type");
    else if (is_of_use(q))
        look_up(q);
    else
        answer_nothing(q, NULL);
}

void questions_take(const struct gateway_packet *p, const uint8_t *query)
{
    const size_t size = p->data_size;
    struct question q = {
        .id = p->id, .is_stream = p->protocol == IPPROTO_TCP, .pid = p->pid, .size = size};
    struct policy_host host;
    const char *why = NULL;
    memcpy(q.program, p->program, sizeof(p->program));
    memcpy(q.message, query, size);
    int error = dns_query_parse(query, size, &q.query);
    if (error != 0) {
        reject(&q, error > 0 ? error : DNS_FORMERR, "malformed");
        return;
    }
    if (!rate_take(&rate, gateway.document->dns.max_qps)) {
        limit(&q, "limit:dns_qps");
        return;
    }
    if (q.query.class != DNS_CLASS_IN) {
        reject(&q, DNS_REFUSED, "dns_class");
        return;
    }
    error = policy_host_parse(q.query.name, strlen(q.query.name), &host, &why);
    if (error < 0 || host.kind != POLICY_HOST_NAME) {
        refuse(&q, "malformed", "this is no host name");
        return;
    }
    snprintf(q.name, sizeof(q.name), "%s", host.name);
    judge(&q);
}
