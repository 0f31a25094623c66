// SPDX-License-Identifier: Apache-2.0
/*
 * What a running sandbox uses of what its own kernel counts: files, network, processor time of all
 * that ran in it. Its starter asks it (EXEC_USAGE), and it may not answer: whoever asks waits only
 * as long as he likes.
 */
#pragma once

#include "sandbox/exec_messages.h"
#include "sandbox/registry.h"

/* Asks; waits for nobody. A socket, readable when usage_ask_take() gets on, or negative errno. */
int usage_ask(const struct registry *r, const char *name);

/* 0 and *ret; -EAGAIN: not yet; or negative errno: nobody will say. */
int usage_ask_take(int socket, struct exec_usage *ret);

/* Asks, and waits at most limit_ms. 0 or negative errno, -ETIMEDOUT. */
int usage_ask_wait(const struct registry *r, const char *name, int limit_ms,
                   struct exec_usage *ret);
