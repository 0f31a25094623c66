// SPDX-License-Identifier: Apache-2.0
#include "lib/seal/processor.h"

#include <fcntl.h>
#include <sys/prctl.h>

#ifndef PR_SCHED_CORE /* Linux 5.14 */
#define PR_SCHED_CORE                    62
#define PR_SCHED_CORE_CREATE             1
#define PR_SCHED_CORE_SCOPE_THREAD_GROUP 1
#endif

/* Whether two threads share a core anywhere; yes, when nobody says. */
static bool has_threads(void)
{
    char c = '1';
    _cleanup_close_ int fd = open("/sys/devices/system/cpu/smt/active", O_RDONLY | O_CLOEXEC);
    return fd < 0 || read(fd, &c, 1) != 1 || c != '0';
}

enum seal_state seal_core_scheduling(const char **ret_why)
{
    *ret_why = "";
    if (prctl(PR_SCHED_CORE, PR_SCHED_CORE_CREATE, 0, PR_SCHED_CORE_SCOPE_THREAD_GROUP, 0) == 0)
        return SEAL_IN_FORCE;
    int error = errno;
    /* ENODEV: it is there, and no core has threads. EINVAL: it is not there. EPERM: a filter. */
    if (error == ENODEV || !has_threads()) {
        *ret_why = "no core of this machine has threads";
        return SEAL_NOT_NEEDED;
    }
    *ret_why = error == EINVAL ? "this Linux was built without CONFIG_SCHED_CORE"
                               : "prctl(PR_SCHED_CORE) fails, as where a filter refuses it";
    return SEAL_MISSING;
}

static enum seal_state switch_off(unsigned long what)
{
    int now = prctl(PR_GET_SPECULATION_CTRL, what, 0, 0, 0);
    if (now == PR_SPEC_NOT_AFFECTED)
        return SEAL_NOT_NEEDED;
    if (now > 0 && !(now & PR_SPEC_ENABLE))
        return SEAL_IN_FORCE;
    if (prctl(PR_SET_SPECULATION_CTRL, what, PR_SPEC_FORCE_DISABLE, 0, 0) < 0)
        return SEAL_MISSING;
    return SEAL_IN_FORCE;
}

enum seal_state seal_speculation(const char **ret_why)
{
    enum seal_state store = switch_off(PR_SPEC_STORE_BYPASS);
    enum seal_state branch = switch_off(PR_SPEC_INDIRECT_BRANCH);
    *ret_why = "";
    if (store == SEAL_MISSING || branch == SEAL_MISSING) {
        *ret_why = "this Linux runs without these mitigations, or can't";
        return SEAL_MISSING;
    }
    if (store == SEAL_NOT_NEEDED && branch == SEAL_NOT_NEEDED) {
        *ret_why = "this processor is not affected";
        return SEAL_NOT_NEEDED;
    }
    return SEAL_IN_FORCE;
}
