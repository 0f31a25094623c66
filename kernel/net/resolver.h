// SPDX-License-Identifier: Apache-2.0
/*
 * The name server of a sandbox, at 127.0.0.53 port 53: RFC 1035. It answers at once, and knows two
 * names: localhost (and what ends in .localhost, RFC 6761) and the sandbox's hostname, both with
 * the loopback addresses. All other names do not exist, so that a look-up fails at once instead of
 * hanging.
 *
 * Queries are a guest's bytes. Only a plain query for one name, without compression, is answered;
 * other messages get the error that RFC 1035 has for them, and what is no query is dropped.
 */
#pragma once

#include "lib/base/base.h"

#define RESOLVER_QUERY_MAX  4096 /* larger ones are dropped */
#define RESOLVER_ANSWER_MAX 512

/* The answer to a query: its size, or 0 when there is none to give. */
size_t resolver_answer(const uint8_t *query, size_t size, uint8_t answer[RESOLVER_ANSWER_MAX]);
