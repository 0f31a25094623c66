// SPDX-License-Identifier: Apache-2.0
/*
 * What this process gives up before it reads the first byte of a client's. Namespaces (also of the
 * network: its listening sockets were made by the launcher), empty environment and closed
 * descriptors are the launcher's work (serve/launcher.c).
 *
 * What is left: the state folder, in which it may read, write, make and remove files; the sockets
 * that it has, those that are accepted from them, and those that the launcher hands it.
 */
#pragma once

#include "lib/base/base.h"

#define SERVER_DATABASE "/server.db" /* behind server_enter() */

/* Makes the state folder its root, and nothing else reachable. 0, or -errno with *ret_what. */
int server_enter(const char **ret_what);

/* The end of the process, when nobody is there to serve for any more. */
_noreturn_ void server_exit(void);

/* The rest; then each call that is not on the list ends the process. Likewise. */
int server_seal(const char **ret_what);
