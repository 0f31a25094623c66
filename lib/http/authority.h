// SPDX-License-Identifier: Apache-2.0
/*
 * HOST[:PORT], as it stands in a target and in the field Host (RFC 9110, 4.2 and 7.2; RFC 3986,
 * 3.2.2), read more narrowly: no user name, nothing percent-encoded, no list, no empty port.
 */
#pragma once

#include "lib/base/base.h"

#define HTTP_HOST_MAX_BYTES 255

struct http_authority {
    const char *host; /* a name or an IPv4 address, as it came: of [A-Za-z0-9._-]; or an IPv6
                       * address in brackets, without a zone. NULL: there is no authority */
    uint16_t port;    /* 0: none was given */
};

/* False, with the outputs untouched, when text isn't one. The host is its first bytes. */
bool http_authority_parse(const char *text, size_t size, size_t *ret_host_size, uint16_t *ret_port);

/* Whether both name one host, upper and lower case alike, and one port, where none is default_port.
 * Neither host is NULL. */
bool http_authority_equal(const struct http_authority *a, const struct http_authority *b,
                          uint16_t default_port);

/* The port that a scheme, "http" or "https", has by itself. */
uint16_t http_scheme_port(const char *scheme);
