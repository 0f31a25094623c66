// SPDX-License-Identifier: Apache-2.0
/*
 * Files of a stranger's, written into a folder of the caller's (a sink of sandbox/copy_reader.h).
 *
 * Everything is made by one name in a directory that is open, and no link is followed: a directory
 * is opened with O_NOFOLLOW; a file or link is made under a name of its own that nobody has, and
 * then takes the place of what has its name (rename(2)), which is replaced and not written to.
 * So links that somebody planted in the target lead nowhere. Directories that are there already
 * stay as they are and are added to.
 *
 * What is made belongs to the caller, with the permissions that it had but for the caller's umask,
 * and with its time. Holes stay holes. Extended attributes and hard links are not kept.
 */
#pragma once

#include "sandbox/copy_reader.h"

struct copy_folder;

extern const struct copy_sink copy_folder_sink;

/*
 * The target: a path as a person wrote it, none of whose parts may be a link. A directory that is
 * there gets an entry called name; or, when is_content or name is NULL, what is in the directory
 * that is copied. Else the entry gets the last part of the path as its name. 0 and *ret, or
 * negative errno and "REASON; NEXT STEP".
 */
int copy_folder_open(const char *path, const char *name, bool is_content, struct copy_folder **ret,
                     struct sandbox_error *e);

/* Closes it; a file that was not ended is removed. NULL is fine. */
void copy_folder_free(struct copy_folder *f);
