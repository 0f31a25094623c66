// SPDX-License-Identifier: Apache-2.0
#include "server/certificate.h"

#include "lib/tls/credentials.h"
#include "server/server.h"

static struct tls_credentials *credentials;

bool certificate_exists(void)
{
    return credentials != NULL;
}

struct tls_session *certificate_accept(void)
{
    return tls_session_accept_with(credentials);
}

int64_t certificate_end_s(void)
{
    return credentials ? tls_credentials_end_s(credentials) : 0;
}

void certificate_take(const char *data, size_t size)
{
    char why[TLS_CREDENTIALS_WHY_MAX] = "the launcher sends none";
    struct tls_credentials *more = NULL;
    const char *end = memchr(data, '\0', size);
    int r = end ? tls_credentials_read(data, (size_t)(end - data), end + 1,
                                       size - (size_t)(end - data) - 1, &more, why)
                : -EPROTO;
    if (r < 0 && !credentials)
        server_fail("--tls-cert, --tls-key: %s", why);
    if (r < 0) {
        server_say("--tls-cert, --tls-key: %s; the certificate before stays in use", why);
        return;
    }
    tls_credentials_free(credentials);
    credentials = more;
    if (tls_credentials_end_s(more) < server_wall_ms() / 1000)
        server_say("--tls-cert: the certificate has expired, clients won't accept it; give another "
                   "one");
}
