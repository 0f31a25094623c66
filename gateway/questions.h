// SPDX-License-Identifier: Apache-2.0
/*
 * DNS queries of the sandbox. A name that no rule could allow does not exist (NXDOMAIN, and the
 * words of the policy as an extended error), and nobody outside is asked. A name that may be asked
 * is looked up here, and the answer is our own: its addresses without those in the floor, each of
 * them remembered as one that the sandbox was told for that name. Only addresses are given, those
 * of IPv6 while it leads anywhere; of other types there are no records (NODATA).
 */
#pragma once

#include "gateway/gateway.h"

/* Answers with channel_send_answer(id), now or later. */
void questions_take(uint64_t id, const uint8_t *query, size_t size);
