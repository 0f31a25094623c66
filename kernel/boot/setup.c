// SPDX-License-Identifier: Apache-2.0
#include "kernel/boot/setup.h"

#include "kernel/boot/jail.h"
#include "kernel/core/kernel.h"
#include "kernel/fs/dev/dev.h"
#include "kernel/fs/image/host.h"
#include "kernel/fs/proc/proc.h"
#include "lib/seal/landlock.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Where the new root is put together before it becomes the root; every machine has it. */
#define SCAFFOLD "/tmp"
#define OLD_ROOT "/old"

#define SHADOW_OPTIONS "mode=0755,size=1m,nr_inodes=4096"

/* What is done with what is bound; of the store, files are made in the folder itself only. */
#define ACCESS_READ_TREE (SEAL_READ_FILES | SEAL_LIST)
#define ACCESS_STORE     (SEAL_READ_FILES | SEAL_WRITE_FILES | SEAL_MAKE_FILES)
#define ACCESS_CHANGE_TREE                                                                         \
    (ACCESS_READ_TREE | SEAL_WRITE_FILES | SEAL_MAKE_FILES | SEAL_MAKE_FOLDERS | SEAL_MAKE_LINKS | \
     SEAL_MOVE)
/* Its files are links to the stub, which is never written to. */
#define ACCESS_SHADOW \
    (ACCESS_READ_TREE | SEAL_EXECUTE | SEAL_MAKE_FILES | SEAL_MAKE_FOLDERS | SEAL_MOVE)

/* The stub's ELF file, linked into this program: boot/stub_image.S. */
extern const char stub_image_begin[], stub_image_finish[];

static const char *const image_host_names[] = {"usr",   "bin",   "sbin",   "lib",
                                               "lib32", "lib64", "libx32", "etc"};

int setup_fail(struct setup_error *e, int error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(e->text, sizeof(e->text), format, args);
    va_end(args);
    if (n >= 0 && (size_t)n < sizeof(e->text))
        snprintf(e->text + n, sizeof(e->text) - (size_t)n, ": %s", strerror(error));
    return -error;
}

static int make_directory(const char *path, struct setup_error *e)
{
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return setup_fail(e, errno, "mkdir %s", path);
    return 0;
}

/*
 * Binds what lies at `source` in the old tree. Flags that the host has locked (nosuid, nodev, ...)
 * stay; read-only is set on all mounts below too.
 */
static int bind_old(const char *source, const char *target, bool read_only, struct setup_error *e)
{
    char old[4096 + 8];
    if ((size_t)snprintf(old, sizeof(old), OLD_ROOT "%s", source) >= sizeof(old))
        return setup_fail(e, ENAMETOOLONG, "%s", source);
    if (mount(old, target, NULL, MS_BIND | MS_REC, NULL) < 0)
        return setup_fail(e, errno, "bind %s", source);
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV};
    if (read_only)
        attr.attr_set |= MOUNT_ATTR_RDONLY;
    if (syscall(SYS_mount_setattr, AT_FDCWD, target, AT_RECURSIVE, &attr, sizeof(attr)) < 0)
        return setup_fail(e, errno, "protect the mount of %s", source);
    return 0;
}

static int open_flags(const char *path, int flags, struct hostfd *ret, struct setup_error *e)
{
    int fd = open(path, flags | O_CLOEXEC);
    if (fd < 0)
        return setup_fail(e, errno, "open %s", path);
    ret->n = fd;
    return 0;
}

static int open_path(const char *path, struct hostfd *ret, struct setup_error *e)
{
    return open_flags(path, O_PATH, ret, e);
}

/* A private tmpfs becomes the root; the host's tree is at OLD_ROOT until the end. */
static int change_root(struct setup_error *e)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return setup_fail(e, errno, "make the mounts private");
    if (mount("glovebox", SCAFFOLD, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=4m") < 0)
        return setup_fail(e, errno, "mount a tmpfs");
    if (make_directory(SCAFFOLD OLD_ROOT, e) < 0)
        return -errno;
    if (syscall(SYS_pivot_root, SCAFFOLD, SCAFFOLD OLD_ROOT) < 0)
        return setup_fail(e, errno, "pivot_root");
    if (chdir("/") < 0)
        return setup_fail(e, errno, "chdir /");
    return 0;
}

static int bind_and_open(const char *source, const char *target, bool read_only, bool is_directory,
                         struct hostfd *ret, struct setup_error *e)
{
    if (is_directory) {
        int r = make_directory(target, e);
        if (r < 0)
            return r;
    } else {
        int fd = open(target, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        if (fd < 0)
            return setup_fail(e, errno, "create %s", target);
        close(fd);
    }
    int r = bind_old(source, target, read_only, e);
    return r < 0 ? r : open_path(target, ret, e);
}

static int allow_in_etc(struct hostfd fd, bool whole, void *e)
{
    return jail_allow(fd.n, whole ? ACCESS_READ_TREE : SEAL_READ_FILES, e);
}

static int allow_host_part(const char *name, const char *target, struct setup_error *e)
{
    struct hostfd fd = HOSTFD_NONE;
    int r = open_path(target, &fd, e);
    if (r < 0)
        return r;
    /* The rest of /etc is none of the image's business, whoever may read it. */
    r = strcmp(name, "etc") ? jail_allow(fd.n, ACCESS_READ_TREE, e)
                            : image_etc_visit(fd, allow_in_etc, e);
    hostfd_close(&fd);
    return r;
}

/* One part of the machine's own tree: a directory, or the link that it is ("bin" to "usr/bin"). */
static int bind_host_part(const char *name, struct setup_error *e)
{
    char source[64], old[80], target[80], link[256];
    struct stat st;
    snprintf(source, sizeof(source), "/%s", name);
    snprintf(old, sizeof(old), OLD_ROOT "/%s", name);
    snprintf(target, sizeof(target), "/image/%s", name);
    if (lstat(old, &st) < 0)
        return 0;
    if (S_ISLNK(st.st_mode)) {
        ssize_t n = readlink(old, link, sizeof(link) - 1);
        if (n < 0)
            return setup_fail(e, errno, "read the link %s", source);
        link[n] = '\0';
        return symlink(link, target) < 0 ? setup_fail(e, errno, "link %s", target) : 0;
    }
    if (!S_ISDIR(st.st_mode))
        return 0;
    int r = make_directory(target, e);
    if (r == 0)
        r = bind_old(source, target, true, e);
    return r < 0 ? r : allow_host_part(name, target, e);
}

static int bind_image(const struct spec *spec, struct world *w, struct setup_error *e)
{
    int r;
    if (strcmp(spec->image, "host")) {
        r = bind_and_open(spec->image, "/image", true, true, &w->image, e);
        return r < 0 ? r : jail_allow(w->image.n, ACCESS_READ_TREE, e);
    }
    r = make_directory("/image", e);
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(image_host_names); i++)
        r = bind_host_part(image_host_names[i], e);
    return r < 0 ? r : open_path("/image", &w->image, e);
}

static int bind_mount(const struct spec_mount *m, const char *target, struct hostfd *ret,
                      struct setup_error *e)
{
    char old[4096 + 8];
    struct stat st;
    snprintf(old, sizeof(old), OLD_ROOT "%s", m->host);
    if (stat(old, &st) < 0)
        return setup_fail(e, errno, "mount source %s", m->host);
    bool is_directory = S_ISDIR(st.st_mode);
    int r = bind_and_open(m->host, target, m->read_only, is_directory, ret, e);
    if (r < 0)
        return r;
    unsigned access = m->read_only ? ACCESS_READ_TREE : ACCESS_CHANGE_TREE;
    return jail_allow(ret->n, is_directory ? access : access & SEAL_ACCESS_OF_A_FILE, e);
}

static int bind_mounts(const struct spec *spec, struct world *w, struct setup_error *e)
{
    int r = make_directory("/host", e);
    if (r < 0)
        return r;
    w->mounts = calloc(spec->mount_count + 1, sizeof(*w->mounts));
    if (!w->mounts)
        return setup_fail(e, ENOMEM, "mounts");
    for (size_t i = 0; i < spec->mount_count; i++) {
        char target[64];
        snprintf(target, sizeof(target), "/host/%zu", i);
        r = bind_mount(&spec->mounts[i], target, &w->mounts[i], e);
        if (r < 0)
            return r;
    }
    return 0;
}

static int write_stub(struct setup_error *e)
{
    int fd = open("/shadow/stub", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0555);
    if (fd < 0)
        return setup_fail(e, errno, "create the loader stub");
    size_t size = (size_t)(stub_image_finish - stub_image_begin);
    ssize_t n = write(fd, stub_image_begin, size);
    close(fd);
    return n == (ssize_t)size ? 0 : setup_fail(e, EIO, "write the loader stub");
}

/*
 * What execveat(2) finds at its descriptor: a mount of its own that is attached nowhere, so that
 * ".." leads no task to what is above the tasks' root here.
 */
static int open_shadow_root(struct setup_error *e)
{
    _cleanup_close_ int tree =
        (int)syscall(SYS_open_tree, AT_FDCWD, "/shadow/root", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (tree < 0)
        return setup_fail(e, errno, "clone the tasks' root");
    kernel.shadow_root.n = openat(tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return kernel.shadow_root.n < 0 ? setup_fail(e, errno, "open the tasks' root") : 0;
}

static int make_shadow(struct setup_error *e)
{
    int r = make_directory("/shadow", e);
    if (r < 0)
        return r;
    if (mount("shadow", "/shadow", "tmpfs", MS_NOSUID | MS_NODEV, SHADOW_OPTIONS) < 0)
        return setup_fail(e, errno, "mount the tasks' root");
    r = make_directory("/shadow/root", e);
    if (r == 0)
        r = write_stub(e);
    if (r == 0)
        r = open_path("/shadow", &kernel.shadow_dir, e);
    if (r == 0)
        r = jail_allow(kernel.shadow_dir.n, ACCESS_SHADOW, e);
    /* These two are placed in tasks, which the host does with no O_PATH descriptor. */
    if (r == 0)
        r = open_shadow_root(e);
    /* As the tasks see it there is no /shadow above. */
    if (r == 0)
        r = jail_allow(kernel.shadow_root.n, SEAL_READ_FILES | SEAL_EXECUTE, e);
    if (r == 0)
        r = open_flags("/shadow/stub", O_RDONLY, &kernel.stub, e);
    return r;
}

static int mount_proc(struct setup_error *e)
{
    int r = make_directory("/proc", e);
    if (r < 0)
        return r;
    /*
     * Only processes: a user id that is root on the host, too, may read and write much of the rest
     * without any capability, such as /proc/sys/kernel/core_pattern.
     */
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, "subset=pid") <
        0)
        return setup_fail(e, errno,
                          "mount /proc (in a container its own /proc must not be masked)");
    r = open_path("/proc", &kernel.proc_dir, e);
    return r < 0 ? r : jail_allow(kernel.proc_dir.n, ACCESS_READ_TREE, e);
}

static int bind_store(const struct spec *spec, struct setup_error *e)
{
    int r = bind_and_open(spec->store, "/store", false, true, &kernel.store_dir, e);
    return r < 0 ? r : jail_allow(kernel.store_dir.n, ACCESS_STORE, e);
}

int setup_world(const struct spec *spec, struct world *ret, struct setup_error *e)
{
    /* The one device of the host that is used: what mmap(2) of the sandbox's /dev/zero maps. */
    dev_set_zero((struct hostfd){open("/dev/zero", O_RDWR | O_CLOEXEC)});
    /* What this process's own view of /proc will not have, or not to write to. */
    proc_set_host_cpuinfo((struct hostfd){open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC)});
    ret->oom_score.n = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
    int r = change_root(e);
    if (r == 0)
        r = mount_proc(e);
    if (r == 0)
        r = bind_image(spec, ret, e);
    if (r == 0)
        r = bind_mounts(spec, ret, e);
    if (r == 0)
        r = bind_store(spec, e);
    if (r == 0)
        r = make_shadow(e);
    if (r < 0)
        return r;
    if (umount2(OLD_ROOT, MNT_DETACH) < 0)
        return setup_fail(e, errno, "detach the host's tree");
    rmdir(OLD_ROOT);
    return 0;
}
