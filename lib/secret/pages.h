// SPDX-License-Identifier: Apache-2.0
/*
 * Memory for secrets: not in core dumps (MADV_DONTDUMP), not in swap where the host lets us lock it
 * (mlock(2)), wiped before it is given back. For few large pieces: each is pages of its own.
 */
#pragma once

#include "lib/base/base.h"

/* Zeroed. NULL: no memory. Free with secret_memory_free(). */
void *secret_memory_new(size_t size);

/* p may be NULL; size as it was asked for. */
void secret_memory_free(void *p, size_t size);
