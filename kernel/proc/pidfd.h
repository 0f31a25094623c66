// SPDX-License-Identifier: Apache-2.0
/*
 * Process descriptors of the guest: pidfd_open(2).
 */
#pragma once

#include "kernel/proc/process.h"

int pidfd_create(struct process *p, int flags, struct file **ret);

/* The process of a pidfd; NULL when it was reaped, with *ret_is_pidfd saying whether f is one. */
struct process *pidfd_process(const struct file *f, bool *ret_is_pidfd);

void pidfd_process_ended(struct process *p);
/* p is about to be freed: its descriptors outlive it. */
void pidfd_process_gone(struct process *p);
