// SPDX-License-Identifier: Apache-2.0
/*
 * What a sandbox's starter and its kernel say to each other.
 *
 * Descriptors that glovebox-kernel is started with (all others closed):
 *   3  control socket, SOCK_SEQPACKET: one message below per packet
 *   4  the specification: a pipe or memfd with records, read to its end once
 *   5, 6, 7  the program's standard input (our read end), output and error (our write ends), pipes;
 *            with tty=1 only 5, a stream socket that carries the terminal's bytes both ways
 *   8  with gateway=1, the channel to the gateway: lib/base/gateway.h
 *
 * The specification is a sequence of KEY=VALUE records, each ended by a NUL. Order matters only
 * among equal keys and for mount.*, which describe the mount that the last mount.guest= began.
 *
 *   image=host | /absolute/dir      arg=...   (one a word; the first is the command)
 *   env=K=V                         workdir=/...       user=NAME|UID[:GID]
 *   hostname=...                    tty=0|1   rows=N   columns=N
 *   mount.guest=/path  then  mount.host=/path  mount.mode=ro|rw
 *   tmpfs=/path[:BYTES]             trace=1   (trace lines come as CONTROL_TRACE)
 *   gateway=0|1                     there is a gateway, and descriptor 8
 *   known_hosts=TEXT                with a gateway: there is the agent of kernel/net/agent.h, and
 *                                   TEXT is what clients of SSH find as ssh_known_hosts
 *   waits=1                         instead of arg: there is no main program; the sandbox lives
 *                                   until CONTROL_KILL, and programs come by CONTROL_EXEC
 *   ca=PEM  ca_subject_hash=N       the authority that the gateway shows certificates of, which the
 *                                   image is to trust: lib/base/trust.h; its variables come as env
 *   null_input=0|1                  the program's standard input is the sandbox's /dev/null
 *   store=/dir                      the sandbox's own folder, where content files are made
 *   allow_missing=NAME              a control of lib/seal/report.h that the host need not have
 *   speculation_barriers=0|1        the host's mitigations for speculation, at their price
 *
 * Limits; programs are told the same numbers. 0 is "none" where not said otherwise:
 *   memory_bytes=N                  of all of the sandbox: programs, files in memory, the kernel
 *   pids=N                          processes and threads together: EAGAIN beyond it
 *   cpus=N                          processors that programs are told of; at least 1
 *   cpu_thousandths=N               of one processor's time, for all programs together
 *   disk_bytes=N  inodes=N          of private files, in memory and in the store
 *   cpu_budget_ns=N                 processor time in all
 *   write_budget_bytes=N            bytes written in all: files, pipes and streams
 *   send_budget_bytes=N             bytes sent in all over connections and sockets to the outside
 *   output_rate=N                   bytes a second over standard streams and terminals, of all
 *                                   programs together
 *   idle_ns=N                       how long nothing may happen, see CONTROL_BY_IDLE
 *   rlimit=N:SOFT:HARD              of the main program: N is a RLIMIT_ number of setrlimit(2), the
 *                                   values are numbers, 18446744073709551615 for RLIM_INFINITY
 *   watch=LIST                      which of memory, pids, cpu (with commas between) no cgroup of
 *                                   the host enforces: the kernel has to, by watching
 */
#pragma once

#include "lib/base/base.h"

#include <sys/resource.h>

#define CONTROL_FD        3
#define CONTROL_SPEC_FD   4
#define CONTROL_STDIN_FD  5
#define CONTROL_STDOUT_FD 6
#define CONTROL_STDERR_FD 7

#define CONTROL_SPEC_MAX_BYTES   (8u * 1024 * 1024)
#define CONTROL_PACKET_MAX_BYTES 65536

enum control_type {
    /* kernel -> starter */
    CONTROL_READY = 1, /* the program's first process exists; with waits=1: programs can come */
    CONTROL_FAILED,    /* could not start: value is an exit status (125, 126, 127), text says why */
    CONTROL_EXITED,    /* the main program ended: value is its wait status; reason, usage, wall_ns
                          are set; all its output was written to the pipes before */
    CONTROL_TRACE,     /* text: whole lines of the trace */
    CONTROL_LOG,       /* text: one line for the log, e.g. a warning */
    CONTROL_STOPPED,   /* the main program was stopped by job control: value is the signal */
    CONTROL_CASUALTY,  /* a process that is not the main program was killed, as reason says: value
                          is its process id, text its name */
    CONTROL_TOTALS,    /* before it obeys CONTROL_KILL, when the main program has not ended: usage
                          and wall_ns are set */
    CONTROL_SEALED,    /* what holds the kernel process, once, before it looks at any byte of a
                          guest's: text as lib/seal/report.h has it */
    CONTROL_DENIED,    /* without a gateway: a program asked for the name in text (reason 0), or for
                          a connection to the address in text and the port in value (reason
                          IPPROTO_TCP or IPPROTO_UDP), and got neither; without text: value more of
                          those were not told */
    CONTROL_OVER, /* with waits=1: the sandbox has to end, as reason says; usage and wall_ns are
                     set. CONTROL_KILL is to follow */
    CONTROL_EXEC_STARTED, /* value is the number of a CONTROL_EXEC, reason its process id */
    CONTROL_EXEC_FAILED,  /* likewise; it could not start: status is an exit status (125, 126, 127),
                             text says why */
    CONTROL_EXEC_ENDED,   /* likewise: status is its wait status, reason as for EXITED; all its own
                             output was written to its streams before */
    /* starter -> kernel */
    CONTROL_WINDOW_SIZE, /* value = rows << 16 | columns */
    CONTROL_SIGNAL,    /* value: to the main program's process group (with a tty: the foreground) */
    CONTROL_KILL,      /* ends everything in the sandbox at once */
    CONTROL_COPY_OPEN, /* files are to be copied out: value is a number for it, never used before,
                          reason is 1 when the last link is followed, text is the path */
    CONTROL_COPY_NEXT, /* value: of which more is wanted */
    CONTROL_COPY_END,  /* value: which is over; without an answer */
    CONTROL_EXEC,      /* one more program: value is a number for it, above 0 and never used before;
                          with descriptors: a file that holds its records, then its streams as 5, 6
                          and 7 above. Records: arg, env, workdir, user, tty, rows, columns,
                          null_input */
    CONTROL_EXEC_SIGNAL, /* value: to which; reason: the signal and whom of it, CONTROL_TO_ below */
    CONTROL_EXEC_WINDOW, /* value: of which; reason = rows << 16 | columns */
    /* kernel -> starter */
    CONTROL_COPIED, /* the answer to a COPY_OPEN or COPY_NEXT: value is the copy's number, text
                       are records of lib/base/copy.h */
    /* starter -> kernel */
    CONTROL_FILES, /* somebody works with files: with two descriptors, his socket and his memory,
                      see lib/base/files.h */
    CONTROL_PORT_CONNECT, /* somebody wants to speak to a program that listens: value is a number
                             for it, never used before, reason is the port, status who asks for it,
                             wall_ns how long it may wait; with a descriptor, his connection:
                             kernel/net/inbound.h */
    CONTROL_PORT_CUT,     /* value: who asks for no more; all that he has is cut off */
    CONTROL_PORT_LIST,    /* value is a number, likewise: who listens? */
    /* kernel -> starter */
    CONTROL_PORT_ANSWERED, /* value is the number of a PORT_CONNECT; status: 0 or a positive errno
                            */
    CONTROL_PORT_LISTED,   /* of a PORT_LIST: text are records, struct ports_listener of
                              lib/base/ports.h, in the order of their making; status is 1 when some
                              are left out */
    /* starter -> kernel */
    CONTROL_USAGE, /* what is used at this moment? value is a number, likewise */
    /* kernel -> starter */
    CONTROL_USED, /* of a USAGE: wall_ns, user_ns, system_ns, peak_memory_bytes and written_bytes
                     are set; text is a struct control_used */
};

/* Programs at once that came by CONTROL_EXEC. */
#define CONTROL_EXECS_MAX 256
/* Of a CONTROL_EXEC: records and three streams. */
#define CONTROL_DESCRIPTORS_MAX 4

/* Added to the signal of a CONTROL_EXEC_SIGNAL. */
#define CONTROL_TO_GROUP    0x0000u /* its process group; with a terminal: the foreground */
#define CONTROL_TO_PROCESS  0x0100u /* its first process alone */
#define CONTROL_TO_SESSION  0x0200u /* all of its session, also what outlives its first process */
#define CONTROL_SIGNAL_MASK 0x00ffu

/* Copies under way at once. */
#define CONTROL_COPIES_MAX 4

/* Why a process ended, as far as its wait status does not say it. */
enum control_reason {
    CONTROL_BY_ITSELF = 0,   /* its own doing, or a signal from within or from the starter */
    CONTROL_BY_HOST,         /* SIGKILL behind the kernel's back: the host was out of memory, or the
                                cgroup was, or an administrator sent it. The starter finds out */
    CONTROL_BY_MEMORY,       /* from here on the kernel: memory_bytes were reached, by watching */
    CONTROL_BY_DISK,         /* SIGBUS: the host's disk had no room for a page of a mapped file */
    CONTROL_BY_CPU_BUDGET,   /* cpu_budget_ns were used up: all is ended */
    CONTROL_BY_WRITE_BUDGET, /* write_budget_bytes, likewise */
    CONTROL_BY_SEND_BUDGET,  /* send_budget_bytes, likewise */
    CONTROL_BY_IDLE,        /* likewise: for idle_ns no byte came in or out of the streams or over a
                               connection from outside, and
                               programs used less than a hundredth of one processor */
    CONTROL_BY_HOST_UNTOLD, /* as CONTROL_BY_HOST, where the host says no more than that it ended
                               (Linux before 6.15): SIGKILL, or what a program can't be asked about,
                               as SIGSEGV when its stack has overflowed */
    CONTROL_BY_HOST_LATE,   /* likewise, where the host would say, but did not in time */
};
static inline bool control_is_by_host(uint32_t reason)
{
    return reason == CONTROL_BY_HOST || reason == CONTROL_BY_HOST_UNTOLD ||
           reason == CONTROL_BY_HOST_LATE;
}
#define CONTROL_REASON_MASK 0xffu

/* What the kernel alone knows. */
struct control_used {
    uint64_t disk_bytes, inodes; /* of what disk_bytes and inodes of the specification limit */
    uint64_t received_bytes, sent_bytes; /* by connections and datagrams from and to the outside */
    uint32_t processes, threads;         /* of programs: without the init */
};

struct control_packet {
    uint32_t type;
    int32_t value;
    int64_t wall_ns;
    int64_t user_ns, system_ns; /* CPU time of all of the sandbox's processes */
    int64_t peak_memory_bytes;  /* of the largest process */
    uint64_t written_bytes;     /* what counts against write_budget_bytes, so far */
    uint32_t text_size;         /* bytes of text behind the struct, not NUL-terminated */
    uint32_t reason;            /* enum control_reason, for EXITED and CASUALTY; see DENIED, EXEC */
    int32_t status;             /* of EXEC_FAILED and EXEC_ENDED */
    uint32_t unused;
};
