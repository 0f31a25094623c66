// SPDX-License-Identifier: Apache-2.0
/*
 * The result of a run as one JSON object.
 */
#pragma once

#include "cli/capture.h"
#include "sandbox/run.h"

#include <stdio.h>

/*
 * Writes the object and a newline to out. name may be NULL. 0, or -ENOMEM, or the error of writing.
 */
int report_write(FILE *out, const char *name, const struct sandbox_outcome *outcome,
                 const struct capture *output, const struct capture *errors);
