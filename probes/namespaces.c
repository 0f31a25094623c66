// SPDX-License-Identifier: Apache-2.0
/*
 * New namespaces, other namespaces, mounts, roots: where the rest of a host's kernel would open up.
 */
#include "probes/canary.h"
#include "probes/support.h"

#include <dirent.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

static void check_unshare(unsigned long flag)
{
    REFUSED(syscall(SYS_unshare, flag), EPERM, EINVAL);
    REFUSED(syscall(SYS_unshare, flag | CLONE_FS | CLONE_FILES), EPERM, EINVAL);
}

#define UNSHARE(name_, flag_, outside_, after_)                                                \
    PROBE(name_, NAMESPACES, .expected = "EPERM, also as the sandbox's root", .after = after_, \
          .outside = outside_)                                                                 \
    {                                                                                          \
        check_unshare(flag_);                                                                  \
    }

UNSHARE(make_a_user_namespace, CLONE_NEWUSER, OUTSIDE_MAYBE,
        "the way to most holes of the last ten years")
UNSHARE(make_a_mount_namespace, CLONE_NEWNS, OUTSIDE_MAYBE, NULL)
UNSHARE(make_a_network_namespace, CLONE_NEWNET, OUTSIDE_MAYBE,
        "CVE-2022-25636, CVE-2024-1086 by way of it")
UNSHARE(make_a_pid_namespace, CLONE_NEWPID, OUTSIDE_MAYBE, NULL)
UNSHARE(make_an_ipc_namespace, CLONE_NEWIPC, OUTSIDE_MAYBE, NULL)
UNSHARE(make_a_uts_namespace, CLONE_NEWUTS, OUTSIDE_MAYBE, NULL)
UNSHARE(make_a_cgroup_namespace, CLONE_NEWCGROUP, OUTSIDE_MAYBE, "CVE-2022-0492")
UNSHARE(make_a_time_namespace, CLONE_NEWTIME, OUTSIDE_MAYBE, NULL)

PROBE(clone_into_new_namespaces, NAMESPACES, .expected = "EPERM for each flag and for all together")
{
    static const unsigned long flags[] = {CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWPID,   CLONE_NEWNET,
                                          CLONE_NEWIPC,  CLONE_NEWUTS, CLONE_NEWCGROUP};
    unsigned long all = 0;
    for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
        all |= flags[i];
        REFUSED(syscall(SYS_clone, flags[i] | SIGCHLD, 0L, 0L, 0L, 0L), EPERM, EINVAL);
        REFUSED(syscall(SYS_clone, all | SIGCHLD, 0L, 0L, 0L, 0L), EPERM, EINVAL);
    }
}

PROBE(clone_with_flags_that_change, NAMESPACES,
      .expected = "ENOSYS: clone3 reads its flags from memory",
      .after = "check and use of flags by two readers")
{
    struct clone_args args = {.flags = CLONE_NEWUSER};
    for (size_t size = 0; size < 256; size += 8)
        REFUSED(syscall(SYS_clone3, &args, size), ENOSYS);
    args = (struct clone_args){.exit_signal = SIGCHLD};
    REFUSED(syscall(SYS_clone3, &args, sizeof(args)), ENOSYS);
}

PROBE(join_namespaces_by_file, NAMESPACES, .expected = "there is no such file, or EPERM",
      .outside = OUTSIDE_MAYBE)
{
    static const char *const names[] = {"user", "mnt", "pid",    "net",
                                        "ipc",  "uts", "cgroup", "time"};
    char path[64];
    const long pids[] = {1, getpid(), canary_number("PID")};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        for (size_t n = 0; n < ARRAY_SIZE(pids); n++) {
            snprintf(path, sizeof(path), "/proc/%ld/ns/%s", pids[n], names[i]);
            int fd = open(path, O_RDONLY);
            REFUSED(setns(fd, 0), EPERM, EBADF);
            close(fd);
        }
}

PROBE(join_namespaces_by_process, NAMESPACES, .expected = "EPERM")
{
    int init = (int)syscall(SYS_pidfd_open, 1L, 0L);
    REFUSED(setns(init, CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET), EPERM, EBADF);
    REFUSED(setns((int)syscall(SYS_pidfd_open, (long)getppid(), 0L), CLONE_NEWUSER), EPERM, EBADF);
    REFUSED(setns(-1, 0), EPERM, EBADF);
}

PROBE(clone_out_of_the_family, NAMESPACES, .expected = "EINVAL: no child is a stranger's")
{
    REFUSED(syscall(SYS_clone, (long)CLONE_PARENT | SIGCHLD, 0L, 0L, 0L, 0L), EINVAL, EPERM);
    REFUSED(syscall(SYS_clone, (long)CLONE_PTRACE | SIGCHLD, 0L, 0L, 0L, 0L), EINVAL, EPERM);
    REFUSED(syscall(SYS_clone, (long)CLONE_PIDFD | SIGCHLD, 0L, 0L, 0L, 0L), EINVAL, EPERM);
    REFUSED(syscall(SYS_clone, (long)CLONE_SIGHAND | SIGCHLD, 0L, 0L, 0L, 0L), EINVAL);
    REFUSED(syscall(SYS_clone, (long)CLONE_THREAD | SIGCHLD, 0L, 0L, 0L, 0L), EINVAL);
}

/* ---- mounts ---- */

#define MOUNT(name_, after_, ...)                                                          \
    PROBE(name_, MOUNTS, .expected = "EPERM, also as the sandbox's root", .after = after_) \
    {                                                                                      \
        NEED(mkdir("here", 0700) == 0);                                                    \
        REFUSED(mount(__VA_ARGS__), EPERM);                                                \
    }

MOUNT(bind_the_root, NULL, "/", "here", NULL, MS_BIND | MS_REC, NULL)
MOUNT(bind_over_a_masked_file, "CVE-2025-31133, CVE-2025-52565", "/etc/passwd", "/proc/version",
      NULL, MS_BIND, NULL)
MOUNT(mount_a_fresh_proc, "an unmasked /proc", "proc", "here", "proc", 0, NULL)
MOUNT(mount_a_fresh_sysfs, "an unmasked /sys", "sysfs", "here", "sysfs", 0, NULL)
MOUNT(mount_a_tmpfs, NULL, "none", "here", "tmpfs", 0, NULL)
MOUNT(mount_devices, NULL, "devtmpfs", "here", "devtmpfs", 0, NULL)
MOUNT(mount_a_block_device, NULL, "/dev/sda1", "here", "ext4", MS_RDONLY, NULL)
MOUNT(mount_an_overlay, "CVE-2021-3493, CVE-2023-0386", "overlay", "here", "overlay", 0,
      "lowerdir=/usr,upperdir=.,workdir=here")
MOUNT(mount_a_cgroup_hierarchy, "CVE-2022-0492: a release_agent of its own", "cgroup", "here",
      "cgroup", 0, "memory")
MOUNT(mount_through_fuse, "files whose reads never end", "fuse", "here", "fuse", 0,
      "fd=0,rootmode=40000,user_id=0,group_id=0")
MOUNT(share_mounts, "mounts that spread to the host", NULL, "/", NULL, MS_SHARED | MS_REC, NULL)
MOUNT(mount_writable_again, NULL, NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL)
MOUNT(move_a_mount, NULL, "/proc", "here", NULL, MS_MOVE, NULL)

PROBE(unmount_what_is_there, MOUNTS, .expected = "EPERM: nothing below a mount comes to light")
{
    static const char *const names[] = {"/", "/proc", "/sys", "/dev", "/dev/shm", "/tmp"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        REFUSED(umount2(names[i], MNT_DETACH), EPERM);
        REFUSED(umount2(names[i], 8 /* UMOUNT_NOFOLLOW */), EPERM);
    }
    REFUSED(umount2(probe_self(), MNT_DETACH), EPERM);
}

PROBE(mount_by_the_new_calls, MOUNTS, .expected = "EPERM from each of them",
      .after = "CVE-2022-0185")
{
    static const char *const types[] = {"ext4", "tmpfs", "proc", "cgroup2", "overlay"};
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        REFUSED(syscall(430 /* fsopen */, types[i], 0L), EPERM, ENOSYS);
    REFUSED(syscall(431 /* fsconfig */, 0L, 1L, "source", "x", 0L), EPERM, ENOSYS);
    REFUSED(syscall(432 /* fsmount */, 0L, 0L, 0L), EPERM, ENOSYS);
    REFUSED(syscall(433 /* fspick */, AT_FDCWD, "/", 0L), EPERM, ENOSYS);
    REFUSED(syscall(428 /* open_tree */, AT_FDCWD, "/", 1L /* OPEN_TREE_CLONE */), EPERM, ENOSYS);
    REFUSED(syscall(429 /* move_mount */, AT_FDCWD, "/proc", AT_FDCWD, "/tmp", 0L), EPERM, ENOSYS);
    REFUSED(syscall(442 /* mount_setattr */, AT_FDCWD, "/", 0L, NULL, 0L), EPERM, ENOSYS);
    REFUSED(syscall(467 /* open_tree_attr */, AT_FDCWD, "/", 1L, NULL, 0L), EPERM, ENOSYS);
}

PROBE(list_mounts_of_the_host, MOUNTS, .expected = "ENOSYS, and only the sandbox's mounts in /proc",
      .outside = OUTSIDE_MAYBE)
{
    char text[65536];
    REFUSED(syscall(457 /* statmount */, NULL, NULL, 0L, 0L), ENOSYS);
    REFUSED(syscall(458 /* listmount */, NULL, NULL, 0L, 0L), ENOSYS);
    static const char *const files[] = {"/proc/self/mounts", "/proc/self/mountinfo",
                                        "/proc/1/mountinfo", "/proc/self/mountstats"};
    static const char *const words[] = {"/dev/sd",     "/dev/vd",  "/dev/nvme",
                                        "/dev/mapper", "/docker/", "/containerd/",
                                        "/old",        "/shadow",  "/store"};
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        if (probe_read_file(files[i], text, sizeof(text)) <= 0)
            continue;
        for (size_t n = 0; n < ARRAY_SIZE(words); n++)
            if (strstr(text, words[n]))
                probe_escaped("%s shows %s", files[i], words[n]);
    }
}

PROBE(change_the_root_with_pivot_root, MOUNTS, .expected = "EPERM")
{
    NEED(mkdir("new", 0700) == 0 && mkdir("new/old", 0700) == 0);
    REFUSED(syscall(SYS_pivot_root, "new", "new/old"), EPERM);
    REFUSED(syscall(SYS_pivot_root, ".", "."), EPERM);
    REFUSED(syscall(SYS_pivot_root, "/", "/"), EPERM);
}

PROBE(change_the_root_as_a_user, MOUNTS, .expected = "EPERM")
{
    probe_become_user();
    NEED(mkdir("/tmp/glovebox-root", 0700) == 0 || errno == EEXIST);
    REFUSED(chroot("/tmp/glovebox-root"), EPERM);
    rmdir("/tmp/glovebox-root");
    REFUSED(chroot("/"), EPERM);
}

PROBE(leave_the_root_by_a_descriptor, MOUNTS, .expected = "above the root is the root",
      .after = "the chroot escape by fchdir")
{
    struct stat root, above;
    probe_need_root();
    NEED(stat("/", &root) == 0);
    int outside = open("/", O_PATH);
    NEED(mkdir("inner", 0700) == 0 && chroot("inner") == 0 && fchdir(outside) == 0);
    for (int i = 0; i < 20; i++)
        NEED(chdir("..") == 0);
    NEED(stat(".", &above) == 0);
    if (above.st_ino != root.st_ino || above.st_dev != root.st_dev)
        probe_escaped("above the sandbox's root is another directory");
}

/* ---- names of the machine ---- */

PROBE(rename_the_machine, NAMESPACES,
      .expected = "the sandbox's own name changes, or EPERM; the host's stays")
{
    if (!probe_is_root()) {
        REFUSED(sethostname("hostile", 7), EPERM);
        REFUSED(syscall(SYS_setdomainname, "hostile", 7L), EPERM);
        return;
    }
    char before[65];
    NEED(gethostname(before, sizeof(before)) == 0 && sethostname("hostile", 7) == 0);
    NEED(sethostname(before, strlen(before)) == 0);
}
