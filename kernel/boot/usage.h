// SPDX-License-Identifier: Apache-2.0
/*
 * What the sandbox uses at this moment, for whoever asks its starter.
 */
#pragma once

#include "lib/base/control.h"

/* Answers a CONTROL_USAGE. One look into /proc for each process. */
void usage_tell(const struct control_packet *p);
