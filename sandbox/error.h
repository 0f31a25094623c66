// SPDX-License-Identifier: Apache-2.0
/*
 * An error as the user gets it: one sentence "WHAT: REASON; NEXT STEP" without the program's name
 * and without a newline. Whoever sets it writes the end of the sentence, whoever passes it on may
 * put the thing it is about in front.
 */
#pragma once

#include "lib/base/base.h"

#define SANDBOX_ERROR_MAX_BYTES 2048

struct sandbox_error {
    char text[SANDBOX_ERROR_MAX_BYTES];
};

/* Sets the text; a text that is too long is cut. Returns code (negative errno), for return
 * statements. */
int sandbox_error_set(struct sandbox_error *e, int code, const char *format, ...) _printf_(3, 4);

/* Puts "PREFIX: " in front of the text that is there. Returns code. */
int sandbox_error_prefix(struct sandbox_error *e, int code, const char *format, ...) _printf_(3, 4);
