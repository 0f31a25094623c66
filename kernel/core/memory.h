// SPDX-License-Identifier: Apache-2.0
/*
 * Task memory: copied in and out, once, never mapped.
 *
 * Rules: what is read is copied into our own memory, and the copy is checked and used; the same
 * address is not read again for the same purpose, since another thread may have changed it. The
 * copies respect page protection (process_vm_readv(2)), so a write to a read-only page is EFAULT.
 */
#pragma once

#include "kernel/host/hostfd.h"

#include <sys/uio.h>

/* The memory of one task, as the host knows it: any thread id of it, in the kernel's PID namespace.
 */
struct guest_memory {
    pid_t host_tid;
};

/* TASK_SIZE_MAX of x86-64: no byte of a user buffer lies at or above it. */
#define GUEST_ADDRESS_END 0x7ffffffff000ULL

#define GUEST_PATH_MAX 4096         /* PATH_MAX of Linux, with the NUL */
#define GUEST_IOV_MAX  1024         /* UIO_MAXIOV */
#define GUEST_RW_MAX   0x7ffff000UL /* MAX_RW_COUNT: no single transfer is larger */

/* Copies size bytes. 0, or -EFAULT unless all could be copied (the output may then be half
 * written). */
int guest_read(struct guest_memory m, void *dst, struct gaddr src, size_t size);
int guest_write(struct guest_memory m, struct gaddr dst, const void *src, size_t size);

/* Copies what can be copied; the number of bytes, or -EFAULT when the first byte could not be. */
ssize_t guest_read_some(struct guest_memory m, void *dst, struct gaddr src, size_t size);
ssize_t guest_write_some(struct guest_memory m, struct gaddr dst, const void *src, size_t size);

/*
 * Copies a string with its NUL. Its length without the NUL, -EFAULT, or -ENAMETOOLONG when no NUL
 * is found within size bytes.
 */
ssize_t guest_read_string(struct guest_memory m, char *dst, struct gaddr src, size_t size);

/*
 * A cursor over the buffers of one transfer: a task's (one or an iovec array, copied and checked
 * once at init), or our own memory, for callers inside the kernel. File operations see only this.
 */
struct uio {
    struct guest_memory memory; /* host_tid 0: the iov are our own addresses */
    struct iovec *iov;          /* == &single, or heap */
    struct iovec single;
    size_t iov_count, iov_index; /* iov[iov_index] is consumed from its front */
    size_t left;                 /* bytes that remain */
};

/* One buffer. size is cut to GUEST_RW_MAX. Nothing to undo, but uio_done() does no harm. */
void uio_init_guest(struct uio *u, struct guest_memory m, struct gaddr addr, size_t size);
void uio_init_kernel(struct uio *u, void *data, size_t size);

/*
 * An iovec array of the task. -EINVAL: count over GUEST_IOV_MAX or a length that is negative as
 * ssize_t; -EFAULT; -ENOMEM. The total is cut to GUEST_RW_MAX. On success end with uio_done().
 */
int uio_init_guest_iov(struct uio *u, struct guest_memory m, struct gaddr iov, size_t count);
void uio_done(struct uio *u);

/* Cuts size bytes off the front. Addresses of a guest are any numbers: no arithmetic of pointers.
 */
static inline void iovec_advance(struct iovec *v, size_t size)
{
    v->iov_base = (void *)((uintptr_t)v->iov_base + size);
    v->iov_len -= size;
}

/*
 * Copies up to size bytes to (from) the caller's buffers and advances. The number of bytes copied,
 * less than size at the end of the buffers or at a bad page; -EFAULT when a bad page stopped it at
 * once.
 */
ssize_t uio_copy_out(struct uio *u, const void *src, size_t size);
ssize_t uio_copy_in(struct uio *u, void *dst, size_t size);

/* As uio_copy_out() with zeros. */
ssize_t uio_zero_out(struct uio *u, size_t size);
