// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/world.h"

#include "kernel/arch/x86_64/frame.h"
#include "kernel/boot/loop.h"
#include "kernel/fs/filesystems.h"
#include "kernel/fs/layer/content.h"
#include "kernel/guest/numbers.h"
#include "kernel/host/host.h"
#include "kernel/net/rights.h"
#include "kernel/proc/embryo.h"
#include "kernel/proc/exec.h"
#include "kernel/proc/limits.h"
#include "kernel/proc/space.h"
#include "kernel/sys/table.h"
#include "tests/fuzz/allocations.h"
#include "tests/fuzz/counters.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define ROUNDS_MAX    32 /* of the main loop after one call */
#define FIRST_PID     2
#define HOST_PID      1000 /* what is added to a pid on the host */
#define COLLECT_TRIES 5000
#define NAMES_MAX     256
#define NAME_BYTES    65536
#define RANDOM_START  0x9e3779b97f4a7c15ULL
#define ERRNO_MAX     4095
#define HANDLED_MAX   8         /* signals after one call */
#define FILE_MAX      (1 << 26) /* bytes, of the host's files */

/* What the stub says of itself, and where a task that isn't in it runs. */
#define STUB_START    0x7000
#define STUB_HANDLER  0x7100
#define STUB_RESTORER 0x7200
#define STUB_END      0x8000
#define PROGRAM       0x400000

struct kernel kernel = {.proc_dir = {-1}, .store_dir = {-1}, .shadow_dir = {-1}, .stub = {-1}};
uint8_t world_memory[WORLD_MEMORY_SIZE];
const char *world_proc_text;
const struct stub_plan *world_plan;

struct task {
    pid_t tid;   /* 0: a free row */
    pid_t tgid;  /* of the sandbox, too */
    uint64_t id; /* of the call that has no answer yet */
    int nr;
    long result;
    bool is_killed;
    bool is_kicked;
};

static struct task tasks[WORLD_TASKS];
static pid_t next_pid;
static uint64_t next_id;
static size_t memory_used, memory_dirty;
static struct seccomp_notif pending;
static bool has_pending;
static struct storage_budget budget;
static uint64_t budget_inodes; /* at the start */
static struct super *tree;

/* ---- what boot/main.c has ---- */

/* The same numbers for each input. */
void kernel_random(void *data, size_t size)
{
    static uint64_t state = RANDOM_START;
    for (size_t i = 0; i < size; i++) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        ((uint8_t *)data)[i] = (uint8_t)(state >> 56);
    }
}

void kernel_log(const char *format, ...)
{
}

void kernel_panic(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    abort();
}

/* ---- tasks ---- */

static struct task *task_find(pid_t tid)
{
    for (unsigned i = 0; i < WORLD_TASKS; i++)
        if (tid && tasks[i].tid == tid)
            return &tasks[i];
    return NULL;
}

static struct task *task_waiting(uint64_t id)
{
    for (unsigned i = 0; i < WORLD_TASKS; i++)
        if (tasks[i].tid && tasks[i].id == id)
            return &tasks[i];
    return NULL;
}

static struct task *task_new(pid_t tid, pid_t tgid)
{
    for (unsigned i = 0; i < WORLD_TASKS; i++) {
        if (tasks[i].tid == 0) {
            tasks[i] = (struct task){.tid = tid, .tgid = tgid};
            return &tasks[i];
        }
    }
    return NULL;
}

struct thread *world_thread(unsigned task)
{
    return tasks[task].tid ? thread_find(tasks[task].tid) : NULL;
}

static struct hostfd own_pidfd(void)
{
    return (struct hostfd){(int)syscall(SYS_pidfd_open, getpid(), 0)};
}

/* The host ends a process: its tasks are gone, and its pidfd says so. */
static void end_process(pid_t pid)
{
    for (unsigned i = 0; i < WORLD_TASKS; i++)
        if (tasks[i].tgid == pid)
            tasks[i] = (struct task){0};
    struct process *p = process_find(pid);
    if (p && p->state == PROCESS_ALIVE)
        process_ended(p);
}

static void end_killed(void)
{
    for (unsigned i = 0; i < WORLD_TASKS; i++)
        if (tasks[i].tid && tasks[i].is_killed)
            end_process(tasks[i].tgid);
}

/* ---- the host's table ---- */

static int stand_receive(struct seccomp_notif *ret, int64_t deadline_ns, bool prompt)
{
    static unsigned rounds;
    if (has_pending) {
        has_pending = false;
        rounds = 0;
        *ret = pending;
        return 0;
    }
    /* 0: something was woken that has not run. */
    if (deadline_ns == 0 && ++rounds < ROUNDS_MAX)
        return -EINTR;
    rounds = 0;
    return -ENODEV;
}

static int stand_answer(uint64_t id, int64_t result)
{
    struct task *task = task_waiting(id);
    if (!task)
        return -ENOENT;
    task->id = 0;
    task->result = result;
    return 0;
}

static int stand_run(uint64_t id)
{
    return stand_answer(id, WORLD_RUN);
}

static int stand_place_fd(uint64_t id, struct hostfd fd, int number)
{
    if (!task_waiting(id))
        return -ENOENT;
    CHECK(hostfd_is_open(fd));
    return number < 0 || number >= 1 << 20 ? -EBADF : 0;
}

static bool stand_is_valid(uint64_t id)
{
    return task_waiting(id);
}

/* As the host does it: as far as the pages are there. */
static ssize_t reach(pid_t host_tid, uint64_t address, size_t size, bool is_write)
{
    size_t end = WORLD_MEMORY_SIZE - (is_write ? GUEST_PAGE_SIZE : 0);
    if (address < WORLD_MEMORY || address - WORLD_MEMORY >= end)
        return -EFAULT;
    return (ssize_t)MIN(size, end - (address - WORLD_MEMORY));
}

static ssize_t stand_read_memory(pid_t host_tid, void *dst, uint64_t src, size_t size)
{
    ssize_t n = reach(host_tid, src, size, false);
    if (n > 0)
        memcpy(dst, world_at(src), (size_t)n);
    return n;
}

static ssize_t stand_write_memory(pid_t host_tid, uint64_t dst, const void *src, size_t size)
{
    ssize_t n = reach(host_tid, dst, size, true);
    if (n > 0)
        memcpy(world_at(dst), src, (size_t)n);
    if (n > 0)
        memory_dirty = MAX(memory_dirty, dst - WORLD_MEMORY + (size_t)n);
    return n;
}

static int stand_signal_thread(pid_t host_pid, pid_t host_tid, int sig)
{
    struct task *task = task_find(host_tid - HOST_PID);
    if (!task)
        return -ESRCH;
    task->is_killed |= sig == SIGKILL;
    task->is_kicked |= sig == SIGNAL_KICK;
    return 0;
}

static int stand_signal_process(struct hostfd pidfd, int sig)
{
    const struct process *p;
    list_for_each(p, &process_all, all_link)
    {
        struct task *task = p->pidfd.n == pidfd.n ? task_find(p->pid) : NULL;
        if (task)
            task->is_killed |= sig == SIGKILL;
    }
    return 0;
}

static int stand_limit(pid_t host_pid, int resource, uint64_t soft)
{
    return 0;
}

/* As a host that tells nothing of it. */
static pid_t stand_id_inside(pid_t host_tid)
{
    return -ENOTTY;
}

static int stand_get_mark(pid_t host_pid, uint64_t *ret)
{
    *ret = 0;
    return 0;
}

static int stand_set_mark(pid_t host_pid, uint64_t mark)
{
    return 0;
}

static int stand_cpu_time(pid_t host_pid, int64_t *ret_ns)
{
    *ret_ns = 0;
    return 0;
}

/* As a host before Linux 6.15. */
static int stand_how_ended(struct hostfd pidfd, int *ret_status)
{
    return -ENODATA;
}

static int stand_set_alarm(struct host_alarm *a, pid_t host_pid, int64_t period_ns)
{
    return -ENOSYS;
}

static void stand_clear_alarm(struct host_alarm *a)
{
}

static ssize_t stand_count_proc_lines(const char *name)
{
    return -ENOENT;
}

/* stat says that no handler is installed: each execve has happened. */
static ssize_t stand_read_proc(const char *name, char *buffer, size_t size)
{
    static const char stat[] =
        "1001 (x) S 1 1 1 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 100 4096 1 18446744073709551615 "
        "4096 8192 140000000000000 0 0 0 0 0 0 1 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
    const char *text = strstr(name, "/stat") && !strstr(name, "/statm") && !strstr(name, "/status")
                           ? stat
                           : world_proc_text;
    if (!text)
        return -ENOENT;
    size_t length = MIN(strlen(text), size - 1);
    memcpy(buffer, text, length);
    buffer[length] = '\0';
    return (ssize_t)length;
}

static ssize_t stand_read_proc_part(const char *name, uint64_t offset, char *buffer, size_t size)
{
    if (!world_proc_text)
        return -ENOENT;
    size_t whole = strlen(world_proc_text), start = MIN(offset, whole), left = whole - start;
    size_t length = MIN(left, size);
    memcpy(buffer, world_proc_text + start, length);
    return (ssize_t)length;
}

static int stand_open_proc(const char *name, struct hostfd *ret)
{
    return -ENOENT;
}

static const struct host_ops stand_in = {
    .receive = stand_receive,
    .answer = stand_answer,
    .run = stand_run,
    .place_fd = stand_place_fd,
    .is_valid = stand_is_valid,
    .read_memory = stand_read_memory,
    .write_memory = stand_write_memory,
    .signal_thread = stand_signal_thread,
    .signal_process = stand_signal_process,
    .limit = stand_limit,
    .get_mark = stand_get_mark,
    .id_inside = stand_id_inside,
    .set_mark = stand_set_mark,
    .cpu_time = stand_cpu_time,
    .how_ended = stand_how_ended,
    .set_alarm = stand_set_alarm,
    .clear_alarm = stand_clear_alarm,
    .read_proc = stand_read_proc,
    .read_proc_part = stand_read_proc_part,
    .open_proc = stand_open_proc,
    .count_proc_lines = stand_count_proc_lines,
};

/* ---- what the host does when a call is left to it ---- */

static long notify(struct task *task, int nr, const uint64_t arg[6])
{
    task->id = ++next_id;
    task->nr = nr;
    task->result = WORLD_PARKED;
    pending = (struct seccomp_notif){
        .id = task->id,
        .pid = (uint32_t)(task->tid + HOST_PID),
        .data = {.nr = nr,
                 .arch = 0xc000003e,
                 .instruction_pointer = nr == SYS_rt_sigreturn ? STUB_RESTORER : PROGRAM},
    };
    for (int i = 0; i < 6; i++)
        pending.data.args[i] = arg[i];
    has_pending = true;
    pid_t tid = task->tid;
    allocations_may_fail = true;
    loop_run();
    allocations_may_fail = false;
    return task->tid == tid ? task->result : WORLD_DEAD;
}

static long run_clone(struct task *task)
{
    struct process *p = process_find(task->tgid);
    if (!p || !p->embryo)
        return WORLD_RUN;
    bool is_thread = p->embryo->flags & CLONE_THREAD;
    pid_t tid = next_pid++;
    struct task *child = task_new(tid, is_thread ? task->tgid : tid);
    if (!child)
        return -EAGAIN; /* of the host: the kernel finds that out by itself */
    const struct task_ids ids = {.host_tid = tid + HOST_PID,
                                 .host_tgid = child->tgid + HOST_PID,
                                 .host_ppid = task->tgid + HOST_PID,
                                 .tid = tid};
    if (!embryo_born(p, &ids, is_thread ? HOSTFD_NONE : own_pidfd()))
        *child = (struct task){0};
    return tid;
}

static long run_exit(struct task *task)
{
    pid_t tgid = task->tgid;
    bool is_last = true;
    for (unsigned i = 0; i < WORLD_TASKS; i++)
        is_last &= &tasks[i] == task || tasks[i].tgid != tgid;
    if (is_last || task->nr == SYS_exit_group)
        end_process(tgid);
    else
        *task = (struct task){0};
    return WORLD_DEAD;
}

static const uint64_t stub_addresses[6] = {STUB_HANDLER, STUB_RESTORER, STUB_START, STUB_END};

/* The stub in the place of the old program, whose other threads are gone. */
static long run_exec(struct task *task)
{
    for (unsigned i = 0; i < WORLD_TASKS; i++)
        if (tasks[i].tgid == task->tgid && &tasks[i] != task)
            tasks[i] = (struct task){0};
    task->tid = task->tgid;
    uint64_t plan = world_put(NULL, sizeof(struct stub_plan));
    long r = notify(task, SYS_GLOVEBOX_EXEC, (const uint64_t[6]){plan});
    world_plan = r == 0 ? world_at(plan) : NULL;
    if (r == 0)
        r = notify(task, SYS_GLOVEBOX_START, stub_addresses);
    return r;
}

static long act(struct task *task)
{
    switch (task->nr) {
    case SYS_clone:
    case SYS_fork:
    case SYS_vfork:
        return run_clone(task);
    case SYS_exit:
    case SYS_exit_group:
        return run_exit(task);
    case SYS_execve:
    case SYS_execveat:
        return run_exec(task);
    }
    return WORLD_RUN;
}

/* What the stub does when it was kicked; the program's own handlers return at once. */
static void handle_signals(struct task *task)
{
    pid_t tid = task->tid;
    for (int i = 0; i < HANDLED_MAX && task->tid == tid && task->is_kicked; i++) {
        uint64_t info = world_put(NULL, FRAME_SIGINFO_BYTES + sizeof(ucontext_t));
        uint64_t context = info + FRAME_SIGINFO_BYTES;
        bool has_changed_stack = tid & 1;
        task->is_kicked = false;
        long r = notify(task, SYS_GLOVEBOX_SIGNAL,
                        (const uint64_t[6]){SIGNAL_KICK, info, context, has_changed_stack});
        if (r < 0)
            return;
        if (r >> STUB_MOVE_FRAME_BIT)
            notify(task, SYS_GLOVEBOX_MOVED, (const uint64_t[6]){0});
        if (task->tid == tid)
            notify(task, SYS_rt_sigreturn, (const uint64_t[6]){context});
    }
}

static bool is_stopped(const struct task *task)
{
    return task->id && task->nr == SYS_GLOVEBOX_SIGNAL;
}

long world_call_as(unsigned index, int nr, const uint64_t arg[6])
{
    struct task *task = &tasks[index % WORLD_TASKS];
    const struct syscall_row *row = syscall_row(nr);
    if (!task->tid)
        return WORLD_DEAD;
    if (is_stopped(task))
        return WORLD_PARKED;
    /* What never comes to the kernel. */
    if (row->kind == SYSCALL_HOST && !row->handler)
        return WORLD_RUN;
    long r = notify(task, nr, arg);
    CHECK(r >= -ERRNO_MAX || r <= WORLD_PARKED);
    if (r == WORLD_RUN)
        r = act(task);
    end_killed();
    for (unsigned i = 0; i < WORLD_TASKS; i++)
        if (tasks[i].tid && !is_stopped(&tasks[i]))
            handle_signals(&tasks[i]);
    end_killed();
    return r;
}

/* ---- memory ---- */

uint64_t world_put(const void *data, size_t size)
{
    size_t rounded = (size + 15) & ~(size_t)15;
    if (rounded > WORLD_MEMORY_SIZE - GUEST_PAGE_SIZE - memory_used)
        memory_used = 0;
    CHECK(rounded <= WORLD_MEMORY_SIZE - GUEST_PAGE_SIZE);
    uint64_t address = WORLD_MEMORY + memory_used;
    memory_used += rounded;
    memory_dirty = MAX(memory_dirty, memory_used);
    if (data)
        memcpy(world_at(address), data, size);
    return address;
}

uint64_t world_put_string(const char *text)
{
    return world_put(text, strlen(text) + 1);
}

void world_file(const char *name, unsigned mode, const void *data, size_t size)
{
    uint64_t path = world_put_string(name);
    long fd = WORLD_CALL(SYS_open, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0);
    for (size_t at = 0; at < size;) {
        size_t piece = MIN(size - at, 4096UL);
        uint64_t from = world_put((const char *)data + at, piece);
        CHECK(WORLD_CALL(SYS_write, (uint64_t)fd, from, piece) == (long)piece);
        at += piece;
    }
    CHECK(WORLD_CALL(SYS_fchmod, (uint64_t)fd, mode) == 0);
    CHECK(WORLD_CALL(SYS_close, (uint64_t)fd) == 0);
}

/* ---- start ---- */

static struct path root_path(void)
{
    return (struct path){vfs_root_mount, vfs_root_mount->root};
}

static struct walk_base root_base(void)
{
    return (struct walk_base){.root = root_path(), .base = root_path(), .cred = &cred_kernel};
}

static struct mount *mount_at(const char *name, struct super *s)
{
    struct walk_base base = root_base();
    struct path at;
    struct mount *m;
    CHECK(walk_path(&base, name, WALK_FOLLOW, &at, NULL) == 0 && mount_add(s, at, NULL, &m) == 0);
    return m;
}

static struct super *layer(mode_t mode)
{
    const struct layer_options options = {
        .type_name = "tmpfs",
        .lower = HOSTFD_NONE,
        .budget = &budget,
        .max_bytes = UINT64_MAX,
        .root_mode = mode,
    };
    struct super *s;
    CHECK(layer_super_new(&options, &s) == 0);
    return s;
}

static void build_tree(void)
{
    static const char *const names[] = {"proc", "sys", "dev", "etc", "w", "m"};
    struct mount *root;
    budget = (struct storage_budget){.max_bytes = 1 << 26, .max_inodes = 2000};
    struct super *s = layer(0755);
    CHECK(mount_add(s, (struct path){0}, "overlay", &root) == 0);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        CHECK(layer_add_directory(s->root, names[i], 0755, 0, 0, NULL) == 0);
    CHECK(proc_super_new(&s) == 0 && mount_at("/proc", s));
    CHECK(sysfs_super_new(&s) == 0 && mount_at("/sys", s));
    CHECK(cgroup_super_new(&s) == 0 && mount_at("/sys/fs/cgroup", s));
    CHECK(dev_super_new(&s) == 0);
    struct mount *dev = mount_at("/dev", s);
    CHECK(devpts_super_new(&s) == 0 && mount_at("/dev/pts", s));
    tree = layer(0777);
    mount_at("/w", tree);
    struct hostfd folder = {open("folder", O_PATH | O_DIRECTORY | O_CLOEXEC)};
    CHECK(hostdir_super_new(folder, false, &s) == 0 && mount_at("/m", s));
    /* So that nothing but these two can change. */
    root->read_only = dev->read_only = true;
}

/* In the working directory, which the target has for itself. */
static void make_directory(const char *name)
{
    CHECK(mkdir(name, 0755) == 0 || errno == EEXIST);
}

static struct hostfd new_directory(const char *name)
{
    make_directory(name);
    struct hostfd fd = {open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    CHECK(hostfd_is_open(fd));
    return fd;
}

static void host_file(const char *name, size_t size)
{
    static uint8_t zeros[4096];
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    CHECK(fd >= 0);
    for (size_t at = 0; at < size; at += sizeof(zeros))
        CHECK(write(fd, zeros, MIN(sizeof(zeros), size - at)) > 0);
    close(fd);
}

static void build_image(void)
{
    make_directory("image");
    make_directory("image/d");
    host_file("image/f", 100);
    host_file("image/large", CONTENT_MEMORY_FILE + 1);
    host_file("image/d/e", 0);
    CHECK(symlink("d/e", "image/l") == 0 || errno == EEXIST);
}

void world_image(void)
{
    const struct hostfd image = {open("image", O_PATH | O_DIRECTORY | O_CLOEXEC)};
    CHECK(hostfd_is_open(image));
    CHECK(layer_add_lower(tree->root, "i", image, NULL, NULL) == 0);
}

static struct process *add_process(struct process *parent, pid_t pid, uid_t uid, const char *cwd)
{
    struct walk_base base = root_base();
    struct path at;
    struct process *p = process_new(parent, pid, pid + HOST_PID, own_pidfd());
    CHECK(p && walk_path(&base, cwd, WALK_FOLLOW, &at, NULL) == 0);
    struct thread *t = process_leader(p);
    t->files = fdtable_new();
    t->fs = fs_context_new(root_path(), at, 022);
    t->cred = cred_new(uid, uid);
    p->space = space_new();
    p->actions = signal_actions_new();
    CHECK(t->files && t->fs && t->cred && p->space && p->actions);
    path_put(&at);
    limits_defaults(p->rlimits);
    p->space->handler = STUB_HANDLER;
    p->space->restorer = STUB_RESTORER;
    p->did_exec = true;
    return p;
}

static void start(void)
{
    host = &stand_in;
    /* No input fills the disk. */
    CHECK(setrlimit(RLIMIT_FSIZE, &(const struct rlimit){FILE_MAX, FILE_MAX}) == 0);
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    umask(0);
    make_directory("folder");
    build_image();
    kernel.store_dir = new_directory("store");
    kernel.shadow_dir = new_directory("shadow");
    kernel.shadow_root = new_directory("shadow/root");
    kernel.stub.n = open("shadow/stub", O_RDWR | O_CREAT | O_CLOEXEC, 0755);
    CHECK(hostfd_is_open(kernel.stub));
    kernel.config.cpu_count = 2;
    kernel.config.thread_count = LIMIT_THREADS;
    kernel.config.memory_bytes = 1 << 30;
    kernel.config.disk_bytes = 1 << 26;
    kernel.config.inode_count = 2000;
    kernel.boot_monotonic_ns = clock_monotonic_ns();
    kernel.boot_realtime_ns = clock_realtime_ns();
    build_tree();
    process_init = add_process(NULL, 1, 0, "/");
    CHECK(process_setsid(process_init) >= 0);
    budget_inodes = budget.used_inodes;
    counters_note();
}

/* ---- from input to input ---- */

void world_begin(uid_t uid)
{
    if (!process_init)
        start();
    snprintf(kernel.config.hostname, sizeof(kernel.config.hostname), "glovebox");
    snprintf(kernel.config.domainname, sizeof(kernel.config.domainname), "(none)");
    memset(world_memory, 0, memory_dirty);
    memory_used = memory_dirty = 0;
    world_plan = NULL;
    next_pid = FIRST_PID;
    task_new(next_pid, next_pid);
    CHECK(process_setsid(add_process(process_init, next_pid, uid, "/w")) >= 0);
    next_pid++;
}

static void end_all(void)
{
    struct process *p, *next;
    for (bool any = true; any;) {
        any = false;
        list_for_each_safe(p, next, &process_all, all_link)
        {
            if (p == process_init || p->state != PROCESS_ALIVE)
                continue;
            any = true;
            end_process(p->pid);
            break; /* whatever else has gone with it */
        }
    }
    memset(tasks, 0, sizeof(tasks));
    has_pending = false;
}

static long ipc_control(int nr, long id, int command, uint64_t buffer)
{
    if (nr == SYS_semctl)
        return WORLD_CALL(nr, (uint64_t)id, 0, (uint64_t)command, buffer);
    return WORLD_CALL(nr, (uint64_t)id, (uint64_t)command, buffer);
}

/* By somebody who may. */
static void remove_ipc(void)
{
    static const struct {
        int control, info, stat;
    } kinds[] = {
        {SYS_semctl, SEM_INFO, SEM_STAT},
        {SYS_msgctl, MSG_INFO, MSG_STAT},
        {SYS_shmctl, SHM_INFO, SHM_STAT},
    };
    world_begin(0);
    uint64_t buffer = world_put(NULL, 512);
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        int nr = kinds[i].control;
        long highest = ipc_control(nr, 0, kinds[i].info, buffer);
        CHECK(highest >= 0);
        for (long n = 0; n <= highest; n++) {
            long id = ipc_control(nr, n, kinds[i].stat, buffer);
            if (id >= 0)
                CHECK(ipc_control(nr, id, IPC_RMID, 0) == 0);
        }
    }
    end_all();
}

struct names {
    struct dir_emit emit;
    char text[NAME_BYTES];
    size_t used;
};

static bool note_name(struct dir_emit *e, const char *name, size_t length, uint64_t ino,
                      uint8_t d_type, uint64_t cookie)
{
    struct names *n = container_of(e, struct names, emit);
    if (cookie > 2 && n->used + length + 1 < sizeof(n->text)) {
        memcpy(n->text + n->used, name, length);
        n->text[n->used + length] = '\0';
        n->used += length + 1;
    }
    return true;
}

static void change(const char *name, struct inode_attr attr)
{
    struct walk_base base = root_base();
    struct path at;
    CHECK(walk_path(&base, name, 0, &at, NULL) == 0);
    CHECK(vfs_setattr(&at, &cred_kernel, &attr) == 0);
    path_put(&at);
}

/* All that is in the directory, which stays. */
static void clear(const char *name)
{
    struct walk_base base = root_base();
    struct open_how_in how = {.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW};
    struct names *n = calloc(1, sizeof(*n));
    struct file *f;
    char path[GUEST_PATH_MAX];
    CHECK(n);
    change(name, (struct inode_attr){.valid = ATTR_MODE, .mode = 0777});
    n->emit.emit = note_name;
    int r = vfs_open(&base, name, &how, &f);
    CHECK(r == 0);
    r = f->inode->ops->list ? f->inode->ops->list(f, &n->emit) : dentry_list(f, &n->emit);
    CHECK(r == 0);
    file_put(f);
    for (size_t at = 0; at < n->used; at += strlen(n->text + at) + 1) {
        snprintf(path, sizeof(path), "%s/%s", name, n->text + at);
        if (vfs_unlink(&base, path) == 0)
            continue;
        clear(path);
        CHECK(vfs_rmdir(&base, path) == 0);
    }
    free(n);
}

/*
 * Sockets in each other's queues, which a timer of the kernel looks for. Right behind another
 * collection there is none, and a long one is followed by a long pause.
 */
static void collect_rights(void)
{
    const struct timespec moment = {.tv_nsec = NSEC_PER_MSEC};
    rights_collect();
    call_run_woken(INT64_MAX);
    for (int i = 0; i < COLLECT_TRIES && file_count() > 0; i++) {
        nanosleep(&moment, NULL);
        rights_collect();
        call_run_woken(INT64_MAX);
    }
}

void world_end(void)
{
    allocations_fail(0, 0);
    end_all();
    remove_ipc();
    clear("/w");
    change("/w", (struct inode_attr){.valid = ATTR_UID | ATTR_GID});
    clear("/m");
    collect_rights();
    CHECK(thread_total == 1 && process_zombies == 0 && process_ending == 0 && embryo_total == 0);
    CHECK(file_count() == 0);
    CHECK(budget.used_bytes == 0 && budget.used_inodes == budget_inodes);
    counters_check();
}
