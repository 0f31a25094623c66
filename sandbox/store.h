// SPDX-License-Identifier: Apache-2.0
/*
 * The folder of a sandbox's own on the host's disk, in which its kernel keeps contents of files:
 * nearly always files without a name. The kernel sees nothing of the folder's parent, so that it is
 * made and removed here.
 *
 * It is locked (flock(2)) for as long as the starter lives: what one that was killed left behind is
 * removed by the next one that starts there.
 */
#pragma once

#include "sandbox/error.h"

#include <dirent.h>
#include <limits.h>
#include <time.h>

/* A walk through the folders beside it. */
struct store_sweep {
    DIR *folders; /* NULL: at its end */
    size_t seen;
    DIR *files; /* of the one that is being emptied, locked; NULL: none */
    char name[NAME_MAX + 1];
    struct timespec time; /* when it was last changed, by others */
};

struct store {
    int folder; /* locked; -1: none */
    char path[PATH_MAX];
    struct store_sweep sweep;
};

/* Makes it in the folder `parent`. 0, or negative errno and the sentence. */
int store_make(struct store *s, const char *parent, struct sandbox_error *e);

/* Removes it with what is in it, when nobody writes to it any more. */
void store_remove(struct store *s);

/* Removes it if nothing in it has a name. What has none may still be in use. */
void store_remove_empty(struct store *s);

/*
 * Removes the folders beside it whose starters are gone. There may be a million files in one, and
 * nobody is to wait for that: each step removes few, and returns whether there may be more to do.
 * Failures do no harm; what is left when the store is removed is for the next one.
 */
void store_sweep_begin(struct store *s);
bool store_sweep_step(struct store *s);
