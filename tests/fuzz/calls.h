// SPDX-License-Identifier: Apache-2.0
/*
 * Calls and what their arguments are meant to be, for tests/fuzz/syscalls.c. Letters: f descriptor,
 * d directory descriptor, p path, b buffer, z size, t timespec, v iovec, S argv, a socket address,
 * m msghdr, n pid, s signal, k small count, F flags, M mode, 0 nothing, x any word.
 * rare: one of so many is made.
 */
#pragma once

#include <sys/syscall.h>

struct fuzz_call {
    short nr, rare;
    const char *arguments;
};

/* clang-format off */
static const struct fuzz_call fuzz_calls[] = {
    {SYS_read, 0, "fbz"}, {SYS_write, 0, "fbz"}, {SYS_lseek, 0, "fxk"}, {SYS_pread64, 0, "fbzx"},
    {SYS_pwrite64, 0, "fbzk"}, {SYS_readv, 0, "fvk"}, {SYS_writev, 0, "fvk"},
    {SYS_preadv, 0, "fvkx0"}, {SYS_pwritev, 0, "fvkz0"}, {SYS_preadv2, 0, "fvkx0F"},
    {SYS_pwritev2, 0, "fvkz0F"}, {SYS_ioctl, 0, "fFb"}, {SYS_fsync, 0, "f"},
    {SYS_fadvise64, 0, "fxxk"}, {SYS_fallocate, 0, "fFzz"}, {SYS_ftruncate, 0, "fz"},
    {SYS_truncate, 0, "pz"}, {SYS_sendfile, 0, "ffbz"}, {SYS_splice, 0, "fbfbzF"},
    {SYS_tee, 0, "ffzF"}, {SYS_vmsplice, 0, "fvkF"}, {SYS_copy_file_range, 0, "fbfbz0"},
    {SYS_open, 0, "pFM"}, {SYS_creat, 0, "pM"}, {SYS_openat, 0, "dpFM"}, {SYS_openat2, 0, "dpbz"},
    {SYS_close, 0, "f"}, {SYS_close_range, 20, "ffF"}, {SYS_link, 0, "pp"}, {SYS_dup, 0, "f"},
    {SYS_dup2, 0, "ff"}, {SYS_dup3, 0, "ffF"}, {SYS_fcntl, 0, "fkb"}, {SYS_fcntl, 0, "fxx"},
    {SYS_flock, 0, "fk"}, {SYS_pipe, 0, "b"}, {SYS_pipe2, 0, "bF"}, {SYS_memfd_create, 0, "pk"},
    {SYS_stat, 0, "pb"}, {SYS_fstat, 0, "fb"}, {SYS_lstat, 0, "pb"}, {SYS_newfstatat, 0, "dpbF"},
    {SYS_statx, 0, "dpFxb"}, {SYS_access, 0, "pk"}, {SYS_faccessat2, 0, "dpkF"},
    {SYS_readlink, 0, "pbz"}, {SYS_readlinkat, 0, "dpbz"}, {SYS_statfs, 0, "pb"},
    {SYS_fstatfs, 0, "fb"}, {SYS_getdents, 0, "fbz"}, {SYS_getdents64, 0, "fbz"},
    {SYS_mkdir, 0, "pM"}, {SYS_mkdirat, 0, "dpM"}, {SYS_rmdir, 0, "p"}, {SYS_unlink, 0, "p"},
    {SYS_unlinkat, 0, "dpF"}, {SYS_rename, 0, "pp"}, {SYS_renameat2, 0, "dpdpk"},
    {SYS_linkat, 0, "dpdpF"}, {SYS_symlink, 0, "pp"}, {SYS_symlinkat, 0, "pdp"},
    {SYS_mknod, 0, "pFx"}, {SYS_mknodat, 0, "dpFx"}, {SYS_chdir, 8, "p"}, {SYS_fchdir, 8, "f"},
    {SYS_getcwd, 0, "bz"}, {SYS_chroot, 40, "p"}, {SYS_umask, 0, "M"}, {SYS_chmod, 0, "pM"},
    {SYS_fchmod, 0, "fM"}, {SYS_fchmodat, 0, "dpM"}, {452, 0, "dpMF"},
    {SYS_chown, 0, "pkk"}, {SYS_fchown, 0, "fkk"}, {SYS_lchown, 0, "pkk"},
    {SYS_fchownat, 0, "dpkkF"}, {SYS_utime, 0, "pb"}, {SYS_utimes, 0, "pt"},
    {SYS_futimesat, 0, "dpt"}, {SYS_utimensat, 0, "dptF"}, {SYS_setxattr, 0, "ppbzk"},
    {SYS_fsetxattr, 0, "fpbzk"}, {SYS_getxattr, 0, "ppbz"}, {SYS_fgetxattr, 0, "fpbz"},
    {SYS_listxattr, 0, "pbz"}, {SYS_flistxattr, 0, "fbz"}, {SYS_removexattr, 0, "pp"},
    {SYS_poll, 4, "bkk"}, {SYS_ppoll, 0, "bktbz"}, {SYS_select, 4, "kbbbt"},
    {SYS_pselect6, 0, "kbbbtb"}, {SYS_epoll_create1, 0, "F"}, {SYS_epoll_ctl, 0, "fkfb"},
    {SYS_epoll_ctl, 0, "fkfb"}, {SYS_epoll_wait, 0, "fbkk"}, {SYS_epoll_pwait, 0, "fbkkbz"},
    {SYS_epoll_pwait2, 0, "fbktbz"}, {SYS_eventfd2, 0, "kF"}, {SYS_timerfd_create, 0, "kF"},
    {SYS_timerfd_settime, 0, "fktb"}, {SYS_timerfd_gettime, 0, "fb"}, {SYS_signalfd4, 0, "fbzF"},
    {SYS_inotify_init1, 0, "F"}, {SYS_inotify_add_watch, 0, "fpx"},
    {SYS_inotify_rm_watch, 0, "fk"}, {SYS_socket, 0, "kkk"}, {SYS_socketpair, 0, "kk0b"},
    {SYS_bind, 0, "faz"}, {SYS_listen, 0, "fk"}, {SYS_accept, 4, "fbb"}, {SYS_accept4, 0, "fbbF"},
    {SYS_connect, 0, "faz"}, {SYS_getsockname, 0, "fbb"}, {SYS_getpeername, 0, "fbb"},
    {SYS_setsockopt, 0, "fkkbz"}, {SYS_getsockopt, 0, "fkkbb"}, {SYS_sendto, 0, "fbzFaz"},
    {SYS_recvfrom, 0, "fbzFbb"}, {SYS_sendmsg, 0, "fmF"}, {SYS_recvmsg, 0, "fmF"},
    {SYS_sendmsg, 0, "fm0"}, {SYS_recvmsg, 0, "fm0"}, {SYS_recvmmsg, 0, "fmkFt"},
    {SYS_sendmmsg, 0, "fmkF"}, {SYS_shutdown, 0, "fk"}, {SYS_clone, 20, "Fbbbb"},
    {SYS_clone3, 0, "bz"}, {SYS_fork, 200, ""}, {SYS_execve, 60, "pSS"},
    {SYS_execveat, 60, "dpSSF"}, {SYS_execveat, 60, "fpSSF"}, {SYS_wait4, 4, "nbFb"},
    {SYS_waitid, 4, "knbFb"}, {SYS_set_robust_list, 0, "xz"}, {SYS_get_robust_list, 0, "nbb"},
    {SYS_pidfd_open, 0, "nF"}, {SYS_pidfd_send_signal, 0, "fsbF"}, {SYS_exit, 400, "k"},
    {SYS_exit_group, 400, "k"}, {1000, 0, "b"}, {1001, 0, "bbbb"}, {1002, 20, "sbb"},
    {1003, 0, "kb"}, {SYS_getppid, 0, ""}, {SYS_getpgid, 0, "n"}, {SYS_setpgid, 0, "nn"},
    {SYS_setsid, 0, ""}, {SYS_getsid, 0, "n"}, {SYS_getresuid, 0, "bbb"}, {SYS_getgroups, 0, "kb"},
    {SYS_setgroups, 0, "kb"}, {SYS_setuid, 8, "k"}, {SYS_setresuid, 8, "kkk"},
    {SYS_setresgid, 8, "kkk"}, {SYS_setfsuid, 0, "k"}, {SYS_capget, 0, "bb"},
    {SYS_capset, 0, "bb"}, {SYS_rt_sigaction, 0, "sbbz"}, {SYS_rt_sigprocmask, 0, "kbb0"},
    {SYS_rt_sigreturn, 200, ""}, {SYS_rt_sigpending, 0, "bz"}, {SYS_rt_sigtimedwait, 0, "bbtz"},
    {SYS_rt_sigqueueinfo, 4, "nsb"}, {SYS_rt_tgsigqueueinfo, 4, "nnsb"},
    {SYS_rt_sigsuspend, 20, "bz"}, {SYS_pause, 200, ""}, {SYS_kill, 12, "ns"},
    {SYS_tkill, 12, "ns"}, {SYS_tgkill, 12, "nns"}, {SYS_getitimer, 0, "kb"},
    {SYS_setitimer, 4, "ktb"}, {SYS_alarm, 4, "k"}, {SYS_timer_create, 0, "kbb"},
    {SYS_timer_settime, 0, "kktb"}, {SYS_timer_gettime, 0, "kb"}, {SYS_timer_getoverrun, 0, "k"},
    {SYS_timer_delete, 0, "k"}, {SYS_uname, 0, "b"}, {SYS_sysinfo, 0, "b"}, {SYS_times, 0, "b"},
    {SYS_getrlimit, 0, "kb"}, {SYS_setrlimit, 20, "kb"}, {SYS_prlimit64, 4, "nkbb"},
    {SYS_getrusage, 0, "kb"}, {SYS_prctl, 0, "kxxxx"}, {SYS_prctl, 0, "kb000"},
    {SYS_getpriority, 0, "kn"}, {SYS_setpriority, 0, "knk"}, {SYS_sched_setattr, 0, "nbF"},
    {SYS_sched_getattr, 0, "nbzF"}, {SYS_sched_setaffinity, 0, "nzb"},
    {SYS_sched_getaffinity, 0, "nzb"}, {SYS_sched_setscheduler, 0, "nkb"},
    {SYS_ioprio_set, 0, "knx"}, {SYS_personality, 0, "x"}, {SYS_sethostname, 0, "bz"},
    {SYS_setdomainname, 0, "bz"}, {SYS_syslog, 0, "kbz"}, {SYS_getrandom, 0, "bzF"},
    {SYS_getcpu, 0, "bbb"}, {SYS_clock_settime, 0, "kt"}, {SYS_adjtimex, 0, "b"},
    {SYS_mount, 0, "ppb0b"}, {SYS_umount2, 0, "pF"}, {SYS_pivot_root, 0, "pp"},
    {SYS_unshare, 0, "F"}, {SYS_seccomp, 0, "kFb"}, {SYS_mmap, 0, "0zkFfz"},
    {SYS_mmap, 0, "0zkkf0"}, {SYS_madvise, 0, "bzk"}, {SYS_mlock, 0, "bz"},
    {SYS_mlock2, 0, "bzF"}, {SYS_mlockall, 0, "k"}, {SYS_process_vm_readv, 0, "nvkvk0"},
    {SYS_process_vm_writev, 0, "nvkvk0"}, {SYS_shmget, 0, "kzM"}, {SYS_shmat, 20, "k0F"},
    {SYS_shmctl, 0, "kkb"}, {SYS_semget, 0, "kkM"}, {SYS_semop, 4, "kbk"},
    {SYS_semctl, 0, "kkkb"}, {SYS_semtimedop, 0, "kbkt"}, {SYS_msgget, 0, "kM"},
    {SYS_msgsnd, 4, "kbzF"}, {SYS_msgrcv, 4, "kbzkF"}, {SYS_msgctl, 0, "kkb"},
    {SYS_membarrier, 0, "FF"}, {SYS_ptrace, 0, "knbb"}, {SYS_bpf, 0, "kbz"},
    {SYS_setns, 0, "fF"}, {SYS_io_uring_setup, 0, "kb"}, {SYS_userfaultfd, 0, "F"},
};
/* clang-format on */

#define FUZZ_CALLS (sizeof(fuzz_calls) / sizeof(*fuzz_calls))
