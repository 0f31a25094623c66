// SPDX-License-Identifier: Apache-2.0
/*
 * Changes of the host's files: those that are not in the sandbox, those of the image, this program,
 * which is mounted read-only, and the settings of the machine. Whoever starts the probes looks at
 * all of them afterwards.
 */
#include "probes/canary.h"
#include "probes/support.h"

#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>

/* A file of every machine that nothing in a sandbox needs; the caller checks the host's. */
#define IMAGE_FILE "/usr/lib/os-release"

PROBE(write_to_the_hosts_file, HOST_WRITES, .expected = "there is no such file",
      .outside = OUTSIDE_ESCAPES)
{
    static const int ways[] = {O_WRONLY, O_RDWR, O_WRONLY | O_APPEND, O_WRONLY | O_TRUNC, 3};
    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        REFUSED(open(canary_path("victim"), ways[i]), ENOENT);
        REFUSED(openat(open("/", O_PATH), canary_path("victim") + 1, ways[i]), ENOENT);
    }
    REFUSED(truncate(canary_path("victim"), 0), ENOENT);
}

PROBE(make_names_in_the_hosts_directory, HOST_WRITES, .expected = "there is no such directory",
      .outside = OUTSIDE_ESCAPES)
{
    const char *name = canary_path("new");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    probe_write_file("own", "own", 3, 0600);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", name);
    REFUSED(open(name, O_CREAT | O_WRONLY | O_EXCL, 0666), ENOENT);
    REFUSED(open(canary_path(""), O_TMPFILE | O_RDWR, 0600), ENOENT);
    REFUSED(mkdir(name, 0777), ENOENT);
    REFUSED(mkfifo(name, 0666), ENOENT);
    REFUSED(symlink("/", name), ENOENT);
    REFUSED(link("own", name), ENOENT);
    REFUSED(rename("own", name), ENOENT);
    REFUSED(bind(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&address, sizeof(address)), ENOENT);
}

PROBE(take_the_hosts_file_away, HOST_WRITES, .expected = "there is no such file",
      .outside = OUTSIDE_ESCAPES)
{
    REFUSED(rename(canary_path("doomed"), "stolen"), ENOENT);
    REFUSED(rename(canary_path("doomed"), canary_path("renamed")), ENOENT);
    REFUSED(unlink(canary_path("doomed")), ENOENT);
    REFUSED(rmdir(canary_path("")), ENOENT);
}

PROBE(change_attributes_of_the_hosts_file, HOST_WRITES, .expected = "there is no such file",
      .outside = OUTSIDE_ESCAPES)
{
    const char *name = canary_path("victim");
    REFUSED(chmod(name, 04777), ENOENT);
    REFUSED(chown(name, 0, 0), ENOENT);
    REFUSED(utimes(name, NULL), ENOENT);
    REFUSED(syscall(SYS_setxattr, name, "user.x", "y", 1L, 0L), ENOENT);
    REFUSED(syscall(SYS_fchmodat, AT_FDCWD, name, 0777L), ENOENT);
    REFUSED(syscall(SYS_acct, name), EPERM, ENOSYS);
    REFUSED(swapon(name, 0), EPERM, ENOSYS);
}

PROBE(write_over_a_file_of_the_image, HOST_WRITES,
      .expected = "a private copy changes, the host's file stays")
{
    int fd = open(IMAGE_FILE, O_WRONLY);
    if (fd < 0 && (errno == EACCES || errno == ENOENT))
        probe_contained("%s", strerror(errno));
    NEED(fd >= 0 && write(fd, "changed", 7) == 7 && ftruncate(fd, 7) == 0 && fsync(fd) == 0);
    char *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p != MAP_FAILED) {
        p[0] = 'C';
        msync(p, PAGE, MS_SYNC);
    }
}

PROBE(change_the_image_tree, HOST_WRITES,
      .expected = "the sandbox's own tree changes, the host's stays")
{
    chmod(IMAGE_FILE, 04777);
    chown(IMAGE_FILE, 1000, 1000);
    utimes(IMAGE_FILE, NULL);
    link(IMAGE_FILE, "/usr/lib/glovebox-probe");
    rename(IMAGE_FILE, "/usr/lib/glovebox-moved");
    unlink("/usr/lib/glovebox-moved");
    rename("/usr/share", "/usr/glovebox-share");
    rename("/usr/glovebox-share", "/usr/share");
    mkdir("/usr/glovebox-probe", 0777);
    mkdir("/etc/glovebox-probe", 0777);
}

PROBE(write_over_a_read_only_mount, HOST_WRITES, .expected = "EROFS, also for the running program",
      .after = "CVE-2019-5736: runc written over through /proc/self/exe")
{
    const char *self = probe_self();
    char link[64];
    int fd = open(self, O_RDONLY | O_CLOEXEC);
    NEED(fd >= 0);
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    const char *const names[] = {self, "/proc/self/exe", link};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        REFUSED(open(names[i], O_WRONLY), EROFS, ETXTBSY, EACCES);
        REFUSED(open(names[i], O_RDWR | O_TRUNC), EROFS, ETXTBSY, EACCES);
        REFUSED(truncate(names[i], 0), EROFS, ETXTBSY, EACCES);
        REFUSED(chmod(names[i], 04777), EROFS, EPERM);
        REFUSED(chown(names[i], 1000, 1000), EROFS, EPERM);
        REFUSED(utimes(names[i], NULL), EROFS, EACCES, EPERM);
        REFUSED(syscall(SYS_setxattr, names[i], "user.x", "y", 1L, 0L), EROFS, EPERM, EACCES,
                EOPNOTSUPP);
    }
    REFUSED(fchmod(fd, 0777), EROFS, EPERM);
    REFUSED(ftruncate(fd, 0), EINVAL, EBADF);
    REFUSED(write(fd, "x", 1), EBADF);
    REFUSED(fallocate(fd, 0, 0, 4096), EBADF, EROFS);
}

PROBE(replace_a_mounted_file, HOST_WRITES, .expected = "a place where something is mounted is busy")
{
    const char *self = probe_self();
    probe_write_file("own", "own", 3, 0700);
    REFUSED(unlink(self), EBUSY, EROFS, EACCES, EPERM);
    REFUSED(rename("own", self), EBUSY, EROFS, EACCES, EPERM, EXDEV);
    REFUSED(rename(self, "stolen"), EBUSY, EROFS, EACCES, EPERM, EXDEV);
    REFUSED(link(self, "linked"), EXDEV, EPERM, EROFS);
}

PROBE(write_to_the_init_program, HOST_WRITES,
      .expected = "it is no file that can be opened for writing")
{
    FAILS(open("/proc/1/exe", O_WRONLY));
    FAILS(open("/proc/1/mem", O_RDWR));
    FAILS(truncate("/proc/1/exe", 0));
}

/* ---- pages of read-only files ---- */

static char *map_self(int protection, int flags, int *ret_fd)
{
    *ret_fd = open(probe_self(), O_RDONLY | O_CLOEXEC);
    char *p = mmap(NULL, PAGE, protection, flags, *ret_fd, 0);
    NEED(*ret_fd >= 0 && p != MAP_FAILED);
    return p;
}

static void check_self_is_unchanged(int fd)
{
    char magic[4] = "";
    NEED(pread(fd, magic, 4, 0) == 4);
    if (memcmp(magic, "\177ELF", 4))
        probe_escaped("a read-only file was changed");
}

PROBE(map_a_read_only_file_for_writing, HOST_WRITES, .expected = "EACCES, at mmap and at mprotect")
{
    int fd;
    char *p = map_self(PROT_READ, MAP_SHARED, &fd);
    REFUSED(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), EACCES);
    REFUSED(mmap(NULL, PAGE, PROT_WRITE, MAP_SHARED_VALIDATE, fd, 0), EACCES);
    REFUSED(mprotect(p, PAGE, PROT_READ | PROT_WRITE), EACCES);
    char *moved = mremap(p, PAGE, 2 * PAGE, MREMAP_MAYMOVE);
    if (moved != MAP_FAILED)
        REFUSED(mprotect(moved, PAGE, PROT_WRITE), EACCES);
    check_self_is_unchanged(fd);
}

PROBE(write_to_constants_by_calls, HOST_WRITES,
      .expected = "EFAULT: page protection counts for the kernel too")
{
    int fd, two[2];
    char *p = map_self(PROT_READ, MAP_PRIVATE, &fd);
    struct iovec local = {(char *)"xxxx", 4}, remote = {p, 4};
    NEED(pipe(two) == 0 && write(two[1], "xxxx", 4) == 4);
    REFUSED(read(two[0], p, 4), EFAULT);
    REFUSED(syscall(SYS_getcwd, p, PAGE), EFAULT);
    REFUSED(syscall(SYS_uname, p), EFAULT);
    REFUSED(process_vm_writev(getpid(), &local, 1, &remote, 1, 0), EFAULT, EPERM, ENOSYS);
    check_self_is_unchanged(fd);
}

static struct {
    char *page;
    int mem;
    volatile bool stop;
} cow;

static void *throw_away(void *unused _unused_)
{
    while (!cow.stop)
        madvise(cow.page, PAGE, MADV_DONTNEED);
    return NULL;
}

PROBE(race_copy_on_write, HOST_WRITES, .expected = "the file below a private mapping stays",
      .after = "CVE-2016-5195, Dirty COW")
{
    int fd;
    cow.page = map_self(PROT_READ, MAP_PRIVATE, &fd);
    cow.mem = open("/proc/self/mem", O_RDWR);
    struct iovec local = {(char *)"hostile", 7}, remote = {cow.page, 7};
    probe_thread(throw_away, NULL);
    for (int i = 0; i < 4000; i++) {
        if (cow.mem >= 0)
            pwrite(cow.mem, "hostile", 7, (off_t)(uintptr_t)cow.page);
        process_vm_writev(getpid(), &local, 1, &remote, 1, 0);
    }
    cow.stop = true;
    check_self_is_unchanged(fd);
}

PROBE(write_into_a_spliced_page, HOST_WRITES, .expected = "pages of files are copied into pipes",
      .after = "CVE-2022-0847, Dirty Pipe")
{
    int fd = open(probe_self(), O_RDONLY | O_CLOEXEC), two[2];
    char data[4096];
    loff_t at = 0;
    NEED(fd >= 0 && pipe(two) == 0);
    /* Leaves PIPE_BUF_FLAG_CAN_MERGE behind in every slot, where the hole is. */
    for (int i = 0; i < 16; i++)
        NEED(write(two[1], data, sizeof(data)) == sizeof(data));
    for (int i = 0; i < 16; i++)
        NEED(read(two[0], data, sizeof(data)) == sizeof(data));
    NEED(splice(fd, &at, two[1], NULL, 1, 0) == 1);
    NEED(write(two[1], "hostile", 7) == 7);
    check_self_is_unchanged(fd);
}

PROBE(copy_into_a_read_only_file, HOST_WRITES, .expected = "EBADF from every call that copies")
{
    int fd = open(probe_self(), O_RDONLY | O_CLOEXEC), two[2];
    loff_t at = 0;
    probe_write_file("own", "hostile", 7, 0600);
    int own = open("own", O_RDONLY);
    NEED(fd >= 0 && pipe(two) == 0 && write(two[1], "x", 1) == 1);
    REFUSED(sendfile(fd, own, NULL, 7), EBADF);
    REFUSED(splice(two[0], NULL, fd, &at, 1, 0), EBADF);
    REFUSED(copy_file_range(own, NULL, fd, NULL, 7, 0), EBADF, EXDEV, EROFS);
    REFUSED(pwrite(fd, "x", 1, 0), EBADF);
    REFUSED(pwritev2(fd, &(struct iovec){"x", 1}, 1, 0, 0), EBADF);
    check_self_is_unchanged(fd);
}

/* ---- settings of the machine ---- */

static void check_setting(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY);
    if (fd < 0)
        probe_contained("%s: %s", path, strerror(errno));
    ssize_t n = write(fd, text, strlen(text));
    if (n >= 0)
        probe_escaped("%s takes it", path);
    probe_contained("%s: write: %s", path, strerror(errno));
}

#define SETTING(name_, path_, text_, after_)                                             \
    PROBE(name_, HOST_WRITES, .expected = "not there, or not writable", .after = after_) \
    {                                                                                    \
        check_setting(path_, text_);                                                     \
    }

SETTING(set_the_core_dump_program, "/proc/sys/kernel/core_pattern", "|/tmp/hostile %p",
        "core_pattern, run by the host's root; CVE-2025-31133")
SETTING(set_the_module_loader, "/proc/sys/kernel/modprobe", "/tmp/hostile",
        "modprobe_path, run by the host's root")
SETTING(press_the_system_request_key, "/proc/sysrq-trigger", "h", "CVE-2025-52565")
SETTING(set_the_uevent_helper, "/sys/kernel/uevent_helper", "/tmp/hostile", "uevent_helper")
SETTING(register_a_binary_format, "/proc/sys/fs/binfmt_misc/register",
        ":h:M::HOST::/tmp/hostile:", "binfmt_misc")
SETTING(set_the_release_agent, "/sys/fs/cgroup/release_agent", "/tmp/hostile",
        "CVE-2022-0492: release_agent")
SETTING(move_itself_to_another_cgroup, "/sys/fs/cgroup/cgroup.procs", "0", "leaving the limits")
SETTING(set_memory_limits_of_the_cgroup, "/sys/fs/cgroup/memory.max", "max", "leaving the limits")
SETTING(map_other_user_ids, "/proc/self/uid_map", "0 0 4294967295", "CVE-2018-18955")
SETTING(set_kernel_address_hiding, "/proc/sys/kernel/kptr_restrict", "0", NULL)
SETTING(turn_address_randomisation_off, "/proc/sys/kernel/randomize_va_space", "0", NULL)
SETTING(offline_a_processor, "/sys/devices/system/cpu/cpu1/online", "0", NULL)
SETTING(set_an_apparmor_profile, "/proc/self/attr/exec", "exec unconfined", "CVE-2025-52881")

PROBE(put_a_link_in_place_of_null, HOST_WRITES,
      .expected = "/dev is the sandbox's; nothing of it is bound from the host",
      .after = "CVE-2025-31133: /dev/null replaced by a link")
{
    if (rename("/dev/null", "/dev/glovebox-null") < 0)
        probe_contained("/dev/null can't be moved: %s", strerror(errno));
    bool linked = symlink("/proc/sys/kernel/core_pattern", "/dev/null") == 0;
    int fd = open("/dev/null", O_WRONLY);
    ssize_t n = fd < 0 ? -1 : write(fd, "|/tmp/hostile", 13);
    unlink("/dev/null");
    NEED(rename("/dev/glovebox-null", "/dev/null") == 0);
    if (linked && n > 0)
        probe_escaped("core_pattern was written to through it");
}
