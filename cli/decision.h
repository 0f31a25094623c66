// SPDX-License-Identifier: Apache-2.0
/*
 * A line of the record of decisions (sandbox/decisions.h), for people: one row of a table. What a
 * guest had a say in is made safe to show.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* The head of the table. */
void decision_print_head(FILE *out);

/* line: an object; what is not in it, or of another type, is left out. */
void decision_print(const json_t *line, FILE *out);

/* Whether something was not let do, or would not be but for "mode": "audit". */
bool decision_is_denial(const json_t *line);
