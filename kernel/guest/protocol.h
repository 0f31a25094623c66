// SPDX-License-Identifier: Apache-2.0
/*
 * What the kernel and its code inside the tasks (loader stub, init) say to each other. The stub is
 * freestanding: fixed-size words only. Whatever comes from a task is checked as any guest's data.
 */
#pragma once

#include <stdint.h>

/* SYS_GLOVEBOX_EXEC(plan): the kernel fills the plan in. */
#define STUB_SEGMENT_MAX  64
#define STUB_ARGUMENT_MAX 8192

struct stub_segment {
    uint64_t address, size; /* whole pages; mapped MAP_FIXED_NOREPLACE */
    uint64_t protection;
    uint64_t fd; /* STUB_FD_*: which file, placed at that number; STUB_ANONYMOUS: zeros */
    uint64_t offset;
    uint64_t zero_from, zero_size; /* the tail of the last page that is to be cleared */
};
#define STUB_FD_PROGRAM     0
#define STUB_FD_INTERPRETER 1
#define STUB_ANONYMOUS      (~0ULL)

/*
 * What the filter knows the stub's own calls by, so that they cost no notification: a number in an
 * argument register that the host does not look at. Drawn for each sandbox; the stub erases them
 * before the program begins. Who knew them could replace the host's handlers in its own process,
 * and map what is placed in its own table: no more than itself would be harmed, but a program that
 * is being loaded would not be told from an old one for sure (exec_has_happened).
 */
struct stub_marks {
    uint64_t handler; /* rt_sigaction: the sixth argument */
    uint64_t map;     /* mmap of a placed file: the upper half of the descriptor; lower half 0 */
};

struct stub_plan {
    uint64_t is_init; /* no program: be the sandbox's init */
    struct stub_marks marks;
    uint64_t entry; /* where to jump: the interpreter's or the program's */
    uint64_t phdr, phnum, base, program_entry; /* for the auxiliary vector */
    uint64_t uid, euid, gid, egid, secure;
    uint64_t executable_stack;
    uint64_t blocks_signals; /* on the host: to be undone */
    /* A script: argv[0] is replaced by these NUL-terminated strings; else the count is 0. */
    uint64_t argument_count, argument_bytes;
    uint64_t segment_count;
    /* Last, since the kernel writes of these two no more than is used; the rest is 0. */
    struct stub_segment segments[STUB_SEGMENT_MAX];
    char arguments[STUB_ARGUMENT_MAX];
};

/* SYS_GLOVEBOX_START(handler, restorer, stub_start, stub_end): the last call before the jump. */

/*
 * SYS_GLOVEBOX_INIT(what, address, size): the init's loop. A program that is to be started is a
 * struct init_arguments, with what it points to behind it.
 *   INIT_IDLE, address, size   answered, when there is one: with 0 when it has been written there,
 *                              or with its size when that is more
 *   INIT_MEMORY, address       memory of that size: it is written there
 *   INIT_FAILED, errno         it can't be started
 */
enum { INIT_IDLE, INIT_MEMORY, INIT_FAILED };

/* Addresses are the init's; the arrays end with 0. The strings follow. */
struct init_arguments {
    uint64_t path, argv, envp;
};
