// SPDX-License-Identifier: Apache-2.0
/*
 * What a program that is started in a running sandbox is to be: the records of who asks
 * (lib/base/control.h, CONTROL_EXEC), completed by what the sandbox was started with: environment,
 * user, working directory.
 */
#pragma once

#include "sandbox/spec.h"

/* Of the records, for whoever lists programs. */
#define EXEC_RECORDS_SHOWN_BYTES 4096

/* What the sandbox was started with. */
struct exec_base {
    const struct sandbox_spec *spec;
    const struct strv *env; /* its, as secrets that came since have it */
    bool trusts_gateway;    /* its programs have the variables of lib/base/trust.h */
};

/*
 * fd: a file of records; flags: EXEC_TTY and EXEC_NULL_INPUT, to which records of these names are
 * set. 0; *ret a file of the complete ones, to be closed, and *ret_shown, to be freed, the
 * beginning of those that were asked for. -EINVAL: they are none; -E2BIG, -ENOMEM.
 */
int exec_records_make(const struct exec_base *base, int fd, uint32_t flags, int *ret,
                      char **ret_shown, size_t *ret_shown_size);
