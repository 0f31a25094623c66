// SPDX-License-Identifier: Apache-2.0
/*
 * Reports on sandbox kernels that failed: small files in the user's runtime folder, by number. Text
 * for people, in which a guest may have had a say.
 */
#pragma once

#include "lib/base/buf.h"

#define REPORTS_MAX      32 /* the oldest goes first */
#define REPORT_MAX_BYTES 16384

/*
 * Keeps text below the runtime folder. 0 and the number in words, or negative errno.
 */
int reports_keep(int folder, const struct buf *text, char ret_number[static 17]);
