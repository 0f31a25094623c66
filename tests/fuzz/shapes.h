// SPDX-License-Identifier: Apache-2.0
/*
 * Calls with what each argument must be for the call to get far, for tests/fuzz/sequence.c.
 *
 *   f descriptor   d directory descriptor   n process   s signal   M permissions
 *   k small number   w larger one   z size, and x word, of any kind   0 1 8 that number   - zero
 *   p path   b buffer with bytes in it   o buffer for an answer   t timespecs   v iovecs
 *   S strings   a socket address   m msghdr   i what an earlier call answered
 *   l size of what the last address of this call leads to   c how many there are
 *   (...) the address of a structure: of each field its size in bytes, and what it is; after * the
 *   fields stand there several times
 *
 * Other letters are pools: one of these words, or, where they are flags, of several.
 */
#pragma once

#include "tests/fuzz/input.h"

#include <asm/termbits.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

static const uint64_t open_flags[] = {
    O_RDWR,  O_CREAT,  O_WRONLY,    O_NONBLOCK, O_CLOEXEC, O_APPEND,
    O_TRUNC, O_EXCL,   O_DIRECTORY, O_NOFOLLOW, O_PATH,    O_TMPFILE | O_RDWR,
    O_SYNC,  O_NOCTTY, O_DIRECT,    O_ASYNC,    O_NOATIME,
};
static const uint64_t at_flags[] = {
    AT_EMPTY_PATH,     AT_SYMLINK_NOFOLLOW, AT_REMOVEDIR,
    AT_SYMLINK_FOLLOW, AT_EACCESS,          AT_NO_AUTOMOUNT,
};
static const uint64_t types[] = {
    S_IFIFO | 0666, S_IFREG | 0644, S_IFSOCK | 0777, S_IFCHR | 0600, S_IFBLK | 0600, S_IFDIR | 0755,
};
static const uint64_t descriptor_commands[] = {
    F_DUPFD,      F_GETFD,       F_SETFD,       F_GETFL,     F_SETFL,     F_GETLK,
    F_SETLK,      F_SETLKW,      F_SETOWN,      F_GETOWN,    F_SETSIG,    F_GETSIG,
    F_OFD_GETLK,  F_OFD_SETLK,   F_OFD_SETLKW,  F_SETLEASE,  F_GETLEASE,  F_SETPIPE_SZ,
    F_GETPIPE_SZ, F_ADD_SEALS,   F_GET_SEALS,   F_SETOWN_EX, F_GETOWN_EX, F_DUPFD_CLOEXEC,
    F_NOTIFY,     F_GET_RW_HINT, F_SET_RW_HINT,
};
static const uint64_t requests[] = {
    TCGETS,        TCSETS,      TCSETSW,        TCSETSF,         TCGETS2,     TCSETS2,
    TCSETSW2,      TCSETSF2,    TCGETA,         TCSETA,          TCSETAW,     TCSETAF,
    TCSBRK,        TCXONC,      TCFLSH,         TIOCEXCL,        TIOCNXCL,    TIOCSCTTY,
    TIOCGPGRP,     TIOCSPGRP,   TIOCOUTQ,       TIOCSTI,         TIOCGWINSZ,  TIOCSWINSZ,
    FIONREAD,      TIOCPKT,     FIONBIO,        TIOCNOTTY,       TIOCSETD,    TIOCGETD,
    TCSBRKP,       TIOCGSID,    TIOCGPTN,       TIOCSPTLCK,      TIOCSIG,     TIOCVHANGUP,
    TIOCGPKT,      TIOCGPTLCK,  TIOCGEXCL,      TIOCGPTPEER,     FIONCLEX,    FIOCLEX,
    FIOASYNC,      FIOQSIZE,    FIGETBSZ,       FS_IOC_GETFLAGS, SIOCGIFCONF, SIOCGIFNAME,
    SIOCGIFFLAGS,  SIOCGIFADDR, SIOCATMARK,     SIOCOUTQ,        SIOCGSTAMP,  SIOCGIFINDEX,
    SIOCGIFHWADDR, SIOCGIFMTU,  SIOCGIFNETMASK, SIOCGIFTXQLEN,   FICLONE,     FIDEDUPERANGE,
};
static const uint64_t domains[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET};
static const uint64_t socket_types[] = {
    SOCK_STREAM,
    SOCK_DGRAM,
    SOCK_SEQPACKET,
    SOCK_STREAM | SOCK_NONBLOCK,
    SOCK_DGRAM | SOCK_NONBLOCK,
    SOCK_RAW,
    SOCK_SEQPACKET | SOCK_CLOEXEC,
};
static const uint64_t levels[] = {
    SOL_SOCKET, IPPROTO_TCP, IPPROTO_IP, IPPROTO_IPV6, IPPROTO_UDP, SOL_NETLINK,
};
static const uint64_t message_flags[] = {
    MSG_DONTWAIT, MSG_PEEK, MSG_TRUNC,        MSG_WAITALL,  MSG_NOSIGNAL,   MSG_OOB,
    MSG_EOR,      MSG_MORE, MSG_CMSG_CLOEXEC, MSG_ERRQUEUE, MSG_WAITFORONE, MSG_CTRUNC,
};
static const uint64_t poll_events[] = {
    EPOLLIN, EPOLLOUT,     EPOLLPRI,       EPOLLHUP, EPOLLRDHUP,
    EPOLLET, EPOLLONESHOT, EPOLLEXCLUSIVE, EPOLLERR,
};
static const uint64_t waits_ms[] = {0, 1, UINT64_MAX};
static const uint64_t clocks[] = {
    CLOCK_MONOTONIC,         CLOCK_REALTIME, CLOCK_BOOTTIME,       CLOCK_PROCESS_CPUTIME_ID,
    CLOCK_THREAD_CPUTIME_ID, CLOCK_TAI,      CLOCK_REALTIME_ALARM,
};
static const uint64_t ipc_flags[] = {
    IPC_CREAT | 0600, 0,          IPC_NOWAIT, IPC_EXCL, MSG_NOERROR,
    SEM_UNDO,         MSG_EXCEPT, SHM_RDONLY, 040000,
};
static const uint64_t ipc_commands[] = {
    IPC_RMID, IPC_STAT, IPC_SET,  IPC_INFO, GETALL,     SETALL,   GETVAL,
    SETVAL,   GETPID,   GETNCNT,  GETZCNT,  SEM_INFO,   SEM_STAT, MSG_INFO,
    MSG_STAT, SHM_INFO, SHM_STAT, SHM_LOCK, SHM_UNLOCK,
};
static const uint64_t clone_flags[] = {
    SIGCHLD,       CLONE_FILES, CLONE_FS,     CLONE_VM,     CLONE_SIGHAND, CLONE_THREAD,
    CLONE_SYSVSEM, CLONE_VFORK, CLONE_SETTLS, CLONE_NEWPID, SIGUSR1,
};
static const uint64_t wait_flags[] = {WNOHANG, WUNTRACED, WCONTINUED, WEXITED, WNOWAIT, 0x40000000};
static const uint64_t watch_masks[] = {
    IN_ALL_EVENTS, IN_ONESHOT,     IN_ONLYDIR,     IN_MASK_ADD,    IN_MASK_CREATE,
    IN_MODIFY,     IN_DELETE_SELF, IN_DONT_FOLLOW, IN_EXCL_UNLINK,
};
static const uint64_t map_flags[] = {
    MAP_SHARED, MAP_PRIVATE, MAP_ANONYMOUS, MAP_FIXED, MAP_NORESERVE, MAP_SHARED_VALIDATE,
};
static const uint64_t personal[] = {
    PR_SET_NAME,         PR_GET_NAME,         PR_SET_PDEATHSIG,       PR_GET_PDEATHSIG,
    PR_SET_DUMPABLE,     PR_GET_DUMPABLE,     PR_SET_CHILD_SUBREAPER, PR_GET_CHILD_SUBREAPER,
    PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS, PR_CAPBSET_READ,        PR_CAPBSET_DROP,
    PR_SET_KEEPCAPS,     PR_GET_KEEPCAPS,     PR_SET_SECUREBITS,      PR_GET_SECUREBITS,
    PR_CAP_AMBIENT,      PR_SET_TIMERSLACK,   PR_GET_TIMERSLACK,      PR_SET_MM,
    PR_SET_THP_DISABLE,  PR_SET_VMA,          PR_GET_TID_ADDRESS,     PR_SET_SECCOMP,
};
static const uint64_t handlers[] = {(uint64_t)SIG_DFL, (uint64_t)SIG_IGN, 0x401000};
static const uint64_t handler_flags[] = {
    SA_SIGINFO, SA_RESTART,   SA_NOCLDSTOP, SA_NOCLDWAIT,
    SA_NODEFER, SA_RESETHAND, SA_ONSTACK,   0x04000000 /* SA_RESTORER */,
};
static const uint64_t versions[] = {
    _LINUX_CAPABILITY_VERSION_3,
    _LINUX_CAPABILITY_VERSION_1,
    _LINUX_CAPABILITY_VERSION_2,
};

static const uint64_t effects[] = {1, UINT64_MAX, 0, 2, UINT64_MAX - 1}; /* on a semaphore */
static const uint64_t route_types[] = {
    RTM_GETLINK, RTM_GETADDR, RTM_GETROUTE, RTM_GETNEIGH, RTM_NEWLINK, NLMSG_NOOP,
};
static const uint64_t route_flags[] = {NLM_F_REQUEST | NLM_F_DUMP, NLM_F_REQUEST, NLM_F_DUMP,
                                       NLM_F_ACK, NLM_F_ECHO};
static const uint64_t route_sizes[] = {32, 28, 24, 17, 16, 44};

static const struct pool {
    char letter;
    bool are_flags;
    uint8_t count;
    const uint64_t *words;
} pools[] = {
#define POOL(letter, are_flags, words)              \
    {                                               \
        letter, are_flags, ARRAY_SIZE(words), words \
    }
    POOL('A', true, at_flags),
    POOL('B', false, types),
    POOL('C', false, descriptor_commands),
    POOL('D', false, domains),
    POOL('E', true, poll_events),
    POOL('F', true, handler_flags),
    POOL('G', true, message_flags),
    POOL('H', false, handlers),
    POOL('I', true, watch_masks),
    POOL('J', false, versions),
    POOL('K', false, clocks),
    POOL('L', false, levels),
    POOL('O', true, open_flags),
    POOL('P', true, map_flags),
    POOL('Q', true, ipc_flags),
    POOL('R', false, requests),
    POOL('T', false, socket_types),
    POOL('U', false, personal),
    POOL('W', false, waits_ms),
    POOL('X', true, clone_flags),
    POOL('Y', false, ipc_commands),
    POOL('Z', true, wait_flags),
    POOL('N', false, route_types),
    POOL('j', true, route_flags),
    POOL('y', false, route_sizes),
    POOL('e', false, effects),
#undef POOL
};

struct shape {
    short nr;
    const char *arguments;
};

/* clang-format off */
static const struct shape shapes[] = {
    /* files */
    {SYS_read, "foz"}, {SYS_write, "fbl"}, {SYS_pread64, "fozk"}, {SYS_pwrite64, "fblz"},
    {SYS_readv, "fvk"}, {SYS_writev, "fvk"}, {SYS_preadv2, "fvkk0k"}, {SYS_pwritev2, "fvkk0k"},
    {SYS_lseek, "fzk"}, {SYS_ftruncate, "fz"}, {SYS_fallocate, "fkzz"}, {SYS_fsync, "f"},
    {SYS_copy_file_range, "f(8z)f(8z)z"}, {SYS_copy_file_range, "f0f0z"},
    {SYS_sendfile, "ff(8z)z"}, {SYS_sendfile, "ff0z"}, {SYS_splice, "f0f0zk"},
    {SYS_splice, "f(8z)f0zk"}, {SYS_splice, "f0f(8z)zk"}, {SYS_tee, "ffzk"},
    {SYS_vmsplice, "fvkk"}, {SYS_open, "pOM"}, {SYS_openat, "dpOM"},
    {SYS_openat2, "dp(8O8M8k)l"}, {SYS_close, "f"}, {SYS_close_range, "ffk"}, {SYS_dup, "f"},
    {SYS_dup3, "ffO"}, {SYS_fcntl, "fCk"}, {SYS_fcntl, "fC(2k2k8z8z4-)"},
    {SYS_fcntl, "fC(4k4n)"}, {SYS_fcntl, "fCO"}, {SYS_flock, "fk"}, {SYS_pipe2, "oO"},
    {SYS_memfd_create, "pk"}, {SYS_mmap, "0zkPfz"},
    /* names */
    {SYS_newfstatat, "dpoA"}, {SYS_statx, "dpAxo"}, {SYS_readlinkat, "dpoz"},
    {SYS_getdents64, "foz"}, {SYS_mkdirat, "dpM"}, {SYS_unlinkat, "dpA"},
    {SYS_renameat2, "dpdpk"}, {SYS_linkat, "dpdpA"}, {SYS_symlinkat, "pdp"}, {SYS_mknodat, "dpBk"},
    {SYS_chdir, "p"}, {SYS_fchdir, "f"}, {SYS_chroot, "p"}, {SYS_fchmod, "fM"},
    {SYS_fchmodat, "dpM"}, {SYS_fchownat, "dpkkA"}, {SYS_utimensat, "dptA"},
    {SYS_faccessat2, "dpkA"}, {SYS_setxattr, "ppblk"}, {SYS_fsetxattr, "fpblk"},
    {SYS_lgetxattr, "ppoz"}, {SYS_fgetxattr, "fpoz"}, {SYS_llistxattr, "poz"},
    {SYS_lremovexattr, "pp"}, {SYS_fstatfs, "fo"},
    /* events */
    {SYS_poll, "(*4f2E2-)cW"}, {SYS_ppoll, "(*4f2E2-)ct(8x)8"}, {SYS_select, "k(8x)(8x)(8x)t"},
    {SYS_pselect6, "k(8x)(8x)(8x)t0"}, {SYS_epoll_create1, "O"}, {SYS_epoll_ctl, "f1f(4E8x)"},
    {SYS_epoll_ctl, "fkf(4E8x)"}, {SYS_epoll_wait, "fokW"}, {SYS_epoll_pwait2, "fokt(8x)8"},
    {SYS_eventfd2, "kO"}, {SYS_timerfd_create, "KO"}, {SYS_timerfd_settime, "fkto"},
    {SYS_timerfd_gettime, "fo"}, {SYS_signalfd4, "f(8x)8O"}, {SYS_inotify_init1, "O"},
    {SYS_inotify_add_watch, "fpI"}, {SYS_inotify_rm_watch, "fi"}, {SYS_ioctl, "fR(4k4k)"},
    {SYS_ioctl, "fRb"}, {SYS_ioctl, "fRk"}, {SYS_ioctl, "fRo"},
    /* sockets */
    {SYS_socket, "DTk"}, {SYS_socketpair, "1T0o"}, {SYS_bind, "fal"}, {SYS_connect, "fal"},
    {SYS_listen, "fk"}, {SYS_accept4, "fo(4z)O"}, {SYS_getsockname, "fo(4z)"},
    {SYS_getpeername, "fo(4z)"}, {SYS_setsockopt, "fLw(4k)l"}, {SYS_setsockopt, "fLw(8k8k)l"},
    {SYS_setsockopt, "fLwbl"}, {SYS_getsockopt, "fLwo(4z)"}, {SYS_sendto, "fblGal"},
    {SYS_sendto, "fblG00"}, {SYS_recvfrom, "fozGo(4z)"}, {SYS_recvfrom, "fozG00"},
    {SYS_sendmsg, "fmG"}, {SYS_recvmsg, "fmG"}, {SYS_sendmmsg, "fmkG"}, {SYS_recvmmsg, "fmkGt"},
    {SYS_shutdown, "fk"},
    /* processes */
    {SYS_clone, "X"}, {SYS_fork, ""}, {SYS_vfork, ""}, {SYS_execve, "pSS"}, {SYS_execveat, "dpSSA"},
    {SYS_wait4, "noZo"}, {SYS_waitid, "knoZo"}, {SYS_pidfd_open, "nk"},
    {SYS_pidfd_send_signal, "fs0"}, {SYS_exit, "k"}, {SYS_exit_group, "k"}, {SYS_setpgid, "nn"},
    {SYS_setsid, ""}, {SYS_getsid, "n"}, {SYS_unshare, "X"}, {SYS_prctl, "Ukk"},
    {SYS_prctl, "Ub"}, {SYS_prctl, "U(8x8x)kk"}, {SYS_prlimit64, "nk(8z8z)o"},
    {SYS_sched_setattr, "n(4z4k8k4k4k8z8z8z)0"}, {SYS_sched_setscheduler, "nk(4k)"},
    {SYS_setresuid, "kkk"}, {SYS_setresgid, "kkk"}, {SYS_setgroups, "k(4k4k4k)"},
    {SYS_capset, "(4J4n)(4x4x4x4x4x4x)"}, {SYS_capget, "(4J4n)o"}, {SYS_sethostname, "bk"},
    /* signals and timers */
    {SYS_kill, "ns"}, {SYS_tgkill, "nns"}, {SYS_rt_sigaction, "s(8H8F8x8x)o8"},
    {SYS_rt_sigprocmask, "k(8x)o8"}, {SYS_rt_sigpending, "o8"}, {SYS_rt_sigtimedwait, "(8x)ot8"},
    {SYS_rt_sigsuspend, "(8x)8"}, {SYS_rt_sigqueueinfo, "ns(4s4k4x4k4n8x)"},
    {SYS_rt_sigreturn, ""}, {SYS_pause, ""}, {SYS_setitimer, "kto"}, {SYS_alarm, "k"},
    {SYS_timer_create, "K(8x4s4k4n)o"}, {SYS_timer_create, "K0o"}, {SYS_timer_settime, "kkto"},
    {SYS_timer_gettime, "ko"}, {SYS_timer_getoverrun, "k"}, {SYS_timer_delete, "k"},
    /* System V */
    {SYS_semget, "kkQ"}, {SYS_semop, "i(*2k2e2Q)c"}, {SYS_semtimedop, "i(*2k2e2Q)ct"},
    {SYS_semctl, "ikYk"}, {SYS_semctl, "ikYb"}, {SYS_msgget, "kQ"}, {SYS_msgsnd, "i(8k8x)kQ"},
    {SYS_msgrcv, "iozkQ"}, {SYS_msgctl, "iYb"}, {SYS_shmget, "kzQ"}, {SYS_shmctl, "iYb"},
    {SYS_shmat, "i0Q"}, {SYS_shmdt, "x"},
    /* netlink: a header and the start of its body */
    {SYS_sendto, "f(4y2N2j4k4-1k1k1k1k4k4k4k4k4k)lG00"},
};
/* clang-format on */
