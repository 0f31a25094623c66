// SPDX-License-Identifier: Apache-2.0
#include "lib/seal/privileges.h"

#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#ifndef PR_SET_MDWE /* Linux 6.3 */
#define PR_SET_MDWE              65
#define PR_MDWE_REFUSE_EXEC_GAIN (1UL << 0)
#endif

#define SECURE_BITS \
    (SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED)

int seal_no_new_privileges(void)
{
    /* Hosts know more capabilities than the headers here, or fewer; past the last it is EINVAL. */
    for (int cap = 0; cap < 64; cap++)
        if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0) {
            if (errno != EINVAL)
                return -errno;
            break;
        }
    if (prctl(PR_SET_SECUREBITS, SECURE_BITS, 0, 0, 0) < 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    return 0;
}

int seal_drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[2] = {{0}};
    return syscall(SYS_capset, &header, none) < 0 ? -errno : 0;
}

int seal_limit_resources(void)
{
    static const int resources[] = {RLIMIT_CORE,     RLIMIT_NPROC,  RLIMIT_MEMLOCK,
                                    RLIMIT_MSGQUEUE, RLIMIT_RTPRIO, RLIMIT_NICE};
    const struct rlimit none = {0, 0};
    for (size_t i = 0; i < ARRAY_SIZE(resources); i++)
        if (setrlimit((enum __rlimit_resource)resources[i], &none) < 0)
            return -errno;
    return 0;
}

int seal_not_dumpable(void)
{
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0;
}

bool seal_deny_write_execute(void)
{
    return prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) == 0;
}
