// SPDX-License-Identifier: Apache-2.0
/*
 * Host descriptors and guest addresses have types of their own, so that neither can be handed over
 * where the other, a guest's descriptor number, or a pointer of ours is meant.
 *
 * host calls: close
 */
#pragma once

#include "lib/base/base.h"

/* A descriptor of the host, owned by the kernel process. A guest's descriptor is a plain int. */
struct hostfd {
    int n; /* -1: none */
};

#define HOSTFD_NONE ((struct hostfd){-1})

static inline bool hostfd_is_open(struct hostfd fd)
{
    return fd.n >= 0;
}

/* Closes and forgets; nothing happens where there is none. */
static inline void hostfd_close(struct hostfd *fd)
{
    if (fd->n >= 0)
        close(fd->n);
    fd->n = -1;
}

/* An address in a task's memory. Never dereferenced here: see kernel/core/memory.h. */
struct gaddr {
    uint64_t v;
};

#define GADDR_NULL ((struct gaddr){0})

static inline struct gaddr gaddr_at(uint64_t v)
{
    return (struct gaddr){v};
}

/* base + offset; wraps like an address does (a wrapped one faults when it is used). */
static inline struct gaddr gaddr_plus(struct gaddr base, uint64_t offset)
{
    return (struct gaddr){base.v + offset};
}
