// SPDX-License-Identifier: Apache-2.0
/* The chunked coding (RFC 9112, section 7.1), for body.c. Not for other rooms. */
#pragma once

#include "lib/http/body.h"

/*
 * Takes framing until there is content, which is *ret_slice; or until all is taken, the body is
 * complete (progress) or wrong (error). Returns the bytes taken.
 */
size_t http_chunked_take(struct http_body *b, const char *data, size_t size,
                         struct http_slice *ret_slice);
