// SPDX-License-Identifier: Apache-2.0
/*
 * What stands between, from within. Not for other files than between*.c.
 *
 *   between.c        what passes, and the ends
 *   between_judge.c  the first bytes, what they are held to, and where it goes on from there
 */
#pragma once

#include "gateway/flight.h"
#include "gateway/flow.h"
#include "gateway/relay.h"

/* What was written last has so long to be read, once nothing else is to come. */
#define BETWEEN_LINGER_MS 30000

enum between_stage { SEEING, DIALLING, HANDING_OVER, PASSING, RELAYING, CLOSING };

struct between {
    struct list link; /* of the spent */
    struct flow *flow;
    enum between_stage stage;
    struct watch guest;
    struct flight flight;
    struct flight_line line; /* of PASSING: the first one */
    bool has_open_line;
    struct relay *relay; /* of RELAYING */
    struct buf to_guest, to_peer;
    size_t held_bytes;                     /* of what waits, after its last run */
    bool guest_ended, peer_ended;          /* said their last */
    bool guest_is_empty, peer_is_empty;    /* a read was short, in this run */
    bool told_guest_end, told_peer_end;    /* heard that from us */
    bool guest_is_gone;                    /* closed altogether */
    int64_t until_ns;                      /* of the stage; INT64_MAX: none */
    int64_t guest_since_ns, peer_since_ns; /* what waits has not got on; 0: nothing waits */
    uint64_t guest_tx, guest_rx;
};

/* ---- between.c ---- */

/* All that can be done now. Afterwards b may be gone. */
void between_run(struct between *b);

/* Of a relay, which writes what is complete: to hold it back would stop who waits for a window. */
void between_send_at_once(const struct between *b);

/* ---- between_judge.c: each may cut the flow ---- */

/* The first bytes are there. */
void between_judge(struct between *b);

/* It has said nothing so far, which may be all that it does: its peer may have to begin. */
void between_judge_silence(struct between *b);

/* What it said first came to no end. */
void between_time_out(struct between *b);

/* Nothing more is to be seen: to_peer has the first bytes. */
void between_hand_over(struct between *b);

/* More of a first line that may still become a request. False: it has, and b may be gone. */
bool between_go_on_with_line(struct between *b, const char *data, size_t size);
