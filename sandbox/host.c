// SPDX-License-Identifier: Apache-2.0
#include "sandbox/host.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

bool sandbox_parse_release(const char *release, unsigned *ret_major, unsigned *ret_minor)
{
    unsigned major, minor;
    if (sscanf(release, "%u.%u", &major, &minor) != 2)
        return false;
    *ret_major = major;
    *ret_minor = minor;
    return true;
}

static bool is_older(unsigned major, unsigned minor, unsigned than_major, unsigned than_minor)
{
    return major < than_major || (major == than_major && minor < than_minor);
}

int sandbox_check_release(const char *release, bool *ret_slow, struct sandbox_error *e)
{
    unsigned major, minor;
    if (!sandbox_parse_release(release, &major, &minor))
        return sandbox_error_set(e, -ENOSYS,
                                 "host: can't read the Linux version '%s'; Linux %d.%d or newer is "
                                 "needed",
                                 release, SANDBOX_LINUX_OLDEST_MAJOR, SANDBOX_LINUX_OLDEST_MINOR);
    if (is_older(major, minor, SANDBOX_LINUX_OLDEST_MAJOR, SANDBOX_LINUX_OLDEST_MINOR))
        return sandbox_error_set(
            e, -ENOSYS,
            "host: Linux %u.%u is too old; upgrade to %d.%d or newer (%d.%d or "
            "newer for full speed)",
            major, minor, SANDBOX_LINUX_OLDEST_MAJOR, SANDBOX_LINUX_OLDEST_MINOR,
            SANDBOX_LINUX_FAST_MAJOR, SANDBOX_LINUX_FAST_MINOR);
    *ret_slow = is_older(major, minor, SANDBOX_LINUX_FAST_MAJOR, SANDBOX_LINUX_FAST_MINOR);
    return 0;
}

/*
 * Flags are looked at before the filter, so that a null filter tells apart EINVAL (the flags are
 * not known) and EFAULT (they are).
 */
static int probe_seccomp(void)
{
    unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, NULL) < 0 && errno != EFAULT)
        return -errno;
    return 0;
}

int sandbox_check_seccomp(struct sandbox_error *e)
{
    int r = probe_seccomp();
    if (r == -EINVAL || r == -ENOSYS)
        return sandbox_error_set(
            e, r,
            "host: this kernel has no seccomp user notification with killable waits; use Linux "
            "%d.%d or newer with CONFIG_SECCOMP_FILTER",
            SANDBOX_LINUX_OLDEST_MAJOR, SANDBOX_LINUX_OLDEST_MINOR);
    if (r < 0)
        return sandbox_error_set(
            e, r,
            "host: seccomp is forbidden here (%s); if this is a container, start "
            "it with --security-opt seccomp=unconfined",
            strerror(-r));
    return 0;
}

int sandbox_check_host(bool *ret_slow, struct sandbox_error *e)
{
    struct utsname name;
    if (uname(&name) < 0)
        return sandbox_error_set(e, -errno, "host: uname: %s; report this", strerror(errno));
    int r = sandbox_check_release(name.release, ret_slow, e);
    return r < 0 ? r : sandbox_check_seccomp(e);
}

long sandbox_read_setting(const char *path)
{
    char text[32];
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t size = read(fd, text, sizeof(text) - 1);
    if (size <= 0)
        return -1;
    text[size] = '\0';
    return strtol(text, NULL, 10);
}

/* A seccomp filter or another container is around this process. */
static bool is_filtered(void)
{
    char text[4096];
    _cleanup_close_ int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t size = read(fd, text, sizeof(text) - 1);
    if (size <= 0)
        return false;
    text[size] = '\0';
    const char *line = strstr(text, "\nSeccomp:\t");
    return line && line[10] != '0';
}

const struct sandbox_host_setting sandbox_host_settings[] = {
    {"/proc/sys/user/max_user_namespaces", "user.max_user_namespaces", 0, 10000, false},
    {"/proc/sys/user/max_pid_namespaces", "user.max_pid_namespaces", 0, 10000, false},
    {"/proc/sys/user/max_mnt_namespaces", "user.max_mnt_namespaces", 0, 10000, false},
    {"/proc/sys/user/max_net_namespaces", "user.max_net_namespaces", 0, 10000, false},
    {"/proc/sys/user/max_ipc_namespaces", "user.max_ipc_namespaces", 0, 10000, false},
    {"/proc/sys/user/max_uts_namespaces", "user.max_uts_namespaces", 0, 10000, false},
    {"/proc/sys/user/max_cgroup_namespaces", "user.max_cgroup_namespaces", 0, 10000, false},
    {"/proc/sys/kernel/unprivileged_userns_clone", "kernel.unprivileged_userns_clone", 0, 1, true},
    {"/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
     "kernel.apparmor_restrict_unprivileged_userns", 1, 0, true},
};
const size_t sandbox_host_setting_count = ARRAY_SIZE(sandbox_host_settings);

int sandbox_explain_namespaces(int error, struct sandbox_error *e)
{
    for (size_t i = 0; i < sandbox_host_setting_count; i++) {
        const struct sandbox_host_setting *s = &sandbox_host_settings[i];
        if (!(s->spares_root && geteuid() == 0) && sandbox_read_setting(s->path) == s->bad)
            return sandbox_error_set(e, -error,
                                     "user namespaces: this machine forbids them (%s is %ld); as "
                                     "root, run: sysctl -w %s=%ld",
                                     s->name, s->bad, s->name, s->good);
    }
    if (error == ENOSPC)
        return sandbox_error_set(
            e, -error,
            "user namespaces: the limit is reached; end other sandboxes or, as "
            "root, raise it with: sysctl -w user.max_user_namespaces=100000");
    if (error == EINVAL || error == ENOSYS)
        return sandbox_error_set(e, -error,
                                 "user namespaces: this kernel has none; use one built with "
                                 "CONFIG_USER_NS, CONFIG_PID_NS and CONFIG_NET_NS");
    if ((error == EPERM || error == EACCES) && is_filtered())
        return sandbox_error_set(e, -error,
                                 "user namespaces: a seccomp filter around this process forbids "
                                 "them; if this is a container, start it with --security-opt "
                                 "seccomp=unconfined");
    if (error == EPERM || error == EACCES)
        return sandbox_error_set(
            e, -error,
            "user namespaces: this machine forbids them (%s); run outside of "
            "chroot(2), or allow them in its security module (AppArmor, SELinux)",
            strerror(error));
    return sandbox_error_set(e, -error, "namespaces: %s; free memory or end other sandboxes",
                             strerror(error));
}
