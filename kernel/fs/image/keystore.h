// SPDX-License-Identifier: Apache-2.0
/*
 * Java's stores of roots ("cacerts"), to which nothing can just be appended.
 */
#pragma once

#include "lib/base/buf.h"

/*
 * Writes the store of size bytes to ret with one trusted certificate (PEM) more. What it knows are
 * JKS files with the password that all of them have, "changeit", and PKCS #12 files without one.
 * 0; -EINVAL for others, -E2BIG, -ENOMEM, with ret in any state.
 */
int keystore_add(const void *store, size_t size, const char *certificate, struct buf *ret);
