// SPDX-License-Identifier: Apache-2.0
/*
 * A policy made of what a program did: takes the decisions of a run in audit mode, one after
 * another, and writes the document that allows just that. Connections to an address that a look-up
 * gave are taken for ones to the name that was looked up last.
 */
#pragma once

#include "lib/base/buf.h"

#include <jansson.h>

#define LEARN_PLACES_MAX    1000 /* names and addresses that were connected to */
#define LEARN_ADDRESSES_MAX 8192 /* that look-ups gave */

struct learn {
    json_t *names;      /* {ADDRESS: NAME} */
    json_t *places;     /* {NAME or ADDRESS: {"tcp": {PORT: true}}} */
    json_t *unused;     /* {NAME: true}: was looked up, and not connected to so far */
    json_t *closed;     /* {WHAT: REASON}: no policy can allow it */
    bool is_too_much;   /* of one of these, or of memory */
    bool is_incomplete; /* lines were lost on their way */
};

/* 0 or -ENOMEM. */
int learn_init(struct learn *l);
void learn_done(struct learn *l);

/* A line of the decision log: any bytes, of which those that are none are passed over. */
void learn_take(struct learn *l, const char *line, size_t size);

/* Appends the document, with a newline at its end. 0, or as buf_append(). */
int learn_write(const struct learn *l, struct buf *to);
