// SPDX-License-Identifier: Apache-2.0
/*
 * Port 49999 of a sandbox: what E2B's code interpreter serves there. Cells of code run in contexts;
 * a context is a program of the sandbox (interpreter/README.md), started and watched over a link to
 * the sandbox's keeper as those of envd are. Nothing that such a program says is believed: it is
 * the guest's, and can only lie about its own cells.
 */
#pragma once

#include "server/boxes.h"
#include "server/request.h"

#define INTERPRETER_PORT     49999
#define INTERPRETER_TAG      "interpreter "        /* how tags of contexts' programs begin */
#define INTERPRETER_TEMPLATE "code-interpreter-v1" /* what its SDK creates sandboxes from */

/* The handler of a request to b, or NULL: it is answered. */
const struct handler *interpreter_find(struct request *r, struct box *b);

/* Starts the default context of Python, for a sandbox whose creator will want it. */
void interpreter_prepare(struct box *b);

/* Of a sandbox that is gone; NULL: there is nothing. */
struct interpreter;
void interpreter_free(struct interpreter *i);
