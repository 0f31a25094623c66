// SPDX-License-Identifier: Apache-2.0
/*
 * host calls: brk mmap munmap mremap writev exit_group
 *
 * Those are what libc needs for malloc(3), to say that it found its memory corrupted, and to end.
 */
#include "kernel/boot/jail_calls.h"

#include "kernel/host/newer.h"
#include "lib/base/control.h"
#include "lib/base/gateway.h"
#include "lib/seal/filter.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>

static const uint32_t calls[] = {
#define HOST_CALL(name) SYS_##name,
#ifdef __SANITIZE_ADDRESS__
#define SANITIZER_CALL(name) SYS_##name,
#else
#define SANITIZER_CALL(name)
#endif
#include "kernel/boot/host_calls.def"
};

/*
 * Call, argument, what is tested, for the reader of docs, and the values. "long" where the host
 * takes all 64 bits of the register.
 */
#define ROW(call, argument, test, width, text, ...) \
    SEAL_CHECK(call, argument, test, width, __VA_ARGS__)

#define OPEN_FLAGS                                                                             \
    (O_ACCMODE | O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_APPEND | O_NONBLOCK | O_DIRECTORY | \
     O_NOFOLLOW | O_CLOEXEC | O_PATH | O_TMPFILE)

static const struct seal_check checks[] = {
    ROW(process_vm_readv, 2, SEAL_ANY_OF, LONG, "one range", 1),
    ROW(process_vm_readv, 4, SEAL_ANY_OF, LONG, "", 1),
    ROW(process_vm_readv, 5, SEAL_ANY_OF, LONG, "", 0),
    ROW(process_vm_writev, 2, SEAL_ANY_OF, LONG, "one range", 1),
    ROW(process_vm_writev, 4, SEAL_ANY_OF, LONG, "", 1),
    ROW(process_vm_writev, 5, SEAL_ANY_OF, LONG, "", 0),
    ROW(tgkill, 2, SEAL_ANY_OF, INT, "SIGURG, SIGSTOP, SIGKILL, or none to see who lives", 0,
        SIGURG, SIGSTOP, SIGKILL),
    ROW(tkill, 1, SEAL_ANY_OF, INT, "SIGKILL", SIGKILL),
    ROW(pidfd_send_signal, 1, SEAL_ANY_OF, INT, "SIGKILL, SIGSTOP, SIGCONT", SIGKILL, SIGSTOP,
        SIGCONT),
    ROW(pidfd_send_signal, 2, SEAL_ANY_OF, LONG, "no made-up siginfo", 0),
    ROW(prlimit64, 1, SEAL_ANY_OF, INT, "RLIMIT_AS, _DATA, _STACK, _LOCKS, _NOFILE", RLIMIT_AS,
        RLIMIT_DATA, RLIMIT_STACK, RLIMIT_LOCKS, RLIMIT_NOFILE),
    /*
     * A TCP socket that was cut off can be connected anew by a message with MSG_FASTOPEN, wherever
     * to, and neither Landlock nor a ban on connect(2) sees it.
     */
    ROW(sendmsg, 0, SEAL_ANY_OF, INT, "the control socket, never to connect", CONTROL_FD),
    ROW(sendmsg, 2, SEAL_NO_OTHERS, INT, "", MSG_NOSIGNAL | MSG_DONTWAIT),
    ROW(sendto, 3, SEAL_NO_OTHERS, INT, "no address, never to connect",
        MSG_NOSIGNAL | MSG_DONTWAIT | MSG_MORE),
    ROW(sendto, 4, SEAL_ANY_OF, LONG, "", 0),
    ROW(recvfrom, 4, SEAL_ANY_OF, LONG, "no address", 0),
    ROW(recvmsg, 0, SEAL_ANY_OF, INT, "the gateway's channel, the control socket",
        GATEWAY_KERNEL_FD, CONTROL_FD),
    ROW(getsockopt, 1, SEAL_ANY_OF, INT, "SO_ERROR; SO_DOMAIN, _TYPE, _PROTOCOL, _LINGER",
        SOL_SOCKET),
    ROW(getsockopt, 2, SEAL_ANY_OF, INT, "", SO_ERROR, SO_DOMAIN, SO_TYPE, SO_PROTOCOL, SO_LINGER),
    ROW(setsockopt, 1, SEAL_ANY_OF, INT, "TCP_NODELAY, TCP_CORK", IPPROTO_TCP),
    ROW(setsockopt, 2, SEAL_ANY_OF, INT, "", TCP_NODELAY, TCP_CORK),
    ROW(shmget, 0, SEAL_ANY_OF, INT, "IPC_PRIVATE", IPC_PRIVATE),
    /*
     * SHM_INFO: the memory limit counts what segments hold (event/sysv_shm.c). The sanitizers wrap
     * shmctl(2) but make no call of their own, so this holds in their builds too.
     */
    ROW(shmctl, 1, SEAL_ANY_OF, INT, "IPC_STAT, IPC_RMID, SHM_INFO", IPC_STAT, IPC_RMID, SHM_INFO),
    ROW(memfd_create, 1, SEAL_NO_OTHERS, INT, "no huge pages",
        MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL),
#ifndef __SANITIZE_ADDRESS__
    ROW(ioctl, 1, SEAL_ANY_OF, INT,
        "seccomp's notifications, the ids of a process and how it ended, bytes in a pipe or socket",
        SECCOMP_IOCTL_NOTIF_RECV, SECCOMP_IOCTL_NOTIF_SEND, SECCOMP_IOCTL_NOTIF_ADDFD,
        SECCOMP_IOCTL_NOTIF_ID_VALID, SECCOMP_IOCTL_NOTIF_SET_FLAGS, PIDFD_GET_INFO_EXIT,
        NS_GET_PID_IN_PIDNS, FIONREAD, TIOCOUTQ),
    ROW(fcntl, 1, SEAL_ANY_OF, INT, "F_GETFL, F_SETFD, F_ADD_SEALS", F_GETFL, F_SETFD, F_ADD_SEALS),
    ROW(madvise, 2, SEAL_ANY_OF, INT, "MADV_DONTNEED", MADV_DONTNEED),
    ROW(openat, 2, SEAL_NO_OTHERS, INT, "no flag beside those that the code uses", OPEN_FLAGS),
    ROW(mmap, 2, SEAL_NO_OTHERS, LONG, "never executable", PROT_READ | PROT_WRITE),
    ROW(mmap, 4, SEAL_ANY_OF, INT, "no file", (uint32_t)-1),
    ROW(writev, 0, SEAL_ANY_OF, INT, "the log", STDERR_FILENO),
#endif
};

int jail_filter_calls(void)
{
    static struct sock_filter program[SEAL_FILTER_MAX];
    int size = seal_filter_build(calls, ARRAY_SIZE(calls), checks, ARRAY_SIZE(checks), program,
                                 ARRAY_SIZE(program));
    int r = size < 0 ? size : seal_filter_install(program, size);
    return r < 0 ? r : (int)ARRAY_SIZE(calls);
}
