// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/exchange_support.h"

#include "gateway/trust.h"
#include "lib/secret/secrets.h"
#include "tests/harness/harness.h"
#include "tests/unit/hello_bytes.h"
#include "tests/unit/policy_support.h"

#include <stdarg.h>

#define STEPS_MAX 32
#define SAID_MAX  (16 * 1024 * 1024)
#define SPLITS    6 /* besides whole, and byte by byte */

struct gateway gateway;
int64_t now_ns;
struct buf said_to_server = BUF_INIT(SAID_MAX), said_to_guest = BUF_INIT(SAID_MAX);
struct buf records = BUF_INIT(65536);
const char *ends, *dial;
uint64_t last_guest_tx, last_guest_rx;

struct side {
    struct buf waiting;
    bool is_ended;
    size_t (*take)(struct exchange *, const char *, size_t);
    void (*end)(struct exchange *);
};

static struct side guest = {BUF_INIT(SAID_MAX), false, exchange_from_guest, exchange_guest_ended};
static struct side server = {BUF_INIT(SAID_MAX), false, exchange_from_server,
                             exchange_server_ended};
static unsigned split; /* 0: whole; 1: bytes; else a seed */
static unsigned chance;
static char ends_text[64], dial_text[300];

int64_t trust_now_s(void)
{
    return 1440938160; /* 2015-08-30 12:36 */
}

int64_t gateway_now_ns(void)
{
    return now_ns;
}

static const char *words_of(bool is_allowed, bool would_deny)
{
    return would_deny ? "audit" : is_allowed ? "allow" : "deny";
}

static void record(void *context _unused_, const struct exchange_record *r)
{
    buf_printf(&records, "%s %s %u %s %s", r->method ? r->method : "-", r->path ? r->path : "-",
               r->status, words_of(r->is_allowed, r->would_deny), r->reason);
    for (size_t i = 0; i < r->secret_count; i++)
        buf_printf(&records, "%s%s", i ? "," : " secrets=", r->secrets[i]);
    if (r->violation)
        buf_printf(&records, " violation=%s", r->violation);
    buf_append_str(&records, "\n");
    last_guest_tx = r->guest_tx;
    last_guest_rx = r->guest_rx;
}

/* ---- one conversation ---- */

static size_t next_piece(size_t size)
{
    if (split < 2)
        return split ? MIN(size, (size_t)1) : size;
    chance = chance * 1103515245 + 12345;
    return MIN(size, 1 + (chance >> 16) % (chance & 0x100 ? 3000 : 40));
}

/* Some of what is to be sent is, as a socket would have it. */
static void move(struct buf *from, struct buf *to, bool is_reset)
{
    size_t size = split < 2 ? from->size : MIN(from->size, 40000 + chance % 30000);
    ASSERT_TRUE(from->size <= 9 * 1024 * 1024);
    if (!is_reset)
        ASSERT_TRUE(buf_append(to, from->data, size) == 0);
    buf_consume(from, is_reset ? from->size : size);
}

static void send_all(struct exchange *x)
{
    while (exchange_to_guest(x)->size || exchange_to_server(x)->size) {
        move(exchange_to_guest(x), &said_to_guest, exchange_guest_end(x) == EXCHANGE_RESET);
        move(exchange_to_server(x), &said_to_server, exchange_server_end(x) == EXCHANGE_RESET);
    }
    if (exchange_wants_server(x) == EXCHANGE_DIAL_NAME)
        snprintf(dial_text, sizeof(dial_text), "name %s", exchange_name(x));
    else if (exchange_wants_server(x) == EXCHANGE_DIAL_ADDRESS)
        snprintf(dial_text, sizeof(dial_text), "address");
}

/* True: it took something. */
static bool give(struct exchange *x, struct side *side)
{
    bool has_moved = false;
    while (side->waiting.size > 0) {
        size_t size = next_piece(side->waiting.size);
        char *copy = malloc(size); /* of its exact size, for ASan */
        memcpy(copy, side->waiting.data, size);
        size_t taken = side->take(x, copy, size);
        free(copy);
        ASSERT_TRUE(taken <= size);
        buf_consume(&side->waiting, taken);
        send_all(x);
        if (taken == 0)
            return has_moved;
        has_moved = true;
    }
    if (side->is_ended) {
        side->is_ended = false;
        side->end(x);
        send_all(x);
        return true;
    }
    return has_moved;
}

static void step(struct exchange *x, const char *what)
{
    struct side *side = *what == '<' ? &server : &guest;
    struct in6_addr address;
    if (*what == '!') {
        now_ns = exchange_deadline_ns(x);
        EXPECT_TRUE(now_ns != INT64_MAX);
        exchange_expire(x);
        send_all(x);
        return;
    }
    if (*what == '#') {
        exchange_server_failed(x, what + 1, "it is not there");
        send_all(x);
        return;
    }
    if (side == &server && exchange_wants_server(x) != EXCHANGE_DIAL_NOTHING) {
        address = net_of("93.184.216.34").address;
        exchange_dialled(x, &address);
    }
    if (!strcmp(what + 1, "|"))
        side->is_ended = true;
    else if (*what == '@')
        buf_append(&side->waiting, hello_tls12, sizeof(hello_tls12));
    else
        buf_append_str(&side->waiting, what + 1);
    give(x, side);
    while (give(x, &guest) || give(x, &server))
        continue;
}

static const char *end_name(enum exchange_end e)
{
    static const char *const names[] = {"open", "shut", "close", "reset"};
    return names[e];
}

static void hold(const struct scene *s, const char *const *steps, const struct policy *other)
{
    struct policy_flow flow =
        policy_flow_init(POLICY_TCP, &(struct in6_addr){.s6_addr = {0}}, s->port);
    flow.address = net_of(s->address ? s->address : "93.184.216.34").address;
    struct in6_addr dialled = s->dialled ? net_of(s->dialled).address : flow.address;
    if (s->sni)
        flow.sni = (struct policy_name){POLICY_NAME_GIVEN, s->sni};
    else
        flow.sni.state = POLICY_NAME_ABSENT;
    if (s->name && !s->sni) {
        flow.resolved = &s->name;
        flow.resolved_count = 1;
    }
    now_ns = NSEC_PER_SEC;
    chance = split;
    buf_reset(&said_to_guest);
    buf_reset(&said_to_server);
    buf_reset(&records);
    buf_reset(&guest.waiting);
    buf_reset(&server.waiting);
    guest.is_ended = server.is_ended = false;
    dial_text[0] = '\0';
    struct exchange *x = exchange_new(&(struct exchange_setup){
        .evidence = &flow,
        .name = s->name ? s->name : "",
        .dialled = s->is_not_dialled ? NULL : &dialled,
        .is_tls = s->is_tls,
        .log = record,
    });
    ASSERT_TRUE(x != NULL);
    for (int i = 0; steps[i]; i++) {
        if (other && i == s->at) {
            gateway.policy = (struct policy *)(uintptr_t)other;
            gateway.document = policy_get_document(other);
            secrets_put(gateway.secrets);
            gateway.secrets = NULL;
        }
        step(x, steps[i]);
    }
    snprintf(ends_text, sizeof(ends_text), "%s %s", end_name(exchange_guest_end(x)),
             end_name(exchange_server_end(x)));
    exchange_free(x);
}

/* ---- all of them ---- */

struct outcome {
    struct buf server, guest, records;
    char ends[sizeof(ends_text)], dial[sizeof(dial_text)];
};

/* Content without its chunks, as those may differ: what is between the sizes. */
static void append_plain(struct buf *to, const struct buf *from)
{
    const char *at = from->data ? from->data : "", *end = at + from->size;
    while (at < end) {
        char *rest;
        unsigned long size = strtoul(at, &rest, 16);
        bool is_chunk = rest > at && at > from->data && at[-1] == '\n' && !memcmp(rest, "\r\n", 2);
        if (is_chunk && (long)size <= end - rest) {
            at = rest + 2;
            buf_append(to, at, size);
            at += size + (size ? 2 : 0);
        } else {
            buf_append(to, at++, 1);
        }
    }
}

static void take_outcome(struct outcome *o, const struct scene *s)
{
    *o = (struct outcome){BUF_INIT(SAID_MAX), BUF_INIT(SAID_MAX), BUF_INIT(65536), "", ""};
    if (s->is_content_alike) {
        append_plain(&o->server, &said_to_server);
        append_plain(&o->guest, &said_to_guest);
    } else {
        buf_append(&o->server, said_to_server.data, said_to_server.size);
        buf_append(&o->guest, said_to_guest.data, said_to_guest.size);
    }
    buf_append(&o->records, records.data, records.size);
    strcpy(o->ends, ends_text);
    strcpy(o->dial, dial_text);
}

/* What a reset kept from being sent may be missing. */
static void expect_same(const struct buf *a, const struct buf *b, bool is_reset, const char *what)
{
    size_t size = is_reset ? MIN(a->size, b->size) : MAX(a->size, b->size);
    if (size == 0 || (size <= MIN(a->size, b->size) && !memcmp(a->data, b->data, size)))
        return;
    harness_fail(__FILE__, __LINE__, "split %u, %s: \"%.2000s\" and \"%.2000s\"", split, what,
                 a->data ? a->data : "", b->data ? b->data : "");
}

static void outcome_done(struct outcome *o)
{
    buf_done(&o->server);
    buf_done(&o->guest);
    buf_done(&o->records);
}

static struct secrets *secrets_of(const struct scene *s, const struct policy_document *d)
{
    struct secret_value values[8];
    struct secret_error e;
    struct secrets *ret = NULL;
    size_t count = 0;
    for (; s->secrets && s->secrets[3 * count]; count++)
        values[count] =
            (struct secret_value){s->secrets[3 * count], s->secrets[3 * count + 1],
                                  s->secrets[3 * count + 2], strlen(s->secrets[3 * count + 2])};
    if (count > 0 && secrets_new(d, values, count, &ret, &e) < 0) {
        harness_fail(__FILE__, __LINE__, "%s", e.text);
        harness_end_case();
    }
    return ret;
}

void talk(const struct scene *scene, ...)
{
    const char *steps[STEPS_MAX] = {NULL};
    struct outcome first, next;
    va_list args;
    va_start(args, scene);
    for (int i = 0; i < STEPS_MAX - 1; i++) {
        steps[i] = va_arg(args, const char *);
        if (!steps[i])
            break;
    }
    va_end(args);
    struct policy *policy = policy_of(scene->policy);
    struct policy *other = scene->other_policy ? policy_of(scene->other_policy) : NULL;
    for (split = 0; split < 2 + SPLITS; split++) {
        gateway.policy = policy;
        gateway.document = policy_get_document(policy);
        gateway.secrets = secrets_of(scene, gateway.document);
        hold(scene, steps, other);
        secrets_put(gateway.secrets);
        take_outcome(split ? &next : &first, scene);
        if (split == 0)
            continue;
        expect_same(&next.server, &first.server, strstr(ends_text, " reset"), "to the server");
        expect_same(&next.guest, &first.guest, !strncmp(ends_text, "reset", 5), "to the guest");
        expect_same(&next.records, &first.records, false, "records");
        EXPECT_STR(next.ends, first.ends);
        EXPECT_STR(next.dial, first.dial);
        outcome_done(&next);
    }
    outcome_done(&first);
    policy_free(policy);
    policy_free(other);
    ends = ends_text;
    dial = dial_text;
    if (!said_to_server.data)
        buf_append_str(&said_to_server, "");
    if (!said_to_guest.data)
        buf_append_str(&said_to_guest, "");
}

unsigned status_to_guest(void)
{
    return said_to_guest.size > 12 ? (unsigned)atoi(said_to_guest.data + 9) : 0;
}

const char *denied_reason(void)
{
    static char reason[128];
    const char *at = strstr(said_to_guest.data, "X-Egress-");
    at = at ? strchr(at, ' ') : NULL;
    snprintf(reason, sizeof(reason), "%.*s", at ? (int)strcspn(at + 1, "\r") : 0, at ? at + 1 : "");
    return reason;
}

void expect_words(const char *file, int line, const struct buf *b, const char *words, bool has)
{
    if (!strstr(b->data, words) == has)
        harness_fail(file, line, "%s \"%s\" in: %.4000s", has ? "no" : "a", words, b->data);
}
