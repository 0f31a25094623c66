// SPDX-License-Identifier: Apache-2.0
/*
 * Questions to a server of the user's own (glovebox serve), asked by glovebox-client
 * (lib/base/client.h).
 */
#pragma once

#include "sandbox/error.h"

#include <jansson.h>

/* Where it is, and with what key: as the options say, or else the environment as for the SDKs. */
struct server_place {
    const char *url;      /* NULL: $E2B_API_URL, or where a server listens by itself */
    const char *key_file; /* NULL: $E2B_API_KEY */
};

/*
 * body: of the request, or NULL. 0 and the answer, to be freed, where ret is not NULL: what the
 * server sent with a status of 2xx, NULL where that is nothing; or negative errno and the sentence,
 * which is the server's own where it refused.
 */
int server_ask(const struct server_place *place, const char *method, const char *path,
               const json_t *body, json_t **ret, struct sandbox_error *e);
