// SPDX-License-Identifier: Apache-2.0
/*
 * glovebox-courier ROOTS [NETWORK]...
 *
 * Started by serve/courier.c. ROOTS: the bundle of authorities, "" for the machine's.
 */
#include "courier/courier.h"
#include "lib/caller/caller.h"
#include "lib/policy/machine.h"
#include "lib/tls/credentials.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>

_Static_assert(CALLER_WHY_MAX == COURIER_TEXT_MAX, "words of a caller are a report's");

static struct policy_machine machine;
static struct policy_net exempt[16];

int courier_left_ms(const struct courier *c)
{
    return (int)MAX((c->deadline_ns - caller_now_ns()) / NSEC_PER_MSEC, (int64_t)0);
}

int courier_fail(const struct courier *c, int error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(c->error, COURIER_TEXT_MAX, format, args);
    va_end(args);
    return error;
}

/* ---- the order ---- */

/* The text at *at, and *at behind its NUL; NULL: there is none. */
static const char *next_text(const char **at, const char *end)
{
    const char *text = *at, *nul = text < end ? memchr(text, '\0', (size_t)(end - text)) : NULL;
    if (!nul)
        return NULL;
    *at = nul + 1;
    return text;
}

static int read_order(struct courier *c)
{
    static char order[COURIER_ORDER_MAX];
    ssize_t size = recv(COURIER_FD, order, sizeof(order), 0);
    const char *at = order, *end = order + MAX(size, (ssize_t)0), *name;
    const char *url = next_text(&at, end);
    if (!url || !http_url_parse(url, &c->url))
        return courier_fail(c, -EINVAL, "the URL is none");
    c->fields = at;
    while ((name = next_text(&at, end)) && *name)
        if (!next_text(&at, end))
            return courier_fail(c, -EINVAL, "the order is not whole");
    c->content = at;
    const char *content = next_text(&at, end);
    if (!name || !content || at != end)
        return courier_fail(c, -EINVAL, "the order is not whole");
    c->content_size = strlen(content);
    return 0;
}

static int read_exemptions(struct courier *c, int count, char **words)
{
    if (count > (int)ARRAY_SIZE(exempt))
        return courier_fail(c, -E2BIG, "more than %zu networks", ARRAY_SIZE(exempt));
    for (int i = 0; i < count; i++)
        if (policy_net_parse(words[i], strlen(words[i]), &exempt[i]) < 0)
            return courier_fail(c, -EINVAL, "'%s' is no network", words[i]);
    c->operator.exempt = exempt;
    c->operator.exempt_count =(size_t) count;
    int r = policy_machine_read(&machine, &c->operator);
    return r < 0 ? courier_fail(c, r, "this machine's addresses: %s", strerror(-r)) : 0;
}

/* ---- one delivery ---- */

static int deliver(struct courier *c, int count, char **words)
{
    int r = read_order(c);
    if (r == 0)
        r = count < 1 ? courier_fail(c, -EINVAL, "only glovebox serve starts this program")
                      : read_exemptions(c, count - 1, words + 1);
    if (r == 0)
        r = dial_start(c);
    if (r == 0)
        r = post_start(c, words[0]);
    if (r == 0)
        r = courier_seal_files(c);
    _cleanup_close_ int fd = r == 0 ? dial(c) : -1;
    if (r == 0 && fd < 0)
        r = fd;
    if (r == 0)
        r = courier_seal_sockets(c);
    return r == 0 ? post(c, fd) : r;
}

int main(int argc, char **argv)
{
    struct courier_report report = {0};
    struct courier c = {.deadline_ns = caller_now_ns() + COURIER_S * NSEC_PER_SEC,
                        .error = report.text};
    signal(SIGPIPE, SIG_IGN);
    int r = tls_credentials_start() < 0 ? -ENOMEM : deliver(&c, argc - 1, argv + 1);
    if (r < 0)
        report.error = -r;
    else
        report.status = (uint32_t)r;
    return send(COURIER_FD, &report, sizeof(report), MSG_NOSIGNAL) < 0;
}
