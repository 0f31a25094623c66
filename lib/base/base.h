// SPDX-License-Identifier: Apache-2.0
/*
 * The few words every room uses: array sizes, overflow-checked sizes, cleanup attributes.
 *
 * Errors are negative errno throughout; an output argument is untouched on failure.
 *
 * host calls: close
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define MIN(a, b)                          \
    ({                                     \
        __typeof__(a) min_a_ = (a);        \
        __typeof__(b) min_b_ = (b);        \
        min_a_ < min_b_ ? min_a_ : min_b_; \
    })
#define MAX(a, b)                          \
    ({                                     \
        __typeof__(a) max_a_ = (a);        \
        __typeof__(b) max_b_ = (b);        \
        max_a_ > max_b_ ? max_a_ : max_b_; \
    })

#define container_of(ptr, type, member)                                \
    ({                                                                 \
        const __typeof__(((type *)0)->member) *container_ptr_ = (ptr); \
        (type *)((char *)container_ptr_ - offsetof(type, member));     \
    })

#define NSEC_PER_SEC  1000000000LL
#define NSEC_PER_MSEC 1000000LL
#define NSEC_PER_USEC 1000LL

#define GUEST_PAGE_SIZE 4096UL

/* *ret = a + b (a * b). False, and *ret untouched, when it does not fit. */
static inline bool size_add(size_t a, size_t b, size_t *ret)
{
    size_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return false;
    *ret = sum;
    return true;
}

static inline bool size_mul(size_t a, size_t b, size_t *ret)
{
    size_t product;
    if (__builtin_mul_overflow(a, b, &product))
        return false;
    *ret = product;
    return true;
}

static inline void base_freep(void *p)
{
    free(*(void **)p);
}

static inline void base_closep(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

/* Freed (closed) when the variable goes out of scope. Set to NULL (-1) to keep what it held. */
#define _cleanup_free_  __attribute__((cleanup(base_freep)))
#define _cleanup_close_ __attribute__((cleanup(base_closep)))

#define _printf_(fmt, args) __attribute__((format(printf, fmt, args)))
#define _unused_            __attribute__((unused))
#define _noreturn_          __attribute__((noreturn))

/* Moves the pointer out of a variable that has a cleanup attribute: return TAKE_PTR(x); */
#define TAKE_PTR(p)                \
    ({                             \
        __typeof__(p) take_ = (p); \
        (p) = NULL;                \
        take_;                     \
    })
#define TAKE_FD(fd)       \
    ({                    \
        int take_ = (fd); \
        (fd) = -1;        \
        take_;            \
    })
