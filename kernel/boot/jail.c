// SPDX-License-Identifier: Apache-2.0
#include "kernel/boot/jail.h"

#include "kernel/boot/control.h"
#include "kernel/boot/jail_calls.h"
#include "lib/seal/landlock.h"
#include "lib/seal/privileges.h"
#include "lib/seal/processor.h"

#include <fcntl.h>
#include <stdio.h>

static struct seal_report report;
static struct seal_landlock landlock = {.ruleset = -1};
static uint32_t allowed_to_miss; /* bits by enum seal_control */

static bool has_landlock(void)
{
    return landlock.ruleset >= 0;
}

/* The host can't: fine if the user said so. */
static int miss(enum seal_control c, const char *why, const char *advice, struct setup_error *e)
{
    if (allowed_to_miss & 1u << c) {
        seal_note(&report, c, SEAL_MISSING, why);
        return 0;
    }
    snprintf(e->text, sizeof(e->text), "%s: %s; %s, or do without it: --allow-missing %s",
             seal_control_name(c), why, advice, seal_control_name(c));
    return -EOPNOTSUPP;
}

static int begin_landlock(struct setup_error *e)
{
    int r = seal_landlock_begin(&landlock, 0);
    if (r == -EOPNOTSUPP)
        return miss(SEAL_LANDLOCK, "this Linux has none, or has it switched off",
                    "start it with landlock in its lsm= parameter", e);
    return r < 0 ? setup_fail(e, -r, "landlock") : 0;
}

/* A sanitizer's reports name functions, out of the program's own file. */
static int allow_sanitizer(struct setup_error *e)
{
    int r = 0;
#ifdef __SANITIZE_ADDRESS__
    _cleanup_close_ int fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);
    r = jail_allow(fd, SEAL_READ_FILES, e);
#endif
    return r;
}

static int begin_core_scheduling(struct setup_error *e)
{
    const char *why;
    enum seal_state s = seal_core_scheduling(&why);
    if (s == SEAL_MISSING)
        return miss(SEAL_CORE_SCHEDULING, why, "boot it with nosmt", e);
    seal_note(&report, SEAL_CORE_SCHEDULING, s, why);
    return 0;
}

static int begin_speculation(bool is_asked, struct setup_error *e)
{
    const char *why = "--speculation-barriers switches it on";
    enum seal_state s = is_asked ? seal_speculation(&why) : SEAL_OFF;
    if (s == SEAL_MISSING)
        return miss(SEAL_SPECULATION, why, "boot it without mitigations=off", e);
    seal_note(&report, SEAL_SPECULATION, s, why);
    return 0;
}

int jail_begin(const struct spec *spec, struct setup_error *e)
{
    allowed_to_miss = spec->allow_missing;
    int r = begin_core_scheduling(e);
    if (r == 0)
        r = begin_speculation(spec->speculation_barriers, e);
    if (r == 0)
        r = begin_landlock(e);
    return r == 0 ? allow_sanitizer(e) : r;
}

int jail_allow(int fd, unsigned access, struct setup_error *e)
{
    int r = has_landlock() ? seal_landlock_allow(&landlock, fd, access) : 0;
    return r < 0 ? setup_fail(e, -r, "landlock: a rule") : 0;
}

int jail_confine(struct setup_error *e)
{
    char why[SEAL_WHY_MAX];
    int r = seal_no_new_privileges();
    if (r < 0)
        return setup_fail(e, -r, "give up the way to privileges");
    seal_note(&report, SEAL_ROOT, SEAL_IN_FORCE, "");
    seal_note(&report, SEAL_NO_NEW_PRIVS, SEAL_IN_FORCE, "");
    if (!has_landlock())
        return 0;
    snprintf(why, sizeof(why), "ABI %d", landlock.abi);
    r = seal_landlock_enforce(&landlock);
    if (r < 0)
        return setup_fail(e, -r, "landlock: enforce the rules");
    seal_note(&report, SEAL_LANDLOCK, SEAL_IN_FORCE, why);
    return 0;
}

int jail_drop_rights(struct setup_error *e)
{
    int r = seal_drop_capabilities();
    if (r < 0)
        return setup_fail(e, -r, "drop the capabilities");
    seal_note(&report, SEAL_CAPABILITIES, SEAL_IN_FORCE, "");
    r = seal_limit_resources();
    if (r < 0)
        return setup_fail(e, -r, "set the kernel's resource limits");
    seal_note(&report, SEAL_RESOURCE_LIMITS, SEAL_IN_FORCE, "");
    r = seal_not_dumpable();
    if (r < 0)
        return setup_fail(e, -r, "forbid looks into the kernel's memory");
    seal_note(&report, SEAL_NOT_DUMPABLE, SEAL_IN_FORCE, "");
    return 0;
}

int jail_close(struct setup_error *e)
{
    char text[SEAL_REPORT_MAX];
    bool by_host = seal_deny_write_execute();
    int count = jail_filter_calls();
    if (count < 0)
        return setup_fail(e, -count, "seccomp");
    seal_note(&report, SEAL_EXECUTABLE_MEMORY, SEAL_IN_FORCE,
              by_host ? "seccomp and PR_SET_MDWE" : "seccomp; PR_SET_MDWE needs Linux 6.3");
    snprintf(text, sizeof(text), "%d calls", count);
    seal_note(&report, SEAL_SECCOMP, SEAL_IN_FORCE, text);
    control_send(CONTROL_SEALED, 0, text, seal_report_write(&report, text));
    return 0;
}
