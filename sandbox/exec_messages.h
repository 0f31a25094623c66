// SPDX-License-Identifier: Apache-2.0
/*
 * What is said over the socket of a running sandbox by which programs are started in it, watched
 * and talked to (sandbox/execs.h): between its starter and whoever may, as glovebox exec and the
 * server. Of type SOCK_SEQPACKET in the registry's private folder; one struct exec_packet with its
 * text per packet.
 *
 * Who asks gets one EXEC_ANSWER for each question, in their order, but where it says otherwise.
 * EXEC_START and EXEC_ATTACH make the connection that of one program, whose output then comes by
 * itself, and at last its end. A program does not end with the connection.
 *
 * Who closes a connection, or its half of it, is not listened to any more: of what it has asked and
 * was not answered nothing needs to have been done.
 *
 * Output is numbered in bytes, both streams together, from 0. As much as EXEC_KEPT_BYTES of a
 * program's is kept for those who come later; what nobody was there to read and is not kept any
 * more is lost, which the numbers tell. Who is there and does not read holds the program up.
 */
#pragma once

#include "lib/base/base.h"

#define EXEC_VERSION        1
#define EXEC_TEXT_MAX_BYTES 32768
#define EXEC_TAG_MAX_BYTES  255
#define EXEC_RECORDS_MAX    (4u << 20)
#define EXEC_KEPT_BYTES     (1u << 20) /* of one program's output */
#define EXEC_IN_FLIGHT_BYTES \
    (256u << 10)               /* sent to one who is attached, and not received, at most */
#define EXEC_ENDED_KEPT_MAX 64 /* programs that have ended and can be attached to */
#define EXEC_CLIENTS_MAX    512

enum exec_type {
    /* questions */
    EXEC_START = 1, /* with a descriptor: a file of records as CONTROL_EXEC has them, of which env
                       are added to the sandbox's own. flags: EXEC_TTY, EXEC_NULL_INPUT, EXEC_LOG:
                       its output is part of EXEC_LOGS; value: the
                       time it has in ns, 0: any; offset: the grace in ns behind that; text: its tag
                       or nothing. Answered by EXEC_STARTED or EXEC_FAILED */
    EXEC_ATTACH,    /* value: whose process id, or 0: text is its tag; offset: from where, or
                       EXEC_FROM_NOW. Answered by EXEC_STARTED */
    EXEC_INPUT, /* text is for its standard input. Answered when there is room for more, so perhaps
                   behind what is asked later. One for which there is no room is not read from
                   the connection, nor what comes behind it: so have one under way at a time */
    EXEC_INPUT_END,
    EXEC_SIGNAL,   /* status: the signal; flags: whom of it, EXEC_TO_PROCESS, EXEC_TO_SESSION, or 0:
                      its group */
    EXEC_WINDOW,   /* offset = rows << 16 | columns, of its terminal */
    EXEC_LIST,     /* answered by an EXEC_ITEM for each that runs, then EXEC_ANSWER */
    EXEC_END,      /* the sandbox is to end; status: 0 in its grace, 1 at once; text: who says so.
                      Answered before */
    EXEC_LIFETIME, /* value: ns from now when the sandbox is to end, 0: never */
    EXEC_WATCH,    /* answered, and at the sandbox's end comes an EXEC_OVER */
    /* answers; value is the process id where there is one */
    EXEC_ANSWER,  /* flags: the type of the question; status: 0 or a positive errno; text: then a
                     sentence, or nothing */
    EXEC_STARTED, /* flags: EXEC_TTY or 0; offset: where its output is to begin; of what is not kept
                     nothing comes */
    EXEC_FAILED,  /* status: 125, 126 or 127; text: why. Nothing follows */
    EXEC_OUTPUT,  /* flags: EXEC_OUT or EXEC_ERR (a terminal's: EXEC_OUT); offset: where text
                     belongs */
    EXEC_ENDED,   /* status: as wait4(2) has it; flags: enum control_reason, and
                     EXEC_WITH_SANDBOX when the sandbox ended and it with that; offset: bytes of
                     output in all; value: 1 when its time was up. Nothing follows */
    EXEC_ITEM,    /* flags as for EXEC_START; text: its tag, a NUL, its records, which may be cut */
    EXEC_OVER,    /* the sandbox has ended; status: as glovebox run's; text: cause, a NUL, words */
    /* one more question */
    EXEC_OUTPUT_END, /* flags: EXEC_OUT, EXEC_ERR or both: nobody wants to read them any more, so
                        that writing there fails as to a pipe without a reader; a terminal hangs up.
                        EBUSY: somebody else is attached */
    EXEC_USAGE,      /* what is used at this moment? One at a time. Answered by EXEC_USED when the
                        sandbox's kernel has answered, who may not; or by EXEC_ANSWER, EAGAIN */
    EXEC_USED,       /* text is a struct exec_usage */
    EXEC_LOGS,       /* what was kept of the output of the main program and of those with EXEC_LOG:
                        offset: from which byte on; flags: EXEC_FOLLOW, also what comes. Answered
                        by EXEC_LOGGED, and EXEC_ANSWER at its end, with the byte in offset. Who
                        does not read holds nobody up, and misses what is driven out meanwhile */
    EXEC_LOGGED,     /* offset; text is one record of sandbox/journal.h */
};

/* As the sandbox's kernel says, which its programs may have taken over. */
struct exec_usage {
    uint64_t disk_bytes, inodes;
    uint64_t received_bytes, sent_bytes; /* over the network, in both directions */
    uint64_t written_bytes;              /* by programs, to whatever */
    int64_t cpu_ns, wall_ns;             /* of programs, also of those that have ended; age */
    uint32_t processes, threads;
};

/* INPUT, INPUT_END, SIGNAL, WINDOW and OUTPUT_END are for the connection's own program, or for that
 * whose process id is in value. */

#define EXEC_TTY          1u
#define EXEC_NULL_INPUT   2u
#define EXEC_LOG          4u
#define EXEC_FOLLOW       1u
#define EXEC_OUT          1u
#define EXEC_ERR          2u
#define EXEC_TO_PROCESS   1u
#define EXEC_TO_SESSION   2u
#define EXEC_WITH_SANDBOX (1u << 31)
#define EXEC_FROM_NOW     UINT64_MAX

struct exec_packet {
    uint32_t version, type;
    int64_t value;
    uint64_t offset;
    uint32_t flags;
    int32_t status;
    uint32_t text_size, unused;
};

struct exec_message {
    struct exec_packet packet;
    char text[EXEC_TEXT_MAX_BYTES];
};

/* size bytes of m came: they are a packet with its text. */
static inline bool exec_message_is_whole(const struct exec_message *m, ssize_t size)
{
    return size >= (ssize_t)sizeof(m->packet) && (size_t)size <= sizeof(*m) &&
           m->packet.version == EXEC_VERSION &&
           m->packet.text_size == (size_t)size - sizeof(m->packet);
}
