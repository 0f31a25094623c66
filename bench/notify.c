// SPDX-License-Identifier: Apache-2.0
/*
 * The floor: what a system call costs that another process answers, when that process does nothing
 * else. Runs a command under a filter that notifies getppid(2), and answers each with 1.
 *
 *     notify COMMAND ARG...
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV /* Linux 5.19 */
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS /* Linux 6.6 */
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS      SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

static void fail(const char *what)
{
    fprintf(stderr, "notify: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* The command's side: 0 in *listener means "not yet". */
static void become(char **command, volatile int *listener)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(code) / sizeof(*code), code};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        fail("no_new_privs");
    int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                          SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
                          &program);
    if (fd < 0)
        fail("filter");
    *listener = fd;
    while (*listener) /* until it was taken over */
        usleep(1000);
    close(fd);
    execvp(command[0], command);
    fail(command[0]);
}

static int take_listener(pid_t pid, volatile int *listener)
{
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    while (!*listener) {
        usleep(1000);
        if (waitpid(pid, NULL, WNOHANG) == pid)
            exit(1);
    }
    int fd = (int)syscall(SYS_pidfd_getfd, pidfd, *listener, 0);
    if (fd < 0)
        fail("listener");
    if (ioctl(fd, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP) < 0)
        fputs("notify: no fast wake-up: this Linux is older than 6.6\n", stderr);
    *listener = 0;
    return fd;
}

/* The command has ended: so does this. */
static void on_child(int sig)
{
    int status;
    if (wait(&status) > 0)
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static _Noreturn void answer_all(int listener)
{
    for (;;) {
        struct seccomp_notif n = {0};
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &n) < 0) {
            if (errno == ENOENT) /* gone, or nobody is left: on_child() comes */
                usleep(1000);
            continue;
        }
        struct seccomp_notif_resp answer = {.id = n.id, .val = 1};
        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fputs("usage: notify COMMAND ARG...\n", stderr);
        return 2;
    }
    volatile int *listener =
        mmap(NULL, sizeof(*listener), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (listener == MAP_FAILED)
        fail("memory");
    pid_t pid = fork();
    if (pid < 0)
        fail("fork");
    if (pid == 0)
        become(argv + 1, listener);
    int fd = take_listener(pid, listener);
    signal(SIGCHLD, on_child);
    if (waitpid(pid, NULL, WNOHANG) == pid)
        return 1;
    answer_all(fd);
}
