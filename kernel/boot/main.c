// SPDX-License-Identifier: Apache-2.0
/*
 * The kernel of one sandbox, from start to end. Its starter (sandbox/start.c) has made the
 * namespaces and put the descriptors of lib/base/control.h in place.
 *
 * host calls: getrandom
 */
#include "kernel/boot/control.h"
#include "kernel/boot/files/files.h"
#include "kernel/boot/init.h"
#include "kernel/boot/jail.h"
#include "kernel/boot/loop.h"
#include "kernel/boot/ports.h"
#include "kernel/boot/program.h"
#include "kernel/boot/spec.h"
#include "kernel/boot/tree.h"
#include "kernel/core/kernel.h"
#include "kernel/core/timer.h"
#include "kernel/host/host.h"
#include "kernel/net/denied.h"
#include "kernel/net/gateway.h"
#include "kernel/proc/budget.h"
#include "kernel/proc/jobs.h"
#include "kernel/proc/limits.h"
#include "kernel/proc/memory_limit.h"
#include "kernel/proc/process.h"
#include "kernel/proc/throttle.h"
#include "lib/base/map.h"
#include "lib/base/rlimit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>

/* Of this process, however small the sandbox. */
#define OWN_MEMORY_MIN_BYTES (32ULL << 20)

struct kernel kernel;

void kernel_random(void *data, size_t size)
{
    char *at = data;
    while (size > 0) {
        ssize_t n = getrandom(at, size, 0);
        if (n < 0 && errno != EINTR)
            kernel_panic(__FILE__, __LINE__, "getrandom");
        if (n > 0) {
            at += n;
            size -= (size_t)n;
        }
    }
}

void kernel_log(const char *format, ...)
{
    char line[1024];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (n > 0)
        control_send(CONTROL_LOG, 0, line, MIN((size_t)n, sizeof(line) - 1));
}

void kernel_panic(const char *file, int line, const char *what)
{
    kernel_log("kernel failure at %s:%d: %s", file, line, what);
    /* The first process of the namespace: everything in the sandbox ends with it. */
    _exit(1);
}

static _noreturn_ void fail(int status, const char *text)
{
    control_send(CONTROL_FAILED, status, text, strlen(text));
    _exit(status);
}

/* Without a limit, programs are told what the machine has. */
static uint64_t machine_memory_bytes(void)
{
    struct sysinfo s;
    return sysinfo(&s) < 0 ? 0 : (uint64_t)s.totalram * s.mem_unit;
}

static void fill_limits(const struct spec_limits *l)
{
    struct kernel_config *c = &kernel.config;
    c->memory_bytes = l->memory_bytes ? l->memory_bytes : machine_memory_bytes();
    c->disk_bytes = l->disk_bytes ? l->disk_bytes : UINT64_MAX;
    c->inode_count = l->inodes ? l->inodes : UINT64_MAX;
    c->thread_count = l->pids ? MIN(l->pids, (unsigned)LIMIT_THREADS) : LIMIT_THREADS;
    c->cpu_thousandths = l->cpu_thousandths;
    c->cpu_budget_ns = l->cpu_budget_ns;
    c->write_budget_bytes = l->write_budget_bytes;
    c->send_budget_bytes = l->send_budget_bytes;
    c->output_rate = l->output_rate;
    c->idle_ns = l->idle_ns;
    c->watch_memory = l->watch_memory && l->memory_bytes;
    c->watch_cpu = l->watch_cpu && l->cpu_thousandths;
}

static void fill_config(const struct spec *spec)
{
    uint64_t seed;
    snprintf(kernel.config.hostname, sizeof(kernel.config.hostname), "%s", spec->hostname);
    snprintf(kernel.config.domainname, sizeof(kernel.config.domainname), "(none)");
    fill_limits(&spec->limits);
    kernel.config.cpu_count = (int)MAX(spec->cpus, 1u);
    kernel.config.trace = spec->trace;
    kernel.boot_monotonic_ns = clock_monotonic_ns();
    kernel.boot_realtime_ns = clock_realtime_ns();
    kernel_random(&seed, sizeof(seed));
    map_seed(seed);
    kernel_random(kernel.boot_id, sizeof(kernel.boot_id));
}

/*
 * This process keeps less than what its sandbox may have: the host refuses it more, and what was
 * asked for is ENOMEM, whatever the reckoning of the rest says. A sanitizer's shadow is larger.
 */
static void limit_own_memory(void)
{
#ifndef __SANITIZE_ADDRESS__
    uint64_t bytes = MAX(kernel.config.memory_bytes, OWN_MEMORY_MIN_BYTES);
    const struct rlimit limit = {bytes, bytes};
    setrlimit(RLIMIT_DATA, &limit);
#endif
}

/* The machine's limits of a process are not meant for a sandbox: what may be had of them is taken.
 */
static void raise_own_limits(void)
{
    rlimit_raise(RLIMIT_NOFILE);
    rlimit_raise(RLIMIT_CPU);
    rlim_t size = rlimit_raise(RLIMIT_FSIZE);
    kernel.config.file_bytes = size == RLIM_INFINITY ? UINT64_MAX : size;
}

/* The init is the one process that the kernel makes itself; all others come from embryos. */
static int adopt_init(pid_t host_pid)
{
    struct path root = {vfs_root_mount, vfs_root_mount->root};
    struct process *p = process_new(NULL, 1, host_pid, HOSTFD_NONE);
    if (!p)
        return -ENOMEM;
    struct thread *t = process_leader(p);
    int r = host->get_mark(host_pid, &p->mark);
    if (r < 0)
        return r;
    t->files = fdtable_new();
    t->fs = fs_context_new(root, root, 022);
    t->cred = cred_new(0, 0);
    p->space = space_new();
    p->actions = signal_actions_new();
    snprintf(t->name, sizeof(t->name), "init");
    if (!t->files || !t->fs || !t->cred || !p->space || !p->actions)
        return -ENOMEM;
    limits_defaults(p->rlimits);
    process_init = p;
    return process_setsid(p);
}

/*
 * Into the jail, step by step (boot/jail.h). The machine's own tree is looked at meanwhile, while
 * the first task gets ready; whatever else is to be shown may be a stranger's, and has to wait.
 */
static void enter_jail(const struct spec *spec)
{
    struct setup_error error = {""};
    struct world world;
    struct hostfd listener;
    pid_t init_host_pid;
    bool is_own = !strcmp(spec->image, "host");
    if (jail_begin(spec, &error) < 0 || setup_world(spec, &world, &error) < 0 ||
        init_begin(&world, &error) < 0 || jail_drop_rights(&error) < 0)
        fail(STATUS_FAILED, error.text);
    limit_own_memory();
    if ((is_own && tree_build(spec, &world, &error) < 0) ||
        init_finish(&listener, &init_host_pid, &error) < 0)
        fail(STATUS_FAILED, error.text);
    int r = host_linux_start(listener, kernel.proc_dir, init_host_pid);
    if (r == 0)
        r = control_start();
    if (r == 0 && spec->has_gateway)
        r = gateway_start();
    if (r < 0) {
        setup_fail(&error, -r, "%s",
                   r == -EAGAIN ? "make a timer, which counts as a pending signal (ulimit -i)"
                                : "begin to watch the tasks");
        fail(STATUS_FAILED, error.text);
    }
    if (jail_close(&error) < 0 || (!is_own && tree_build(spec, &world, &error) < 0) ||
        tree_add_authority(spec, &error) < 0 || tree_add_mounts(spec, &world, &error) < 0 ||
        tree_add_agent(spec, &error) < 0)
        fail(STATUS_FAILED, error.text);
    if (adopt_init(init_host_pid) < 0)
        fail(STATUS_FAILED, "out of memory while starting");
}

int main(void)
{
    static struct spec spec; /* programs keep what they need of it */
    struct setup_error error = {""};
    const char *bad;

    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* what is written past the machine's limit is EFBIG */
    /* Modes come with the guest's own mask applied. */
    umask(0);
    /* No terminal of the starter's; and one scheduling group for the kernel and its tasks, which
     * hand the processor to each other at every call. */
    setsid();
    raise_own_limits();
    int r = spec_read(CONTROL_SPEC_FD, &spec, &bad);
    if (r < 0) {
        setup_fail(&error, -r, "bad specification at %s", bad);
        fail(STATUS_FAILED, error.text);
    }
    close(CONTROL_SPEC_FD);
    fill_config(&spec);
    enter_jail(&spec);
    denied_tell = control_send_denied;
    memory_limit_start();
    budget_start();
    throttle_start();
    files_start(spec.user);
    ports_start();
    r = program_start(&spec, &error);
    if (r < 0)
        fail(-r, error.text);
    loop_run();
    /* All tasks, before the listener is closed: without it the host lets them run on. */
    if (process_init)
        host->signal_process(process_init->pidfd, SIGKILL);
    denied_end();
    control_drain();
    return 0;
}
