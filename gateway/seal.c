// SPDX-License-Identifier: Apache-2.0
#include "gateway/seal.h"

#include "lib/seal/jail.h"
#include "lib/seal/landlock.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/socket.h>

/* Without Landlock the sandbox's kernel does not start, unless the user has said that it may. */
static int begin_landlock(void)
{
    struct seal_landlock l;
    int r = seal_landlock_begin(&l, SEAL_SPARE_CONNECT);
    if (r == -EOPNOTSUPP)
        return 0;
    return r < 0 ? r : seal_landlock_enforce(&l);
}

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

static const struct seal_check checks[] = {
    SEAL_CHECK(madvise, 2, SEAL_ANY_OF, INT, MADV_DONTDUMP),
    /* What pthread_once(3) does at its end; nobody waits. */
    SEAL_CHECK(futex, 1, SEAL_ANY_OF, INT, FUTEX_WAKE_PRIVATE),
    SEAL_CHECK(socket, 0, SEAL_ANY_OF, INT, AF_INET, AF_INET6),
    SEAL_CHECK(socket, 1, SEAL_ANY_OF, INT, SOCK_STREAM, SOCK_DGRAM,
               SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
               SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC),
    SEAL_CHECK(socketpair, 0, SEAL_ANY_OF, INT, AF_UNIX),
    SEAL_CHECK(socketpair, 1, SEAL_ANY_OF, INT, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC),
    SEAL_CHECK(fcntl, 1, SEAL_ANY_OF, INT, F_GETFL, F_SETFL, F_GETFD, F_SETFD),
    SEAL_CHECK(mmap, 2, SEAL_NO_OTHERS, LONG, PROT_READ | PROT_WRITE),
    SEAL_CHECK(mmap, 4, SEAL_ANY_OF, INT, (uint32_t)-1),
};

int gateway_seal(const char **ret_what)
{
    static const struct seal_jail jail = {
        .memory_bytes = 64ULL << 20, /* a policy, flows, look-ups */
        .calls = calls,
        .call_count = ARRAY_SIZE(calls),
        .checks = checks,
        .check_count = ARRAY_SIZE(checks),
    };
    int r = seal_jail_enter(begin_landlock, ret_what);
    return r < 0 ? r : seal_jail_close(&jail, ret_what);
}
