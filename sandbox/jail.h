// SPDX-License-Identifier: Apache-2.0
/*
 * The starter's part of the jail around a sandbox's kernel (kernel/boot/jail.h has the rest): the
 * namespaces that it starts in, and what is known of all controls together.
 */
#pragma once

#include "lib/seal/report.h"
#include "sandbox/error.h"

/*
 * The flags of clone(2) for a new kernel process, noted in r with what else this side sees to. Only
 * namespaces that may miss (bits by enum seal_control) and that this machine hasn't are left out.
 */
uint64_t jail_namespaces(uint32_t allow_missing, struct seal_report *r);

/* The control of an --allow-missing: 0 and its bit in *set, or -EINVAL and "REASON; NEXT STEP". */
int jail_allow_missing(uint32_t *set, const char *name, struct sandbox_error *e);
