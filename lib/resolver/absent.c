// SPDX-License-Identifier: Apache-2.0
/*
 * Of c-ares and OpenSSL something refers to these that is not used here. libc's own would want
 * libc's shared libraries, which a static program has not, and so they are not there.
 *
 * Two of them the linker warns of even so, unless who refers to them is sent elsewhere
 * (ld --wrap). To make it silent instead is no way: with --no-warnings it says nothing of a
 * function that is nowhere either, and links a call to it that leads into nothing.
 */
#include "lib/base/base.h"

#include <netdb.h>

int __wrap_getservbyport_r(int port, const char *protocol, struct servent *entry, char *buffer,
                           size_t size, struct servent **ret);
void *__wrap_dlopen(const char *file, int mode);

int __wrap_getservbyport_r(int port, const char *protocol, struct servent *entry, char *buffer,
                           size_t size, struct servent **ret)
{
    *ret = NULL;
    return ENOENT;
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **ret)
{
    return EAI_FAIL;
}

void freeaddrinfo(struct addrinfo *list)
{
}

struct hostent *gethostbyname(const char *name)
{
    return NULL;
}

void *__wrap_dlopen(const char *file, int mode)
{
    return NULL;
}
