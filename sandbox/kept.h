// SPDX-License-Identifier: Apache-2.0
/*
 * Folders of what is kept of sandboxes behind their end: files NUMBER.NAME, of which NUMBER is
 * milliseconds since 1970, or the next one that was free, and NAME the sandbox's. Beside one there
 * may be a file of the same name and a '~'. Other files are not of ours.
 */
#pragma once

#include "sandbox/registry.h"

#define KEPT_FILE_NAME_MAX (20 + 1 + REGISTRY_NAME_MAX_BYTES)
#define KEPT_ENTRIES_MAX   4096 /* of one folder that are looked at */
/* Nobody takes away what is so new: it may not be whole, or not be locked yet. */
#define KEPT_NEW_S 10

int64_t kept_now_ms(void);

/* Opens a folder in the user's runtime folder; is_made: makes it. A descriptor or negative errno.
 */
int kept_open_folder(int runtime, const char *folder, bool is_made);

/*
 * Creates a file for `name`, to be appended to, under the first number from now on that is free. A
 * descriptor and its name, or negative errno.
 */
int kept_create(int folder, const char *name, char ret_file[static KEPT_FILE_NAME_MAX + 1]);

/*
 * A file of that text, which is there whole from the first moment, or not at all. 0 or negative
 * errno.
 */
int kept_keep(int folder, const char *name, const struct buf *text);

/* The file of a descriptor, under a name here too; it is whole. 0 or negative errno. */
int kept_link(int folder, const char *name, int fd);

/* file~ */
void kept_name_beside(const char *file, char ret[static KEPT_FILE_NAME_MAX + 2]);

/* Removes it and what is beside it. */
void kept_remove(int folder, const char *file);

/* Whether somebody has locked it (F_OFD_SETLK), or that can't be known. */
bool kept_is_locked(int fd);

/*
 * Whether the file of that name is locked, or that can't be known; false also when there is none.
 * Its owner may put a new one in its place, which is locked before and lets go of the other one
 * after that.
 */
bool kept_is_live(int folder, const char *file);

struct kept_entry {
    int64_t number;
    char file[KEPT_FILE_NAME_MAX + 1];
};

/* The sandbox's, in file. */
const char *kept_sandbox(const struct kept_entry *e);

struct kept_entries {
    struct kept_entry *items; /* to be freed */
    size_t count;
};

/* Those of that name, or of any where it is NULL; the oldest first. 0 or negative errno. */
int kept_list(int folder, const char *name, struct kept_entries *ret);

/* Removes all of that name that nobody has locked: how many, or negative errno. */
int kept_forget(int runtime, const char *folder, const char *name);

/*
 * How many of the oldest are too old (older_s), or more than `most`; of the new ones it is not
 * asked.
 */
size_t kept_count_surplus(const struct kept_entries *all, size_t most, int64_t older_s);
