// SPDX-License-Identifier: Apache-2.0
/*
 * The order matters. Namespaces and root while there are capabilities; they are the kernel's doing,
 * on a visit to the tasks' mount namespace, since the child is born into the kernel's Landlock
 * domain and could mount nothing (boot/jail.h). Then the child gives everything up, and last comes
 * the filter, after which no call of it is run without the kernel's word.
 *
 * The child can't report by a call once the filter is there, so it publishes the listener's number
 * in shared memory and wakes a futex, both of which need no notification.
 */
#include "kernel/boot/init.h"

#include "kernel/boot/jail.h"
#include "kernel/core/kernel.h"
#include "kernel/host/filter.h"
#include "kernel/sys/table.h"
#include "lib/seal/privileges.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define LOCKED_BYTES_MAX (8L << 20) /* of a process */
#define WAIT_STEP_NS     (20 * NSEC_PER_MSEC)
/* The kernel and the init; and tasks that have ended for the kernel, and not yet for the host. */
#define TASKS_MORE 64

struct handshake {
    uint32_t done; /* futex: 0 not yet, 1 listener is set, 2 failed */
    int listener;
    struct setup_error error;
};

/* Of the child that init_begin() made. */
static struct handshake *handshake;
static pid_t child;

static void publish(struct handshake *h, uint32_t done)
{
    __atomic_store_n(&h->done, done, __ATOMIC_RELEASE);
    syscall(SYS_futex, &h->done, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/*
 * When memory is short, the host takes tasks, and never the kernel before them: without it nobody
 * could tell what happened. A process inherits oom_score_adj (proc(5)), and the jail has no way to
 * write to it, so that the kernel is a victim itself for the moment of the clone.
 */
static pid_t clone_victim(struct hostfd score, struct setup_error *e)
{
    char own[16];
    ssize_t size = pread(score.n, own, sizeof(own), 0);
    if (size <= 0 || pwrite(score.n, "1000", 4, 0) != 4)
        return setup_fail(e, errno, "write oom_score_adj");
    pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
    if (pid < 0)
        return setup_fail(e, errno, "make the tasks' PID namespace");
    if (pid > 0 && pwrite(score.n, own, (size_t)size, 0) != size)
        return setup_fail(e, errno, "write oom_score_adj");
    return pid;
}

/* A mount namespace of the tasks' own, in which there is nothing but their root. */
static int enter_shadow(struct setup_error *e)
{
    if (unshare(CLONE_NEWNS) < 0)
        return setup_fail(e, errno, "make the tasks' mount namespace");
    if (mount("/shadow/root", "/shadow/root", NULL, MS_BIND, NULL) < 0 ||
        chdir("/shadow/root") < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
        umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
        return setup_fail(e, errno, "enter the tasks' root");
    return 0;
}

/* What the host enforces on each task whatever the kernel thinks. */
static int limit_host_resources(struct setup_error *e)
{
    const struct rlimit none = {0, 0};
    struct rlimit locked, tasks;
    if (setrlimit(RLIMIT_CORE, &none) < 0 || setrlimit(RLIMIT_MSGQUEUE, &none) < 0)
        return setup_fail(e, errno, "set a resource limit");
    /* Behind the kernel's own count; in this user namespace alone (user_namespaces(7)), and not for
     * the host's root, whom a cgroup counts. */
    if (getrlimit(RLIMIT_NPROC, &tasks) == 0) {
        tasks.rlim_max = MIN(tasks.rlim_max, (rlim_t)kernel.config.thread_count + TASKS_MORE);
        tasks.rlim_cur = tasks.rlim_max;
        if (setrlimit(RLIMIT_NPROC, &tasks) < 0)
            return setup_fail(e, errno, "set a resource limit");
    }
    /* mmap with MAP_LOCKED is the host's; its root may have no limit for memory that stays in. */
    if (getrlimit(RLIMIT_MEMLOCK, &locked) == 0) {
        locked.rlim_max = MIN(locked.rlim_max, (rlim_t)LOCKED_BYTES_MAX);
        locked.rlim_cur = locked.rlim_max;
        if (setrlimit(RLIMIT_MEMLOCK, &locked) < 0)
            return setup_fail(e, errno, "set a resource limit");
    }
    return 0;
}

static int install_filter(struct handshake *h)
{
    static struct sock_filter program[FILTER_MAX_INSTRUCTIONS];
    int size = syscall_filter(kernel.marks, program, ARRAY_SIZE(program));
    if (size < 0)
        return setup_fail(&h->error, -size, "build the system-call filter");
    struct sock_fprog prog = {(unsigned short)size, program};
    long fd =
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &prog);
    if (fd < 0)
        return setup_fail(&h->error, errno, "install the system-call filter");
    h->listener = (int)fd;
    return 0;
}

static _noreturn_ void child_main(struct handshake *h)
{
    const char *const argv[] = {"init", NULL}, *const envp[] = {NULL};
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    prctl(PR_SET_NAME, "init", 0, 0, 0);
    int r = limit_host_resources(&h->error);
    if (r == 0 && (r = seal_drop_capabilities()) < 0)
        setup_fail(&h->error, -r, "drop the first task's capabilities");
    /* Ended children are reaped by the host at once; stays so over fork and exec. */
    signal(SIGCHLD, SIG_IGN);
    if (r == 0 && syscall(SYS_close_range, 0, ~0U, 0) < 0)
        r = setup_fail(&h->error, errno, "close the kernel's descriptors");
    if (r == 0)
        r = install_filter(h);
    publish(h, r == 0 ? 1 : 2);
    if (r == 0)
        syscall(SYS_execve, "/init", argv, envp);
    _exit(127);
}

/* True once the child has published; false when it died before. */
static bool await(struct handshake *h, pid_t pid)
{
    const struct timespec step = {0, WAIT_STEP_NS};
    while (__atomic_load_n(&h->done, __ATOMIC_ACQUIRE) == 0) {
        syscall(SYS_futex, &h->done, FUTEX_WAIT, 0, &step, NULL, 0);
        if (waitpid(pid, NULL, WNOHANG) == pid)
            return __atomic_load_n(&h->done, __ATOMIC_ACQUIRE) != 0;
    }
    return true;
}

/* Tasks may run on one whose number is none of the sandbox's. */
static bool has_more_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) < 0)
        return true;
    for (int i = kernel.config.cpu_count; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &set))
            return true;
    return false;
}

/* A descriptor's upper half is 0 or all ones in calls of a program. */
static void draw_marks(struct filter_marks *ret)
{
    do
        kernel_random(ret, sizeof(*ret));
    while (ret->map == 0 || ret->map == UINT32_MAX);
    ret->hides_processors = has_more_processors();
}

/* In the tasks' mount namespace and the jail's domain; the pid, or -errno. */
static int make_child(struct handshake *h, struct hostfd score, struct setup_error *e)
{
    _cleanup_close_ int home = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    if (home < 0)
        return setup_fail(e, errno, "open the kernel's mount namespace");
    int r = enter_shadow(e);
    if (r == 0)
        r = jail_confine(e);
    if (r < 0)
        return r;
    pid_t pid = clone_victim(score, e);
    if (pid == 0)
        child_main(h);
    if (pid < 0)
        return pid;
    if (setns(home, CLONE_NEWNS) < 0)
        return setup_fail(e, errno, "come back to the kernel's mount namespace");
    return pid;
}

int init_begin(struct world *world, struct setup_error *e)
{
    draw_marks(&kernel.marks);
    handshake =
        mmap(NULL, sizeof(*handshake), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (handshake == MAP_FAILED)
        return setup_fail(e, errno, "shared memory");
    child = make_child(handshake, world->oom_score, e);
    hostfd_close(&world->oom_score);
    return child < 0 ? child : 0;
}

int init_finish(struct hostfd *ret_listener, pid_t *ret_host_pid, struct setup_error *e)
{
    if (!await(handshake, child))
        return setup_fail(e, ECHILD, "the first task died");
    if (handshake->done == 2) {
        *e = handshake->error;
        return -EIO;
    }
    _cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, child, 0);
    int listener = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, handshake->listener, 0);
    if (listener < 0)
        return setup_fail(e, errno, "take the filter's listener");
    munmap(handshake, sizeof(*handshake));
    ret_listener->n = listener;
    *ret_host_pid = child;
    return 0;
}
