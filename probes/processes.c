// SPDX-License-Identifier: Apache-2.0
/*
 * Processes of the host, of other users of the sandbox, and the life of its own.
 */
#include "probes/canary.h"
#include "probes/support.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

PROBE(look_for_the_hosts_process, PROCESSES, .expected = "ESRCH from every call that asks",
      .outside = OUTSIDE_ESCAPES)
{
    pid_t pid = (pid_t)canary_number("PID");
    struct rlimit limit;
    struct stat st;
    cpu_set_t set;
    char path[64];
    REFUSED(kill(pid, 0), ESRCH);
    REFUSED(syscall(SYS_pidfd_open, (long)pid, 0L), ESRCH);
    REFUSED(getpgid(pid), ESRCH);
    REFUSED(getsid(pid), ESRCH);
    REFUSED(sched_getscheduler(pid), ESRCH);
    REFUSED(sched_getaffinity(pid, sizeof(set), &set), ESRCH);
    REFUSED(prlimit(pid, RLIMIT_NOFILE, NULL, &limit), ESRCH);
    REFUSED(getpriority(PRIO_PROCESS, (id_t)pid), ESRCH);
    snprintf(path, sizeof(path), "/proc/%d", pid);
    REFUSED(stat(path, &st), ENOENT);
    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    REFUSED(open(path, O_RDONLY), ENOENT);
}

/* The host's process says whether it got one. */
PROBE(signal_the_hosts_process, PROCESSES, .expected = "ESRCH")
{
    pid_t pid = (pid_t)canary_number("PID");
    siginfo_t info = {.si_code = SI_QUEUE};
    for (int sig = 1; sig < 65; sig++) {
        REFUSED(kill(pid, sig), ESRCH);
        REFUSED(syscall(SYS_tkill, (long)pid, (long)sig), ESRCH);
        REFUSED(syscall(SYS_tgkill, (long)pid, (long)pid, (long)sig), ESRCH);
        REFUSED(syscall(SYS_rt_sigqueueinfo, (long)pid, (long)sig, &info), ESRCH, EPERM, EINVAL);
        REFUSED(kill(-pid, sig), ESRCH);
    }
}

PROBE(change_the_hosts_process, PROCESSES, .expected = "ESRCH")
{
    pid_t pid = (pid_t)canary_number("PID");
    struct rlimit limit = {1, 1};
    struct sched_param param = {0};
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    REFUSED(prlimit(pid, RLIMIT_CPU, &limit, NULL), ESRCH);
    REFUSED(setpriority(PRIO_PROCESS, (id_t)pid, 19), ESRCH);
    REFUSED(sched_setaffinity(pid, sizeof(set), &set), ESRCH);
    REFUSED(sched_setscheduler(pid, SCHED_IDLE, &param), ESRCH);
    REFUSED(setpgid(pid, pid), ESRCH);
    REFUSED(syscall(SYS_ioprio_set, 1L, (long)pid, 3L << 13), ESRCH);
}

PROBE(list_processes_of_the_host, PROCESSES, .expected = "/proc has the sandbox's alone",
      .outside = OUTSIDE_ESCAPES)
{
    DIR *dir = opendir("/proc");
    const struct dirent *e;
    const char *name = canary_fact("NAME");
    NEED(dir);
    while ((e = readdir(dir))) {
        char path[300], text[256];
        snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
        if (e->d_name[0] < '0' || e->d_name[0] > '9' ||
            probe_read_file(path, text, sizeof(text)) <= 0)
            continue;
        if (!strncmp(text, name, 12) || !strncmp(text, "glovebox-kernel", 15) ||
            !strncmp(text, "systemd", 7) || !strncmp(text, "kthreadd", 8))
            probe_escaped("process %s is %.20s", e->d_name, text);
    }
}

PROBE(signal_every_number, PROCESSES, .expected = "ESRCH but for processes of the sandbox")
{
    unsigned found = 0;
    for (pid_t pid = 1; pid < 70000; pid++)
        found += kill(pid, 0) == 0 || errno == EPERM;
    /* The init, the runner, this one, and what may have been left a moment ago. */
    if (found > 16)
        probe_escaped("%u processes can be seen", found);
}

PROBE(kill_the_init, PROCESSES, .expected = "it lives on, and the sandbox with it")
{
    for (int sig = 1; sig < 65; sig++)
        kill(1, sig);
    usleep(20000);
    probe_check_kernel();
}

PROBE(stop_the_init, PROCESSES, .expected = "it runs on")
{
    for (int i = 0; i < 20; i++) {
        kill(1, SIGSTOP);
        kill(1, SIGTSTP);
        syscall(SYS_tgkill, 1L, 1L, (long)SIGSTOP);
    }
    probe_check_kernel();
}

PROBE(signal_processes_of_another_user, PROCESSES, .expected = "EPERM")
{
    probe_need_root();
    pid_t other = probe_sleeper();
    probe_become_user();
    siginfo_t info = {.si_code = SI_QUEUE};
    REFUSED(kill(other, SIGKILL), EPERM);
    REFUSED(kill(1, SIGKILL), EPERM);
    REFUSED(syscall(SYS_tkill, (long)other, (long)SIGKILL), EPERM);
    REFUSED(syscall(SYS_rt_sigqueueinfo, (long)other, (long)SIGKILL, &info), EPERM);
    int pidfd = (int)syscall(SYS_pidfd_open, (long)other, 0L);
    REFUSED(syscall(SYS_pidfd_send_signal, pidfd, (long)SIGKILL, NULL, 0L), EPERM);
    REFUSED(setpriority(PRIO_PROCESS, (id_t)other, 5), EPERM, ESRCH);
    REFUSED(prlimit(other, RLIMIT_CPU, &(struct rlimit){1, 1}, NULL), EPERM);
}

PROBE(forge_the_sender_of_a_signal, PROCESSES,
      .expected = "EPERM: no program speaks for the kernel", .outside = OUTSIDE_NEVER)
{
    static const int codes[] = {0 /* SI_USER */, SI_KERNEL, SI_TKILL, 1};
    pid_t other = probe_sleeper();
    for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
        siginfo_t info = {.si_signo = SIGUSR1, .si_code = codes[i]};
        REFUSED(syscall(SYS_rt_sigqueueinfo, (long)other, (long)SIGUSR1, &info), EPERM);
        REFUSED(syscall(SYS_rt_tgsigqueueinfo, (long)other, (long)other, (long)SIGUSR1, &info),
                EPERM);
    }
}

/* The kernel's own signal (64) and those that libc keeps are no way into its machinery. */
static void flood(void *unused _unused_)
{
    signal(64, SIG_IGN);
    for (int i = 0; i < 2000; i++) {
        kill(getpid(), 64);
        raise(32 + i % 33);
    }
}

static volatile sig_atomic_t taken;

static void take(int sig _unused_)
{
    taken++;
}

PROBE(send_itself_the_kernels_signal, PROCESSES, .expected = "it is a signal like others")
{
    signal(64, take);
    for (int i = 0; i < 200; i++)
        NEED(kill(getpid(), 64) == 0);
    NEED(taken > 0);
    probe_run_child(flood, NULL);
    probe_check_kernel();
}

PROBE(use_the_number_of_a_dead_process, PROCESSES,
      .expected = "ESRCH: a descriptor of a process is of that one")
{
    pid_t pid = probe_fork();
    if (pid == 0)
        _exit(0);
    int pidfd = (int)syscall(SYS_pidfd_open, (long)pid, 0L);
    NEED(pidfd >= 0);
    probe_wait(pid);
    for (int i = 0; i < 300; i++) {
        pid_t other = probe_fork();
        if (other == 0)
            _exit(0);
        REFUSED(syscall(SYS_pidfd_send_signal, pidfd, (long)SIGKILL, NULL, 0L), ESRCH);
        if (probe_wait(other) != 0)
            probe_escaped("another process got the signal");
    }
}

static void *call_for_ever(void *unused _unused_)
{
    int two[2];
    char c;
    if (pipe(two) == 0)
        for (;;)
            read(two[0], &c, 1);
    return NULL;
}

/* Answers to calls of a process that is gone must not reach whoever has its number next. */
PROBE(reuse_numbers_while_calls_are_under_way, PROCESSES,
      .expected = "each process gets its own answers")
{
    uint32_t state = 3;
    for (int i = 0; i < 120; i++) {
        pid_t pid = probe_fork();
        if (pid == 0) {
            for (int n = 0; n < 6; n++)
                probe_thread(call_for_ever, NULL);
            usleep(probe_random(&state) % 3000);
            _exit(i % 100);
        }
        probe_random(&state);
        if (probe_wait(pid) != i % 100)
            probe_escaped("a process got another's answer");
    }
    probe_check_kernel();
}

PROBE(kill_processes_in_the_middle_of_calls, PROCESSES,
      .expected = "they end, and nothing is left over")
{
    uint32_t state = 9;
    for (int i = 0; i < 80; i++) {
        pid_t pid = probe_fork();
        while (pid == 0) {
            int two[2], fd = open("file", O_RDWR | O_CREAT, 0600);
            if (pipe(two) == 0) {
                write(two[1], "abc", 3);
                close(two[0]);
                close(two[1]);
            }
            close(fd);
            if (fork() == 0)
                execl(probe_self(), "probe", SELF_EXIT_TEXT, "0", (char *)NULL);
        }
        usleep(probe_random(&state) % 15000);
        kill(pid, SIGKILL);
        if (probe_wait(pid) != 128 + SIGKILL)
            probe_unproved("it did not end by the signal");
    }
    probe_check_kernel();
}

static void *come_and_go(void *unused _unused_)
{
    return NULL;
}

PROBE(start_and_end_threads, PROCESSES, .expected = "each is counted once, and then no more")
{
    for (int i = 0; i < 150; i++) {
        pthread_t threads[8];
        for (int n = 0; n < 8; n++)
            NEED(pthread_create(&threads[n], NULL, come_and_go, NULL) == 0);
        for (int n = 0; n < 8; n++)
            pthread_join(threads[n], NULL);
    }
    probe_check_kernel();
}

PROBE(stop_in_the_middle_of_calls, PROCESSES, .expected = "the kernel waits for nobody")
{
    for (int i = 0; i < 60; i++) {
        pid_t pid = probe_fork();
        if (pid == 0)
            for (;;) {
                pid_t child = i % 3 ? fork() : vfork();
                if (child == 0)
                    _exit(0);
                waitpid(child, NULL, 0);
            }
        usleep(1000);
        kill(pid, SIGSTOP);
        probe_check_kernel();
        probe_kill(pid);
    }
}

static void take_again(int sig _unused_)
{
    struct itimerval t = {{0, 100}, {0, 100}};
    setitimer(ITIMER_REAL, &t, NULL);
}

PROBE(flood_itself_with_signals_during_calls, PROCESSES,
      .expected = "no call is done twice or lost")
{
    int two[2];
    struct itimerval t = {{0, 100}, {0, 100}}, none = {0};
    signal(SIGALRM, take_again);
    NEED(pipe(two) == 0 && setitimer(ITIMER_REAL, &t, NULL) == 0);
    for (unsigned i = 0; i < 3000; i++) {
        unsigned char c = (unsigned char)i, got = 0;
        while (write(two[1], &c, 1) != 1)
            ;
        while (read(two[0], &got, 1) != 1)
            ;
        if (got != c)
            probe_escaped("byte %u came as %u", c, got);
    }
    NEED(setitimer(ITIMER_REAL, &none, NULL) == 0);
}

PROBE(outlive_its_parents, PROCESSES,
      .expected = "an orphan belongs to the sandbox and ends with it")
{
    int two[2];
    char c;
    NEED(pipe(two) == 0);
    pid_t pid = probe_fork();
    if (pid == 0) {
        if (fork() == 0) {
            setsid();
            prctl(PR_SET_PDEATHSIG, 0);
            signal(SIGHUP, SIG_IGN);
            close(two[0]);
            write(two[1], "x", 1);
            sleep(1000);
        }
        _exit(0);
    }
    close(two[1]);
    probe_wait(pid);
    NEED(read(two[0], &c, 1) == 1);
    /* Whoever runs the probes kills it now, and fails when that can't be done. */
}

PROBE(take_processors_and_priorities_of_others, PROCESSES,
      .expected = "EPERM for realtime; the rest is bookkeeping")
{
    struct sched_param param = {.sched_priority = 50};
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } deadline = {.size = 48,
                  .policy = 6,
                  .runtime = 900000000,
                  .deadline = 1000000000,
                  .period = 1000000000};
    REFUSED(sched_setscheduler(0, SCHED_FIFO, &param), EPERM);
    REFUSED(sched_setscheduler(0, SCHED_RR, &param), EPERM);
    REFUSED(syscall(SYS_sched_setattr, 0L, &deadline, 0L), EPERM, EINVAL);
    if (!probe_is_root()) {
        REFUSED(setpriority(PRIO_PROCESS, 0, -20), EACCES, EPERM);
        REFUSED(syscall(SYS_ioprio_set, 1L, 0L, 1L << 13 /* realtime */), EPERM);
    }
}
