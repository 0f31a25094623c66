// SPDX-License-Identifier: Apache-2.0
#include "server/seal.h"

#include "lib/base/launch.h"
#include "lib/seal/jail.h"
#include "lib/seal/landlock.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#ifdef __SANITIZE_ADDRESS__
/* The search for what leaks at the end reads of the process in /proc, and looks into it. The folder
 * is that of the launcher's mounts, where nothing can be mounted by this process. */
static void show_to_sanitizer(void)
{
    char path[PATH_MAX], name[32];
    snprintf(name, sizeof(name), "/proc/self/fd/%d", LAUNCH_STATE_FD);
    ssize_t size = readlink(name, path, sizeof(path) - 1);
    path[MAX(size, (ssize_t)0)] = '\0';
    if (size > 0 && chdir(path) == 0 && (mkdir("proc", 0700) == 0 || errno == EEXIST))
        mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
}

void server_exit(void)
{
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    exit(0);
}
#else
static void show_to_sanitizer(void)
{
}

void server_exit(void)
{
    exit(0);
}
#endif

/* chroot(2) for what Landlock does not know of, as reading what a file is. */
static int step_root(void)
{
    if (fchdir(LAUNCH_STATE_FD) < 0)
        return -errno;
    show_to_sanitizer();
    if (chroot(".") < 0 || chdir("/") < 0)
        return -errno;
    return 0;
}

static int step_landlock(void)
{
    struct seal_landlock l;
    int r = seal_landlock_begin(&l, 0);
    if (r == 0)
        r = seal_landlock_allow(&l, LAUNCH_STATE_FD,
                                SEAL_READ_FILES | SEAL_LIST | SEAL_WRITE_FILES | SEAL_MAKE_FILES);
    return r < 0 ? r : seal_landlock_enforce(&l);
}

int server_enter(const char **ret_what)
{
    static const struct seal_step root = {"root", step_root};
    int r = seal_run_steps(&root, 1, ret_what);
    return r < 0 ? r : seal_jail_enter(step_landlock, ret_what);
}

/* In the order of the numbers. */
static const uint32_t calls[] = {
    SYS_read,
    SYS_write,
    SYS_close,
    SYS_stat,
    SYS_fstat,
    SYS_lstat,
    SYS_poll,
    SYS_lseek,
    SYS_mmap,
    SYS_munmap,
    SYS_brk,
    SYS_rt_sigreturn,
    SYS_pread64,
    SYS_pwrite64,
    SYS_access,
    SYS_mremap,
    SYS_madvise,
    SYS_getpid,
    SYS_sendto,
    SYS_recvfrom,
    SYS_sendmsg,
    SYS_recvmsg,
    SYS_shutdown,
    SYS_getsockname,
    SYS_getpeername,
    SYS_socketpair,
    SYS_setsockopt,
    SYS_getsockopt,
    SYS_fcntl,
    SYS_fsync,
    SYS_fdatasync,
    SYS_ftruncate,
    SYS_getcwd,
    SYS_unlink,
    SYS_readlink,
    SYS_fchmod,
    SYS_gettimeofday,
    SYS_getrlimit,
    SYS_geteuid,
    SYS_futex,
    SYS_restart_syscall,
    SYS_clock_gettime,
    SYS_exit_group,
    SYS_epoll_wait,
    SYS_epoll_ctl,
    SYS_openat,
    SYS_newfstatat,
    SYS_fallocate,
    SYS_accept4,
    SYS_prlimit64,
    SYS_getrandom,
    SYS_memfd_create,
};

static const struct seal_check checks[] = {
    SEAL_CHECK(futex, 1, SEAL_ANY_OF, INT, FUTEX_WAKE_PRIVATE),
    SEAL_CHECK(fcntl, 1, SEAL_ANY_OF, INT, F_GETFL, F_SETFL, F_GETFD, F_SETFD, F_GETLK, F_SETLK,
               F_ADD_SEALS),
    SEAL_CHECK(mmap, 2, SEAL_NO_OTHERS, LONG, PROT_READ | PROT_WRITE),
    SEAL_CHECK(prlimit64, 2, SEAL_ANY_OF, LONG, 0),
    SEAL_CHECK(socketpair, 0, SEAL_ANY_OF, INT, AF_UNIX),
};

int server_seal(const char **ret_what)
{
    static const struct seal_jail jail = {
        .memory_bytes = 1ULL << 30,
        .calls = calls,
        .call_count = ARRAY_SIZE(calls),
        .checks = checks,
        .check_count = ARRAY_SIZE(checks),
    };
    return seal_jail_close(&jail, ret_what);
}
