// SPDX-License-Identifier: Apache-2.0
/*
 * What this process asks of newer hosts, and the headers of older ones lack.
 */
#pragma once

#include <linux/seccomp.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS /* Linux 6.6 */
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS      SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

#ifndef MFD_NOEXEC_SEAL /* Linux 6.3 */
#define MFD_NOEXEC_SEAL 8U
#endif

/* struct pidfd_info and PIDFD_GET_INFO of Linux 6.15, linux/pidfd.h. */
struct pidfd_info_exit {
    uint64_t mask;
    uint64_t cgroup_id;
    uint32_t ids[11];
    int32_t exit_code;
};
#define PIDFD_GET_INFO_EXIT _IOWR(0xFF, 11, struct pidfd_info_exit)
#define PIDFD_INFO_EXIT     (1ULL << 3)

#ifndef NS_GET_PID_IN_PIDNS /* Linux 6.11, ioctl_nsfs(2) */
#define NS_GET_PID_IN_PIDNS _IOR(0xb7, 0x8, int)
#endif
