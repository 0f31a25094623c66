// SPDX-License-Identifier: Apache-2.0
/*
 * What depends on the processor: numbers and codes of x86-64. The signal frame is in frame.h, the
 * stub's entry and handlers in stub_entry.S.
 */
#pragma once

#include <linux/audit.h>

#define ARCH_AUDIT   AUDIT_ARCH_X86_64
#define ARCH_MACHINE "x86_64" /* uname -m */
#define ARCH_ELF     62       /* EM_X86_64 */

/* asm/prctl.h; named apart since that header's names clash with other libcs'. */
#define ARCH_SET_GS_CODE 0x1001
#define ARCH_SET_FS_CODE 0x1002
#define ARCH_GET_FS_CODE 0x1003
#define ARCH_GET_GS_CODE 0x1004

/* Addresses that programs are placed at: below the host's mmap base, above the 32-bit range. */
#define ARCH_PIE_BASE 0x555555554000ULL
#define ARCH_USER_END 0x7ffffffff000ULL
