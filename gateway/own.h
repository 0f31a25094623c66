// SPDX-License-Identifier: Apache-2.0
/*
 * The machine's own addresses, which no sandbox may reach, and the broadcast addresses of its
 * networks: gateway.operator has those of now. The machine tells of changes over a socket that is
 * opened before the seal (rtnetlink(7)); from a process without privileges it takes questions only.
 */
#pragma once

/* Behind watch_start(), before the seal. Ends the process when they can't be known. */
void own_start(void);

/* What has changed by now is known, so that no question is judged by what was before it. */
void own_look(void);
