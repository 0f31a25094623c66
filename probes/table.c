// SPDX-License-Identifier: Apache-2.0
/*
 * Each row of the table of system calls that says "refused" is made true: with no arguments, with
 * hostile ones, and with some that Linux would take.
 */
#include "probes/support.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#pragma push_macro("REFUSED")
#undef REFUSED

static const struct row {
    long number;
    int error;
    const char *name;
} rows[] = {
#define KERNEL(number, name, handler, note)
#define HOST(number, name, rule, note)
#define REFUSED(number, name, error, note) {number, error, #name},
#include "kernel/sys/table.def"
#undef KERNEL
#undef HOST
#undef REFUSED
};

static const long known[] = {
#define KERNEL(number, name, handler, note) number,
#define HOST(number, name, rule, note)      number,
#define REFUSED(number, name, error, note)  number,
#include "kernel/sys/table.def"
#undef KERNEL
#undef HOST
#undef REFUSED
};

#pragma pop_macro("REFUSED")

/* Beyond every number that Linux has, and those of the loader stub. */
#define HIGHEST_NUMBER 1100

static bool is_known(long number)
{
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (known[i] == number)
            return true;
    /* Newer hosts run these two past every filter. */
    return number == 335 || number == 336;
}

PROBE(call_unknown_numbers, FILTER,
      .expected = "ENOSYS from every number without a row in the table")
{
    static const long far[] = {-1, -2, 0x7fffffff, 0x80000000L, 0xffffffffL, 1L << 31, 4096, 65536};
    for (size_t i = 0; i < ARRAY_SIZE(far); i++)
        REFUSED(syscall(far[i], 0L, 0L, 0L, 0L, 0L, 0L), ENOSYS);
    for (long number = 0; number < HIGHEST_NUMBER; number++) {
        if (is_known(number))
            continue;
        REFUSED(syscall(number, 0L, 0L, 0L, 0L, 0L, 0L), ENOSYS);
        REFUSED(syscall(number, -1L, -1L, -1L, -1L, -1L, -1L), ENOSYS);
    }
}

static void call_all(long a, long b, long c, long d, long e, long f)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        errno = 0;
        long result = syscall(rows[i].number, a, b, c, d, e, f);
        if (result != -1)
            probe_escaped("%s gives %ld", rows[i].name, result);
        if (errno != rows[i].error)
            probe_unproved("%s: %s, where %s must follow", rows[i].name, strerror(errno),
                           strerror(rows[i].error));
    }
}

PROBE(call_refused_rows_with_nothing, FILTER, .expected = "the errno of its row from each of them")
{
    call_all(0, 0, 0, 0, 0, 0);
}

PROBE(call_refused_rows_with_all_ones, FILTER, .expected = "the errno of its row from each of them")
{
    call_all(-1, -1, -1, -1, -1, -1);
}

PROBE(call_refused_rows_with_good_memory, FILTER,
      .expected = "the errno of its row from each of them")
{
    long p = (long)probe_pages(16, PROT_READ | PROT_WRITE), n = 16;
    call_all(p, p, p, p, p, p);
    call_all(0, p, n, p, n, 0);
    call_all(p, n, p, n, p, n);
    call_all(1, 0, p, n, p, 0);
}

PROBE(call_refused_rows_at_random, FILTER, .expected = "the errno of its row from each of them")
{
    uint32_t state = 9;
    long p = (long)probe_pages(16, PROT_READ | PROT_WRITE);
    for (int i = 0; i < 20; i++) {
        long a[6];
        for (int n = 0; n < 6; n++) {
            uint32_t kind = probe_random(&state) % 4;
            a[n] = kind == 0   ? (long)(probe_random(&state) % 8)
                   : kind == 1 ? p + (long)(probe_random(&state) % 60000)
                   : kind == 2
                       ? (long)(1UL << probe_random(&state) % 64)
                       : (long)((uint64_t)probe_random(&state) << 40 | probe_random(&state));
        }
        call_all(a[0], a[1], a[2], a[3], a[4], a[5]);
    }
}
