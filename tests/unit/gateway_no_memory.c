// SPDX-License-Identifier: Apache-2.0
/*
 * The gateway does not read, and the kernel process has no memory left: whoever ends a connection
 * then is not called back while it is at that. Or the host has none for a packet. meson.build puts
 * this malloc and this send in the place of libc's.
 */
#include "kernel/core/kernel.h"
#include "kernel/net/outbound.h"
#include "kernel/net/udp_outside.h"
#include "tests/harness/harness.h"

#include <stdarg.h>

static bool has_memory = true, host_has_memory = true;
static int gateway_end = -1;
static unsigned cut_count, done_count;
static int done_error;

/* ---- the rest of the kernel ---- */

struct kernel kernel;

void kernel_log(const char *format _unused_, ...)
{
}

int host_watch_add(struct host_watch *w _unused_, uint32_t events _unused_)
{
    return 0;
}

void host_watch_change(struct host_watch *w, uint32_t events)
{
    w->events = events;
}

void host_watch_remove(struct host_watch *w _unused_)
{
}

void outbound_cut_all(void)
{
    cut_count++;
}

void outbound_told(uint64_t id _unused_, enum gateway_type type _unused_, struct hostfd fd _unused_)
{
}

void udp_outside_cut_all(void)
{
    cut_count++;
}

bool udp_outside_cut(uint64_t id _unused_)
{
    return false;
}

void udp_outside_forget(void)
{
}

static struct timer *armed;

int timer_arm(struct timer *t, int64_t when_ns _unused_)
{
    armed = t;
    return 0;
}

void timer_disarm(struct timer *t _unused_)
{
    armed = NULL;
}

int64_t clock_monotonic_ns(void)
{
    return 0;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_malloc(size_t size)
{
    return has_memory ? __real_malloc(size) : NULL;
}

ssize_t __real_send(int fd, const void *data, size_t size, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t size, int flags);

ssize_t __wrap_send(int fd, const void *data, size_t size, int flags)
{
    if (host_has_memory)
        return __real_send(fd, data, size, flags);
    errno = ENOMEM;
    return -1;
}

/* The kernel has number 8 for it, which may be somebody's here. */
#undef GATEWAY_KERNEL_FD
#define GATEWAY_KERNEL_FD 900
#include "kernel/net/gateway.c"

/* ---- the cases ---- */

static void on_done(struct gateway_request *r _unused_, int error,
                    const struct gateway_message *m _unused_, struct hostfd fd _unused_)
{
    done_count++;
    done_error = error;
}

static void start(void)
{
    const struct gateway_packet first = {.version = GATEWAY_VERSION, .type = GATEWAY_NETWORK};
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    ASSERT_EQ(dup2(ends[0], GATEWAY_KERNEL_FD), GATEWAY_KERNEL_FD);
    close(ends[0]);
    gateway_end = ends[1];
    ASSERT_EQ(send(gateway_end, &first, sizeof(first), 0), (ssize_t)sizeof(first));
    ASSERT_EQ(gateway_start(), 0);
}

TEST(nobody_is_called_back_by_what_it_ends)
{
    struct gateway_request r = {.done = on_done}, given_up = {.done = on_done};
    start();
    ASSERT_EQ(gateway_resolve(&r, IPPROTO_UDP, (const uint8_t *)"?", 1, NULL), 0);
    ASSERT_EQ(gateway_resolve(&given_up, IPPROTO_UDP, (const uint8_t *)"?", 1, NULL), 0);
    while (list_is_empty(&kept))
        gateway_close(1, false);
    has_memory = false;
    gateway_close(1, true);
    gateway_close_datagrams(2, 3, 4);
    gateway_cancel(&given_up);
    EXPECT_EQ(done_count, 0);
    EXPECT_EQ(cut_count, 0);
    /* From the main loop it is the end of all: the gateway would take one for open for ever. */
    gateway_catch_up();
    EXPECT_EQ(done_count, 1);
    EXPECT_EQ(done_error, ENETUNREACH);
    EXPECT_EQ(cut_count, 2);
    has_memory = true;
    EXPECT_EQ(gateway_resolve(&r, IPPROTO_UDP, (const uint8_t *)"?", 1, NULL), -ENETUNREACH);
    /* And the gateway finds it. */
    struct gateway_message m;
    ssize_t n;
    while ((n = recv(gateway_end, &m, sizeof(m), MSG_DONTWAIT)) > 0)
        ;
    EXPECT_EQ(n, 0);
}

/* Nobody would ever answer what was not sent. */
TEST(what_the_host_has_no_memory_for_is_sent_later)
{
    struct gateway_message m;
    struct gateway_request r = {.done = on_done};
    start();
    host_has_memory = false;
    ASSERT_EQ(gateway_resolve(&r, IPPROTO_UDP, (const uint8_t *)"?", 1, NULL), 0);
    /* There is room: who waited for that would be woken at once, for as long as it lasts. */
    EXPECT_EQ(watch.events & EPOLLOUT, 0u);
    ASSERT_TRUE(armed != NULL);
    armed->expire(armed);
    EXPECT_EQ(watch.events & EPOLLOUT, 0u);
    host_has_memory = true;
    armed->expire(armed);
    EXPECT_GT(recv(gateway_end, &m, sizeof(m), MSG_DONTWAIT), 0);
    EXPECT_EQ(m.packet.id, r.id);
    EXPECT_EQ(watch.events, (uint32_t)EPOLLIN);
}
