// SPDX-License-Identifier: Apache-2.0
/*
 * Named limits: everything that a guest can make grow in this process or, through it, on the host.
 * What is reached answers with the errno of Linux that stands beside it. tests/bombs/limits.c
 * reaches them.
 *
 * What a specification limits (struct kernel_config) is not here: memory, processors, processes,
 * bytes and inodes of files. Of these, memory bounds this process as a whole, whatever the sum of
 * the rows below would come to: see limit_own_memory() in kernel/boot/main.c and
 * kernel/proc/memory_limit.h.
 */
#pragma once

/* ---- processes ---- */
#define LIMIT_THREADS            32768 /* EAGAIN; tasks, however many the specification allows */
#define LIMIT_SIGNALS            65536 /* EAGAIN; queued siginfo of all processes */
#define LIMIT_SIGNALS_OF_PROCESS 1024  /* EAGAIN; RLIMIT_SIGPENDING */
#define LIMIT_TIMERS_OF_PROCESS  1024  /* EAGAIN; POSIX timers */
#define LIMIT_MAPPED_FILES       4096  /* of a process: further ones have no name in maps */
#define LIMIT_SHARED_MEMORIES    16384 /* ENOMEM; of mmap(2) without a file */
#define LIMIT_ARGUMENT_BYTES     (128 * 1024) /* E2BIG; one word of execve(2) */

/* ---- files ---- */
#define LIMIT_FILES          131072  /* ENFILE; open file descriptions, /proc/sys/fs/file-max */
#define LIMIT_DESCRIPTORS    65536   /* EMFILE; of a process, the hard RLIMIT_NOFILE */
#define LIMIT_DENTRIES       2000000 /* ENOMEM; names that are in use */
#define LIMIT_WALK_STEPS     8192    /* ELOOP; components of a name with those of its links */
#define LIMIT_SYMLINK_BYTES  (64UL << 20) /* ENOSPC; texts of all symbolic links made here */
#define LIMIT_XATTR_BYTES    (16UL << 20) /* ENOSPC; extended attributes of all inodes */
#define LIMIT_CONTENT_BYTES  (16UL << 20) /* small files that are kept in memory, then the store */
#define LIMIT_PAGESET_CHUNKS 524288       /* ENOMEM; stretches of 2 MiB that are partly holes */
#define LIMIT_LISTING_BYTES  (64UL << 20) /* ENOMEM; open listings of mounted folders */
#define LIMIT_PSEUDO_BYTES \
    (16 << 20) /* text of /proc and /sys kept for open files; older ones are made again */
#define LIMIT_DEV_BYTES       (1 << 20) /* ENOSPC; what root may put into /dev besides */
#define LIMIT_DEV_INODES      1024      /* ENOSPC */
#define LIMIT_PTYS            256       /* ENOSPC; pairs of terminals, kernel.pty.max */
#define LIMIT_LOCKS           65536     /* ENOLCK; record locks and flocks */
#define LIMIT_LOCKS_OF_FILE   16384     /* ENOLCK */
#define LIMIT_PIPE_BYTES      1048576   /* EPERM; of one, /proc/sys/fs/pipe-max-size */
#define LIMIT_PIPE_PAGES_SOFT 16384     /* of all pipes: past it new ones have two, pipe(7) */
#define LIMIT_PIPE_PAGES      65536     /* ENFILE; of all pipes */

/* ---- events ---- */
#define LIMIT_EPOLL_DEPTH       5      /* ELOOP */
#define LIMIT_EPOLL_ITEMS       131072 /* ENOSPC; /proc/sys/fs/epoll/max_user_watches */
#define LIMIT_POLL_WAITS        262144 /* ENOMEM; files that waiting poll and select calls hold */
#define LIMIT_INOTIFY_INSTANCES 128    /* EMFILE; /proc/sys/fs/inotify */
#define LIMIT_INOTIFY_WATCHES   65536  /* ENOSPC */
#define LIMIT_INOTIFY_QUEUE     16384  /* IN_Q_OVERFLOW; events of one instance */
#define LIMIT_INOTIFY_QUEUED    131072 /* IN_Q_OVERFLOW; of all instances */

/* ---- sockets ---- */
#define LIMIT_SOCKETS        131072      /* ENFILE */
#define LIMIT_UDP_PEERS      4096        /* lost; addresses outside that UDP sockets send to */
#define LIMIT_SOCKET_BYTES   (128 << 20) /* EAGAIN; in all queues of all sockets */
#define LIMIT_SOCKET_BUFFER  (4 << 20)   /* of one, by root past net.core.wmem_max */
#define LIMIT_SOCKET_BACKLOG 4096        /* of one: net.core.somaxconn */
#define LIMIT_AGENTS         16          /* ECONNRESET; connections to the agent of SSH */
/* Connections out of the sandbox and requests to the gateway: lib/base/gateway.h; connections from
 * outside: lib/base/ports.h. */
#define LIMIT_FILES_IN_FLIGHT 65536 /* ETOOMANYREFS; SCM_RIGHTS that nobody has received yet */

/* ---- System V IPC ---- */
#define LIMIT_SEM_SETS           32000      /* ENOSPC; SEMMNI, /proc/sys/kernel/sem */
#define LIMIT_SEM_PER_SET        32000      /* EINVAL; SEMMSL */
#define LIMIT_SEM_TOTAL          262144     /* ENOSPC; SEMMNS */
#define LIMIT_SEM_UNDOS          1048576    /* ENOSPC; values that are kept for SEM_UNDO */
#define LIMIT_SEM_OPS            500        /* E2BIG; SEMOPM */
#define LIMIT_MSG_QUEUES         32000      /* ENOSPC; /proc/sys/kernel/msgmni */
#define LIMIT_MSG_BYTES          8192       /* EINVAL; msgmax */
#define LIMIT_MSG_QUEUE_BYTES    16384      /* EAGAIN; msgmnb */
#define LIMIT_MSG_QUEUE_MESSAGES 32768      /* EAGAIN; of one whose bytes root has raised */
#define LIMIT_MSG_TOTAL_BYTES    (32 << 20) /* ENOMEM; of all queues, with what a message costs us */
#define LIMIT_SHM_SEGMENTS       4096       /* ENOSPC; /proc/sys/kernel/shmmni */
#define LIMIT_SHM_BYTES          (1LL << 30) /* EINVAL for one, ENOSPC for all; at most the memory */
