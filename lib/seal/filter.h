// SPDX-License-Identifier: Apache-2.0
/*
 * An allowlist of system calls for a process of ours: seccomp(2).
 *
 * A call that is on the list goes through when all checks of its argument registers hold.
 * Everything else (numbers of x32 and other architectures too) ends the process with SIGSYS: it
 * makes no call that its code does not, so one that it does make is an attacker's.
 */
#pragma once

#include "lib/base/base.h"

#include <linux/filter.h>
#include <sys/syscall.h>

enum seal_test {
    SEAL_ANY_OF,    /* the register is one of the values */
    SEAL_NO_OTHERS, /* it has no bits beside those of the first value */
};

struct seal_check {
    uint32_t nr;
    int argument; /* 0 to 5 */
    enum seal_test test;
    const uint32_t *values;
    size_t count;
    /*
     * The host takes all 64 bits: the upper half must be 0. Else it takes an int, and what is in
     * the upper half means nothing.
     */
    bool is_long;
};

/*
 * Of what a constant list of checks is made: the call's name, INT or LONG for what the host
 * takes, and the values.
 */
#define SEAL_CHECK(call, argument, test, width, ...)                           \
    {                                                                          \
        SYS_##call, argument, test, (const uint32_t[]){__VA_ARGS__},           \
            sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), SEAL_##width \
    }
#define SEAL_INT  false
#define SEAL_LONG true

#define SEAL_FILTER_MAX 1024 /* instructions */

/*
 * Writes the program. calls: numbers in rising order; checks: in any order, several of one call
 * must all hold, and each is of a call on the list. The number of instructions, -E2BIG, -ENOMEM, or
 * -EINVAL when a list is not as said here.
 */
int seal_filter_build(const uint32_t *calls, size_t call_count, const struct seal_check *checks,
                      size_t check_count, struct sock_filter *program, size_t capacity);

/*
 * Puts it on the calling process; no_new_privs must be set. 0 or -errno. The host's mitigations for
 * filtered processes of old (SECCOMP_FILTER_FLAG_SPEC_ALLOW) are left to lib/seal/processor.h.
 */
int seal_filter_install(const struct sock_filter *program, int size);
