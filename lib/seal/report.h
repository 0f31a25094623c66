// SPDX-License-Identifier: Apache-2.0
/*
 * What holds a process of ours, control by control, and whether it is in force: written by the
 * process itself, read by who started it.
 *
 * A control that the host can't give ends the start with an error, unless the user has named it
 * (--allow-missing). Those that nothing works without can't be named.
 */
#pragma once

#include "lib/base/base.h"

enum seal_control {
    SEAL_USER_NAMESPACE,
    SEAL_PID_NAMESPACE,
    SEAL_MOUNT_NAMESPACE,
    SEAL_IPC_NAMESPACE,
    SEAL_UTS_NAMESPACE,
    SEAL_NETWORK_NAMESPACE,
    SEAL_CGROUP_NAMESPACE,
    SEAL_ENVIRONMENT,
    SEAL_DESCRIPTORS,
    SEAL_ROOT,
    SEAL_NO_NEW_PRIVS,
    SEAL_CAPABILITIES,
    SEAL_RESOURCE_LIMITS,
    SEAL_NOT_DUMPABLE,
    SEAL_LANDLOCK,
    SEAL_SECCOMP,
    SEAL_EXECUTABLE_MEMORY,
    SEAL_CORE_SCHEDULING,
    SEAL_SPECULATION,
    SEAL_CONTROL_COUNT,
};

enum seal_state {
    SEAL_UNKNOWN, /* nobody has said */
    SEAL_IN_FORCE,
    SEAL_NOT_NEEDED, /* this machine has not what it protects from */
    SEAL_OFF,        /* it could be had and was not asked for */
    SEAL_MISSING,    /* it can't be had here, and may be missing */
    SEAL_STATE_COUNT,
};

#define SEAL_WHY_MAX    96
#define SEAL_REPORT_MAX (SEAL_CONTROL_COUNT * (SEAL_WHY_MAX + 64)) /* bytes of text */

struct seal_fact {
    enum seal_state state;
    char why[SEAL_WHY_MAX]; /* for a person: printable ASCII; "" when there is nothing to say */
};

struct seal_report {
    struct seal_fact facts[SEAL_CONTROL_COUNT];
};

/* "landlock", "core-scheduling" ...: constants. */
const char *seal_control_name(enum seal_control c);
/* "in-force", "not-needed", "off", "missing", "unknown" */
const char *seal_state_name(enum seal_state s);

/* The control of this name, or -ENOENT. */
int seal_control_find(const char *name, enum seal_control *ret);
/* Whether a user may do without it. */
bool seal_control_may_miss(enum seal_control c);

void seal_note(struct seal_report *r, enum seal_control c, enum seal_state s, const char *why);

/* As lines "NAME STATE WHY": the size of the text, which has no NUL. */
size_t seal_report_write(const struct seal_report *r, char text[SEAL_REPORT_MAX]);

/*
 * Takes lines that seal_report_write() made into r, beside what is there. -EINVAL, and r as it was,
 * for any other text.
 */
int seal_report_read(struct seal_report *r, const char *text, size_t size);
