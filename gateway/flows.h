// SPDX-License-Identifier: Apache-2.0
/*
 * TCP connections of the sandbox.
 *
 *   CONNECT --judged--+-- denied -------------------------------------> EACCES
 *                     +-- by address -----------+
 *                     +-- by name -> LOOKING UP +-> DIALLING -> OPEN --CLOSE--> noted, gone
 *                                    each address is judged;   |
 *                                    none left: EACCES         +-> the error of the dial
 *
 * The connected socket goes to the kernel, and a duplicate stays here: to count its bytes, and so
 * that there is something to cut. A flow ends when the kernel says so, or with this process, whose
 * end cuts all.
 */
#pragma once

#include "gateway/gateway.h"

#include <poll.h>

#define FLOWS_DIALS_MAX (2 * GATEWAY_OUTSTANDING_MAX)

/* Answers with channel_send_connected(), now or later. */
void flows_connect(const struct gateway_packet *p);

/* The kernel gave the flow up. True: it had had no answer, and gets none. */
bool flows_close(uint64_t id, bool is_reset);

/* Notes the end of each, and cuts it. */
void flows_end(void);

/* For the loop: as in names.h. */
size_t flows_fill_poll(struct pollfd p[FLOWS_DIALS_MAX]);
int flows_wait_ms(void);
void flows_step(const struct pollfd *p, size_t count);
