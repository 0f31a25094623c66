// SPDX-License-Identifier: Apache-2.0
#include "server/seal.h"

#include "lib/base/launch.h"
#include "lib/seal/filter.h"
#include "lib/seal/landlock.h"
#include "lib/seal/privileges.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* chroot(2) for what Landlock does not know of, as reading what a file is. */
static int step_root(void)
{
    if (fchdir(LAUNCH_STATE_FD) < 0 || chroot(".") < 0 || chdir("/") < 0)
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

struct step {
    const char *what;
    int (*run)(void);
};

static int run_steps(const struct step *steps, size_t count, const char **ret_what)
{
    for (size_t i = 0; i < count; i++) {
        int r = steps[i].run();
        if (r < 0) {
            *ret_what = steps[i].what;
            return r;
        }
    }
    return 0;
}

int server_enter(const char **ret_what)
{
    static const struct step steps[] = {
        {"root", step_root},
        {"give up the way to privileges", seal_no_new_privileges},
        {"landlock", step_landlock},
        {"drop the capabilities", seal_drop_capabilities},
    };
    return run_steps(steps, ARRAY_SIZE(steps), ret_what);
}

/* A sanitizer makes calls of its own, and maps terabytes. */
#ifndef __SANITIZE_ADDRESS__
#define MEMORY_MAX_BYTES (1ULL << 30) /* of data */

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

#define ROW(call, argument, test, width, ...)                           \
    {                                                                   \
        SYS_##call, argument, test, (const uint32_t[]){__VA_ARGS__},    \
            sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), width \
    }
#define INT  false
#define LONG true

static const struct seal_check checks[] = {
    ROW(futex, 1, SEAL_ANY_OF, INT, FUTEX_WAKE_PRIVATE),
    ROW(fcntl, 1, SEAL_ANY_OF, INT, F_GETFL, F_SETFL, F_GETFD, F_SETFD, F_GETLK, F_SETLK,
        F_ADD_SEALS),
    ROW(mmap, 2, SEAL_NO_OTHERS, LONG, PROT_READ | PROT_WRITE),
    ROW(prlimit64, 2, SEAL_ANY_OF, LONG, 0),
    ROW(socketpair, 0, SEAL_ANY_OF, INT, AF_UNIX),
};

static int limit_memory(void)
{
    const struct rlimit limit = {MEMORY_MAX_BYTES, MEMORY_MAX_BYTES};
    return setrlimit(RLIMIT_DATA, &limit) < 0 ? -errno : 0;
}

static int filter_calls(void)
{
    static struct sock_filter program[SEAL_FILTER_MAX];
    int size = seal_filter_build(calls, ARRAY_SIZE(calls), checks, ARRAY_SIZE(checks), program,
                                 ARRAY_SIZE(program));
    return size < 0 ? size : seal_filter_install(program, size);
}
#endif

int server_seal(const char **ret_what)
{
    static const struct step steps[] = {
        {"limit resources", seal_limit_resources},
        {"forbid looks into the memory", seal_not_dumpable},
#ifndef __SANITIZE_ADDRESS__
        {"limit memory", limit_memory},
        {"seccomp", filter_calls},
#endif
    };
    seal_deny_write_execute();
    return run_steps(steps, ARRAY_SIZE(steps), ret_what);
}
