// SPDX-License-Identifier: Apache-2.0
/*
 * Connections of clients: accepted, read, answered, and ended when they take too long.
 */
#pragma once

#include "server/request.h"

/*
 * Finds the handler of r, whose head is parsed; or answers, and returns NULL.
 */
typedef const struct handler *(*connection_find_fn)(struct request *r);

/*
 * Whether what was found for the head of r is there still, when some or all of its body has come,
 * which can be much later; or answers.
 */
typedef bool (*connection_look_again_fn)(struct request *r);

/* Begins to accept on listening sockets. 0 or -errno. */
int connections_start(const int *listeners, size_t count, connection_find_fn find,
                      connection_look_again_fn look_again);

/* What has become possible in this turn is done. Whether there is more at once. */
bool connections_advance(void);

size_t connections_count(void);

/* The place of a connection in their most, for another descriptor that is held for a client. */
bool connections_take_place(void);
void connections_give_place(void);
