// SPDX-License-Identifier: Apache-2.0
/* Base 64 with the standard alphabet and padding, without line breaks (RFC 4648, section 4). */
#pragma once

#include "lib/base/buf.h"

/* Appends size bytes of data in base 64: 4 characters for 3 bytes. May fail as buf_append() does.
 */
void text_base64_append(struct buf *b, const void *data, size_t size);
