// SPDX-License-Identifier: Apache-2.0
/*
 * glovebox-gateway SANDBOX [EXEMPT-NETWORK]...
 *
 * Started by sandbox/gateway.c with the descriptors of lib/base/gateway.h, ends with the channel.
 */
#include "gateway/channel.h"
#include "gateway/control.h"
#include "gateway/flows.h"
#include "gateway/log.h"
#include "gateway/names.h"
#include "gateway/own.h"
#include "gateway/route.h"
#include "gateway/seal.h"
#include "gateway/ssh_agent.h"
#include "gateway/trust.h"
#include "gateway/watch.h"
#include "lib/base/buf.h"
#include "lib/base/map.h"
#include "lib/base/rlimit.h"
#include "lib/secret/file.h"

#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>

#define PAGE_BYTES 4096
/* After a poll(2) that the host had no memory for. */
#define POLL_AGAIN_MS 10

struct gateway gateway;

static struct policy_net exempt[64];

static void say(const char *prefix, const char *format, va_list args)
{
    char line[1200];
    size_t size = (size_t)snprintf(line, sizeof(line), "egress: %s", prefix);
    int n = vsnprintf(line + size, sizeof(line) - size - 1, format, args);
    size = MIN(size + (size_t)MAX(n, 0), sizeof(line) - 2);
    line[size++] = '\n';
    /* A reader that is gone needs no lines. */
    if (write(STDERR_FILENO, line, size) < 0)
        return;
}

void gateway_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say("", format, args);
    va_end(args);
}

void gateway_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say("the gateway: ", format, args);
    va_end(args);
    _exit(1);
}

int64_t gateway_now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

bool rate_take(struct rate *r, uint64_t most)
{
    int64_t now = gateway_now_ns();
    if (now - r->since_ns >= NSEC_PER_SEC)
        *r = (struct rate){.since_ns = now};
    return ++r->count <= most;
}

/* ---- the start ---- */

static void read_policy(struct buf *ret)
{
    struct buf text = BUF_INIT(POLICY_DOCUMENT_MAX_BYTES + 1);
    struct policy_error e;
    char piece[65536];
    ssize_t n;
    while ((n = read(GATEWAY_POLICY_FD, piece, sizeof(piece))) > 0)
        buf_append(&text, piece, (size_t)n);
    if (n < 0 || text.failed)
        gateway_fail("the policy can't be read");
    close(GATEWAY_POLICY_FD);
    gateway.policy = policy_parse(text.data, text.size, &e);
    if (!gateway.policy)
        gateway_fail("policy: %s", e.text);
    gateway.document = policy_get_document(gateway.policy);
    *ret = text;
}

static void read_secrets(void)
{
    struct secret_error e;
    if (fcntl(GATEWAY_SECRETS_FD, F_GETFD) < 0) {
        if (gateway.document->secret_count > 0)
            gateway_fail("the policy has secrets, and none came");
        return;
    }
    if (secret_file_read(GATEWAY_SECRETS_FD, gateway.document, &gateway.secrets, &e) < 0)
        gateway_fail("%s", e.text);
    close(GATEWAY_SECRETS_FD);
}

static void read_exemptions(int count, char **words)
{
    if (count > (int)ARRAY_SIZE(exempt))
        gateway_fail("more than %zu networks are exempt; join some", ARRAY_SIZE(exempt));
    for (int i = 0; i < count; i++)
        if (policy_net_parse(words[i], strlen(words[i]), &exempt[i]) < 0)
            gateway_fail("'%s' is no network", words[i]);
    gateway.operator.exempt = exempt;
    gateway.operator.exempt_count =(size_t) count;
}

/*
 * Reading a policy and making keys touches most of the program, of which a gateway that waits needs
 * next to nothing: its own pages of what lies in the file are let go, and come back from there.
 */
static int let_go(struct dl_phdr_info *program, size_t size, void *unused)
{
    for (size_t i = 0; i < program->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &program->dlpi_phdr[i];
        uintptr_t begin = program->dlpi_addr + p->p_vaddr, end = begin + p->p_memsz;
        begin &= ~(uintptr_t)(PAGE_BYTES - 1);
        if (p->p_type == PT_LOAD && !(p->p_flags & PF_W))
            madvise((void *)begin, end - begin, MADV_DONTNEED);
    }
    return 1; /* a static program is all there is */
}

static void start(int count, char **words)
{
    const char *why = "";
    struct buf document;
    uint64_t seed;
    signal(SIGPIPE, SIG_IGN);
    if (count < 2 || getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
        gateway_fail("it is started by glovebox run alone");
    map_seed(seed);
    gateway.sandbox = words[1];
    rlimit_raise(RLIMIT_NOFILE);
    read_policy(&document);
    read_exemptions(count - 2, words + 2);
    read_secrets();
    trust_start();
    if (names_start(&why) < 0)
        gateway_fail("name servers: %s; check /etc/resolv.conf", why);
    control_start(&document);
    log_start();
    if (watch_start() < 0)
        gateway_fail("epoll: %s; free descriptors", strerror(errno));
    own_start();
    dl_iterate_phdr(let_go, NULL);
    int r = gateway_seal(&why);
    if (r < 0)
        gateway_fail("%s: %s", why, strerror(-r));
    ssh_agent_start();
}

/* ---- the loop ---- */

/* Of two times to wait, of which -1 is for ever. */
static int earlier(int a, int b)
{
    return a < 0 ? b : b < 0 ? a : MIN(a, b);
}

static void run(void)
{
    struct pollfd p[2 + CONTROL_SOCKETS_MAX + RESOLVER_SOCKETS_MAX] = {
        {.fd = GATEWAY_CHANNEL_FD, .events = POLLIN}, {.fd = watch_fd(), .events = POLLIN}};
    for (;;) {
        struct pollfd *control = p + 2;
        size_t control_count = control_fill_poll(control);
        struct pollfd *names = control + control_count;
        size_t name_count = names_fill_poll(names);
        int wait_ms = earlier(names_wait_ms(), flows_wait_ms());
        if (poll(p, 2 + control_count + name_count, wait_ms) < 0) {
            if (errno != EINTR)
                poll(NULL, 0, POLL_AGAIN_MS);
            continue;
        }
        if (p[1].revents)
            watch_step();
        names_step(names, name_count);
        control_step(control, control_count);
        if (p[0].revents && !channel_read())
            return;
        flows_step();
    }
}

int main(int count, char **words)
{
    start(count, words);
    channel_send_ready();
    route_tell();
    run();
    flows_end();
    log_end();
    names_end();
    ssh_agent_end();
    secrets_put(gateway.secrets);
    control_end();
    policy_free(gateway.policy);
    return 0;
}
