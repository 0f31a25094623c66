// SPDX-License-Identifier: Apache-2.0
#include "courier/courier.h"

#include "lib/seal/filter.h"
#include "lib/seal/landlock.h"
#include "lib/seal/privileges.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

static int begin_landlock(void)
{
    struct seal_landlock l;
    int r = seal_landlock_begin(&l, SEAL_SPARE_CONNECT);
    return r < 0 ? r : seal_landlock_enforce(&l);
}

/* A sanitizer makes calls of its own, and maps terabytes. */
#ifndef __SANITIZE_ADDRESS__
#define MEMORY_MAX_BYTES (64ULL << 20)

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

#define ROW(call, argument, test, width, ...)                           \
    {                                                                   \
        SYS_##call, argument, test, (const uint32_t[]){__VA_ARGS__},    \
            sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), width \
    }
#define INT  false
#define LONG true

static const struct seal_check checks_to_connect[] = {
    ROW(futex, 1, SEAL_ANY_OF, INT, FUTEX_WAKE_PRIVATE),
    ROW(socket, 0, SEAL_ANY_OF, INT, AF_INET, AF_INET6),
    ROW(socket, 1, SEAL_ANY_OF, INT, SOCK_STREAM, SOCK_DGRAM,
        SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC),
    ROW(fcntl, 1, SEAL_ANY_OF, INT, F_GETFL, F_SETFL, F_GETFD, F_SETFD),
    ROW(mmap, 2, SEAL_NO_OTHERS, LONG, PROT_READ | PROT_WRITE),
    ROW(mmap, 4, SEAL_ANY_OF, INT, (uint32_t)-1),
};

static const struct seal_check checks_to_post[] = {
    ROW(futex, 1, SEAL_ANY_OF, INT, FUTEX_WAKE_PRIVATE),
    ROW(mmap, 2, SEAL_NO_OTHERS, LONG, PROT_READ | PROT_WRITE),
    ROW(mmap, 4, SEAL_ANY_OF, INT, (uint32_t)-1),
};

static int limit_memory(void)
{
    const struct rlimit limit = {MEMORY_MAX_BYTES, MEMORY_MAX_BYTES};
    return setrlimit(RLIMIT_DATA, &limit) < 0 ? -errno : 0;
}

static int filter(const uint32_t *calls, size_t count, const struct seal_check *checks,
                  size_t check_count)
{
    static struct sock_filter program[SEAL_FILTER_MAX];
    int size = seal_filter_build(calls, count, checks, check_count, program, ARRAY_SIZE(program));
    return size < 0 ? size : seal_filter_install(program, size);
}

static int filter_to_connect(void)
{
    return filter(calls_to_connect, ARRAY_SIZE(calls_to_connect), checks_to_connect,
                  ARRAY_SIZE(checks_to_connect));
}

static int filter_to_post(void)
{
    return filter(calls_to_post, ARRAY_SIZE(calls_to_post), checks_to_post,
                  ARRAY_SIZE(checks_to_post));
}
#endif

int courier_seal_files(const struct courier *c)
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
        {"seccomp", filter_to_connect},
#endif
    };
    seal_deny_write_execute();
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        int r = steps[i].run();
        if (r < 0)
            return courier_fail(c, r, "courier: %s: %s", steps[i].what, strerror(-r));
    }
    return 0;
}

int courier_seal_sockets(const struct courier *c)
{
#ifndef __SANITIZE_ADDRESS__
    int r = filter_to_post();
    if (r < 0)
        return courier_fail(c, r, "courier: seccomp: %s", strerror(-r));
#endif
    return 0;
}
