// SPDX-License-Identifier: Apache-2.0
/*
 * What a sandbox's starter and its gateway say to each other while it runs, over a socket of type
 * SOCK_SEQPACKET: one packet below per message, with its text behind it.
 *
 *   LINE text                  gateway: a decision, one JSON object, without a newline
 *   SET number, generation     starter: a memory file comes with it, sealed against every change,
 *     phase                    whose content is the policy that is to be in force instead, in that
 *                              phase of it; without a file it is the one in force. Without a phase
 *                              it stays in the one that it is in, where the new one has that too.
 *                              Behind the document, of document_size bytes, the file may have the
 *                              values of secrets that are new in it (lib/secret/file.h)
 *   SECRET number              starter: likewise, with another value for one secret in the file
 *                              (lib/secret/file.h); requests that begin now have it
 *   VIOLATION text             gateway: the secret of that name was to go where it may not, and its
 *                              policy wants the sandbox ended for that
 *   DONE number, generation,   gateway: always one. error 0: that generation is in force, for what
 *     error, text              is open too; else the one before it stays, as text says
 *
 * `glovebox policy set` and its kin say SET or SECRET to the starter over a socket of the same type
 * in the registry's folder, and are told DONE. To the starter alone they say GET, and what they are
 * told comes with a memory file of the document in force. The gateway never waits for the starter:
 * a LINE that there is no room for is counted, and told later as one; a VIOLATION goes before all
 * else.
 */
#pragma once

#include "lib/base/base.h"

#define UPDATE_VERSION   4
#define UPDATE_TEXT_MAX  8192
#define UPDATE_PHASE_MAX 40 /* bytes of a phase's name, its NUL counted */

enum update_type {
    UPDATE_SET = 1,
    UPDATE_DONE,
    UPDATE_LINE,
    UPDATE_SECRET,
    UPDATE_VIOLATION,
    UPDATE_GET,
};

struct update_packet {
    uint32_t version, type;
    uint64_t number;     /* of a SET; who sends it chooses */
    uint64_t generation; /* SET: that is to be replaced, 0: whichever; DONE: in force; from 1 */
    int32_t error;       /* positive errno, or 0 */
    uint32_t text_size;
    char phase[UPDATE_PHASE_MAX]; /* of a SET; "": none */
    uint64_t document_size;       /* of a SET with a file; 0: all of it is the document */
};

struct update_message {
    struct update_packet packet;
    char text[UPDATE_TEXT_MAX];
};

/* Whether its phase is a string; it may be empty. */
static inline bool update_has_phase(const struct update_packet *p)
{
    return memchr(p->phase, '\0', sizeof(p->phase));
}

/* Whether so many bytes can be a message of this version. */
static inline bool update_is_valid(const struct update_message *m, size_t size)
{
    return size >= sizeof(m->packet) && m->packet.version == UPDATE_VERSION &&
           m->packet.text_size <= UPDATE_TEXT_MAX && update_has_phase(&m->packet) &&
           m->packet.text_size == size - sizeof(m->packet);
}
