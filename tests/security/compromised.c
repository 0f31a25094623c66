// SPDX-License-Identifier: Apache-2.0
/*
 * A kernel process that an attacker has taken over: all of glovebox-kernel, but where it would
 * start the program it runs an attack, with every right that it has then. Linked for tests/security
 * only, never installed.
 *
 *     glovebox run -- ATTACK sealed|unfiltered [ARGUMENT...]
 *
 * unfiltered: without the seccomp filter, to see what the walls before it hold. One line on the
 * program's standard output says what came of it: "refused ERRNO" or "reached WHAT"; when the
 * filter ends the process there is none.
 */
#include "kernel/boot/jail.h"
#include "kernel/boot/jail_calls.h"
#include "kernel/boot/program.h"
#include "kernel/core/kernel.h"
#include "lib/base/control.h"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>

#define FDS       128 /* more than it has */
#define UPWARDS   8   /* more "../" than any of its paths is deep */
#define HOST_PIDS 65536
#define PAGE      4096

int __wrap_program_start(const struct spec *spec, struct setup_error *e);
int __real_jail_begin(const struct spec *spec, struct setup_error *e);
int __wrap_jail_begin(const struct spec *spec, struct setup_error *e);
int __real_jail_filter_calls(void);
int __wrap_jail_filter_calls(void);

static char **arguments; /* behind the mode */
static char reached[512];

static int reach(const char *format, ...) _printf_(1, 2);
static int reach(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(reached, sizeof(reached), format, args);
    va_end(args);
    return 0;
}

/* ---- files ---- */

static bool holds(int fd, const char *text)
{
    char data[4096];
    ssize_t n = pread(fd, data, sizeof(data), 0);
    return n > 0 && memmem(data, (size_t)n, text, strlen(text));
}

static void upwards(char *path, size_t size, int levels, const char *suffix)
{
    size_t used = 0;
    for (int i = 0; i < levels; i++)
        used += (size_t)snprintf(path + used, size - used, "../");
    snprintf(path + used, size - used, "%s", suffix);
}

/* Every way to a path of the host that its descriptors and its own tree offer: a descriptor. */
static int open_host(const char *path, int flags)
{
    static const char *const prefixes[] = {
        "", "/image", "/old", "/host/0", "/proc/1/root", "/proc/self/root", "/proc/self/cwd"};
    char name[4096];
    int last = ENOENT;
    for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
        snprintf(name, sizeof(name), "%s%s", prefixes[i], path);
        int fd = openat(kernel.proc_dir.n, name, flags, 0600);
        if (fd >= 0)
            return fd;
        if (errno != ENOENT)
            last = errno;
    }
    for (int dir = 0; dir < FDS; dir++)
        for (int levels = 0; levels < UPWARDS; levels++) {
            upwards(name, sizeof(name), levels, path + 1);
            int fd = openat(dir, name, flags, 0600);
            if (fd >= 0)
                return fd;
            if (errno != ENOENT && errno != EBADF && errno != ENOTDIR)
                last = errno;
        }
    errno = last;
    return -1;
}

/* PATH TEXT: a file of the host that says TEXT. */
static int read_file(void)
{
    int fd = open_host(arguments[0], O_RDONLY);
    if (fd < 0)
        return -1;
    if (holds(fd, arguments[1]))
        return reach("%s", arguments[0]);
    errno = ENOENT;
    return -1;
}

/* PATH: any file of the host at all. */
static int open_file(void)
{
    return open_host(arguments[0], O_RDONLY) < 0 ? -1 : reach("%s", arguments[0]);
}

/* PATH: one that root could write to, or a new one. */
static int write_file(void)
{
    if (open_host(arguments[0], O_WRONLY) >= 0)
        return reach("%s for writing", arguments[0]);
    return open_host(arguments[0], O_WRONLY | O_CREAT | O_EXCL) < 0 ? -1
                                                                    : reach("%s", arguments[0]);
}

/* Makes a file wherever it has a directory, but in its own store and in a folder mounted rw. */
static int make_files(void)
{
    struct stat store, st;
    fstat(kernel.store_dir.n, &store);
    for (int dir = 0; dir < FDS; dir++)
        for (int levels = 0; levels < UPWARDS; levels++) {
            char name[64];
            upwards(name, sizeof(name), levels, ".");
            if (fstatat(dir, name, &st, 0) == 0 && st.st_ino == store.st_ino &&
                st.st_dev == store.st_dev)
                continue;
            upwards(name, sizeof(name), levels, "planted");
            if (openat(dir, name, O_WRONLY | O_CREAT, 0600) >= 0)
                return reach("a new file at descriptor %d, %s", dir, name);
        }
    return -1;
}

/* In its own store there are files, and nothing else. */
static int make_others(void)
{
    if (mkdirat(kernel.store_dir.n, "folder", 0700) == 0)
        return reach("a folder in the store");
    if (symlinkat("/", kernel.store_dir.n, "link") == 0)
        return reach("a link in the store");
    if (linkat(kernel.shadow_dir.n, "stub", kernel.store_dir.n, "stub", 0) == 0)
        return reach("a link to a file elsewhere");
    return -1;
}

static int make_devices(void)
{
    for (int dir = 0; dir < FDS; dir++)
        if (mknodat(dir, "device", S_IFCHR | 0600, 0x103) == 0 ||
            mknodat(dir, "pipe", S_IFIFO | 0600, 0) == 0 ||
            mknodat(dir, "socket", S_IFSOCK | 0600, 0) == 0)
            return reach("a node at descriptor %d", dir);
    return -1;
}

/* The code of its own program, by the file that shows its memory. */
static int write_own_code(void)
{
    int fd = openat(kernel.proc_dir.n, "self/mem", O_RDWR);
    return fd < 0 ? -1 : reach("its own code");
}

/* Something else in /proc than processes: names are for what the host's own has. */
static int see_proc(void)
{
    static const char *const names[] = {"sys/kernel/core_pattern",
                                        "sysrq-trigger",
                                        "kallsyms",
                                        "kcore",
                                        "keys",
                                        "meminfo",
                                        "mounts",
                                        "modules"};
    struct stat st;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (fstatat(kernel.proc_dir.n, names[i], &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            strcmp(names[i], "mounts"))
            return reach("/proc/%s", names[i]);
    return -1;
}

/* The environment of whoever started it is in no process that it sees. TEXT: what stands in it. */
static int see_environment(void)
{
    char name[64];
    int last = ENOENT;
    for (int pid = 1; pid < HOST_PIDS; pid++) {
        snprintf(name, sizeof(name), "%d/environ", pid);
        int fd = openat(kernel.proc_dir.n, name, O_RDONLY);
        if (fd < 0) {
            last = errno == ENOENT ? last : errno;
            continue;
        }
        if (holds(fd, arguments[0]))
            return reach("the environment of process %d", pid);
        close(fd);
    }
    errno = last;
    return -1;
}

/* ---- the network ---- */

/* PORT of a listener on the host's loopback. */
static int connect_tcp(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)atoi(arguments[0])),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0)
        return -1;
    return connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ? -1 : reach("the host's loopback");
}

/* NAME of a socket of the host in the abstract namespace, or PATH. */
static int connect_unix(void)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t length = strlen(arguments[0]);
    bool is_path = arguments[0][0] == '/';
    memcpy(to.sun_path + !is_path, arguments[0], MIN(length, sizeof(to.sun_path) - 1));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0)
        return -1;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + !is_path + length);
    return connect(fd, (struct sockaddr *)&to, size) < 0 ? -1 : reach("a socket of the host");
}

static int socket_raw(void)
{
    int fd = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
    return fd < 0 ? -1 : reach("a raw socket");
}

static int socket_netlink(void)
{
    int fd = socket(AF_NETLINK, SOCK_RAW, 0);
    return fd < 0 ? -1 : reach("a netlink socket");
}

/* ---- calls that connections to the outside need, for something else ---- */

static int receive_descriptors(void)
{
    char byte, control[CMSG_SPACE(sizeof(int))];
    struct iovec part = {&byte, 1};
    struct msghdr h = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control,
                       .msg_controllen = sizeof(control)};
    /* Neither of the two that descriptors come from. */
    ssize_t n = recvmsg(CONTROL_STDIN_FD, &h, MSG_DONTWAIT);
    return n < 0 && errno != EAGAIN && errno != ENOTSOCK ? -1
                                                         : reach("descriptors from any socket");
}

static int send_to_address(void)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX, .sun_path = "/run/socket"};
    ssize_t n = sendto(CONTROL_FD, "", 0, MSG_DONTWAIT, (struct sockaddr *)&to, sizeof(to));
    return n < 0 && errno != EISCONN ? -1 : reach("an address of its choice");
}

/* As if it had got a connection that is over under the number of its control socket. */
static int connect_by_sending(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(80)};
    struct iovec part = {"", 1};
    struct msghdr m = {
        .msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = &part, .msg_iovlen = 1};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ssize_t n = sendmsg(CONTROL_FD, &m, MSG_FASTOPEN | MSG_DONTWAIT);
    return n < 0 && errno != EISCONN ? -1 : reach("a message that connects");
}

static int ask_peer(void)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    int r = getsockopt(CONTROL_FD, SOL_SOCKET, SO_PEERCRED, &peer, &size);
    return r < 0 ? -1 : reach("options of sockets");
}

static int change_socket(void)
{
    int size = 1 << 20;
    int r = setsockopt(CONTROL_FD, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    return r < 0 ? -1 : reach("settings of sockets");
}

/* Hands a descriptor to its starter, which must not be impressed. */
static int send_descriptor(void)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.head = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
    struct control_packet packet = {.type = CONTROL_WINDOW_SIZE};
    struct iovec part = {&packet, sizeof(packet)};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof(control)};
    memcpy(CMSG_DATA(&control.head), &kernel.store_dir.n, sizeof(int));
    if (sendmsg(CONTROL_FD, &m, 0) < 0)
        return -1;
    errno = 0; /* sent: whether it was taken shows outside */
    return -1;
}

/* ---- processes ---- */

/* PID... of the host: its starter, another sandbox's kernel. */
static int kill_process(void)
{
    for (char **pid = arguments; *pid; pid++)
        if (kill(atoi(*pid), SIGTERM) == 0)
            return reach("process %s", *pid);
    return -1;
}

/* All process numbers that there can be, by a descriptor, and by the allowed tgkill. */
static int signal_processes(void)
{
    int last = ESRCH;
    for (int pid = 1; pid < HOST_PIDS; pid++) {
        if (syscall(SYS_tgkill, pid, pid, 0) < 0) {
            last = errno == ESRCH ? last : errno;
            continue;
        }
        /* Its own: itself, and the tasks' init. */
        if (pid > 2)
            return reach("process %d", pid);
    }
    errno = last;
    return -1;
}

static int open_processes(void)
{
    for (char **pid = arguments; *pid; pid++)
        if (syscall(SYS_pidfd_open, atoi(*pid), 0) >= 0)
            return reach("process %s", *pid);
    return -1;
}

static int read_memory(void)
{
    static char data[PAGE];
    struct iovec local = {data, sizeof(data)}, remote = {data, sizeof(data)};
    for (char **pid = arguments; *pid; pid++)
        if (process_vm_readv(atoi(*pid), &local, 1, &remote, 1, 0) >= 0)
            return reach("memory of process %s", *pid);
    return -1;
}

static int write_memory(void)
{
    static char data[PAGE];
    struct iovec local = {data, sizeof(data)}, remote = {data, sizeof(data)};
    for (char **pid = arguments; *pid; pid++)
        if (process_vm_writev(atoi(*pid), &local, 1, &remote, 1, 0) >= 0)
            return reach("memory of process %s", *pid);
    return -1;
}

static int trace(void)
{
    for (char **pid = arguments; *pid; pid++)
        if (ptrace(PTRACE_SEIZE, atoi(*pid), NULL, NULL) == 0)
            return reach("process %s", *pid);
    return -1;
}

static int change_limits(void)
{
    struct rlimit limit = {1, 1};
    for (char **pid = arguments; *pid; pid++)
        if (prlimit(atoi(*pid), RLIMIT_NOFILE, &limit, NULL) == 0)
            return reach("limits of process %s", *pid);
    return -1;
}

static int attach_segment(void)
{
    for (int id = 0; id < 4096; id++)
        if (shmat(id, NULL, SHM_RDONLY) != (void *)-1)
            return reach("segment %d", id);
    return -1;
}

/* ---- more of the host's kernel ---- */

static int fork_child(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    return pid < 0 ? -1 : reach("a process");
}

static int execute(void)
{
    char *const argv[] = {(char *)"true", NULL}, *const envp[] = {NULL};
    static const char *const programs[] = {"/image/usr/bin/true", "/image/bin/true",
                                           "/proc/self/exe"};
    for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
        execve(programs[i], argv, envp);
    return -1;
}

static int execute_memory(void)
{
    char *const argv[] = {(char *)"x", NULL}, *const envp[] = {NULL};
    int fd = memfd_create("x", MFD_CLOEXEC);
    if (fd < 0)
        return -1;
    return (int)syscall(SYS_execveat, fd, "", argv, envp, AT_EMPTY_PATH);
}

/* With all capabilities in it: what is then to be had is a mount. */
static int new_namespaces(void)
{
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return -1;
    if (umount2("/image/usr", MNT_DETACH) == 0 || umount2("/proc", MNT_DETACH) == 0)
        return reach("what a mount hides");
    if (mount("none", "/host", "tmpfs", 0, NULL) == 0 ||
        mount("/image", "/host", NULL, MS_BIND | MS_REC, NULL) == 0)
        return reach("a mount");
    if (mount("proc", "/host", "proc", 0, NULL) == 0)
        return reach("another /proc");
    return syscall(SYS_pivot_root, "/host", "/host") < 0 ? -1 : reach("another root");
}

static int mount_something(void)
{
    return mount("none", "/host", "tmpfs", 0, NULL) < 0 ? -1 : reach("a mount");
}

static int make_writable(void)
{
    struct {
        uint64_t set, clear, propagation, userns;
    } attr = {.clear = 1 /* MOUNT_ATTR_RDONLY */};
    return syscall(SYS_mount_setattr, AT_FDCWD, "/image/usr", 0, &attr, sizeof(attr)) < 0
               ? -1
               : reach("the image for writing");
}

static int enter_namespaces(void)
{
    int fd = openat(kernel.proc_dir.n, "2/ns/mnt", O_RDONLY);
    if (fd < 0)
        return -1;
    return setns(fd, CLONE_NEWNS) < 0 ? -1 : reach("the tasks' mount namespace");
}

static int change_root(void)
{
    return chroot("/image") < 0 ? -1 : reach("another root");
}

static int use_keys(void)
{
    long r = syscall(SYS_keyctl, 0 /* KEYCTL_GET_KEYRING_ID */, -3 /* session */, 0);
    return r < 0 ? -1 : reach("the session's keyring");
}

static int use_bpf(void)
{
    char attr[128] = {0};
    return syscall(SYS_bpf, 0 /* BPF_MAP_CREATE */, attr, sizeof(attr)) < 0 ? -1 : reach("bpf");
}

static int use_io_uring(void)
{
    char params[256] = {0};
    return syscall(SYS_io_uring_setup, 8, params) < 0 ? -1 : reach("io_uring");
}

static int use_userfaultfd(void)
{
    return syscall(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */) < 0 ? -1 : reach("userfaultfd");
}

static int use_perf(void)
{
    char attr[128] = {0};
    return syscall(SYS_perf_event_open, attr, 0, -1, -1, 0) < 0 ? -1 : reach("perf_event_open");
}

/* Numbers of other architectures mean other calls: 20 is getpid(2) of 32-bit x86. */
static int other_architecture(void)
{
    long r;
    __asm__ volatile("int $0x80" : "=a"(r) : "0"(20L) : "memory");
    return r < 0 ? -1 : reach("a 32-bit call");
}

static int other_numbers(void)
{
    return syscall(0x40000000 | SYS_getpid) < 0 ? -1 : reach("an x32 call");
}

static int control_device(void)
{
    char c = '\n';
    for (int fd = 0; fd < FDS; fd++)
        if (ioctl(fd, TIOCSTI, &c) == 0)
            return reach("a terminal");
    return -1;
}

/* ---- code ---- */

static int map_code(void)
{
    void *p =
        mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? -1 : reach("memory to write to and execute");
}

static int turn_into_code(void)
{
    void *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return -1;
    return mprotect(p, PAGE, PROT_READ | PROT_EXEC) < 0 ? -1 : reach("new code");
}

static int map_file(void)
{
    int fd = memfd_create("x", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, PAGE) < 0)
        return -1;
    void *p = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    return p == MAP_FAILED ? -1 : reach("a file as code");
}

static const struct {
    const char *name;
    int (*run)(void);
} attacks[] = {
    {"read-file", read_file},
    {"open-file", open_file},
    {"write-file", write_file},
    {"make-files", make_files},
    {"make-others", make_others},
    {"make-devices", make_devices},
    {"write-own-code", write_own_code},
    {"see-proc", see_proc},
    {"see-environment", see_environment},
    {"connect-tcp", connect_tcp},
    {"connect-unix", connect_unix},
    {"socket-raw", socket_raw},
    {"socket-netlink", socket_netlink},
    {"receive-descriptors", receive_descriptors},
    {"send-to-address", send_to_address},
    {"connect-by-sending", connect_by_sending},
    {"ask-peer", ask_peer},
    {"change-socket", change_socket},
    {"send-descriptor", send_descriptor},
    {"kill", kill_process},
    {"signal-processes", signal_processes},
    {"open-processes", open_processes},
    {"read-memory", read_memory},
    {"write-memory", write_memory},
    {"ptrace", trace},
    {"change-limits", change_limits},
    {"attach-segment", attach_segment},
    {"fork", fork_child},
    {"execute", execute},
    {"execute-memory", execute_memory},
    {"new-namespaces", new_namespaces},
    {"mount", mount_something},
    {"make-writable", make_writable},
    {"enter-namespaces", enter_namespaces},
    {"change-root", change_root},
    {"keys", use_keys},
    {"bpf", use_bpf},
    {"io-uring", use_io_uring},
    {"userfaultfd", use_userfaultfd},
    {"perf", use_perf},
    {"other-architecture", other_architecture},
    {"other-numbers", other_numbers},
    {"control-device", control_device},
    {"map-code", map_code},
    {"turn-into-code", turn_into_code},
    {"map-file", map_file},
};

static bool is_filtered = true;

int __wrap_jail_begin(const struct spec *spec, struct setup_error *e)
{
    is_filtered = spec->argc < 2 || strcmp(spec->argv[1], "unfiltered");
    return __real_jail_begin(spec, e);
}

int __wrap_jail_filter_calls(void)
{
    return is_filtered ? __real_jail_filter_calls() : 1;
}

static _noreturn_ void end(const char *text)
{
    ssize_t ignored _unused_ = write(CONTROL_STDOUT_FD, text, strlen(text));
    _exit(0);
}

int __wrap_program_start(const struct spec *spec, struct setup_error *e)
{
    char text[600];
    arguments = &spec->argv[MIN(spec->argc, (size_t)2)];
    for (size_t i = 0; i < ARRAY_SIZE(attacks); i++) {
        if (strcmp(spec->argv[0], attacks[i].name))
            continue;
        int r = attacks[i].run();
        if (r < 0)
            snprintf(text, sizeof(text), "refused %s\n", errno ? strerrorname_np(errno) : "0");
        else
            snprintf(text, sizeof(text), "reached %s\n", reached);
        end(text);
    }
    end("no such attack\n");
}
