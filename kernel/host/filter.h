// SPDX-License-Identifier: Apache-2.0
/*
 * The seccomp filter of the tasks, made from the table of system calls.
 *
 * A call is checked for its architecture first (x86-64 only, no x32 numbers: ENOSYS), then by
 * number. HOST rows are let through when the rule's check of the argument registers holds, and are
 * notified else. A check looks at both halves of a register where the host takes 64 bits, and at
 * the low half where it takes an int.
 */
#pragma once

#include "lib/base/base.h"

#include <linux/filter.h>

enum filter_rule {
    HOST_ALWAYS,     /* harmless with any arguments */
    HOST_MMAP,       /* anonymous memory with harmless flags; a marked one of the loader stub */
    HOST_SIGACTION,  /* a marked one of the loader stub */
    HOST_MADVISE,    /* the listed advices */
    HOST_FUTEX,      /* no PI operations */
    HOST_ARCH_PRCTL, /* FS and GS base */
    HOST_MEMBARRIER, /* query and the private expedited commands */
    HOST_RSEQ,       /* unless hides_processors */
};

/* What the filter does with one number. */
struct filter_entry {
    enum { FILTER_NOTIFY, FILTER_HOST, FILTER_REFUSE } action;
    enum filter_rule rule;
    int error;
};

/* What a call of the loader stub is known by: struct stub_marks of kernel/guest/protocol.h. */
struct filter_marks {
    uint64_t handler; /* the sixth argument of rt_sigaction */
    uint32_t map;     /* the upper half of the fifth of mmap, of which the host takes the lower */
    /* Tasks may run on processors whose numbers the sandbox doesn't have: rseq(2) is ENOSYS. */
    bool hides_processors;
};

#define FILTER_MAX_INSTRUCTIONS 2048

/*
 * Writes the program for entries[0..count) (the index is the number). The number of instructions,
 * or -E2BIG.
 */
int filter_build(const struct filter_entry *entries, size_t count, struct filter_marks marks,
                 struct sock_filter *program, size_t capacity);
