// SPDX-License-Identifier: Apache-2.0
/*
 * What programs of a sandbox printed (sandbox/journal.h), as lines of its log. A program may have
 * written anything, and the records come from a stranger's keeper or from what is left of it.
 */
#pragma once

#include "server/log_page.h"

/*
 * Puts the lines of the records into the page, as far as these make sense. A line is told when it
 * is whole, and at the end as far as it has come; it has the time of its first byte. Each is
 * rendered as for a language model (lib/text/shown.h): without terminal sequences, and of bounded
 * length. 0 or -ENOMEM.
 */
int log_printed_put(struct log_page *p, const char *records, size_t size);
