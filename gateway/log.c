// SPDX-License-Identifier: Apache-2.0
#include "gateway/log.h"

#include "gateway/control.h"
#include "lib/base/map.h"
#include "lib/text/shown.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <time.h>

#define SHOWN_MAX 512 /* bytes of a guest's text */
/* A program can be denied as often as it likes, and the log is on somebody's disk. */
#define DENIALS_PER_S 100

static bool is_open;
static struct rate denials;
static uint64_t folded; /* denials that were not written */
static uint64_t lost;   /* lines that the starter had no room for */
static struct map told; /* hashes of what was told to people */

void log_start(void)
{
    struct tm tm;
    time_t zero = 0;
    gmtime_r(&zero, &tm); /* libc looks for the time zone's file once, and now it can */
    is_open = fcntl(GATEWAY_LOG_FD, F_GETFD) >= 0;
}

static void set_text(json_t *o, const char *key, const char *text)
{
    char shown[SHOWN_MAX];
    if (!text)
        return;
    text_line(text, strlen(text), shown, sizeof(shown));
    json_object_set_new(o, key, json_string(shown));
}

static void set_address(json_t *o, const char *key, const struct in6_addr *address)
{
    char text[POLICY_ADDRESS_TEXT_BYTES];
    if (address)
        json_object_set_new(o, key, json_string(policy_address_print(address, text)));
}

static void set_time(json_t *o)
{
    char text[64];
    struct timespec now;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    size_t size = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text + size, sizeof(text) - size, ".%03dZ", (int)(now.tv_nsec / NSEC_PER_MSEC));
    json_object_set_new(o, "ts", json_string(text));
}

static void set_resolved(json_t *o, const struct dns_addresses *found)
{
    char text[POLICY_ADDRESS_TEXT_BYTES];
    json_t *list = json_array();
    for (size_t i = 0; i < found->count; i++)
        json_array_append_new(list,
                              json_string(policy_address_print(&found->list[i].address, text)));
    json_object_set_new(o, "resolved", list);
}

static void set_decision(json_t *o, const struct log_entry *e)
{
    json_object_set_new(o, "decision", json_string(e->is_allowed ? "allow" : "deny"));
    if (e->would_deny)
        json_object_set_new(o, "would_deny", json_true());
    set_text(o, "reason", e->reason);
}

/* A record is lost: nothing goes on unseen, unless the policy says so. */
static void lose(const char *why)
{
    if (!gateway.document->log.drops_when_full)
        gateway_fail("the log takes no more: %s; free the disk it is on, or memory", why);
}

static json_t *new_line(const char *event)
{
    json_t *o = json_object();
    if (!o) {
        lose(strerror(ENOMEM));
        return NULL;
    }
    set_time(o);
    set_text(o, "sandbox", gateway.sandbox);
    json_object_set_new(o, "gen", json_integer((json_int_t)gateway.generation));
    set_text(o, "event", event);
    return o;
}

/* What was lost first, so that nobody takes what follows for all. */
static void tell_lost(void)
{
    json_t *o = lost > 0 ? new_line("lost") : NULL;
    char *text = NULL;
    if (o) {
        json_object_set_new(o, "count", json_integer((json_int_t)lost));
        text = json_dumps(o, JSON_COMPACT | JSON_ENSURE_ASCII);
        json_decref(o);
    }
    if (text && control_send_line(text, strlen(text)))
        lost = 0;
    free(text);
}

static void tell_starter(const char *text, size_t size)
{
    if (!control_is_open())
        return;
    tell_lost();
    if (lost > 0 || !control_send_line(text, size))
        lost++;
}

static void write_line(json_t *o)
{
    char *text = json_dumps(o, JSON_COMPACT | JSON_ENSURE_ASCII);
    size_t size = text ? strlen(text) : 0;
    json_decref(o);
    if (!text) {
        lose(strerror(ENOMEM));
        return;
    }
    tell_starter(text, size);
    text[size] = '\n'; /* where its NUL was */
    if (is_open && write(GATEWAY_LOG_FD, text, size + 1) != (ssize_t)size + 1)
        lose(strerror(errno));
    free(text);
}

static void write_folded(void)
{
    json_t *o = folded > 0 ? new_line("folded") : NULL;
    if (!o)
        return;
    json_object_set_new(o, "decision", json_string("deny"));
    json_object_set_new(o, "count", json_integer((json_int_t)folded));
    folded = 0;
    write_line(o);
}

void log_update(const char *refusal)
{
    json_t *o = is_open || control_is_open() ? new_line("update") : NULL;
    if (!o)
        return;
    json_object_set_new(o, "decision", json_string(refusal ? "deny" : "allow"));
    set_text(o, "error", refusal);
    write_line(o);
}

void log_end(void)
{
    write_folded();
    if (control_is_open())
        tell_lost();
}

static void set_request(json_t *o, const struct exchange_record *r)
{
    set_text(o, "method", r->method);
    set_text(o, "path", r->path);
    set_text(o, "authority", r->authority);
    set_text(o, "rule", r->rule);
    if (r->status)
        json_object_set_new(o, "status", json_integer(r->status));
    if (r->secret_count > 0) {
        json_t *names = json_array();
        for (size_t i = 0; i < r->secret_count; i++)
            json_array_append_new(names, json_string(r->secrets[i]));
        json_object_set_new(o, "secrets", names);
    }
    set_text(o, "violation", r->violation);
    json_object_set_new(o, "guest_tx", json_integer((json_int_t)r->guest_tx));
    json_object_set_new(o, "guest_rx", json_integer((json_int_t)r->guest_rx));
}

static void set_login(json_t *o, const struct log_login *l)
{
    set_text(o, "user", l->user);
    if (l->secret)
        json_object_set_new(o, "secrets", json_pack("[s]", l->secret));
}

/* What the policy wants to have. */
static bool is_wanted(const struct log_entry *e)
{
    enum policy_log_level level = gateway.document->log.level;
    const struct exchange_record *r = e->request;
    if (!e->is_decision)
        return level >= POLICY_LOG_FLOWS || e->reason;
    bool is_plain = r && e->is_allowed && !e->would_deny && r->secret_count == 0;
    return level == POLICY_LOG_REQUESTS || !is_plain;
}

void log_write(const struct log_entry *e)
{
    if ((!is_open && !control_is_open()) || !is_wanted(e))
        return;
    if (e->is_decision && !e->is_allowed && !rate_take(&denials, DENIALS_PER_S)) {
        folded++;
        return;
    }
    write_folded();
    json_t *o = new_line(e->event);
    if (!o)
        return;
    if (e->flow)
        json_object_set_new(o, "flow", json_integer((json_int_t)e->flow));
    if (strcmp(e->event, "dns") && !e->login)
        json_object_set_new(o, "proto", json_string(e->protocol == POLICY_UDP ? "udp" : "tcp"));
    set_address(o, "dst", e->address);
    if (e->port)
        json_object_set_new(o, "port", json_integer(e->port));
    set_text(o, "name", e->name);
    set_text(o, "type", e->dns_type);
    if (e->is_decision)
        set_decision(o, e);
    else
        set_text(o, "reason", e->reason);
    set_text(o, "words", e->words);
    set_address(o, "dialled", e->dialled);
    if (e->resolved)
        set_resolved(o, e->resolved);
    if (e->error)
        set_text(o, "error", strerrorname_np(e->error));
    if (e->pid)
        json_object_set_new(o, "pid", json_integer(e->pid));
    set_text(o, "program", e->program);
    if (e->request)
        set_request(o, e->request);
    if (e->login)
        set_login(o, e->login);
    if (e->has_counts) {
        json_object_set_new(o, "guest_tx", json_integer((json_int_t)e->guest_tx));
        json_object_set_new(o, "guest_rx", json_integer((json_int_t)e->guest_rx));
    }
    if (e->since_ns)
        json_object_set_new(o, "ms",
                            json_integer((gateway_now_ns() - e->since_ns) / NSEC_PER_MSEC));
    write_line(o);
}

static bool is_new(const char *what)
{
    uint64_t key = map_hash_bytes(what, strlen(what));
    if (map_get(&told, key))
        return false;
    return map_set(&told, key, &told) == 0;
}

void log_denial(const struct log_entry *e, const char *words)
{
    char address[POLICY_ADDRESS_TEXT_BYTES] = "", name[SHOWN_MAX], what[SHOWN_MAX + 128];
    if (told.count > LOG_NOTICES_MAX)
        return;
    if (e->address)
        policy_address_print(e->address, address);
    text_line(e->name ? e->name : "", e->name ? strlen(e->name) : 0, name, sizeof(name));
    const char *over = e->protocol == POLICY_UDP ? "UDP to " : "";
    if (e->login)
        snprintf(what, sizeof(what), "a signature for SSH by %s%s%s",
                 e->login->secret ? e->login->secret : "any key", name[0] ? ", for " : "", name);
    else if (e->address && e->name)
        snprintf(what, sizeof(what), "%s%s:%u (%s)", over, address, e->port, name);
    else if (e->address)
        snprintf(what, sizeof(what), "%s%s:%u", over, address, e->port);
    else
        snprintf(what, sizeof(what), "the name %s", name);
    if (!is_new(what))
        return;
    if (told.count > LOG_NOTICES_MAX)
        gateway_say("further denials are not shown; --egress-log has them");
    else
        gateway_say("denied %s: %s (%s)", what, words, e->reason);
}
