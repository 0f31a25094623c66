// SPDX-License-Identifier: Apache-2.0
#include "lib/seal/report.h"

#include <stdio.h>

static const struct {
    const char *name;
    bool may_miss;
} controls[SEAL_CONTROL_COUNT] = {
    [SEAL_USER_NAMESPACE] = {"user-namespace", false},
    [SEAL_PID_NAMESPACE] = {"pid-namespace", false},
    [SEAL_MOUNT_NAMESPACE] = {"mount-namespace", false},
    [SEAL_IPC_NAMESPACE] = {"ipc-namespace", false},
    [SEAL_UTS_NAMESPACE] = {"uts-namespace", true},
    [SEAL_NETWORK_NAMESPACE] = {"network-namespace", true},
    [SEAL_CGROUP_NAMESPACE] = {"cgroup-namespace", true},
    [SEAL_ENVIRONMENT] = {"environment", false},
    [SEAL_DESCRIPTORS] = {"descriptors", false},
    [SEAL_ROOT] = {"root", false},
    [SEAL_NO_NEW_PRIVS] = {"no-new-privs", false},
    [SEAL_CAPABILITIES] = {"capabilities", false},
    [SEAL_RESOURCE_LIMITS] = {"resource-limits", false},
    [SEAL_NOT_DUMPABLE] = {"not-dumpable", false},
    [SEAL_LANDLOCK] = {"landlock", true},
    [SEAL_SECCOMP] = {"seccomp", false},
    [SEAL_EXECUTABLE_MEMORY] = {"executable-memory", false},
    [SEAL_CORE_SCHEDULING] = {"core-scheduling", true},
    [SEAL_SPECULATION] = {"speculation", true},
};

static const char *const states[SEAL_STATE_COUNT] = {
    [SEAL_UNKNOWN] = "unknown", [SEAL_IN_FORCE] = "in-force", [SEAL_NOT_NEEDED] = "not-needed",
    [SEAL_OFF] = "off",         [SEAL_MISSING] = "missing",
};

const char *seal_control_name(enum seal_control c)
{
    return controls[c].name;
}

const char *seal_state_name(enum seal_state s)
{
    return states[s];
}

int seal_control_find(const char *name, enum seal_control *ret)
{
    for (int c = 0; c < SEAL_CONTROL_COUNT; c++)
        if (!strcmp(name, controls[c].name)) {
            *ret = (enum seal_control)c;
            return 0;
        }
    return -ENOENT;
}

bool seal_control_may_miss(enum seal_control c)
{
    return controls[c].may_miss;
}

void seal_note(struct seal_report *r, enum seal_control c, enum seal_state s, const char *why)
{
    struct seal_fact *f = &r->facts[c];
    f->state = s;
    snprintf(f->why, sizeof(f->why), "%s", why);
}

size_t seal_report_write(const struct seal_report *r, char text[SEAL_REPORT_MAX])
{
    size_t size = 0;
    for (int c = 0; c < SEAL_CONTROL_COUNT; c++) {
        const struct seal_fact *f = &r->facts[c];
        if (f->state == SEAL_UNKNOWN)
            continue;
        int n = snprintf(text + size, SEAL_REPORT_MAX - size, "%s %s %s\n", controls[c].name,
                         states[f->state], f->why);
        size += (size_t)n;
    }
    return size;
}

static int find_state(const char *name, enum seal_state *ret)
{
    for (int s = 0; s < SEAL_STATE_COUNT; s++)
        if (!strcmp(name, states[s])) {
            *ret = (enum seal_state)s;
            return 0;
        }
    return -ENOENT;
}

/* One line without its end, NUL-terminated; it is taken apart. */
static int read_line(struct seal_report *r, char *line)
{
    enum seal_control control;
    enum seal_state state;
    char *second = strchr(line, ' ');
    char *third = second ? strchr(second + 1, ' ') : NULL;
    if (!third)
        return -EINVAL;
    *second++ = *third++ = '\0';
    if (seal_control_find(line, &control) < 0 || find_state(second, &state) < 0 ||
        strlen(third) >= SEAL_WHY_MAX)
        return -EINVAL;
    for (const char *c = third; *c; c++)
        if (*c < ' ' || *c > '~')
            return -EINVAL;
    seal_note(r, control, state, third);
    return 0;
}

int seal_report_read(struct seal_report *r, const char *text, size_t size)
{
    struct seal_report read = *r;
    while (size > 0) {
        char line[SEAL_WHY_MAX + 64];
        const char *end = memchr(text, '\n', size);
        size_t length = end ? (size_t)(end - text) : sizeof(line);
        if (length >= sizeof(line) || memchr(text, '\0', length))
            return -EINVAL;
        memcpy(line, text, length);
        line[length] = '\0';
        if (read_line(&read, line) < 0)
            return -EINVAL;
        text += length + 1;
        size -= length + 1;
    }
    *r = read;
    return 0;
}
