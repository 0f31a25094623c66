// SPDX-License-Identifier: Apache-2.0
#include "kernel/sys/table.h"

#include "kernel/host/filter.h"
#include "kernel/sys/handlers.h"

/* What answers a HOST row whose check failed. */
#define HANDLER_HOST_ALWAYS     NULL
#define HANDLER_HOST_MMAP       sys_mmap
#define HANDLER_HOST_SIGACTION  sys_rt_sigaction
#define HANDLER_HOST_MADVISE    sys_madvise
#define HANDLER_HOST_FUTEX      sys_futex
#define HANDLER_HOST_ARCH_PRCTL sys_arch_prctl
#define HANDLER_HOST_MEMBARRIER sys_membarrier
#define HANDLER_HOST_RSEQ       NULL

#define KERNEL(number, name, handler, note) [number] = {#name, SYSCALL_KERNEL, handler, 0, 0, note},
#define HOST(number, name, rule, note) \
    [number] = {#name, SYSCALL_HOST, HANDLER_##rule, 0, rule, note},
#define REFUSED(number, name, error, note) \
    [number] = {#name, SYSCALL_REFUSED, NULL, error, 0, note},

static const struct syscall_row rows[] = {
#include "kernel/sys/table.def"
};

#undef KERNEL
#undef HOST
#undef REFUSED

static const struct syscall_row unknown = {"unknown", SYSCALL_UNKNOWN, NULL, ENOSYS, 0, ""};

size_t syscall_count(void)
{
    return ARRAY_SIZE(rows);
}

const struct syscall_row *syscall_row(int nr)
{
    if (nr < 0 || (size_t)nr >= ARRAY_SIZE(rows) || rows[nr].kind == SYSCALL_UNKNOWN)
        return &unknown;
    return &rows[nr];
}

int syscall_filter(struct filter_marks marks, struct sock_filter *program, size_t capacity)
{
    static struct filter_entry entries[ARRAY_SIZE(rows)];
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct syscall_row *row = syscall_row((int)i);
        struct filter_entry *e = &entries[i];
        if (row->kind == SYSCALL_KERNEL)
            *e = (struct filter_entry){.action = FILTER_NOTIFY};
        else if (row->kind == SYSCALL_HOST)
            *e = (struct filter_entry){.action = FILTER_HOST, .rule = (enum filter_rule)row->rule};
        else
            *e = (struct filter_entry){.action = FILTER_REFUSE, .error = row->error};
    }
    return filter_build(entries, ARRAY_SIZE(rows), marks, program, capacity);
}
