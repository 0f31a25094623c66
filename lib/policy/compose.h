// SPDX-License-Identifier: Apache-2.0
/*
 * Documents made of command lines. What comes out is the text of a document, which policy_parse()
 * then reads as any other: there is one compiler.
 */
#pragma once

#include "lib/base/buf.h"
#include "lib/policy/policy.h"

/* What a command line says. Borrowed. */
struct policy_words {
    const char *const *allow;
    size_t allow_count;
    const char *const *secrets;
    size_t secret_count;
    const char *folder; /* what names of files are relative to; NULL: they have to be absolute */
    const char *known_hosts; /* the text of a file of known_hosts(5); NULL: there is none */
};

/*
 * Appends to json a document that allows what the words of allow say and nothing else. Each word is
 * a list with commas:
 *
 *   HOST[:PORT]      a host name or pattern, by name; TCP
 *   ADDRESS[:PORT], NETWORK[:PORT]  by address; TCP and UDP; IPv6 with a port in brackets
 *   GROUP[:PORT]     public, private, host, ...; TCP and UDP
 *   any              everything that is not in the floor
 *
 * PORT is a number or a range, 8000-8099. Each word of secrets is
 *
 *   NAME=SOURCE@HOST[,HOST...][:PORT][:METHOD[,METHOD...] PATH]
 *
 * a secret of that name, whose placeholder is in the variable NAME: [A-Z_][A-Z0-9_]*. The hosts
 * begin behind the last '@'. SOURCE is env:VARIABLE, file:PATH or cmd:COMMAND, which is for sh(1).
 * METHOD may be "*": any; a '*' in PATH stands for any bytes. It opens none of its hosts. With
 * "ssh:" before SOURCE it is a key that logs in there by SSH as "git"; METHOD and PATH are not for
 * that. The keys of its hosts are those of known_hosts.
 *
 * 0; -EINVAL and e, which quotes the entry, its pointer "/rules" or "/secrets"; -ENOMEM. json is
 * best a BUF_INIT(POLICY_DOCUMENT_MAX_BYTES).
 */
int policy_compose(const struct policy_words *words, struct buf *json, struct policy_error *e);
