// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/policy_support.h"

#include "tests/harness/harness.h"

#define WORDS_MAX 8
#define TEXT_MAX  1024

/* A flow and what it points to. */
struct flow_text {
    char text[TEXT_MAX];
    const char *resolved[POLICY_RESOLVED_MAX];
    struct policy_flow flow;
    const char *dialled; /* NULL: not to be dialled */
    struct policy_net candidate;
};

/* On the heap, with " for ', so that ASan sees what is read behind its end. */
static char *document_of(const char *text)
{
    char *copy = strdup(text);
    ASSERT_TRUE(copy != NULL);
    for (char *c = copy; *c; c++)
        if (*c == '\'')
            *c = '"';
    return copy;
}

struct policy *policy_of(const char *document)
{
    struct policy_error e;
    char *text = document_of(document);
    struct policy *p = policy_parse(text, strlen(text), &e);
    free(text);
    if (!p) {
        harness_fail(__FILE__, __LINE__, "%s: %s", document, e.text);
        harness_end_case();
    }
    return p;
}

struct policy_net net_of(const char *text)
{
    struct policy_net net = {0};
    ASSERT_EQ(policy_net_parse(text, strlen(text), &net), 0);
    return net;
}

static struct policy_name name_of(const char *text)
{
    static const struct {
        const char *text;
        enum policy_name_state state;
    } states[] = {
        {"?", POLICY_NAME_PENDING},
        {"-", POLICY_NAME_ABSENT},
        {"!", POLICY_NAME_UNREADABLE},
        {"#", POLICY_NAME_LITERAL},
    };
    for (size_t i = 0; i < ARRAY_SIZE(states); i++)
        if (!strcmp(text, states[i].text))
            return (struct policy_name){.state = states[i].state};
    return (struct policy_name){POLICY_NAME_GIVEN, text};
}

static void take_request(struct policy_request *request, char *text)
{
    char *colon = strchr(text, ':');
    if (!colon) {
        request->state = name_of(text).state;
        return;
    }
    *colon = '\0';
    char *query = strchr(colon + 1, '?');
    if (query)
        *query = '\0';
    request->state = POLICY_NAME_GIVEN;
    request->method = text;
    request->path = colon + 1;
    request->query = query ? query + 1 : NULL;
}

static void take_dial(struct flow_text *f, char *text)
{
    char *at = strchr(text, '@');
    ASSERT_TRUE(at != NULL);
    *at = '\0';
    f->dialled = text;
    f->candidate = net_of(at + 1);
}

static void take_word(struct flow_text *f, char *word)
{
    char *value = strchr(word, '=');
    ASSERT_TRUE(value != NULL);
    *value++ = '\0';
    if (!strcmp(word, "target"))
        f->flow.target = name_of(value);
    else if (!strcmp(word, "sni"))
        f->flow.sni = name_of(value);
    else if (!strcmp(word, "host"))
        f->flow.authority = name_of(value);
    else if (!strcmp(word, "http"))
        take_request(&f->flow.request, value);
    else if (!strcmp(word, "dial"))
        take_dial(f, value);
    else
        ASSERT_TRUE(!strcmp(word, "from"));
    if (strcmp(word, "from"))
        return;
    f->flow.resolved = f->resolved;
    for (char *save, *name = strtok_r(value, ",", &save); name; name = strtok_r(NULL, ",", &save))
        f->resolved[f->flow.resolved_count++] = name;
}

static void flow_of(struct flow_text *f, const char *text)
{
    char *save, *words[WORDS_MAX] = {NULL};
    size_t count = 0;
    ASSERT_TRUE(strlen(text) < sizeof(f->text));
    f->dialled = NULL;
    strcpy(f->text, text);
    for (char *word = strtok_r(f->text, " ", &save); word && count < WORDS_MAX;
         word = strtok_r(NULL, " ", &save))
        words[count++] = word;
    ASSERT_GE(count, 3);
    enum policy_protocol protocol = !strcmp(words[0], "tcp")   ? POLICY_TCP
                                    : !strcmp(words[0], "udp") ? POLICY_UDP
                                                               : POLICY_ICMP;
    struct in6_addr address = net_of(words[1]).address;
    f->flow = policy_flow_init(protocol, &address, (uint16_t)atoi(words[2]));
    for (size_t i = 3; i < count; i++)
        take_word(f, words[i]);
}

static const char *action_of(const struct policy_verdict *v)
{
    return v->action == POLICY_ALLOW ? "allow" : v->action == POLICY_DENY ? "deny" : "wait";
}

const char *verdict_of(const struct policy *p, const struct policy_operator *op, const char *flow)
{
    static char text[TEXT_MAX];
    struct flow_text f;
    struct policy_verdict v;
    flow_of(&f, flow);
    if (f.dialled)
        policy_judge_candidate(p, op, &f.flow, f.dialled, &f.candidate.address, &v);
    else
        policy_judge(p, op, &f.flow, &v);
    EXPECT_EQ(v.action == POLICY_DENY, v.words != NULL);
    const char *near = v.near_rule >= 0 ? policy_get_document(p)->rules[v.near_rule].id : NULL;
    snprintf(text, sizeof(text), "%s %s%s%s%s%s%s%s%s%s%s", action_of(&v), v.reason,
             v.action == POLICY_ALLOW ? " " : "",
             v.action != POLICY_ALLOW ? ""
             : v.name                 ? v.name
                                      : "address",
             v.terminates_tls ? " +tls" : "", v.is_ambiguous ? " +ambiguous" : "",
             v.would_deny ? " +audit" : "", near ? " +near:" : "", near ? near : "",
             v.wait == POLICY_WAIT_FIRST_BYTES ? " +bytes" : "",
             v.wait == POLICY_WAIT_REQUEST ? " +request" : "");
    return text;
}

static bool begins_with_words(const char *text, const char *words)
{
    size_t size = strlen(words);
    return !strncmp(text, words, size) && (text[size] == ' ' || !text[size]);
}

void check_verdict(const char *file, int line, const struct policy *p,
                   const struct policy_operator *op, const char *flow, const char *verdict)
{
    const char *got = verdict_of(p, op, flow);
    if (!begins_with_words(got, verdict))
        harness_fail(file, line, "%s: \"%s\" and \"%s\"", flow, got, verdict);
}

void check_pattern(const char *file, int line, const char *pattern, const char *name, bool matches)
{
    char document[TEXT_MAX];
    snprintf(document, sizeof(document),
             "{'version':1,'rules':[{'id':'r','action':'allow','to':{'domain':['%s']}}]}", pattern);
    struct policy *p = policy_of(document);
    if (policy_patterns_match(&policy_get_document(p)->rules[0].patterns, name) != matches)
        harness_fail(file, line, "%s %s %s", pattern, matches ? "misses" : "matches", name);
    policy_free(p);
}

void check_query(const char *file, int line, const struct policy *p, const char *name,
                 const char *type, const char *verdict)
{
    struct policy_verdict v;
    uint16_t number;
    char text[TEXT_MAX];
    ASSERT_EQ(policy_dns_type_parse(type, &number), 0);
    policy_judge_query(p, name, number, &v);
    snprintf(text, sizeof(text), "%s %s", action_of(&v), v.reason);
    if (!begins_with_words(text, verdict))
        harness_fail(file, line, "%s %s: \"%s\" and \"%s\"", name, type, text, verdict);
}

void check_refused(const char *file, int line, const char *document, const char *pointer,
                   const char *words)
{
    struct policy_error e;
    char *text = document_of(document);
    struct policy *p = policy_parse(text, strlen(text), &e);
    free(text);
    if (p)
        harness_fail(file, line, "%s: not refused", document);
    else if (strcmp(e.pointer, pointer) || !strstr(e.text, words))
        harness_fail(file, line, "%s: \"%s\" \"%s\", expected \"%s\" \"%s\"", document, e.pointer,
                     e.text, pointer, words);
    /* One line with a next step. */
    if (!p && (strchr(e.text, '\n') || !strstr(e.text, "; ")))
        harness_fail(file, line, "%s: no next step on one line: \"%s\"", document, e.text);
    policy_free(p);
}
