// SPDX-License-Identifier: Apache-2.0
/*
 * The programs that only glovebox starts: beside it in a build, or where they are installed.
 */
#pragma once

#include "sandbox/error.h"

#include <limits.h>

/*
 * The absolute path of a program: ../libexec/glovebox/NAME from this program's directory, or
 * ../ROOM/NAME in a build. 0, or negative errno with the reason.
 */
int sandbox_find_program(const char *name, const char *room, char ret[static PATH_MAX],
                         struct sandbox_error *e);
