// SPDX-License-Identifier: Apache-2.0
#include "lib/http/authority.h"

#include "lib/http/syntax.h"

#include <arpa/inet.h>

static bool is_name_byte(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '.' || c == '_';
}

/* Of an address in brackets at the start of text: its size with both, or 0. */
static size_t bracketed_size(const char *text, size_t size)
{
    char address[INET6_ADDRSTRLEN];
    struct in6_addr parsed;
    const char *end = memchr(text, ']', size);
    if (!end || (size_t)(end - text) > sizeof(address))
        return 0;
    size_t n = (size_t)(end - text) - 1;
    memcpy(address, text + 1, n);
    address[n] = '\0';
    return inet_pton(AF_INET6, address, &parsed) == 1 ? n + 2 : 0;
}

static size_t host_size(const char *text, size_t size)
{
    if (size > 0 && text[0] == '[')
        return bracketed_size(text, size);
    size_t n = 0;
    while (n < size && is_name_byte((unsigned char)text[n]))
        n++;
    return n <= HTTP_HOST_MAX_BYTES ? n : 0;
}

bool http_authority_parse(const char *text, size_t size, size_t *ret_host_size, uint16_t *ret_port)
{
    uint64_t port = 0;
    size_t n = host_size(text, size);
    if (n == 0)
        return false;
    if (n < size) {
        /* A zero in front is read as octal by some. */
        if (text[n] != ':' || (n + 1 < size && text[n + 1] == '0') ||
            !http_decimal(text + n + 1, size - n - 1, 5, UINT16_MAX, &port))
            return false;
    }
    *ret_host_size = n;
    *ret_port = (uint16_t)port;
    return true;
}

bool http_authority_equal(const struct http_authority *a, const struct http_authority *b,
                          uint16_t default_port)
{
    return http_words_equal(a->host, b->host) &&
           (a->port ? a->port : default_port) == (b->port ? b->port : default_port);
}

uint16_t http_scheme_port(const char *scheme)
{
    return strcmp(scheme, "https") == 0 ? 443 : 80;
}
