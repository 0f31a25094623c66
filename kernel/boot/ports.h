// SPDX-License-Identifier: Apache-2.0
/*
 * What the starter says and asks about ports on which programs listen: CONTROL_PORT_* of
 * lib/base/control.h.
 */
#pragma once

#include "kernel/host/hostfd.h"
#include "lib/base/control.h"

void ports_start(void);

/* fd is taken over. The answer is PORT_ANSWERED. */
void ports_connect(const struct control_packet *p, struct hostfd fd);
void ports_cut(const struct control_packet *p);
/* The answer is PORT_LISTED. */
void ports_list(const struct control_packet *p);
