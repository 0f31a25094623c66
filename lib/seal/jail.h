// SPDX-License-Identifier: Apache-2.0
/*
 * How a process of ours that strangers talk to locks itself up: always the same steps, in an order
 * in which each still may what it needs. Between the two halves it can do what needs neither files
 * nor privileges, but calls that the filter will refuse.
 *
 * Each returns 0, or -errno with *ret_what: which step it was, in words, static.
 */
#pragma once

#include "lib/seal/filter.h"

/* Steps one after the other, until one fails. */
struct seal_step {
    const char *what;
    int (*run)(void); /* 0 or -errno */
};
int seal_run_steps(const struct seal_step *steps, size_t count, const char **ret_what);

/* The way to privileges, files (landlock: begins and enforces what it may), capabilities. */
int seal_jail_enter(int (*landlock)(void), const char **ret_what);

/* What the process may from seal_jail_close() on. */
struct seal_jail {
    uint64_t memory_bytes; /* of data, RLIMIT_DATA */
    const uint32_t *calls; /* as for seal_filter_build(), and the checks too */
    size_t call_count;
    const struct seal_check *checks;
    size_t check_count;
};

/*
 * Resources, looks into the memory, memory that becomes executable, and the filter. Where a
 * sanitizer is built in neither memory nor calls are limited: it makes calls of its own, and maps
 * terabytes.
 */
int seal_jail_close(const struct seal_jail *jail, const char **ret_what);

/* Only the filter, on top of those that are there: for who can do without more than before. */
int seal_jail_filter(const struct seal_jail *jail, const char **ret_what);
