// SPDX-License-Identifier: Apache-2.0
#include "courier/courier.h"

#include "lib/seal/jail.h"
#include "lib/seal/landlock.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/socket.h>

static int begin_landlock(void)
{
    struct seal_landlock l;
    int r = seal_landlock_begin(&l, SEAL_SPARE_CONNECT);
    return r < 0 ? r : seal_landlock_enforce(&l);
}

/* What a name server, TLS and an answer take, in the order of the numbers. */
static const uint32_t calls_to_connect[] = {
    SYS_write,      SYS_close,           SYS_poll,          SYS_mmap,         SYS_munmap,
    SYS_brk,        SYS_rt_sigreturn,    SYS_pread64,       SYS_writev,       SYS_mremap,
    SYS_madvise,    SYS_getpid,          SYS_socket,        SYS_connect,      SYS_sendto,
    SYS_recvfrom,   SYS_sendmsg,         SYS_recvmsg,       SYS_shutdown,     SYS_getsockname,
    SYS_setsockopt, SYS_getsockopt,      SYS_fcntl,         SYS_gettimeofday, SYS_time,
    SYS_futex,      SYS_restart_syscall, SYS_clock_gettime, SYS_exit_group,   SYS_seccomp,
    SYS_getrandom,
};

static const uint32_t calls_to_post[] = {
    SYS_write,  SYS_close,           SYS_poll,          SYS_mmap,         SYS_munmap,
    SYS_brk,    SYS_rt_sigreturn,    SYS_mremap,        SYS_madvise,      SYS_getpid,
    SYS_sendto, SYS_recvfrom,        SYS_shutdown,      SYS_gettimeofday, SYS_time,
    SYS_futex,  SYS_restart_syscall, SYS_clock_gettime, SYS_exit_group,   SYS_getrandom,
};

static const struct seal_check checks_to_connect[] = {
    SEAL_CHECK(futex, 1, SEAL_ANY_OF, INT, FUTEX_WAKE_PRIVATE),
    SEAL_CHECK(socket, 0, SEAL_ANY_OF, INT, AF_INET, AF_INET6),
    SEAL_CHECK(socket, 1, SEAL_ANY_OF, INT, SOCK_STREAM, SOCK_DGRAM,
               SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
               SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC),
    SEAL_CHECK(fcntl, 1, SEAL_ANY_OF, INT, F_GETFL, F_SETFL, F_GETFD, F_SETFD),
    SEAL_CHECK(mmap, 2, SEAL_NO_OTHERS, LONG, PROT_READ | PROT_WRITE),
    SEAL_CHECK(mmap, 4, SEAL_ANY_OF, INT, (uint32_t)-1),
};

static const struct seal_check checks_to_post[] = {
    SEAL_CHECK(futex, 1, SEAL_ANY_OF, INT, FUTEX_WAKE_PRIVATE),
    SEAL_CHECK(mmap, 2, SEAL_NO_OTHERS, LONG, PROT_READ | PROT_WRITE),
    SEAL_CHECK(mmap, 4, SEAL_ANY_OF, INT, (uint32_t)-1),
};

static int fail(const struct courier *c, int error, const char *what)
{
    return error < 0 ? courier_fail(c, error, "courier: %s: %s", what, strerror(-error)) : 0;
}

int courier_seal_files(const struct courier *c)
{
    static const struct seal_jail jail = {
        .memory_bytes = 64ULL << 20,
        .calls = calls_to_connect,
        .call_count = ARRAY_SIZE(calls_to_connect),
        .checks = checks_to_connect,
        .check_count = ARRAY_SIZE(checks_to_connect),
    };
    const char *what = "";
    int r = seal_jail_enter(begin_landlock, &what);
    if (r == 0)
        r = seal_jail_close(&jail, &what);
    return fail(c, r, what);
}

int courier_seal_sockets(const struct courier *c)
{
    static const struct seal_jail jail = {
        .calls = calls_to_post,
        .call_count = ARRAY_SIZE(calls_to_post),
        .checks = checks_to_post,
        .check_count = ARRAY_SIZE(checks_to_post),
    };
    const char *what = "";
    int r = seal_jail_filter(&jail, &what);
    return fail(c, r, what);
}
