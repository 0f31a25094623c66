// SPDX-License-Identifier: Apache-2.0
/*
 * DNS queries of the sandbox. A name that no rule could allow does not exist (NXDOMAIN, and the
 * words of the policy as an extended error), and nobody outside is asked. A name that may be asked
 * is looked up here, and the answer is our own: its addresses without those in the floor, each of
 * them remembered as one that the sandbox was told for that name; those of IPv6 while it leads
 * anywhere. Records of other types that the policy allows are asked for and written anew
 * (dns_records_parse()); of those that it does not there are none (NODATA).
 */
#pragma once

#include "gateway/gateway.h"

/* p: a RESOLVE, query: its data. Answers with channel_send_answer(p->id), now or later. */
void questions_take(const struct gateway_packet *p, const uint8_t *query);
