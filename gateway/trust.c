// SPDX-License-Identifier: Apache-2.0
#include "gateway/trust.h"

#include "gateway/gateway.h"

#include <time.h>

static struct tls_authority *authority;
static struct tls_roots *roots;
static struct tls_tickets *tickets;

int64_t trust_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec;
}

struct tls_authority *trust_authority(void)
{
    return authority;
}

const struct tls_roots *trust_roots(void)
{
    return roots;
}

struct tls_tickets *trust_tickets(void)
{
    return tickets;
}

void trust_begin_anew(void)
{
    tls_tickets_forget_all(tickets);
}

/* Whether TLS may end here by this document. */
static bool verifies_servers(const struct policy_document *d)
{
    bool verifies = d->tls.mode == POLICY_TLS_TERMINATE;
    for (size_t i = 0; i < d->secret_count; i++)
        verifies |= d->secrets[i].use != POLICY_SECRET_SSH;
    for (size_t i = 0; i < d->rule_count; i++) {
        const struct policy_rule *r = &d->rules[i];
        verifies |= r->tls == POLICY_TLS_TERMINATE || r->http || r->transform_count > 0;
    }
    return verifies;
}

void trust_start(void)
{
    const struct policy_tls_settings *tls = &gateway.document->tls;
    const char *what = "";
    authority = tls_authority_new(gateway.sandbox, trust_now_s());
    tickets = tls_tickets_new();
    if (!authority || !tickets)
        gateway_fail("a certificate authority: no memory or no random numbers; free memory");
    int r = tls_roots_load(NULL, tls->extra_ca_pem, tls->extra_ca_count, &roots, &what);
    /* A machine without roots can't verify a server; only who has to needs them. */
    if (r < 0 && (tls->extra_ca_count > 0 || verifies_servers(gateway.document)))
        gateway_fail("%s: %s; install ca-certificates", what, strerror(-r));
}
