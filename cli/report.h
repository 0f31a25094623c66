// SPDX-License-Identifier: Apache-2.0
/*
 * The result of a run in one piece: as a JSON object for programs, or as text for a language model.
 */
#pragma once

#include "lib/text/capture.h"
#include "sandbox/run.h"

#include <stdio.h>

struct report {
    const char *name; /* of the sandbox, or NULL */
    const struct sandbox_outcome *outcome;
    const struct text_excerpt *output, *errors;
    bool has_bytes; /* JSON: the output in base 64 too */
    bool has_model; /* JSON: what report_write_model() writes, too */
};

/*
 * Writes the object and a newline to out: nothing but ASCII, so that no terminal or log is harmed
 * by what a program put into it. 0, or -ENOMEM, or the error of writing.
 */
int report_write_json(FILE *out, const struct report *r);

/* Writes how it ended and the output, wrapped (lib/text/wrap.h). Likewise. */
int report_write_model(FILE *out, const struct report *r);
