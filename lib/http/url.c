// SPDX-License-Identifier: Apache-2.0
#include "lib/http/url.h"

#include "lib/http/syntax.h"

#include <stdio.h>

static bool is_printable(const char *text)
{
    for (const char *at = text; *at; at++)
        if (!http_is_visible_byte((unsigned char)*at) || *at == '#')
            return false;
    return true;
}

static const char *skip_scheme(const char *text, struct http_url *u)
{
    u->is_secure = !strncmp(text, "https://", 8);
    if (u->is_secure)
        return text + 8;
    return !strncmp(text, "http://", 7) ? text + 7 : NULL;
}

bool http_url_parse(const char *text, struct http_url *u)
{
    size_t host_size;
    const char *place = skip_scheme(text, u);
    if (!place || strlen(text) > HTTP_URL_MAX_BYTES || !is_printable(text))
        return false;
    size_t size = strcspn(place, "/?");
    if (!http_authority_parse(place, size, &host_size, &u->port) || host_size > HTTP_HOST_MAX_BYTES)
        return false;
    memcpy(u->host, place, host_size);
    u->host[host_size] = '\0';
    if (!u->port)
        u->port = http_scheme_port(u->is_secure ? "https" : "http");
    place += size;
    snprintf(u->text, sizeof(u->text), "%s%s", *place == '/' ? "" : "/", place);
    u->path = u->text;
    char *mark = strchr(u->text, '?');
    u->query = mark ? mark + 1 : NULL;
    if (mark)
        *mark = '\0';
    return true;
}
