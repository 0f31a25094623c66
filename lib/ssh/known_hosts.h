// SPDX-License-Identifier: Apache-2.0
/*
 * Which keys a file of known hosts has for a host: sshd(8), SSH_KNOWN_HOSTS FILE FORMAT. Names as
 * they are and hashed; lines with patterns, with @cert-authority and of keys that can't be pinned
 * are passed over. A key that is @revoked anywhere in the file is none.
 */
#pragma once

#include "lib/base/base.h"

struct ssh_known_key {
    const char *text; /* "TYPE BASE64", borrowed from the file */
    size_t size;
};

/* As such a file names it: "HOST", or "[HOST]:PORT" when the port is not 22. ret holds size. */
void ssh_known_host_name(const char *host, uint16_t port, char *ret, size_t size);

/* The keys of name, at most `most` of them. */
size_t ssh_known_hosts_find(const char *file, size_t size, const char *name,
                            struct ssh_known_key *ret, size_t most);
