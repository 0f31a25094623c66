// SPDX-License-Identifier: Apache-2.0
#include "kernel/core/memory.h"

#include "kernel/host/host.h"

ssize_t guest_read_some(struct guest_memory m, void *dst, struct gaddr src, size_t size)
{
    if (size == 0)
        return 0;
    ssize_t n = host->read_memory(m.host_tid, dst, src.v, size);
    return n > 0 ? n : -EFAULT;
}

ssize_t guest_write_some(struct guest_memory m, struct gaddr dst, const void *src, size_t size)
{
    if (size == 0)
        return 0;
    ssize_t n = host->write_memory(m.host_tid, dst.v, src, size);
    return n > 0 ? n : -EFAULT;
}

int guest_read(struct guest_memory m, void *dst, struct gaddr src, size_t size)
{
    return guest_read_some(m, dst, src, size) == (ssize_t)size ? 0 : -EFAULT;
}

int guest_write(struct guest_memory m, struct gaddr dst, const void *src, size_t size)
{
    return guest_write_some(m, dst, src, size) == (ssize_t)size ? 0 : -EFAULT;
}

/*
 * Most strings are short and end before their page does: one copy up to the page's end (or 256
 * bytes) is enough for them. A copy never crosses into a page that may not be there.
 */
ssize_t guest_read_string(struct guest_memory m, char *dst, struct gaddr src, size_t size)
{
    size_t done = 0;
    while (done < size) {
        uint64_t at = src.v + done;
        size_t chunk = MIN(size - done, (size_t)(GUEST_PAGE_SIZE - (at & (GUEST_PAGE_SIZE - 1))));
        chunk = MIN(chunk, (size_t)256 + done);
        ssize_t n = guest_read_some(m, dst + done, gaddr_at(at), chunk);
        if (n < 0)
            return n;
        const char *end = memchr(dst + done, '\0', (size_t)n);
        if (end)
            return end - dst;
        done += (size_t)n;
    }
    return -ENAMETOOLONG;
}

void uio_init_guest(struct uio *u, struct guest_memory m, struct gaddr addr, size_t size)
{
    size = MIN(size, (size_t)GUEST_RW_MAX);
    *u = (struct uio){.memory = m, .iov_count = 1, .left = size};
    u->single = (struct iovec){(void *)(uintptr_t)addr.v, size};
    u->iov = &u->single;
}

void uio_init_kernel(struct uio *u, void *data, size_t size)
{
    *u = (struct uio){.iov_count = 1, .left = size};
    u->single = (struct iovec){data, size};
    u->iov = &u->single;
}

/* __import_iovec() of Linux: lengths first, then whether the range can be a program's. */
static int check_iov(const struct iovec *iov, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if ((ssize_t)iov[i].iov_len < 0)
            return -EINVAL;
    for (size_t i = 0; i < count; i++) {
        size_t size = count == 1 ? MIN(iov[i].iov_len, GUEST_RW_MAX) : iov[i].iov_len;
        if (size > GUEST_ADDRESS_END || (uint64_t)iov[i].iov_base > GUEST_ADDRESS_END - size)
            return -EFAULT;
    }
    return 0;
}

int uio_init_guest_iov(struct uio *u, struct guest_memory m, struct gaddr iov, size_t count)
{
    if (count > GUEST_IOV_MAX)
        return -EINVAL;
    _cleanup_free_ struct iovec *copy = NULL;
    if (count > 0) {
        copy = calloc(count, sizeof(*copy));
        if (!copy)
            return -ENOMEM;
        int r = guest_read(m, copy, iov, count * sizeof(*copy));
        if (r == 0)
            r = check_iov(copy, count);
        if (r < 0)
            return r;
    }
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        copy[i].iov_len = MIN(copy[i].iov_len, GUEST_RW_MAX - left);
        left += copy[i].iov_len;
    }
    *u = (struct uio){.memory = m, .iov = TAKE_PTR(copy), .iov_count = count, .left = left};
    return 0;
}

void uio_done(struct uio *u)
{
    if (u->iov != &u->single)
        free(u->iov);
    u->iov = NULL;
    u->left = 0;
}

enum direction { COPY_OUT, COPY_IN, ZERO_OUT };

static const char zeros[65536];

/* One piece that lies within one buffer: bytes copied, 0 or less at a bad page. */
static ssize_t copy_piece(struct uio *u, enum direction direction, char *data, size_t size)
{
    char *at = u->iov[u->iov_index].iov_base;
    if (direction == ZERO_OUT) {
        data = (char *)zeros;
        size = MIN(size, sizeof(zeros));
    }
    if (u->memory.host_tid == 0) {
        if (direction == COPY_IN)
            memcpy(data, at, size);
        else
            memcpy(at, data, size);
        return (ssize_t)size;
    }
    struct gaddr addr = gaddr_at((uintptr_t)at);
    if (direction == COPY_IN)
        return guest_read_some(u->memory, data, addr, size);
    return guest_write_some(u->memory, addr, data, size);
}

static ssize_t uio_copy(struct uio *u, enum direction direction, char *data, size_t size)
{
    size_t done = 0;
    while (done < size && u->left > 0) {
        struct iovec *v = &u->iov[u->iov_index];
        if (v->iov_len == 0) {
            u->iov_index++;
            continue;
        }
        size_t piece = MIN(size - done, v->iov_len);
        ssize_t n = copy_piece(u, direction, data ? data + done : NULL, piece);
        if (n <= 0)
            return done > 0 ? (ssize_t)done : -EFAULT;
        iovec_advance(v, (size_t)n);
        u->left -= (size_t)n;
        done += (size_t)n;
        if ((size_t)n < piece && direction != ZERO_OUT)
            return (ssize_t)done;
    }
    return (ssize_t)done;
}

ssize_t uio_copy_out(struct uio *u, const void *src, size_t size)
{
    return uio_copy(u, COPY_OUT, (char *)src, size);
}

ssize_t uio_copy_in(struct uio *u, void *dst, size_t size)
{
    return uio_copy(u, COPY_IN, dst, size);
}

ssize_t uio_zero_out(struct uio *u, size_t size)
{
    return uio_copy(u, ZERO_OUT, NULL, size);
}
