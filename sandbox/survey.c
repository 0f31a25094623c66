// SPDX-License-Identifier: Apache-2.0
#include "sandbox/survey.h"

#include "lib/seal/landlock.h"
#include "sandbox/host.h"

#include <linux/landlock.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#ifndef PR_SCHED_CORE
#define PR_SCHED_CORE     62
#define PR_SCHED_CORE_GET 0
#endif

#define ADVICE_LINUX "use Linux 6.6 or newer"

const char *survey_state_name(enum survey_state state)
{
    static const char *const names[] = {
        [SURVEY_GOOD] = "good", [SURVEY_DEGRADED] = "degraded", [SURVEY_MISSING] = "missing"};
    return names[state];
}

struct survey_finding *survey_find(struct survey *s, const char *name, const char *format, ...)
{
    static struct survey_finding spare;
    struct survey_finding *f = s->count < SURVEY_FINDINGS_MAX ? &s->findings[s->count++] : &spare;
    va_list args;
    *f = (struct survey_finding){.name = name};
    va_start(args, format);
    vsnprintf(f->found, sizeof(f->found), format, args);
    va_end(args);
    return f;
}

void survey_lacks(struct survey_finding *f, enum survey_state state, const char *cost,
                  const char *remedy)
{
    f->state = state;
    snprintf(f->cost, sizeof(f->cost), "%s", cost);
    snprintf(f->remedy, sizeof(f->remedy), "%s", remedy);
}

void survey_lacks_by_error(struct survey_finding *f, enum survey_state state,
                           const struct sandbox_error *e)
{
    static const char host[] = "host: ";
    char cost[SURVEY_TEXT_BYTES];
    const char *end = strrchr(e->text, ';'), *text = e->text;
    /* That it is about the host is said by where it stands. */
    if (!strncmp(text, host, sizeof(host) - 1))
        text += sizeof(host) - 1;
    snprintf(cost, sizeof(cost), "%.*s", end ? (int)(end - text) : (int)sizeof(cost) - 1, text);
    survey_lacks(f, state, cost, end ? end + 1 + strspn(end + 1, " ") : "");
}

bool survey_is_enough(const struct survey *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->findings[i].state == SURVEY_MISSING)
            return false;
    return true;
}

static void survey_linux(struct survey *s)
{
    struct utsname name;
    struct sandbox_error e;
    bool slow = false;
    if (uname(&name) < 0)
        return;
    struct survey_finding *f = survey_find(s, "Linux", "%s", name.release);
    int r = sandbox_check_release(name.release, &slow, &e);
    if (r < 0)
        survey_lacks_by_error(f, SURVEY_MISSING, &e);
    else if (slow)
        survey_lacks(f, SURVEY_DEGRADED,
                     "each system call takes about ten times as long as it could", ADVICE_LINUX);
    f = survey_find(s, "processor", "%s", name.machine);
    if (strcmp(name.machine, "x86_64"))
        survey_lacks(f, SURVEY_MISSING, "Glovebox knows x86-64 only", "use such a machine");
}

static void survey_landlock(struct survey *s)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version >= SEAL_LANDLOCK_OLDEST) {
        survey_find(s, "Landlock", "ABI %ld", version);
        return;
    }
    survey_lacks(survey_find(s, "Landlock", "none (%s)", version < 0 ? strerror(errno) : "ABI 1"),
                 SURVEY_MISSING,
                 "one wall less around a sandbox's kernel: it is refused without --allow-missing "
                 "landlock",
                 "boot with lsm=landlock,... on Linux 5.19 or newer");
}

/* Programs of different sandboxes never share a core at once, where Linux can see to it. */
static void survey_core_scheduling(struct survey *s)
{
    unsigned long cookie = 0;
    /* Asking for one's own is harmless, and says whether the host has it at all. */
    if (prctl(PR_SCHED_CORE, PR_SCHED_CORE_GET, 0, 0, &cookie) == 0) {
        survey_find(s, "core scheduling", "there");
        return;
    }
    int error = errno;
    if (error == ENODEV || sandbox_read_setting("/sys/devices/system/cpu/smt/active") == 0) {
        survey_find(s, "core scheduling", "not needed: a core runs one thread at a time");
        return;
    }
    survey_lacks(
        survey_find(s, "core scheduling", "none (%s)", strerror(error)), SURVEY_MISSING,
        "programs that share a core with a sandbox may be spied upon by way of its caches: "
        "it is refused without --allow-missing core-scheduling",
        "use a kernel with CONFIG_SCHED_CORE, or turn SMT off");
}

void survey_machine(struct survey *ret)
{
    ret->count = 0;
    survey_linux(ret);
    survey_seccomp(ret);
    survey_namespaces(ret);
    survey_landlock(ret);
    survey_core_scheduling(ret);
    survey_store(ret);
    survey_resources(ret);
}
