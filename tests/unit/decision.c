// SPDX-License-Identifier: Apache-2.0
#include "cli/decision.h"
#include "lib/base/base.h"
#include "tests/harness/harness.h"

#include <stdlib.h>

/* The row of a line, without blanks at its end and with one between two words. */
static const char *row(const char *line)
{
    static char text[4096];
    json_t *o = json_loads(line, JSON_DECODE_ANY, NULL);
    FILE *out = fmemopen(text, sizeof(text), "w");
    setenv("TZ", "UTC", 1);
    EXPECT_TRUE(o != NULL && out != NULL);
    decision_print(o, out);
    fclose(out);
    json_decref(o);
    char *to = text;
    for (const char *from = text; *from && *from != '\n'; from++)
        if (*from != ' ' || (to > text && to[-1] != ' '))
            *to++ = *from;
    while (to > text && to[-1] == ' ')
        to--;
    *to = '\0';
    return text;
}

TEST(rows)
{
    static const struct {
        const char *line, *row;
    } rows[] = {
        {"{\"ts\":\"2026-01-02T03:04:05.678Z\",\"event\":\"dns\",\"name\":\"a.test\",\"type\":"
         "\"A\","
         "\"decision\":\"allow\"}",
         "03:04:05.678 allow dns a.test A"},
        {"{\"event\":\"dns\",\"name\":\"a.test\",\"decision\":\"deny\",\"reason\":\"dns_name\"}",
         "deny dns a.test dns_name allow the name with --allow, or a rule in the policy"},
        {"{\"event\":\"connect\",\"proto\":\"tcp\",\"dst\":\"2a00::1\",\"port\":80,"
         "\"decision\":\"deny\",\"reason\":\"no_policy\",\"words\":\"do this\"}",
         "deny tcp [2a00::1]:80 no_policy do this"},
        {"{\"event\":\"connect\",\"proto\":\"tcp\",\"dst\":\"20.0.0.1\",\"name\":\"a.test\","
         "\"port\":80,\"decision\":\"allow\",\"reason\":\"rule:a\",\"error\":\"ECONNREFUSED\"}",
         "failed tcp a.test:80 rule:a"},
        {"{\"event\":\"connect\",\"proto\":\"tcp\",\"dst\":\"20.0.0.1\",\"port\":80,"
         "\"decision\":\"allow\",\"would_deny\":true,\"reason\":\"default\"}",
         "audit tcp 20.0.0.1:80 default allow it with --allow, or a rule in the policy"},
        {"{\"event\":\"close\",\"proto\":\"tcp\",\"dst\":\"20.0.0.1\",\"port\":80,\"guest_tx\":1,"
         "\"guest_rx\":2}",
         "close tcp 20.0.0.1:80 1 bytes out, 2 in"},
        {"{\"event\":\"request\",\"method\":\"GET\",\"name\":\"a.test\",\"path\":\"/x\","
         "\"decision\":\"allow\",\"reason\":\"rule:a\"}",
         "allow GET a.test/x rule:a"},
        {"{\"event\":\"request\",\"method\":\"GET\",\"name\":\"a.test\",\"path\":\"/x\","
         "\"decision\":\"allow\",\"reason\":\"rule:a\",\"guest_tx\":1,\"guest_rx\":2,"
         "\"secrets\":[\"K\",\"L\"]}",
         "allow GET a.test/x rule:a 1 bytes out, 2 in; by K, L"},
        {"{\"event\":\"request\",\"method\":\"GET\",\"dst\":\"20.0.0.1\",\"path\":\"/x\","
         "\"decision\":\"deny\",\"reason\":\"default\",\"guest_tx\":1,\"guest_rx\":2}",
         "deny GET 20.0.0.1/x default no rule allows this request: add its method and path to one, "
         "or allow its host"},
        {"{\"event\":\"dns\",\"name\":\"a.test\",\"decision\":\"deny\",\"reason\":\"rule:no\","
         "\"words\":\"use b.test\"}",
         "deny dns a.test rule:no use b.test"},
        {"{\"event\":\"dns\",\"name\":\"a.test\",\"decision\":\"deny\",\"reason\":\"dns_name\","
         "\"words\":\"it may not\"}",
         "deny dns a.test dns_name allow the name with --allow, or a rule in the policy"},
        {"{\"event\":\"request\",\"method\":\"GET\",\"name\":\"a.test\",\"path\":\"/x\","
         "\"decision\":\"allow\",\"reason\":\"upstream_tls\",\"guest_tx\":1,\"guest_rx\":2}",
         "failed GET a.test/x upstream_tls the server's certificate is not good; tls.extra_ca_pem "
         "adds authorities"},
        {"{\"event\":\"connect\",\"proto\":\"tcp\",\"dst\":\"169.254.169.254\",\"port\":80,"
         "\"decision\":\"deny\",\"reason\":\"floor:metadata\"}",
         "deny tcp 169.254.169.254:80 floor:metadata closed for all sandboxes; floor-except of man "
         "glovebox.conf opens it where it holds nothing else, with a rule on its address"},
        {"{\"event\":\"connect\",\"proto\":\"tcp\",\"dst\":\"10.0.0.1\",\"port\":80,"
         "\"decision\":\"deny\",\"reason\":\"floor:private\"}",
         "deny tcp 10.0.0.1:80 floor:private closed for all sandboxes; floor-except of man "
         "glovebox.conf opens it, with a rule on its address"},
        {"{\"event\":\"connect\",\"proto\":\"tcp\",\"dst\":\"20.0.0.1\",\"port\":25,"
         "\"decision\":\"deny\",\"reason\":\"floor:smtp\"}",
         "deny tcp 20.0.0.1:25 floor:smtp mail is closed for all sandboxes, and nothing opens it"},
        {"{\"event\":\"login\",\"proto\":\"tcp\",\"name\":\"a.test\",\"port\":5432,"
         "\"decision\":\"allow\",\"reason\":\"login\",\"secrets\":[\"DB\"]}",
         "allow tcp a.test:5432 login by DB"},
        {"{\"event\":\"update\",\"gen\":2,\"decision\":\"deny\",\"error\":\"why\"}",
         "refused generation 2 why"},
        {"{\"event\":\"update\",\"gen\":3,\"decision\":\"allow\"}", "policy generation 3"},
        {"{\"event\":\"folded\",\"decision\":\"deny\",\"count\":7}", "deny 7 more"},
        {"{\"event\":\"lost\",\"count\":7}", "lost 7 more"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        EXPECT_STR(row(rows[i].line), rows[i].row);
}

/* Whatever a stranger wrote in it: one line, of characters that can be seen. */
TEST(lines_of_strangers)
{
    static const char *const lines[] = {
        "{}",
        "[]",
        "7",
        "{\"event\":7,\"ts\":7,\"port\":\"x\",\"decision\":[],\"name\":{}}",
        "{\"ts\":\"yesterday\",\"event\":\"dns\",\"name\":\"\\u001b[31m\\n\\u202e\"}",
        "{\"ts\":\"9999-99-99T99:99:99.999Z\",\"event\":\"\\n\",\"reason\":\"\\u0007\"}",
        "{\"ts\":\"2026-01-01T00:00:00.\\u001b[3\",\"event\":\"close\",\"proto\":\"\\r\"}",
        "{\"event\":\"request\",\"method\":\"\\u009b\",\"path\":\"\\u0085\",\"name\":\"\\u0000\"}",
    };
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        json_error_t e;
        json_t *o = json_loads(lines[i], JSON_DECODE_ANY, &e);
        if (!o)
            continue;
        json_decref(o);
        for (const char *c = row(lines[i]); *c; c++)
            EXPECT_TRUE(*c >= ' ' && *c <= '~');
    }
}

TEST(a_long_text_is_cut)
{
    char line[70000] = "{\"event\":\"dns\",\"decision\":\"deny\",\"name\":\"";
    size_t size = strlen(line);
    memset(line + size, 'a', 60000);
    strcpy(line + size + 60000, "\"}");
    EXPECT_LT(strlen(row(line)), 1000);
}

TEST(denials)
{
    static const struct {
        const char *line;
        bool is_denial;
    } rows[] = {
        {"{\"event\":\"dns\",\"decision\":\"deny\"}", true},
        {"{\"event\":\"dns\",\"decision\":\"allow\"}", false},
        {"{\"event\":\"connect\",\"decision\":\"allow\",\"would_deny\":true}", true},
        {"{\"event\":\"close\",\"reason\":\"policy_changed\"}", true},
        {"{\"event\":\"close\"}", false},
        {"{\"event\":\"lost\",\"count\":1}", true},
        {"[]", false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        json_t *o = json_loads(rows[i].line, 0, NULL);
        EXPECT_EQ(decision_is_denial(o), rows[i].is_denial);
        json_decref(o);
    }
}
