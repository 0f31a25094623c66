// SPDX-License-Identifier: Apache-2.0
/*
 * An agent of SSH for the programs of the sandbox: it signs with keys that they never have. The
 * kernel passes on each message, and its answer; lib/ssh/agent.h has the protocol.
 *
 *   a connection --session-bind, by a pinned host key--> bound to a session and its host
 *                --anything that does not verify-------> refused, for good
 *
 * It signs only a request to log in to the session that the connection is bound to, as the user
 * that the policy names, by the key of a secret that has that host's key among its own. What is
 * signed so is of no use anywhere else: the session's id depends on secrets of both its ends, and
 * the host has signed it. What a program does in the session is the server's to decide.
 */
#pragma once

#include "gateway/gateway.h"

/* Reads the keys. A key that can't be used ends the process: nobody runs yet. */
void ssh_agent_start(void);

/* A message of p->data_size bytes on connection p->connection: always one answer. */
void ssh_agent_take(const struct gateway_packet *p, const uint8_t *message);

/* The connection was closed. */
void ssh_agent_forget(uint32_t connection);

/*
 * What secrets are to be from now on, NULL for none; called before they and their document are.
 * 0; -EINVAL and e: a key of theirs can't be used, and nothing has changed.
 */
struct secret_error;
int ssh_agent_renew(const struct secrets *next, struct secret_error *e);

/* Before gateway.secrets goes. */
void ssh_agent_end(void);
