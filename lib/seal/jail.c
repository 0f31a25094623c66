// SPDX-License-Identifier: Apache-2.0
#include "lib/seal/jail.h"

#include "lib/seal/privileges.h"

#include <sys/resource.h>

int seal_run_steps(const struct seal_step *steps, size_t count, const char **ret_what)
{
    for (size_t i = 0; i < count; i++) {
        int r = steps[i].run();
        if (r < 0) {
            *ret_what = steps[i].what;
            return r;
        }
    }
    return 0;
}

int seal_jail_enter(int (*landlock)(void), const char **ret_what)
{
    const struct seal_step steps[] = {
        {"give up the way to privileges", seal_no_new_privileges},
        {"landlock", landlock},
        {"drop the capabilities", seal_drop_capabilities},
    };
    return seal_run_steps(steps, ARRAY_SIZE(steps), ret_what);
}

#ifdef __SANITIZE_ADDRESS__
static int limit_memory(uint64_t bytes _unused_)
{
    return 0;
}

int seal_jail_filter(const struct seal_jail *jail _unused_, const char **ret_what _unused_)
{
    return 0;
}
#else
static int limit_memory(uint64_t bytes)
{
    const struct rlimit limit = {bytes, bytes};
    return setrlimit(RLIMIT_DATA, &limit) < 0 ? -errno : 0;
}

int seal_jail_filter(const struct seal_jail *jail, const char **ret_what)
{
    static struct sock_filter program[SEAL_FILTER_MAX];
    int size = seal_filter_build(jail->calls, jail->call_count, jail->checks, jail->check_count,
                                 program, ARRAY_SIZE(program));
    int r = size < 0 ? size : seal_filter_install(program, size);
    if (r < 0)
        *ret_what = "seccomp";
    return r;
}
#endif

int seal_jail_close(const struct seal_jail *jail, const char **ret_what)
{
    static const struct seal_step steps[] = {
        {"limit resources", seal_limit_resources},
        {"forbid looks into the memory", seal_not_dumpable},
    };
    seal_deny_write_execute();
    int r = seal_run_steps(steps, ARRAY_SIZE(steps), ret_what);
    if (r < 0)
        return r;
    r = limit_memory(jail->memory_bytes);
    if (r < 0) {
        *ret_what = "limit memory";
        return r;
    }
    return seal_jail_filter(jail, ret_what);
}
