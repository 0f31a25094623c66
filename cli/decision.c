// SPDX-License-Identifier: Apache-2.0
#include "cli/decision.h"

#include "lib/base/base.h"
#include "lib/text/shown.h"

#include <time.h>

#define ROW   "%-12s  %-8s %-44s %-20s %s"
#define SHOWN 300 /* bytes of a text */

/* By the beginning of the reason. */
static const struct {
    const char *reason, *advice;
} advices[] = {
    {"default", "allow it with --allow, or a rule in the policy"},
    {"dns_name", "allow the name with --allow, or a rule in the policy"},
    {"dns_type", "the policy's dns.types has the types of records that may be asked for"},
    {"rule:builtin:", "the sandbox's own resolver is to be used"},
    {"rule:", "a rule of the policy says so"},
    {"floor:metadata", "closed for all sandboxes; floor-except of man glovebox.conf opens it where "
                       "it holds nothing else, with a rule on its address"},
    {"floor:smtp", "mail is closed for all sandboxes, and nothing opens it"},
    {"floor:", "closed for all sandboxes; floor-except of man glovebox.conf opens it, with a rule "
               "on its address"},
    {"resolved:", "the name leads to an address that is closed for all sandboxes"},
    {"name_missing", "only names are allowed there; use one, or allow the address"},
    {"name_conflict", "use one name for all of the connection"},
    {"unreadable", "some names are denied, and this connection hides its own"},
    {"ech", "turn encrypted hellos off in the program"},
    {"malformed", "that is no host name, port or message that could be read in one way only"},
    {"smuggling", "its length or its end could be read in two ways; write the request anew"},
    {"proto", "that protocol is not carried there"},
    {"port", "allow the port with --allow NAME:PORT, or a rule in the policy"},
    {"request", "the rules for that host have other methods or paths; add this one to a rule"},
    {"secret_violation",
     "it has a placeholder of a secret that is not for it; see the secret's allow"},
    {"signature", "leave signing to the gateway, as the secret's sign says"},
    {"http2_clear", "use TLS, or HTTP/1.1"},
    {"upstream_tls", "the server's certificate is not good; tls.extra_ca_pem adds authorities"},
    {"upstream_proxy", "the policy's proxy failed, and nothing goes past it"},
    {"upstream", "the server can't be reached, or said what is no good answer"},
    {"policy_changed", "the policy was replaced while it was open"},
    {"ssh:unbound", "OpenSSH 8.9 or newer says for which session it asks"},
    {"ssh:", "the agent signs logins at the secret's hosts, as its user, and nothing else"},
    {"limit:", "a limit of the policy was reached"},
    {"scrub", "the answer could not be searched for secrets; see the secret's scrub"},
};

static const char *text_of(const json_t *line, const char *key, char ret[static SHOWN])
{
    const json_t *value = json_object_get(line, key);
    const char *text = json_string_value(value);
    ret[0] = '\0';
    if (text)
        text_line(text, json_string_length(value), ret, SHOWN);
    return ret;
}

static const char *event_of(const json_t *line)
{
    const char *event = json_string_value(json_object_get(line, "event"));
    return event ? event : "";
}

static bool is_event(const json_t *line, const char *event)
{
    return !strcmp(event_of(line), event);
}

static bool has_decision(const json_t *line, const char *decision)
{
    const char *value = json_string_value(json_object_get(line, "decision"));
    return value && !strcmp(value, decision);
}

static json_int_t number_of(const json_t *line, const char *key)
{
    return json_integer_value(json_object_get(line, key));
}

bool decision_is_denial(const json_t *line)
{
    const char *reason = json_string_value(json_object_get(line, "reason"));
    return has_decision(line, "deny") || json_is_true(json_object_get(line, "would_deny")) ||
           is_event(line, "lost") || is_event(line, "violation") ||
           (reason && !strcmp(reason, "policy_changed"));
}

/* A request that was allowed, and that nothing good came of. */
static bool is_failure(const json_t *line)
{
    static const char *const reasons[] = {"upstream", "limit:", "scrub"};
    const char *reason = json_string_value(json_object_get(line, "reason"));
    for (size_t i = 0; reason && i < ARRAY_SIZE(reasons); i++)
        if (!strncmp(reason, reasons[i], strlen(reasons[i])))
            return is_event(line, "request") && has_decision(line, "allow");
    return false;
}

/* Of this day, as the wall shows it. */
static void format_time(const json_t *line, char *ret, size_t size)
{
    const char *text = json_string_value(json_object_get(line, "ts"));
    struct tm tm = {0};
    const char *rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
    ret[0] = '\0';
    if (!rest)
        return;
    time_t seconds = timegm(&tm);
    localtime_r(&seconds, &tm);
    size_t used = strftime(ret, size, "%H:%M:%S", &tm);
    if (rest[0] == '.' && strspn(rest + 1, "0123456789") == 3)
        snprintf(ret + used, size - used, "%.4s", rest);
}

static const char *verdict_of(const json_t *line)
{
    if (is_event(line, "close") || is_event(line, "progress") || is_event(line, "lost"))
        return event_of(line);
    if (is_event(line, "update"))
        return has_decision(line, "deny") ? "refused" : "policy";
    if (json_is_true(json_object_get(line, "would_deny")))
        return "audit";
    if (has_decision(line, "deny"))
        return "deny";
    return json_object_get(line, "error") || is_failure(line) ? "failed" : "allow";
}

static void format_place(const json_t *line, char *ret, size_t size)
{
    char name[SHOWN], address[SHOWN], proto[SHOWN];
    json_int_t port = number_of(line, "port");
    text_of(line, "name", name);
    text_of(line, "dst", address);
    text_of(line, "proto", proto);
    const char *host = name[0] ? name : address;
    bool is_v6 = strchr(host, ':') != NULL;
    snprintf(ret, size, "%.8s %s%s%s", proto[0] ? proto : "to", is_v6 ? "[" : "", host,
             is_v6 ? "]" : "");
    size_t used = strlen(ret);
    if (port > 0 && port <= UINT16_MAX)
        snprintf(ret + used, size - used, ":%d", (int)port);
}

static void format_request(const json_t *line, char *ret, size_t size)
{
    char method[SHOWN], host[SHOWN], path[SHOWN];
    if (!text_of(line, "name", host)[0])
        text_of(line, "dst", host);
    snprintf(ret, size, "%.16s %s%s", text_of(line, "method", method), host,
             text_of(line, "path", path));
}

static void format_question(const json_t *line, char *ret, size_t size)
{
    char name[SHOWN], type[SHOWN];
    text_of(line, "type", type);
    snprintf(ret, size, "dns %s%s%.16s", text_of(line, "name", name), type[0] ? " " : "", type);
}

/* Of a signature: the host, and the key. */
static void format_login(const json_t *line, char *ret, size_t size)
{
    char host[SHOWN], user[SHOWN], secret[SHOWN];
    const json_t *value = json_array_get(json_object_get(line, "secrets"), 0);
    const char *text = json_string_value(value);
    secret[0] = '\0';
    if (text)
        text_line(text, strlen(text), secret, sizeof(secret));
    text_of(line, "user", user);
    snprintf(ret, size, "ssh %s%s%s by %s", user, user[0] ? "@" : "", text_of(line, "name", host),
             secret[0] ? secret : "an unknown key");
}

static void format_what(const json_t *line, char *ret, size_t size)
{
    if (is_event(line, "dns"))
        format_question(line, ret, size);
    else if (is_event(line, "update"))
        snprintf(ret, size, "generation %lld", (long long)number_of(line, "gen"));
    else if (is_event(line, "folded") || is_event(line, "lost"))
        snprintf(ret, size, "%lld more", (long long)number_of(line, "count"));
    else if (is_event(line, "ssh"))
        format_login(line, ret, size);
    else if (is_event(line, "gateway"))
        snprintf(ret, size, "everything");
    else if (json_object_get(line, "method"))
        format_request(line, ret, size);
    else
        format_place(line, ret, size);
}

static const char *find_advice(const char *reason)
{
    for (size_t i = 0; i < ARRAY_SIZE(advices); i++)
        if (!strncmp(reason, advices[i].reason, strlen(advices[i].reason)))
            return advices[i].advice;
    return "";
}

/* How much passed, and which secrets were used. */
static void format_outcome(const json_t *line, char *ret, size_t size)
{
    const json_t *name;
    size_t i, used = 0;
    ret[0] = '\0';
    if (json_object_get(line, "guest_tx"))
        used = (size_t)snprintf(ret, size, "%lld bytes out, %lld in",
                                (long long)number_of(line, "guest_tx"),
                                (long long)number_of(line, "guest_rx"));
    json_array_foreach(json_object_get(line, "secrets"), i, name)
    {
        char shown[SHOWN];
        if (is_event(line, "ssh") || !json_is_string(name) || used >= size)
            return;
        text_line(json_string_value(name), json_string_length(name), shown, sizeof(shown));
        used += (size_t)snprintf(ret + used, size - used, "%s%s",
                                 i      ? ", "
                                 : used ? "; by "
                                        : "by ",
                                 shown);
    }
}

/* What a rule says is its author's to say; of the rest the program is told less than its owner. */
static const char *advice_for(const json_t *line, const char *reason)
{
    bool is_rules = !strncmp(reason, "rule:", strlen("rule:")) && json_object_get(line, "words");
    if (is_rules || (!decision_is_denial(line) && !is_failure(line)))
        return "";
    return is_event(line, "request") && !strcmp(reason, "default")
               ? "no rule allows this request: add its method and path to one, or allow its host"
               : find_advice(reason);
}

/* What to do, or what came of it. */
static void format_rest(const json_t *line, const char *reason, char *ret, size_t size)
{
    char words[SHOWN];
    const char *advice = advice_for(line, reason);
    if (!advice[0] && text_of(line, "words", words)[0])
        snprintf(ret, size, "%s", words);
    else if (is_event(line, "update"))
        snprintf(ret, size, "%s", text_of(line, "error", words));
    else if (advice[0] && !is_event(line, "close"))
        snprintf(ret, size, "%s", advice);
    else
        format_outcome(line, ret, size);
}

void decision_print_head(FILE *out)
{
    fprintf(out, ROW "\n", "TIME", "VERDICT", "WHAT", "REASON", "");
}

void decision_print(const json_t *line, FILE *out)
{
    char time[16], what[2 * SHOWN + 64], reason[SHOWN], rest[SHOWN];
    format_time(line, time, sizeof(time));
    format_what(line, what, sizeof(what));
    text_of(line, "reason", reason);
    if (!reason[0] && !is_event(line, "update"))
        text_of(line, "error", reason);
    format_rest(line, reason, rest, sizeof(rest));
    int size = fprintf(out, ROW, time, verdict_of(line), what, reason, rest);
    if (size >= 0)
        fputc('\n', out);
}
