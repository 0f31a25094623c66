// SPDX-License-Identifier: Apache-2.0
/*
 * Files on their way out of a running sandbox: from its kernel (kernel/boot/copy.h) by way of its
 * starter (sandbox/copies.h) to glovebox cp (sandbox/copy_ask.h).
 *
 * glovebox cp and the starter talk over a socket of type SOCK_SEQPACKET in the registry's private
 * folder. Each COPY_OPEN and COPY_NEXT is answered with one packet of records; who asks has never
 * more than one question under way. So nothing is sent that nobody waits for, the kernel reads
 * no more than a packet takes, and whoever is slow waits alone. A closed socket ends the copy.
 *
 * A tree is told depth first. A name is one component: where an entry belongs follows from what
 * began before it and has not ended, and no path is ever told.
 *
 *   DIRECTORY  begins one; text is its name            mode, mtime
 *   LEAVE      ends the one that began last            error is why not all of it was told
 *   FILE       begins one; text is its name            mode, mtime; value is its size
 *   DATA       text are bytes of it, at least one      value is where they belong: never before
 *                                                      what was told; between is a hole
 *   FILE_END   ends it                                 value is how much of it there was; error
 *                                                      is why that is less
 *   LINK       text is its name, a NUL, its target     mtime
 *   LEFT_OUT   text is a name                          error says why; mode is its type
 *   FAILED     nothing is copied                       error says why
 *   END        that was all
 *
 * What was asked for has an empty name: who asked knows it.
 */
#pragma once

#include "lib/base/base.h"

#define COPY_VERSION         1
#define COPY_PATH_MAX_BYTES  4095
#define COPY_NAME_MAX_BYTES  255
#define COPY_DEPTH_MAX       256   /* directories in one another */
#define COPY_ANSWER_MAX      65000 /* bytes of records in one packet */
#define COPY_FILE_SIZE_MAX   (INT64_C(1) << 50)
#define COPY_LINK_TEXT_BYTES (COPY_NAME_MAX_BYTES + 1 + COPY_PATH_MAX_BYTES)

enum copy_question { COPY_OPEN = 1, COPY_NEXT };

struct copy_packet { /* with text_size bytes of text behind it */
    uint32_t version, type;
    uint32_t follows; /* COPY_OPEN: text is a path, whose last link is followed if 1 */
    uint32_t text_size;
};

struct copy_question_message {
    struct copy_packet packet;
    char text[COPY_PATH_MAX_BYTES];
};

enum copy_type {
    COPY_DIRECTORY = 1,
    COPY_LEAVE,
    COPY_FILE,
    COPY_DATA,
    COPY_FILE_END,
    COPY_LINK,
    COPY_LEFT_OUT,
    COPY_FAILED,
    COPY_END,
};

struct copy_record {     /* with text_size bytes behind it, and the next one right after them */
    uint32_t type, mode; /* mode as stat(2) has it */
    int32_t error;       /* positive errno, or 0 */
    uint32_t text_size;
    int64_t value;
    int64_t mtime_s;
    uint32_t mtime_ns, unused;
};
