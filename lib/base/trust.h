// SPDX-License-Identifier: Apache-2.0
/*
 * The authority whose certificates a sandbox's gateway shows to programs in place of servers' own:
 * where the sandbox has it, and the variables by which those programs find it that have roots of
 * their own.
 */
#pragma once

#include "lib/base/base.h"

/* The image's roots and the authority, for what takes its file in place of all other roots. */
#define TRUST_BUNDLE "/etc/ssl/certs/ca-certificates.crt"
/* The authority alone. update-ca-certificates(8) takes it from there into the bundle that it makes.
 */
#define TRUST_CERTIFICATE "/usr/local/share/ca-certificates/glovebox-ca.crt"

#define TRUST_PEM_MAX_BYTES 2048 /* of the certificate as text */

struct trust_variable {
    const char *name, *value;
};

extern const struct trust_variable trust_variables[];
extern const size_t trust_variable_count;
