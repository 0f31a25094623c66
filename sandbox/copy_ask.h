// SPDX-License-Identifier: Apache-2.0
/*
 * Asks a running sandbox of the caller's for files, and gives what it says to a reader.
 */
#pragma once

#include "sandbox/copy_reader.h"

/*
 * The file or tree at path in the sandbox of that name, a link in its last place followed when
 * follows. 0; or negative errno with "WHAT: REASON; NEXT STEP", after which r's sink may have got a
 * part of it.
 */
int copy_ask(const char *name, const char *path, bool follows, struct copy_reader *r,
             struct sandbox_error *e);
