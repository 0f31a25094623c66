// SPDX-License-Identifier: Apache-2.0
#include "kernel/boot/trace_arguments.h"

#include "kernel/core/kernel.h"
#include "kernel/core/memory.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#define TEXT_SHOWN_MAX  64
#define WORDS_SHOWN_MAX 16

/*
 * How the arguments of a call are shown, a letter each:
 *
 *   d number                  u number without a sign      x hexadecimal      o octal
 *   D directory descriptor    p path                       v vector of words, of execve(2)
 *   s bytes that are given, the next argument says how many
 *   r bytes that come back, the result says how many
 *   n socket address that is given, the next argument is its size
 *   N socket address that comes back, the next argument points to its size
 *   t struct stat that comes back        i two descriptors that come back
 *   w status of a child that comes back  T time that is given     m set of signals that is given
 *   a other address
 *   O P M S f k W F h e y: of what the names are, see show_named()
 *
 * Calls that are not here are shown with hexadecimal words.
 */
static const char *const formats[] = {
    [SYS_read] = "dru",
    [SYS_write] = "dsu",
    [SYS_open] = "pOo",
    [SYS_close] = "d",
    [SYS_stat] = "pt",
    [SYS_fstat] = "dt",
    [SYS_lstat] = "pt",
    [SYS_poll] = "aud",
    [SYS_lseek] = "ddW",
    [SYS_mmap] = "auPMdx",
    [SYS_rt_sigaction] = "Saau",
    [SYS_rt_sigprocmask] = "hmau",
    [SYS_rt_sigreturn] = "",
    [SYS_ioctl] = "dxa",
    [SYS_pread64] = "druu",
    [SYS_pwrite64] = "dsuu",
    [SYS_readv] = "dau",
    [SYS_writev] = "dau",
    [SYS_access] = "po",
    [SYS_pipe] = "i",
    [SYS_select] = "daaaa",
    [SYS_shmget] = "xuo",
    [SYS_shmat] = "dax",
    [SYS_shmctl] = "dda",
    [SYS_dup] = "d",
    [SYS_dup2] = "dd",
    [SYS_pause] = "",
    [SYS_getitimer] = "da",
    [SYS_alarm] = "u",
    [SYS_setitimer] = "daa",
    [SYS_getpid] = "",
    [SYS_sendfile] = "ddau",
    [SYS_socket] = "eyd",
    [SYS_connect] = "dnu",
    [SYS_accept] = "dNa",
    [SYS_sendto] = "dsuxnu",
    [SYS_recvfrom] = "druxNa",
    [SYS_sendmsg] = "dax",
    [SYS_recvmsg] = "dax",
    [SYS_shutdown] = "dd",
    [SYS_bind] = "dnu",
    [SYS_listen] = "dd",
    [SYS_getsockname] = "dNa",
    [SYS_getpeername] = "dNa",
    [SYS_socketpair] = "eydi",
    [SYS_setsockopt] = "dddau",
    [SYS_getsockopt] = "dddaa",
    [SYS_clone] = "kaaaa",
    [SYS_fork] = "",
    [SYS_vfork] = "",
    [SYS_execve] = "pva",
    [SYS_exit] = "d",
    [SYS_wait4] = "dwxa",
    [SYS_kill] = "dS",
    [SYS_uname] = "a",
    [SYS_semget] = "xdo",
    [SYS_semop] = "dau",
    [SYS_semctl] = "dddx",
    [SYS_shmdt] = "a",
    [SYS_msgget] = "xo",
    [SYS_msgsnd] = "daux",
    [SYS_msgrcv] = "daudx",
    [SYS_msgctl] = "dda",
    [SYS_fcntl] = "dFx",
    [SYS_flock] = "dx",
    [SYS_fsync] = "d",
    [SYS_fdatasync] = "d",
    [SYS_truncate] = "pu",
    [SYS_ftruncate] = "du",
    [SYS_getdents] = "dau",
    [SYS_getcwd] = "ru",
    [SYS_chdir] = "p",
    [SYS_fchdir] = "d",
    [SYS_rename] = "pp",
    [SYS_mkdir] = "po",
    [SYS_rmdir] = "p",
    [SYS_creat] = "po",
    [SYS_link] = "pp",
    [SYS_unlink] = "p",
    [SYS_symlink] = "pp",
    [SYS_readlink] = "pru",
    [SYS_chmod] = "po",
    [SYS_fchmod] = "do",
    [SYS_chown] = "pdd",
    [SYS_fchown] = "ddd",
    [SYS_lchown] = "pdd",
    [SYS_umask] = "o",
    [SYS_getrlimit] = "da",
    [SYS_getrusage] = "da",
    [SYS_sysinfo] = "a",
    [SYS_times] = "a",
    [SYS_getuid] = "",
    [SYS_syslog] = "dau",
    [SYS_getgid] = "",
    [SYS_setuid] = "d",
    [SYS_setgid] = "d",
    [SYS_geteuid] = "",
    [SYS_getegid] = "",
    [SYS_setpgid] = "dd",
    [SYS_getppid] = "",
    [SYS_getpgrp] = "",
    [SYS_setsid] = "",
    [SYS_setreuid] = "dd",
    [SYS_setregid] = "dd",
    [SYS_getgroups] = "da",
    [SYS_setgroups] = "da",
    [SYS_setresuid] = "ddd",
    [SYS_getresuid] = "aaa",
    [SYS_setresgid] = "ddd",
    [SYS_getresgid] = "aaa",
    [SYS_getpgid] = "d",
    [SYS_setfsuid] = "d",
    [SYS_setfsgid] = "d",
    [SYS_getsid] = "d",
    [SYS_capget] = "aa",
    [SYS_capset] = "aa",
    [SYS_rt_sigpending] = "au",
    [SYS_rt_sigtimedwait] = "maTu",
    [SYS_rt_sigqueueinfo] = "dSa",
    [SYS_rt_sigsuspend] = "mu",
    [SYS_utime] = "pa",
    [SYS_mknod] = "pox",
    [SYS_personality] = "x",
    [SYS_statfs] = "pa",
    [SYS_fstatfs] = "da",
    [SYS_getpriority] = "dd",
    [SYS_setpriority] = "ddd",
    [SYS_sched_setparam] = "da",
    [SYS_sched_getparam] = "da",
    [SYS_sched_setscheduler] = "dda",
    [SYS_sched_getscheduler] = "d",
    [SYS_sched_get_priority_max] = "d",
    [SYS_sched_get_priority_min] = "d",
    [SYS_sched_rr_get_interval] = "da",
    [SYS_mlock] = "au",
    [SYS_munlock] = "au",
    [SYS_mlockall] = "x",
    [SYS_munlockall] = "",
    [SYS_prctl] = "dxxxx",
    [SYS_setrlimit] = "da",
    [SYS_chroot] = "p",
    [SYS_sync] = "",
    [SYS_sethostname] = "su",
    [SYS_setdomainname] = "su",
    [SYS_setxattr] = "ppaux",
    [SYS_lsetxattr] = "ppaux",
    [SYS_fsetxattr] = "dpaux",
    [SYS_getxattr] = "ppru",
    [SYS_lgetxattr] = "ppru",
    [SYS_fgetxattr] = "dpru",
    [SYS_listxattr] = "pru",
    [SYS_llistxattr] = "pru",
    [SYS_flistxattr] = "dru",
    [SYS_removexattr] = "pp",
    [SYS_lremovexattr] = "pp",
    [SYS_fremovexattr] = "dp",
    [SYS_tkill] = "dS",
    [SYS_futex] = "axuaau",
    [SYS_sched_setaffinity] = "dua",
    [SYS_sched_getaffinity] = "dua",
    [SYS_epoll_create] = "d",
    [SYS_getdents64] = "dau",
    [SYS_semtimedop] = "dauT",
    [SYS_fadvise64] = "duud",
    [SYS_timer_create] = "daa",
    [SYS_timer_settime] = "dxaa",
    [SYS_timer_gettime] = "da",
    [SYS_timer_getoverrun] = "d",
    [SYS_timer_delete] = "d",
    [SYS_exit_group] = "d",
    [SYS_epoll_wait] = "dadd",
    [SYS_epoll_ctl] = "ddda",
    [SYS_tgkill] = "ddS",
    [SYS_utimes] = "pa",
    [SYS_waitid] = "ddaxa",
    [SYS_inotify_init] = "",
    [SYS_inotify_add_watch] = "dpx",
    [SYS_inotify_rm_watch] = "dd",
    [SYS_openat] = "DpOo",
    [SYS_mkdirat] = "Dpo",
    [SYS_mknodat] = "Dpox",
    [SYS_fchownat] = "Dpddf",
    [SYS_futimesat] = "Dpa",
    [SYS_newfstatat] = "Dptf",
    [SYS_unlinkat] = "Dpf",
    [SYS_renameat] = "DpDp",
    [SYS_linkat] = "DpDpf",
    [SYS_symlinkat] = "pDp",
    [SYS_readlinkat] = "Dpru",
    [SYS_fchmodat] = "Dpo",
    [SYS_faccessat] = "Dpo",
    [SYS_pselect6] = "daaaTa",
    [SYS_ppoll] = "auTmu",
    [SYS_unshare] = "k",
    [SYS_set_robust_list] = "au",
    [SYS_get_robust_list] = "daa",
    [SYS_splice] = "dadaux",
    [SYS_tee] = "ddux",
    [SYS_sync_file_range] = "duux",
    [SYS_vmsplice] = "daux",
    [SYS_utimensat] = "Dpaf",
    [SYS_epoll_pwait] = "daddmu",
    [SYS_signalfd] = "dmu",
    [SYS_timerfd_create] = "dx",
    [SYS_eventfd] = "u",
    [SYS_fallocate] = "dxuu",
    [SYS_timerfd_settime] = "dxaa",
    [SYS_timerfd_gettime] = "da",
    [SYS_accept4] = "dNax",
    [SYS_signalfd4] = "dmux",
    [SYS_eventfd2] = "ux",
    [SYS_epoll_create1] = "x",
    [SYS_dup3] = "ddO",
    [SYS_pipe2] = "iO",
    [SYS_inotify_init1] = "x",
    [SYS_preadv] = "dauu",
    [SYS_pwritev] = "dauu",
    [SYS_rt_tgsigqueueinfo] = "ddSa",
    [SYS_recvmmsg] = "dauxa",
    [SYS_prlimit64] = "ddaa",
    [SYS_syncfs] = "d",
    [SYS_sendmmsg] = "daux",
    [SYS_getcpu] = "aaa",
    [SYS_process_vm_readv] = "dauaux",
    [SYS_process_vm_writev] = "dauaux",
    [SYS_sched_setattr] = "dax",
    [SYS_sched_getattr] = "daux",
    [SYS_renameat2] = "DpDpx",
    [SYS_seccomp] = "dxa",
    [SYS_getrandom] = "aux",
    [SYS_memfd_create] = "px",
    [SYS_execveat] = "Dpvaf",
    [SYS_membarrier] = "dxd",
    [SYS_mlock2] = "aux",
    [SYS_copy_file_range] = "dadaux",
    [SYS_preadv2] = "dauuux",
    [SYS_pwritev2] = "dauuux",
    [SYS_statx] = "Dpfxa",
    [SYS_rseq] = "auxx",
    [SYS_pidfd_send_signal] = "dSax",
    [SYS_pidfd_open] = "dx",
    [SYS_close_range] = "uux",
    [SYS_openat2] = "Dpau",
    [SYS_faccessat2] = "Dpof",
    [SYS_epoll_pwait2] = "dadTmu",
};

/* ---- numbers that have names ---- */

struct name {
    unsigned value;
    const char *name;
};

#define NAME(constant)      \
    {                       \
        constant, #constant \
    }

static const struct name open_flags[] = {
    NAME(O_CREAT),   NAME(O_EXCL),      NAME(O_NOCTTY),  NAME(O_TRUNC),
    NAME(O_APPEND),  NAME(O_NONBLOCK),  NAME(O_CLOEXEC), NAME(O_NOFOLLOW),
    NAME(O_TMPFILE), NAME(O_DIRECTORY), NAME(O_PATH),
};

static const struct name protections[] = {NAME(PROT_READ), NAME(PROT_WRITE), NAME(PROT_EXEC)};

static const struct name mapping_flags[] = {
    NAME(MAP_SHARED),    NAME(MAP_PRIVATE),   NAME(MAP_FIXED), NAME(MAP_FIXED_NOREPLACE),
    NAME(MAP_ANONYMOUS), NAME(MAP_DENYWRITE), NAME(MAP_STACK), NAME(MAP_NORESERVE),
};

static const struct name at_flags[] = {
    NAME(AT_SYMLINK_NOFOLLOW), NAME(AT_REMOVEDIR),  NAME(AT_SYMLINK_FOLLOW),
    NAME(AT_NO_AUTOMOUNT),     NAME(AT_EMPTY_PATH),
};

static const struct name clone_flags[] = {
    NAME(CLONE_VM),
    NAME(CLONE_FS),
    NAME(CLONE_FILES),
    NAME(CLONE_SIGHAND),
    NAME(CLONE_VFORK),
    NAME(CLONE_THREAD),
    NAME(CLONE_SYSVSEM),
    NAME(CLONE_SETTLS),
    NAME(CLONE_PARENT_SETTID),
    NAME(CLONE_CHILD_CLEARTID),
    NAME(CLONE_CHILD_SETTID),
    NAME(CLONE_NEWUSER),
    NAME(CLONE_NEWNS),
    NAME(CLONE_NEWPID),
    NAME(CLONE_NEWNET),
};

static const struct name whences[] = {NAME(SEEK_SET), NAME(SEEK_CUR), NAME(SEEK_END),
                                      NAME(SEEK_DATA), NAME(SEEK_HOLE)};

static const struct name commands[] = {
    NAME(F_DUPFD),      NAME(F_GETFD),         NAME(F_SETFD),      NAME(F_GETFL),
    NAME(F_SETFL),      NAME(F_GETLK),         NAME(F_SETLK),      NAME(F_SETLKW),
    NAME(F_SETOWN),     NAME(F_GETOWN),        NAME(F_OFD_GETLK),  NAME(F_OFD_SETLK),
    NAME(F_OFD_SETLKW), NAME(F_DUPFD_CLOEXEC), NAME(F_SETPIPE_SZ), NAME(F_GETPIPE_SZ),
    NAME(F_ADD_SEALS),  NAME(F_GET_SEALS),
};

static const struct name hows[] = {NAME(SIG_BLOCK), NAME(SIG_UNBLOCK), NAME(SIG_SETMASK)};

static const struct name families[] = {NAME(AF_UNIX), NAME(AF_INET), NAME(AF_INET6),
                                       NAME(AF_NETLINK)};

static const struct name socket_types[] = {NAME(SOCK_STREAM), NAME(SOCK_DGRAM), NAME(SOCK_RAW),
                                           NAME(SOCK_SEQPACKET)};

static const struct name socket_flags[] = {NAME(SOCK_NONBLOCK), NAME(SOCK_CLOEXEC)};

/* Those of exactly value. */
static void show_name(unsigned value, const struct name *names, size_t count, struct buf *b)
{
    for (size_t i = 0; i < count; i++) {
        if (names[i].value == value) {
            buf_append_str(b, names[i].name);
            return;
        }
    }
    buf_printf(b, "%u", value);
}

/* All that make up value, behind first if there is one; what is left over as a number. */
static void show_flags(unsigned value, const struct name *flags, size_t count, const char *first,
                       struct buf *b)
{
    const char *separator = first ? "|" : "";
    if (first)
        buf_append_str(b, first);
    for (size_t i = 0; i < count; i++) {
        if ((value & flags[i].value) != flags[i].value)
            continue;
        value &= ~flags[i].value;
        buf_printf(b, "%s%s", separator, flags[i].name);
        separator = "|";
    }
    if (value)
        buf_printf(b, "%s%#x", separator, value);
    else if (!*separator)
        buf_append_str(b, "0");
}

static void show_signal(int sig, struct buf *b)
{
    if (sig > 0 && sig < 32)
        buf_printf(b, "SIG%s", sigabbrev_np(sig));
    else
        buf_printf(b, "%d", sig);
}

static void show_open_flags(unsigned value, struct buf *b)
{
    static const char *const modes[] = {"O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE"};
    show_flags(value & ~(unsigned)O_ACCMODE, open_flags, ARRAY_SIZE(open_flags),
               modes[value & O_ACCMODE], b);
}

static void show_clone_flags(unsigned value, struct buf *b)
{
    unsigned flags = value & ~(unsigned)CSIGNAL, sig = value & CSIGNAL;
    if (flags || !sig)
        show_flags(flags, clone_flags, ARRAY_SIZE(clone_flags), NULL, b);
    if (flags && sig)
        buf_append_str(b, "|");
    if (sig)
        show_signal((int)sig, b);
}

static void show_socket_type(unsigned value, struct buf *b)
{
    unsigned flags = value & (SOCK_NONBLOCK | SOCK_CLOEXEC);
    show_name(value & ~flags, socket_types, ARRAY_SIZE(socket_types), b);
    if (flags) {
        buf_append_str(b, "|");
        show_flags(flags, socket_flags, ARRAY_SIZE(socket_flags), NULL, b);
    }
}

/* ---- memory of the program ---- */

static void show_address(uint64_t address, struct buf *b)
{
    if (address)
        buf_printf(b, "%#lx", address);
    else
        buf_append_str(b, "NULL");
}

/* Bytes of a stranger: everything but printable ASCII is escaped. */
static void show_bytes(const char *data, size_t size, bool cut, struct buf *b)
{
    buf_append_str(b, "\"");
    for (size_t i = 0; i < size; i++) {
        unsigned char ch = (unsigned char)data[i];
        if (ch == '\n')
            buf_append_str(b, "\\n");
        else if (ch == '"' || ch == '\\')
            buf_printf(b, "\\%c", ch);
        else if (isprint(ch))
            buf_printf(b, "%c", ch);
        else
            buf_printf(b, "\\x%02x", ch);
    }
    buf_append_str(b, cut ? "\"..." : "\"");
}

static void show_path(const struct call *c, int i, struct buf *b)
{
    char path[GUEST_PATH_MAX];
    ssize_t n = guest_read_string(c->memory, path, call_addr(c, i), sizeof(path));
    if (n < 0)
        show_address(c->arg[i], b);
    else
        show_bytes(path, (size_t)n, false, b);
}

static void show_buffer(const struct call *c, int i, uint64_t size, struct buf *b)
{
    char data[TEXT_SHOWN_MAX];
    size_t shown = MIN(size, (uint64_t)sizeof(data));
    if (guest_read(c->memory, data, call_addr(c, i), shown) < 0)
        show_address(c->arg[i], b);
    else
        show_bytes(data, shown, size > shown, b);
}

/* False: it can't be read. */
static bool show_word(struct guest_memory m, struct gaddr at, struct buf *b)
{
    char word[TEXT_SHOWN_MAX + 1];
    ssize_t n = guest_read_string(m, word, at, sizeof(word));
    if (n == -ENAMETOOLONG)
        n = guest_read(m, word, at, TEXT_SHOWN_MAX) == 0 ? TEXT_SHOWN_MAX + 1 : -EFAULT;
    if (n >= 0)
        show_bytes(word, MIN((size_t)n, (size_t)TEXT_SHOWN_MAX), n > TEXT_SHOWN_MAX, b);
    return n >= 0;
}

static void show_vector(const struct call *c, int i, struct buf *b)
{
    buf_append_str(b, "[");
    for (size_t n = 0; n <= WORDS_SHOWN_MAX; n++) {
        uint64_t word = 0;
        if (!c->arg[i] ||
            guest_read(c->memory, &word, gaddr_plus(call_addr(c, i), n * sizeof(word)),
                       sizeof(word)) < 0 ||
            !word)
            break;
        if (n > 0)
            buf_append_str(b, ", ");
        if (n == WORDS_SHOWN_MAX || !show_word(c->memory, gaddr_at(word), b))
            buf_append_str(b, "...");
    }
    buf_append_str(b, "]");
}

static void show_stat(const struct call *c, int i, struct buf *b)
{
    struct stat st;
    if (guest_read(c->memory, &st, call_addr(c, i), sizeof(st)) < 0) {
        show_address(c->arg[i], b);
        return;
    }
    buf_printf(b, "{st_mode=%#o, st_uid=%u, st_gid=%u, ", st.st_mode, st.st_uid, st.st_gid);
    if (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode))
        buf_printf(b, "st_rdev=%#lx}", st.st_rdev);
    else
        buf_printf(b, "st_size=%ld}", st.st_size);
}

static void show_numbers(const struct call *c, int i, int count, struct buf *b)
{
    int numbers[2];
    if (guest_read(c->memory, numbers, call_addr(c, i), (size_t)count * sizeof(*numbers)) < 0)
        show_address(c->arg[i], b);
    else if (count == 1)
        buf_printf(b, "[%#x]", (unsigned)numbers[0]);
    else
        buf_printf(b, "[%d, %d]", numbers[0], numbers[1]);
}

static void show_time(const struct call *c, int i, struct buf *b)
{
    struct timespec t;
    if (guest_read(c->memory, &t, call_addr(c, i), sizeof(t)) < 0)
        show_address(c->arg[i], b);
    else
        buf_printf(b, "{%ld, %ld}", (long)t.tv_sec, t.tv_nsec);
}

static void show_signal_set(const struct call *c, int i, struct buf *b)
{
    uint64_t set;
    const char *separator = "";
    if (guest_read(c->memory, &set, call_addr(c, i), sizeof(set)) < 0) {
        show_address(c->arg[i], b);
        return;
    }
    buf_append_str(b, "[");
    for (int sig = 1; sig <= 64; sig++) {
        if (!(set >> (sig - 1) & 1))
            continue;
        buf_append_str(b, separator);
        show_signal(sig, b);
        separator = " ";
    }
    buf_append_str(b, "]");
}

static void show_inet(const void *address, int family, const char *name, uint16_t port,
                      struct buf *b)
{
    char text[INET6_ADDRSTRLEN] = "?";
    inet_ntop(family, address, text, sizeof(text));
    buf_printf(b, "{%s, %s, port %u}", name, text, ntohs(port));
}

static void show_socket_address(const struct call *c, int i, uint64_t size, struct buf *b)
{
    union {
        struct sockaddr any;
        struct sockaddr_un un;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
    } a;
    size_t known = MIN(size, (uint64_t)sizeof(a));
    memset(&a, 0, sizeof(a));
    if (known < sizeof(a.any.sa_family) || guest_read(c->memory, &a, call_addr(c, i), known) < 0) {
        show_address(c->arg[i], b);
        return;
    }
    size_t path = offsetof(struct sockaddr_un, sun_path);
    if (a.any.sa_family == AF_INET) {
        show_inet(&a.in.sin_addr, AF_INET, "AF_INET", a.in.sin_port, b);
    } else if (a.any.sa_family == AF_INET6) {
        show_inet(&a.in6.sin6_addr, AF_INET6, "AF_INET6", a.in6.sin6_port, b);
    } else if (a.any.sa_family == AF_UNIX) {
        size_t length = known > path ? MIN(known, sizeof(a.un)) - path : 0;
        if (length > 0 && a.un.sun_path[0])
            length = strnlen(a.un.sun_path, length);
        buf_append_str(b, "{AF_UNIX, ");
        show_bytes(a.un.sun_path, length, false, b);
        buf_append_str(b, "}");
    } else {
        show_name(a.any.sa_family, families, ARRAY_SIZE(families), b);
    }
}

static void show_returned_socket_address(const struct call *c, int i, struct buf *b)
{
    uint32_t size;
    if (!c->arg[i] || guest_read(c->memory, &size, call_addr(c, i + 1), sizeof(size)) < 0)
        show_address(c->arg[i], b);
    else
        show_socket_address(c, i, size, b);
}

/* ---- one argument ---- */

static void show_plain(const struct call *c, int i, char kind, struct buf *b)
{
    if (kind == 'd')
        buf_printf(b, "%d", call_int(c, i));
    else if (kind == 'u')
        buf_printf(b, "%lu", c->arg[i]);
    else if (kind == 'o')
        buf_printf(b, "%#o", call_uint(c, i));
    else if (kind == 'D' && call_int(c, i) == AT_FDCWD)
        buf_append_str(b, "AT_FDCWD");
    else if (kind == 'D')
        buf_printf(b, "%d", call_int(c, i));
    else if (kind == 'a')
        show_address(c->arg[i], b);
    else
        buf_printf(b, "%#lx", c->arg[i]);
}

/* False: this kind of argument has no names. */
static bool show_named(unsigned value, char kind, struct buf *b)
{
    switch (kind) {
    case 'O':
        show_open_flags(value, b);
        return true;
    case 'P':
        show_flags(value, protections, ARRAY_SIZE(protections), value ? NULL : "PROT_NONE", b);
        return true;
    case 'M':
        show_flags(value, mapping_flags, ARRAY_SIZE(mapping_flags), NULL, b);
        return true;
    case 'S':
        show_signal((int)value, b);
        return true;
    case 'f':
        show_flags(value, at_flags, ARRAY_SIZE(at_flags), NULL, b);
        return true;
    case 'k':
        show_clone_flags(value, b);
        return true;
    case 'W':
        show_name(value, whences, ARRAY_SIZE(whences), b);
        return true;
    case 'F':
        show_name(value, commands, ARRAY_SIZE(commands), b);
        return true;
    case 'h':
        show_name(value, hows, ARRAY_SIZE(hows), b);
        return true;
    case 'e':
        show_name(value, families, ARRAY_SIZE(families), b);
        return true;
    case 'y':
        show_socket_type(value, b);
        return true;
    default:
        return false;
    }
}

/* What an address leads to; false: it is shown as it is. */
static bool show_memory(const struct call *c, int i, char kind, long result, struct buf *b)
{
    bool succeeded = result >= 0;
    switch (kind) {
    case 'p':
        show_path(c, i, b);
        return true;
    case 'v':
        show_vector(c, i, b);
        return true;
    case 's':
        show_buffer(c, i, c->arg[i + 1], b);
        return true;
    case 'n':
        show_socket_address(c, i, c->arg[i + 1], b);
        return true;
    case 'T':
        show_time(c, i, b);
        return true;
    case 'm':
        show_signal_set(c, i, b);
        return true;
    case 'r':
        if (succeeded)
            show_buffer(c, i, MIN((uint64_t)result, c->arg[i + 1]), b);
        return succeeded;
    case 'N':
        if (succeeded)
            show_returned_socket_address(c, i, b);
        return succeeded;
    case 't':
        if (succeeded)
            show_stat(c, i, b);
        return succeeded;
    case 'i':
        if (succeeded)
            show_numbers(c, i, 2, b);
        return succeeded;
    case 'w':
        if (succeeded && result > 0)
            show_numbers(c, i, 1, b);
        return succeeded && result > 0;
    default:
        return false;
    }
}

void trace_show_arguments(const struct call *c, long result, struct buf *b)
{
    const char *format = NULL;
    if (c->nr >= 0 && (size_t)c->nr < ARRAY_SIZE(formats))
        format = formats[c->nr];
    if (!format)
        format = "xxxxxx";
    for (int i = 0; i < 6 && format[i]; i++) {
        if (i)
            buf_append_str(b, ", ");
        if (!show_named(call_uint(c, i), format[i], b) && !show_memory(c, i, format[i], result, b))
            show_plain(c, i, strchr("vsnTmrNtiw", format[i]) ? 'a' : format[i], b);
    }
}
