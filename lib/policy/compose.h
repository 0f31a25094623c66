// SPDX-License-Identifier: Apache-2.0
/*
 * Documents made of command lines. What comes out is the text of a document, which policy_parse()
 * then reads as any other: there is one compiler.
 */
#pragma once

#include "lib/base/buf.h"
#include "lib/policy/policy.h"

/*
 * Appends to json a document that allows what words say and nothing else. Each word is a list with
 * commas:
 *
 *   HOST[:PORT]      a host name or pattern, by name; TCP
 *   ADDRESS[:PORT], NETWORK[:PORT]  by address; TCP and UDP; IPv6 with a port in brackets
 *   GROUP[:PORT]     public, private, host, ...; TCP and UDP
 *   any              everything that is not in the floor
 *
 * PORT is a number or a range, 8000-8099. 0; -EINVAL and e, which quotes the entry; -ENOMEM. json
 * is best a BUF_INIT(POLICY_DOCUMENT_MAX_BYTES).
 */
int policy_compose(const char *const *words, size_t count, struct buf *json,
                   struct policy_error *e);
