// SPDX-License-Identifier: Apache-2.0
/*
 * What a sandbox's starter and its gateway say to each other while it runs, over a socket of type
 * SOCK_SEQPACKET: one packet below per message, with its text behind it.
 *
 *   LINE text                  gateway: a decision, one JSON object, without a newline
 *   SET number, generation     starter: a memory file comes with it, sealed against every change,
 *                              whose content is the policy that is to be in force instead
 *   DONE number, generation,   gateway: always one. error 0: that generation is in force, for what
 *     error, text              is open too; else the one before it stays, as text says
 *
 * `glovebox policy set` says SET to the starter over a socket of the same type in the registry's
 * folder, and is told DONE. The gateway never waits for the starter: a LINE that there is no room
 * for is counted, and told later as one.
 */
#pragma once

#include "lib/base/base.h"

#define UPDATE_VERSION  1
#define UPDATE_TEXT_MAX 8192

enum update_type { UPDATE_SET = 1, UPDATE_DONE, UPDATE_LINE };

struct update_packet {
    uint32_t version, type;
    uint64_t number;     /* of a SET; who sends it chooses */
    uint64_t generation; /* SET: that is to be replaced, 0: whichever; DONE: in force; from 1 */
    int32_t error;       /* positive errno, or 0 */
    uint32_t text_size;
};

struct update_message {
    struct update_packet packet;
    char text[UPDATE_TEXT_MAX];
};

/* Whether so many bytes can be a message of this version. */
static inline bool update_is_valid(const struct update_message *m, size_t size)
{
    return size >= sizeof(m->packet) && m->packet.version == UPDATE_VERSION &&
           m->packet.text_size <= UPDATE_TEXT_MAX &&
           m->packet.text_size == size - sizeof(m->packet);
}
