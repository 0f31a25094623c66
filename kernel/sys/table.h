// SPDX-License-Identifier: Apache-2.0
/*
 * The one table of system calls: table.def has exactly one row for each number that Linux x86-64
 * knows, and filter, dispatch and docs/syscalls.md are made from it.
 *
 *   KERNEL(number, name, handler, "limits in words")     answered by handler in this folder
 *   HOST(number, name, rule, "why, and what is checked")  run by the host; rule: what BPF checks
 *                                                         (kernel/host/filter.h); where the check
 * fails, the call is answered by the rule's handler REFUSED(number, name, errno, "why") answered by
 * the filter itself
 *
 * A number without a row is answered ENOSYS.
 */
#pragma once

#include "kernel/core/call.h"
#include "kernel/guest/numbers.h"
#include "kernel/host/filter.h"

enum syscall_kind { SYSCALL_UNKNOWN, SYSCALL_KERNEL, SYSCALL_HOST, SYSCALL_REFUSED };

struct syscall_row {
    const char *name;
    enum syscall_kind kind;
    long (*handler)(struct call *c); /* KERNEL, and HOST rules that can fail */
    int error;                       /* REFUSED */
    int rule;                        /* HOST: enum filter_rule */
    const char *note;
};

/* The row of a number; a row of kind SYSCALL_UNKNOWN for all others. Never NULL. */
const struct syscall_row *syscall_row(int nr);

/* One more than the highest number that has a row. */
size_t syscall_count(void);

/* The tasks' seccomp filter for this table: instructions, -E2BIG, -ENOMEM. See
 * kernel/host/filter.h. */
int syscall_filter(struct filter_marks marks, struct sock_filter *program, size_t capacity);
