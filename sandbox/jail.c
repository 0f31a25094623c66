// SPDX-License-Identifier: Apache-2.0
#include "sandbox/jail.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>

static const struct {
    enum seal_control control;
    int flag;
    const char *name; /* in /proc/self/ns */
    const char *max;  /* in /proc/sys/user */
} namespaces[] = {
    {SEAL_USER_NAMESPACE, CLONE_NEWUSER, "user", "max_user_namespaces"},
    {SEAL_PID_NAMESPACE, CLONE_NEWPID, "pid", "max_pid_namespaces"},
    {SEAL_MOUNT_NAMESPACE, CLONE_NEWNS, "mnt", "max_mnt_namespaces"},
    {SEAL_IPC_NAMESPACE, CLONE_NEWIPC, "ipc", "max_ipc_namespaces"},
    {SEAL_UTS_NAMESPACE, CLONE_NEWUTS, "uts", "max_uts_namespaces"},
    {SEAL_NETWORK_NAMESPACE, CLONE_NEWNET, "net", "max_net_namespaces"},
    {SEAL_CGROUP_NAMESPACE, CLONE_NEWCGROUP, "cgroup", "max_cgroup_namespaces"},
};

/* "0" is a limit that the administrator has set. */
static bool is_forbidden(const char *max)
{
    char path[64], text[4];
    snprintf(path, sizeof(path), "/proc/sys/user/%s", max);
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && read(fd, text, sizeof(text)) == 2 && text[0] == '0';
}

static const char *why_missing(size_t i)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/ns/%s", namespaces[i].name);
    if (access(path, F_OK) < 0)
        return "this Linux was built without them";
    return is_forbidden(namespaces[i].max) ? "this machine forbids them" : NULL;
}

uint64_t jail_namespaces(uint32_t allow_missing, struct seal_report *r)
{
    uint64_t flags = 0;
    for (size_t i = 0; i < ARRAY_SIZE(namespaces); i++) {
        enum seal_control c = namespaces[i].control;
        const char *why = allow_missing & 1u << c ? why_missing(i) : NULL;
        seal_note(r, c, why ? SEAL_MISSING : SEAL_IN_FORCE, why ? why : "");
        flags |= why ? 0 : (uint64_t)namespaces[i].flag;
    }
    seal_note(r, SEAL_ENVIRONMENT, SEAL_IN_FORCE, "empty");
    seal_note(r, SEAL_DESCRIPTORS, SEAL_IN_FORCE, "control socket, specification and streams only");
    return flags;
}

static int refuse_name(const char *name, struct sandbox_error *e)
{
    char known[SEAL_CONTROL_COUNT * 24] = "";
    size_t size = 0;
    for (int c = 0; c < SEAL_CONTROL_COUNT; c++)
        if (seal_control_may_miss((enum seal_control)c))
            size += (size_t)snprintf(known + size, sizeof(known) - size, "%s%s", size ? ", " : "",
                                     seal_control_name((enum seal_control)c));
    return sandbox_error_set(e, -EINVAL, "'%s' is nothing that may be missing; give one of: %s",
                             name, known);
}

int jail_allow_missing(uint32_t *set, const char *name, struct sandbox_error *e)
{
    enum seal_control c;
    if (seal_control_find(name, &c) < 0 || !seal_control_may_miss(c))
        return refuse_name(name, e);
    *set |= 1u << c;
    return 0;
}
