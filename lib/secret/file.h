// SPDX-License-Identifier: Apache-2.0
/*
 * Secrets in bytes: how their starter hands them to the gateway, in a sealed memory file. In the
 * order of this machine:
 *
 *   "GBSECRET"                      8 bytes
 *   version, count                  uint32_t each; version 1
 *   count times
 *     name, placeholder, value      uint32_t each: their sizes
 *     the three, without NUL
 *
 * and nothing behind it.
 */
#pragma once

#include "lib/secret/secrets.h"

#define SECRET_FILE_MAX_BYTES (256 * 1024)

/* Its size, at most SECRET_FILE_MAX_BYTES for what secrets_new() takes; then the bytes of it. */
size_t secret_file_size(const struct secret_value *values, size_t count);
void secret_file_write(const struct secret_value *values, size_t count, void *ret);

/* Reads it: as secrets_new(); -EINVAL also for what is not as above, or not of this document. */
int secret_file_parse(const void *data, size_t size, const struct policy_document *document,
                      struct secrets **ret, struct secret_error *e);

/*
 * Reads a file of a single secret, and makes old anew with that value; its placeholder is not
 * looked at. As secrets_renew(); -EINVAL also for what is no such file.
 */
int secret_file_parse_one(const void *data, size_t size, const struct secrets *old,
                          struct secrets **ret, struct secret_error *e);

/*
 * Reads a file of those that old has not, NULL and 0 bytes: there are none. As secrets_follow();
 * -EINVAL also for what is no such file.
 */
int secret_file_parse_more(const void *data, size_t size, const struct policy_document *document,
                           const struct secrets *old, struct secrets **ret, struct secret_error *e);

/* Reads the sealed memory file fd, which stays open. As secret_file_parse(); -errno. */
int secret_file_read(int fd, const struct policy_document *document, struct secrets **ret,
                     struct secret_error *e);
