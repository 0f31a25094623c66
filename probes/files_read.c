// SPDX-License-Identifier: Apache-2.0
/*
 * Reads of the host's files by name, whichever way the name takes.
 */
#include "probes/canary.h"
#include "probes/support.h"

#include <dirent.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define CLIMB "/../../../../../../../../../../../../../../../../../../../.."

static void check_below(const char *const *prefixes, size_t count)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "%s%s", prefixes[i], canary_path("secret"));
        canary_check_path(path);
    }
}

PROBE(read_by_its_path, HOST_FILES, .expected = "no name leads to the host's file",
      .outside = OUTSIDE_ESCAPES)
{
    canary_check_path(canary_path("secret"));
}

PROBE(read_by_climbing_from_the_root, HOST_FILES, .expected = "above the root is the root",
      .outside = OUTSIDE_ESCAPES)
{
    static const char *const prefixes[] = {"/..", CLIMB, "//..//..", "/./.././..", "/tmp/../.."};
    check_below(prefixes, ARRAY_SIZE(prefixes));
}

PROBE(read_by_climbing_from_descriptors, HOST_FILES, .expected = "above the root is the root",
      .outside = OUTSIDE_ESCAPES)
{
    static const char *const names[] = {"/",    "/proc", "/proc/self", "/proc/1", "/dev", "/sys",
                                        "/tmp", "/usr",  "/dev/shm",   "/run",    "."};
    char up[PATH_MAX];
    snprintf(up, sizeof(up), ".%s%s", CLIMB, canary_path("secret"));
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        int readable = open(names[i], O_RDONLY | O_DIRECTORY);
        int path = open(names[i], O_PATH);
        canary_check_at(readable, up, 0, names[i]);
        canary_check_at(path, up, 0, names[i]);
        close(readable);
        close(path);
    }
}

PROBE(read_by_symbolic_links, HOST_FILES,
      .expected = "links are followed in the sandbox's own tree", .outside = OUTSIDE_ESCAPES)
{
    static const char *const prefixes[] = {"", CLIMB, "/proc/self/root", ("/proc/self/cwd" CLIMB),
                                           "../../../../../../../../.."};
    char target[PATH_MAX];
    for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
        snprintf(target, sizeof(target), "%s%s", prefixes[i], canary_path("secret"));
        unlink("link");
        NEED(symlink(target, "link") == 0);
        canary_check_path("link");
    }
    unlink("link");
    NEED(symlink(canary_path(""), "link") == 0);
    canary_check_path("link/secret");
}

PROBE(read_by_a_chain_of_links, HOST_FILES, .expected = "no such file, and ELOOP past 40 links",
      .outside = OUTSIDE_ESCAPES)
{
    char name[16] = "l0", before[16];
    NEED(symlink(canary_path("secret"), name) == 0);
    for (int i = 1; i < 45; i++) {
        memcpy(before, name, sizeof(before));
        snprintf(name, sizeof(name), "l%d", i);
        NEED(symlink(before, name) == 0);
        canary_check_path(name);
    }
    REFUSED(open(name, O_RDONLY), ELOOP);
}

PROBE(read_through_its_own_root_link, HOST_FILES, .expected = "the root is the sandbox's",
      .outside = OUTSIDE_ESCAPES)
{
    static const char *const prefixes[] = {"/proc/self/root", ("/proc/self/root" CLIMB),
                                           "/proc/thread-self/root", "/proc/self/task/../root",
                                           "/proc/thread-self/../../root/.."};
    check_below(prefixes, ARRAY_SIZE(prefixes));
}

PROBE(read_through_roots_of_other_processes, HOST_FILES,
      .expected = "the root of whoever can be seen is the sandbox's", .outside = OUTSIDE_ESCAPES)
{
    char prefix[128];
    const char *const prefixes[] = {prefix};
    for (int pid = 1; pid < 64; pid++) {
        snprintf(prefix, sizeof(prefix), "/proc/%d/root", pid);
        check_below(prefixes, 1);
        snprintf(prefix, sizeof(prefix), "/proc/%d/cwd" CLIMB, pid);
        check_below(prefixes, 1);
        snprintf(prefix, sizeof(prefix), "/proc/%d/task/%d/root", pid, pid);
        check_below(prefixes, 1);
    }
    snprintf(prefix, sizeof(prefix), "/proc/%d/root", getppid());
    check_below(prefixes, 1);
}

PROBE(read_through_its_working_directory, HOST_FILES, .expected = "above the root is the root",
      .outside = OUTSIDE_ESCAPES)
{
    static const char *const prefixes[] = {"/proc/self/cwd" CLIMB, "/proc/thread-self/cwd" CLIMB,
                                           "." CLIMB};
    check_below(prefixes, ARRAY_SIZE(prefixes));
}

PROBE(read_through_links_of_descriptors, HOST_FILES,
      .expected = "a descriptor's link leads to the sandbox's file", .outside = OUTSIDE_ESCAPES)
{
    char prefix[128];
    const char *const prefixes[] = {prefix};
    NEED(open("/", O_PATH) >= 0 && open(".", O_RDONLY | O_DIRECTORY) >= 0);
    for (int fd = 0; fd < 64; fd++) {
        snprintf(prefix, sizeof(prefix), "/proc/self/fd/%d" CLIMB, fd);
        check_below(prefixes, 1);
        snprintf(prefix, sizeof(prefix), "/dev/fd/%d/../..", fd);
        check_below(prefixes, 1);
    }
}

PROBE(read_through_the_hosts_process, HOST_FILES, .expected = "there is no such process",
      .after = "/proc/PID/root of a process outside", .outside = OUTSIDE_ESCAPES)
{
    char path[128];
    long pid = canary_number("PID");
    snprintf(path, sizeof(path), "/proc/%ld/cwd/secret", pid);
    canary_check_path(path);
    for (int fd = 0; fd < 16; fd++) {
        snprintf(path, sizeof(path), "/proc/%ld/fd/%d", pid, fd);
        canary_check_path(path);
    }
}

PROBE(read_by_openat2, HOST_FILES, .expected = "no way of resolving finds it",
      .outside = OUTSIDE_ESCAPES)
{
    static const uint64_t ways[] = {0,
                                    RESOLVE_IN_ROOT,
                                    RESOLVE_BENEATH,
                                    RESOLVE_NO_XDEV,
                                    RESOLVE_NO_MAGICLINKS,
                                    RESOLVE_NO_SYMLINKS,
                                    0x20};
    const char *const paths[] = {canary_path("secret"), canary_path("./../../../../secret"),
                                 canary_path("secret") + 1};
    int root = open("/", O_PATH);
    for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
        for (size_t n = 0; n < ARRAY_SIZE(paths); n++) {
            struct open_how how = {.flags = O_RDONLY, .resolve = ways[i]};
            int fd = (int)syscall(SYS_openat2, root, paths[n], &how, sizeof(how));
            if (fd >= 0)
                canary_check_descriptor(fd, "openat2");
            close(fd);
        }
}

PROBE(read_by_opening_a_path_descriptor_again, HOST_FILES,
      .expected = "a descriptor without rights doesn't come to be", .outside = OUTSIDE_ESCAPES)
{
    char link[64];
    const char *const names[] = {"secret", ""};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        int fd = open(canary_path(names[i]), O_PATH);
        if (fd < 0)
            continue;
        snprintf(link, sizeof(link), "/proc/self/fd/%d%s", fd, i ? "/secret" : "");
        canary_check_path(link);
        canary_check_at(fd, "secret", 0, "a path descriptor");
    }
}

/* open_by_handle_at(2) finds files by numbers that can be guessed: no name is needed. */
PROBE(read_by_a_guessed_file_handle, HOST_FILES, .expected = "file handles are refused",
      .after = "shocker, the first escape from docker")
{
    union {
        struct file_handle handle;
        char space[sizeof(struct file_handle) + 8];
    } u;
    int mount = open("/", O_RDONLY | O_DIRECTORY), id;
    u.handle.handle_bytes = 8;
    REFUSED(syscall(SYS_name_to_handle_at, AT_FDCWD, "/", &u.handle, &id, 0L), EOPNOTSUPP, EPERM,
            ENOSYS);
    for (uint32_t inode = 1; inode < 64; inode++) {
        u.handle.handle_type = 1; /* FILEID_INO32_GEN: inode and generation */
        memcpy(u.handle.f_handle, &(uint64_t){inode}, 8);
        REFUSED(syscall(SYS_open_by_handle_at, mount, &u.handle, O_RDONLY), EPERM, ENOSYS);
        REFUSED(syscall(SYS_open_by_handle_at, AT_FDCWD, &u.handle, O_RDONLY), EPERM, ENOSYS);
    }
}

PROBE(read_by_names_of_the_kernels_root, HOST_FILES,
      .expected = "what the kernel process sees has no name inside")
{
    static const char *const prefixes[] = {"/old",      "/image",    "/host/0",
                                           "/store",    "/shadow",   "/shadow/root",
                                           "/image/..", "/store/..", "/proc/1/root/old"};
    check_below(prefixes, ARRAY_SIZE(prefixes));
    for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
        REFUSED(open(prefixes[i], O_PATH), ENOENT, EACCES, ENOTDIR);
}

/* chroot(2) says that it is no prison, and how to leave. */
PROBE(read_after_leaving_an_inner_root, HOST_FILES,
      .expected = "outside the inner root is the sandbox",
      .after = "the escape that chroot(2) describes", .outside = OUTSIDE_MAYBE)
{
    char up[PATH_MAX];
    probe_need_root();
    snprintf(up, sizeof(up), ".%s%s", CLIMB, canary_path("secret"));
    int outside = open("/", O_RDONLY | O_DIRECTORY);
    NEED(mkdir("inner", 0700) == 0 && chroot("inner") == 0);
    canary_check_path(canary_path("secret"));
    NEED(fchdir(outside) == 0);
    canary_check_path(up);
    for (int i = 0; i < 64; i++)
        NEED(chdir("..") == 0);
    NEED(chroot(".") == 0);
    canary_check_path(canary_path("secret"));
}

PROBE(read_by_a_hard_link, HOST_FILES, .expected = "there is nothing to link to",
      .outside = OUTSIDE_MAYBE)
{
    if (link(canary_path("secret"), "a") == 0)
        canary_check_path("a");
    if (linkat(AT_FDCWD, canary_path("secret"), AT_FDCWD, "b", AT_SYMLINK_FOLLOW) == 0)
        canary_check_path("b");
}

PROBE(learn_that_the_hosts_file_exists, HOST_FILES,
      .expected = "every call that names it says ENOENT", .outside = OUTSIDE_ESCAPES)
{
    struct stat st;
    char text[64];
    struct statx stx;
    const char *secret = canary_path("secret");
    REFUSED(stat(secret, &st), ENOENT);
    REFUSED(lstat(canary_path("socket"), &st), ENOENT);
    REFUSED(access(secret, F_OK), ENOENT);
    REFUSED(statx(AT_FDCWD, secret, 0, STATX_ALL, &stx), ENOENT);
    REFUSED(readlink(secret, text, sizeof(text)), ENOENT);
    REFUSED(chdir(canary_path("")), ENOENT);
    REFUSED(syscall(SYS_statfs, secret, text), ENOENT);
    REFUSED(syscall(SYS_getxattr, secret, "user.x", text, sizeof(text)), ENOENT);
    REFUSED(open(canary_path("secret/x"), O_RDONLY), ENOENT);
}

PROBE(list_the_hosts_directory, HOST_FILES, .expected = "there is no such directory",
      .outside = OUTSIDE_ESCAPES)
{
    DIR *dir = opendir(canary_path(""));
    if (dir)
        probe_escaped("the host's directory can be listed");
    REFUSED(open(canary_path(""), O_RDONLY | O_DIRECTORY), ENOENT);
}

/* Names of `path` and below, to a depth, that are this one. */
static void search(const char *path, const char *wanted, int depth, unsigned *budget)
{
    DIR *dir = opendir(path);
    const struct dirent *e;
    while (dir && (e = readdir(dir)) && *budget > 0) {
        char below[PATH_MAX];
        --*budget;
        if (!strcmp(e->d_name, wanted))
            probe_escaped("%s is in %s", wanted, path);
        if (depth > 0 && e->d_type == DT_DIR && e->d_name[0] != '.' &&
            (size_t)snprintf(below, sizeof(below), "%s/%s", path, e->d_name) < sizeof(below))
            search(below, wanted, depth - 1, budget);
    }
    if (dir)
        closedir(dir);
}

PROBE(search_for_the_hosts_directory, HOST_FILES, .expected = "it is in no directory",
      .outside = OUTSIDE_MAYBE)
{
    unsigned budget = 60000;
    const char *name = strrchr(canary_fact("FOLDER"), '/') + 1;
    static const char *const likely[] = {"/tmp", "/var/tmp", "/dev/shm", "/home", "/root", ""};
    for (size_t i = 0; i < ARRAY_SIZE(likely); i++)
        search(likely[i], name, 3, &budget);
}

PROBE(watch_the_hosts_file, HOST_FILES, .expected = "there is nothing to watch",
      .outside = OUTSIDE_ESCAPES)
{
    int fd = inotify_init1(0);
    NEED(fd >= 0);
    REFUSED(inotify_add_watch(fd, canary_path("secret"), IN_ALL_EVENTS), ENOENT);
    REFUSED(inotify_add_watch(fd, canary_path(""), IN_ALL_EVENTS), ENOENT);
}

PROBE(read_private_files_of_the_host, HOST_FILES,
      .expected = "keys, passwords, logs and sockets of the host are not in the image",
      .outside = OUTSIDE_MAYBE)
{
    static const char *const names[] = {"/etc/shadow",
                                        "/etc/gshadow",
                                        "/etc/shadow-",
                                        "/etc/ssh/ssh_host_rsa_key",
                                        "/etc/ssh/ssh_host_ed25519_key",
                                        "/etc/ssl/private",
                                        "/etc/NetworkManager",
                                        "/etc/docker",
                                        "/root/.ssh",
                                        "/root/.bash_history",
                                        "/var/lib/dpkg",
                                        "/var/log/syslog",
                                        "/var/log/dpkg.log",
                                        "/var/spool/cron",
                                        "/run/docker.sock",
                                        "/run/containerd",
                                        "/run/systemd",
                                        "/run/secrets",
                                        "/var/run/secrets",
                                        "/run/dbus",
                                        "/boot/grub",
                                        "/lost+found",
                                        "/etc/machine-info"};
    struct stat st;
    if (strcmp(canary_fact("IMAGE"), "host"))
        probe_skip("the sandbox has a root file system of its own");
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (lstat(names[i], &st) == 0)
            probe_escaped("%s is there", names[i]);
}

/* ---- names that change while they are followed ---- */

static volatile bool stop;

static void *exchange(void *unused _unused_)
{
    while (!stop)
        syscall(SYS_renameat2, AT_FDCWD, "one", AT_FDCWD, "two", 2L /* RENAME_EXCHANGE */);
    return NULL;
}

PROBE(race_a_directory_against_a_link, HOST_FILES,
      .expected = "one of the two names, never the host's",
      .after = "CVE-2018-15664, CVE-2021-30465", .outside = OUTSIDE_ESCAPES)
{
    NEED(mkdir("one", 0700) == 0 && symlink(canary_path(""), "two") == 0);
    probe_write_file("one/secret", "own", 3, 0600);
    probe_thread(exchange, NULL);
    for (int i = 0; i < 3000; i++)
        canary_check_path(i % 2 ? "one/secret" : "two/secret");
    stop = true;
}

static char flipping[PATH_MAX];

static void *flip(void *unused _unused_)
{
    const char *const names[] = {canary_path("secret"), "own", "/proc/self/root/etc/passwd",
                                 "../../../../../../../../shadow/root"};
    for (unsigned i = 0; !stop; i++) {
        strcpy(flipping, names[i % ARRAY_SIZE(names)]);
        /* Else the compiler keeps the last of them only. */
        __asm__ volatile("" : : : "memory");
        for (volatile int wait = 0; wait < 200; wait++)
            ;
    }
    return NULL;
}

PROBE(race_a_path_in_memory, HOST_FILES, .expected = "a path is read once and that copy is used",
      .outside = OUTSIDE_ESCAPES)
{
    const char *secret = canary_path("secret");
    probe_write_file("own", "own", 3, 0600);
    strcpy(flipping, "own");
    probe_thread(flip, NULL);
    /* Where the two share a processor, many rounds see one name alone. */
    for (unsigned i = 0, seen = 0; i < 3000 || seen < 100; i++) {
        if (!strcmp(flipping, secret))
            seen++;
        else
            sched_yield();
        int fd = open(flipping, O_RDONLY | O_NONBLOCK);
        if (fd >= 0)
            canary_check_descriptor(fd, "a path that flips");
        close(fd);
    }
    stop = true;
}

/* ---- trees that make ".." hard ---- */

PROBE(climb_out_of_a_deep_tree, HOST_FILES, .expected = "above the root is the root",
      .outside = OUTSIDE_ESCAPES)
{
    static char up[PATH_MAX];
    const char *secret = canary_path("secret");
    for (int i = 0; i < 500; i++)
        NEED(mkdir("d", 0700) == 0 && chdir("d") == 0);
    for (size_t size = 0; size + strlen(secret) + 8 < sizeof(up); size += 3)
        strcpy(up + size, "../");
    strcat(up, secret + 1);
    canary_check_path(up);
}

PROBE(climb_out_of_a_removed_directory, HOST_FILES, .expected = "no such file",
      .outside = OUTSIDE_MAYBE)
{
    char up[PATH_MAX];
    snprintf(up, sizeof(up), ".%s%s", CLIMB, canary_path("secret"));
    NEED(mkdir("a", 0700) == 0 && chdir("a") == 0 && rmdir("../a") == 0);
    canary_check_path(up);
    canary_check_path(up + 2);
}

/* A directory that moves out from under a walk lost its way to the root, once. */
PROBE(climb_out_of_a_moved_directory, HOST_FILES, .expected = "no such file",
      .after = "CVE-2015-2925", .outside = OUTSIDE_ESCAPES)
{
    char up[PATH_MAX];
    snprintf(up, sizeof(up), ".%s%s", CLIMB, canary_path("secret"));
    NEED(mkdir("a", 0700) == 0 && mkdir("a/b", 0700) == 0 && mkdir("a/b/c", 0700) == 0);
    int above = open("a", O_PATH), deep = open("a/b/c", O_PATH);
    if (probe_is_root())
        NEED(chroot("a/b") == 0);
    NEED(fchdir(deep) == 0 && renameat(above, "b/c", above, "c") == 0);
    canary_check_path(up);
    canary_check_at(deep, up, 0, "a directory that moved");
    NEED(renameat(above, "b", above, "c/b") == 0);
    canary_check_path(up);
}
