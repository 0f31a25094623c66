// SPDX-License-Identifier: Apache-2.0
#include "gateway/seal.h"

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

/* Without Landlock the sandbox's kernel does not start, unless the user has said that it may. */
static int begin_landlock(void)
{
    struct seal_landlock l;
    int r = seal_landlock_begin(&l, SEAL_SPARE_CONNECT);
    if (r == -EOPNOTSUPP)
        return 0;
    return r < 0 ? r : seal_landlock_enforce(&l);
}

/* A sanitizer makes calls of its own, and maps terabytes. */
#ifndef __SANITIZE_ADDRESS__
#define MEMORY_MAX_BYTES (64ULL << 20) /* of data: a policy, flows, look-ups */

/* In the order of the numbers. */
static const uint32_t calls[] = {
    SYS_write,           SYS_close,         SYS_poll,         SYS_mmap,
    SYS_munmap,          SYS_brk,           SYS_rt_sigreturn, SYS_pread64,
    SYS_writev,          SYS_mremap,        SYS_madvise,      SYS_getpid,
    SYS_socket,          SYS_connect,       SYS_sendto,       SYS_recvfrom,
    SYS_sendmsg,         SYS_recvmsg,       SYS_shutdown,     SYS_getsockname,
    SYS_socketpair,      SYS_setsockopt,    SYS_getsockopt,   SYS_fcntl,
    SYS_gettimeofday,    SYS_mlock,         SYS_time,         SYS_futex,
    SYS_restart_syscall, SYS_clock_gettime, SYS_exit_group,   SYS_epoll_wait,
    SYS_epoll_ctl,       SYS_getrandom,
};

#define ROW(call, argument, test, width, ...)                           \
    {                                                                   \
        SYS_##call, argument, test, (const uint32_t[]){__VA_ARGS__},    \
            sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), width \
    }
#define INT  false
#define LONG true

static const struct seal_check checks[] = {
    ROW(madvise, 2, SEAL_ANY_OF, INT, MADV_DONTDUMP),
    /* What pthread_once(3) does at its end; nobody waits. */
    ROW(futex, 1, SEAL_ANY_OF, INT, FUTEX_WAKE_PRIVATE),
    ROW(socket, 0, SEAL_ANY_OF, INT, AF_INET, AF_INET6),
    ROW(socket, 1, SEAL_ANY_OF, INT, SOCK_STREAM, SOCK_DGRAM,
        SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC),
    ROW(socketpair, 0, SEAL_ANY_OF, INT, AF_UNIX),
    ROW(socketpair, 1, SEAL_ANY_OF, INT, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC),
    ROW(fcntl, 1, SEAL_ANY_OF, INT, F_GETFL, F_SETFL, F_GETFD, F_SETFD),
    ROW(mmap, 2, SEAL_NO_OTHERS, LONG, PROT_READ | PROT_WRITE),
    ROW(mmap, 4, SEAL_ANY_OF, INT, (uint32_t)-1),
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

int gateway_seal(const char **ret_what)
{
    static const struct {
        const char *what;
        int (*run)(void);
    } steps[] = {
        {"give up the way to privileges", seal_no_new_privileges},
        {"landlock", begin_landlock},
        {"drop the capabilities", seal_drop_capabilities},
        {"limit resources", seal_limit_resources},
        {"forbid looks into the memory", seal_not_dumpable},
#ifndef __SANITIZE_ADDRESS__
        {"limit memory", limit_memory},
        {"seccomp", filter_calls},
#endif
    };
    seal_deny_write_execute();
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        int r = steps[i].run();
        if (r < 0) {
            *ret_what = steps[i].what;
            return r;
        }
    }
    return 0;
}
