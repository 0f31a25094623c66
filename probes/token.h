// SPDX-License-Identifier: Apache-2.0
/*
 * The secret word that no sandbox may show. The probes are told its hash alone: they recognise it
 * when they read it, and nothing of theirs can be mistaken for it.
 */
#pragma once

#include "lib/base/base.h"

/* This, and so many hexadecimal digits. */
#define TOKEN_PREFIX "glovebox-canary-"
#define TOKEN_DIGITS 32

/* FNV-1a of 64 bits: only to recognise. */
static inline uint64_t token_hash(const char *data, size_t size)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)data[i]) * 0x100000001b3;
    return hash;
}
