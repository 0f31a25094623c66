// SPDX-License-Identifier: Apache-2.0
#include "lib/caller/connect.h"

#include "lib/caller/caller.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define NEXT_ADDRESS_MS 250 /* until the next address is tried, too */

/* Connections that are being made: one and the next, until one is there (RFC 8305, 5). */
struct attempts {
    struct pollfd list[CALLER_ADDRESSES_MAX];
    size_t count;
    int error; /* of the last one that failed: negative errno, or 0 */
};

static int left_ms(int64_t until_ns)
{
    int64_t left_ns = until_ns - caller_now_ns();
    return left_ns > 0 ? (int)(left_ns / NSEC_PER_MSEC) + 1 : 0;
}

/* One address more; false: it failed at once. */
static bool begin(struct attempts *a, const struct caller_address *address)
{
    _cleanup_close_ int fd =
        socket(address->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int r = fd < 0 ? -1 : connect(fd, &address->any, address->size);
    if (r < 0 && errno != EINPROGRESS) {
        a->error = -errno;
        return false;
    }
    a->list[a->count++] = (struct pollfd){.fd = TAKE_FD(fd), .events = POLLOUT};
    return true;
}

static void end_attempt(struct attempts *a, size_t i)
{
    close(a->list[i].fd);
    a->list[i] = a->list[--a->count];
}

/* The socket of one that is there, or -1. Those that failed are taken out. */
static int take_ready(struct attempts *a)
{
    for (size_t i = a->count; i-- > 0;) {
        int error = 0;
        socklen_t size = sizeof(error);
        if (!a->list[i].revents)
            continue;
        if (getsockopt(a->list[i].fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && !error) {
            int fd = a->list[i].fd;
            a->list[i] = a->list[--a->count];
            return fd;
        }
        a->error = error ? -error : -errno;
        end_attempt(a, i);
    }
    return -1;
}

/* Waits for one of them until then, or until one fails. */
static int wait_for(struct attempts *a, int64_t until_ns)
{
    size_t before = a->count;
    int fd = -1;
    while (fd < 0 && a->count > 0 && a->count == before && left_ms(until_ns) > 0)
        if (poll(a->list, a->count, left_ms(until_ns)) > 0)
            fd = take_ready(a);
    return fd;
}

int caller_connect(const struct caller_address *addresses, size_t count, int64_t deadline_ns)
{
    struct attempts a = {0};
    int fd = -1;
    count = MIN(count, (size_t)CALLER_ADDRESSES_MAX);
    for (size_t i = 0; fd < 0 && (i < count || a.count > 0) && left_ms(deadline_ns) > 0;) {
        bool has_begun = false;
        while (i < count && !has_begun)
            has_begun = begin(&a, &addresses[i++]);
        int64_t next_ns = caller_now_ns() + NEXT_ADDRESS_MS * NSEC_PER_MSEC;
        fd = wait_for(&a, i < count ? MIN(next_ns, deadline_ns) : deadline_ns);
    }
    /* One that has not answered yet says more than one that failed before. */
    int r = fd >= 0 ? fd : a.count > 0 || !a.error ? -ETIMEDOUT : a.error;
    while (a.count > 0)
        end_attempt(&a, a.count - 1);
    return r;
}
