// SPDX-License-Identifier: Apache-2.0
/*
 * The Linux that the sandbox says it is, in uname(2) and /proc. The release is the oldest with all
 * of the calls that the table answers; nothing of it says anything about the host.
 */
#pragma once

#define KERNEL_OSTYPE  "Linux"
#define KERNEL_RELEASE "6.6.0-glovebox"
#define KERNEL_VERSION "#1 SMP PREEMPT_DYNAMIC"
