// SPDX-License-Identifier: Apache-2.0
/* An absolute URL of somebody's server: "https://name:port/path?query". */
#pragma once

#include "lib/http/authority.h"

#define HTTP_URL_MAX_BYTES 2048

struct http_url {
    bool is_secure; /* https */
    char host[HTTP_HOST_MAX_BYTES + 1];
    uint16_t port;     /* the scheme's own, where the text has none */
    const char *path;  /* from its '/' on; in text */
    const char *query; /* behind the '?', or NULL */
    char text[HTTP_URL_MAX_BYTES + 2];
};

/*
 * Visible ASCII, http or https in small letters, no user, no fragment. False, and *ret is not to be
 * used, for all else. *ret does not move in memory.
 */
bool http_url_parse(const char *text, struct http_url *ret);
