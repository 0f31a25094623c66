// SPDX-License-Identifier: Apache-2.0
/*
 * A path walk that can be stopped at the last component and gone on with: what open(2) needs, where
 * a dangling link in the last place is followed to the name that is to be made.
 *
 *   walk_begin -> (walk_to_last -> decide; maybe walk_push_link)* -> walk_end
 *
 * After walk_to_last() `at` is the directory of the last component and `last` its name; or, when
 * `jumped` is set, a magic link led to `at` itself and no name is left.
 */
#pragma once

#include "kernel/fs/vfs.h"

struct walk_text {
    char *buffer;     /* heap; NULL for the path that the walk began with */
    const char *rest; /* what is not walked yet */
};

struct walk {
    struct path root; /* borrowed: the root of this walk */
    const struct cred *cred;
    unsigned flags; /* WALK_* */
    struct path at; /* counted */
    struct walk_last last;
    bool jumped;             /* a magic link led to `at`: there is no last component */
    bool directory;          /* a trailing slash was met in the last component */
    unsigned links;          /* followed so far */
    unsigned steps;          /* components met so far */
    size_t depth;            /* texts in use */
    struct walk_text *texts; /* == &first until a link is met, then heap */
    struct walk_text first;
};

/* base is borrowed for the time of the walk; so is name. On failure nothing is left to end. */
int walk_begin(struct walk *w, const struct walk_base *base, const char *name, unsigned flags);
void walk_end(struct walk *w);

/* Goes on to the last component. */
int walk_to_last(struct walk *w);

/*
 * The last component itself: child of `at` (counted, possibly negative), mounts on it crossed. Of
 * LAST_DOT and kin, and after a jump, what they lead to.
 */
int walk_last_path(struct walk *w, struct path *ret);

/* Follows link, which was found in w->at; then walk_to_last() goes on. */
int walk_push_link(struct walk *w, struct path link);
