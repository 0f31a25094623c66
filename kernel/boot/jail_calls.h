// SPDX-License-Identifier: Apache-2.0
/*
 * The last wall of the jail: which system calls of the host this process can make at all, and with
 * which arguments.
 *
 * A file whose code needs calls says so in a comment beside that code, "host calls:" and their
 * names. tools/host_calls gathers them into kernel/boot/host_calls.def, from which the filter is
 * made, and into docs/threat-model.md.
 */
#pragma once

#include "lib/base/base.h"

/*
 * Ends the process at every other call from now on. The number of calls that are left, or -errno.
 * no_new_privs must be set.
 */
int jail_filter_calls(void);
