// SPDX-License-Identifier: Apache-2.0
/* The certificate that clients are shown, when they come with TLS. */
#pragma once

#include "lib/base/base.h"

struct tls_session;

/*
 * The data of a LAUNCH_TLS: from now on each new connection is TLS. What can't be used ends the
 * process when it is the first, and else leaves the one before in force, and is said.
 */
void certificate_take(const char *data, size_t size);

/* Whether there is one. */
bool certificate_exists(void);

/* A session for a new connection; NULL: no memory. */
struct tls_session *certificate_accept(void);

/* When it ends, in seconds since 1970; 0: there is none. */
int64_t certificate_end_s(void);
