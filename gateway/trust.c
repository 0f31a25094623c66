// SPDX-License-Identifier: Apache-2.0
#include "gateway/trust.h"

#include "gateway/gateway.h"

#include <time.h>

static struct tls_authority *authority;
static struct tls_roots *roots;

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

void trust_start(void)
{
    const struct policy_tls_settings *tls = &gateway.document->tls;
    const char *what = "";
    authority = tls_authority_new(gateway.sandbox, trust_now_s());
    if (!authority)
        gateway_fail("a certificate authority: no memory or no random numbers; free memory");
    int r = tls_roots_load(NULL, tls->extra_ca_pem, tls->extra_ca_count, &roots, &what);
    if (r < 0)
        gateway_fail("%s: %s; install ca-certificates", what, strerror(-r));
}
