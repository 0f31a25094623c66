// SPDX-License-Identifier: Apache-2.0
/*
 * TCP connections of the sandbox, and exchanges of UDP datagrams with one peer: what the channel
 * asks for, and their ends. How one goes: flow.h.
 *
 * A duplicate of each connection stays here: to count its bytes, and so that there is something to
 * cut. A flow ends when the kernel says so, or with this process, whose end cuts all.
 */
#pragma once

#include "gateway/gateway.h"

/* Answers with channel_send_connected() or channel_send_accepted(), now or later. */
void flows_connect(const struct gateway_packet *p);

/*
 * The kernel gave the flow up. counts: what it says went through one of UDP, or NULL. True: it had
 * had no answer, and gets none.
 */
bool flows_close(uint64_t id, bool is_reset, const struct gateway_counts *counts);

/* There is another policy: judges each open flow anew, and cuts those it would not allow. */
void flows_recheck(void);

/*
 * Notes what was cut off of flows that ended in this step of the loop, and frees them: only between
 * the parts of a step. Until then they may refer to the policy that they were let go by.
 */
void flows_reap(void);

/* Ids of the flow that is there longest (none: UINT64_MAX), and of the latest one (none: 0). */
uint64_t flows_oldest(void);
uint64_t flows_newest(void);

/* Notes the end of each, and cuts it. */
void flows_end(void);

/* For the loop: how long to wait at most (-1: for ever), and what to do then. */
int flows_wait_ms(void);
void flows_step(void);
