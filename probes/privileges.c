// SPDX-License-Identifier: Apache-2.0
/*
 * Users, capabilities and limits: bookkeeping of the sandbox, which gives nothing outside.
 */
#include "probes/canary.h"
#include "probes/support.h"

#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

PROBE(become_root_as_a_user, PRIVILEGES, .expected = "EPERM")
{
    probe_become_user();
    gid_t none = 0;
    REFUSED(setuid(0), EPERM);
    REFUSED(setreuid(0, 0), EPERM);
    REFUSED(setresuid(-1, 0, -1), EPERM);
    REFUSED(setgid(0), EPERM);
    REFUSED(setregid(0, 0), EPERM);
    REFUSED(setresgid(-1, 0, -1), EPERM);
    REFUSED(setgroups(1, &none), EPERM);
    setfsuid(0);
    if (setfsuid(-1) == 0)
        probe_escaped("the user id for files is 0");
}

PROBE(take_capabilities_as_a_user, PRIVILEGES, .expected = "EPERM")
{
    probe_become_user();
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{~0u, ~0u, ~0u}, {~0u, ~0u, ~0u}};
    REFUSED(syscall(SYS_capset, &header, data), EPERM);
    REFUSED(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0), EPERM);
    REFUSED(prctl(PR_CAPBSET_DROP, CAP_CHOWN, 0, 0, 0), EPERM);
    REFUSED(prctl(PR_SET_SECUREBITS, SECBIT_NOROOT, 0, 0, 0), EPERM);
}

PROBE(use_root_of_the_sandbox_outside, PRIVILEGES,
      .expected = "EPERM from everything that is the machine's")
{
    probe_need_root();
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    NEED(syscall(SYS_capget, &header, data) == 0);
    syscall(SYS_capset, &header, data);
    REFUSED(syscall(SYS_mount, "none", ".", "tmpfs", 0L, NULL), EPERM);
    REFUSED(syscall(SYS_reboot, 0xfee1dead, 672274793L, 0L, NULL), EPERM);
    REFUSED(syscall(SYS_init_module, "", 0L, ""), EPERM);
    REFUSED(syscall(SYS_iopl, 3L), EPERM);
    REFUSED(syscall(SYS_unshare, 0x20000L), EPERM);
    REFUSED(syscall(SYS_settimeofday, &(struct timeval){1, 0}, NULL), EPERM);
    canary_check_path(canary_path("secret"));
}

PROBE(get_rights_from_a_set_user_id_file, PRIVILEGES,
      .expected = "another user of the sandbox, at most")
{
    char path[64];
    probe_write_file("script", "#!/nowhere\n", 11, 04755);
    struct stat st;
    NEED(stat("script", &st) == 0);
    snprintf(path, sizeof(path), "/proc/%d/root", getpid());
    if (!probe_is_root()) {
        REFUSED(chown("script", 0, 0), EPERM);
        if (st.st_uid == 0)
            probe_escaped("a new file belongs to root");
    }
}

PROBE(give_files_away_as_a_user, PRIVILEGES, .expected = "EPERM")
{
    probe_write_file("file", "x", 1, 0666);
    if (probe_is_root())
        NEED(chown("file", 1000, 1000) == 0 && chmod(".", 0777) == 0);
    probe_become_user();
    REFUSED(chown("file", 0, 0), EPERM);
    REFUSED(chown("file", 1000, 12345), EPERM);
    REFUSED(chown("/etc", 1000, 1000), EPERM, EROFS, ENOENT);
    REFUSED(chmod("/etc/passwd", 0666), EPERM, EROFS, ENOENT);
    REFUSED(syscall(SYS_setxattr, "file", "security.capability", "x", 1L, 0L), EPERM, EINVAL,
            EOPNOTSUPP);
    REFUSED(syscall(SYS_setxattr, "file", "trusted.x", "x", 1L, 0L), EPERM, EOPNOTSUPP);
}

PROBE(read_files_of_another_user, PRIVILEGES, .expected = "EACCES or EPERM")
{
    probe_need_root();
    probe_write_file("file", "secret", 6, 0600);
    NEED(mkdir("private", 0700) == 0 && chmod(".", 0755) == 0);
    probe_become_user();
    REFUSED(open("file", O_RDONLY), EACCES);
    REFUSED(open("file", O_WRONLY), EACCES);
    REFUSED(open("private/x", O_CREAT | O_WRONLY, 0600), EACCES);
    REFUSED(chdir("private"), EACCES);
    REFUSED(truncate("file", 0), EACCES);
    REFUSED(unlink("file"), EACCES, EPERM);
    REFUSED(open("/proc/1/environ", O_RDONLY), EACCES, EPERM);
}

PROBE(raise_its_hard_limits, PRIVILEGES, .expected = "EPERM")
{
    probe_become_user();
    for (int which = 0; which < 16; which++) {
        struct rlimit limit;
        NEED(getrlimit((__rlimit_resource_t)which, &limit) == 0);
        if (limit.rlim_max == RLIM_INFINITY)
            continue;
        limit.rlim_max++;
        REFUSED(setrlimit((__rlimit_resource_t)which, &limit), EPERM);
        limit.rlim_max = RLIM_INFINITY;
        REFUSED(prlimit(0, (__rlimit_resource_t)which, &limit, NULL), EPERM);
    }
}

PROBE(take_no_new_privs_back, PRIVILEGES, .expected = "EINVAL", .outside = OUTSIDE_NEVER)
{
    NEED(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    REFUSED(prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0), EINVAL);
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
        probe_escaped("it is gone");
}

PROBE(map_user_ids, PRIVILEGES, .expected = "there is nothing to map with",
      .after = "CVE-2014-8989, CVE-2018-18955")
{
    static const char *const files[] = {"/proc/self/uid_map", "/proc/self/gid_map",
                                        "/proc/self/setgroups", "/proc/1/uid_map"};
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        int fd = open(files[i], O_WRONLY);
        if (fd >= 0)
            REFUSED(write(fd, "0 0 1\n", 6), EPERM, EINVAL, EACCES);
    }
}
