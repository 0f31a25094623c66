// SPDX-License-Identifier: Apache-2.0
/*
 * Takes the values of a sandbox's secrets out of files on their way out (sandbox/copies.h), in
 * contents, names and targets of links, as sandbox/scrubber.h does with streams. No byte changes
 * its place, so that files keep their sizes and formats their offsets.
 *
 * What comes are packets of records as lib/base/copy.h has them, and so is what goes; but how they
 * are cut differs, since bytes that may be the beginning of a value wait for those behind them. Of
 * what is told only as much is understood as this takes; whether it makes a tree, its reader looks
 * (copy_reader.h).
 */
#pragma once

#include "lib/base/copy.h"
#include "sandbox/scrubber.h"

struct copy_scrub;

/* For one copy. NULL without memory. scrubber is borrowed. */
struct copy_scrub *copy_scrub_new(struct scrubber *scrubber);
void copy_scrub_free(struct copy_scrub *c);

/*
 * Takes one packet. 0; -EPROTO: it is none, and what goes ends with a record that its reader
 * refuses; -ENOMEM, -E2BIG: the copy can't go on.
 */
int copy_scrub_take(struct copy_scrub *c, const char *records, size_t size);

/* The size of a packet that may go, and *ret, borrowed until the next call; 0: more has to come. */
size_t copy_scrub_next(struct copy_scrub *c, const char **ret);
