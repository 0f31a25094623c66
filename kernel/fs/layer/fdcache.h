// SPDX-License-Identifier: Apache-2.0
/*
 * Host descriptors that can be opened again, kept open as a cache: the process may hold only so
 * many, while a guest may have any number of files. The least recently used one is closed when
 * there are too many. Pinned ones stay open; at most half of what the process may open can be
 * pinned.
 */
#pragma once

#include "lib/base/list.h"

struct cached_fd {
    int n; /* -1: closed */
    unsigned pins;
    struct list lru; /* linked while open and not pinned */
    /* Makes sure that the file can be opened again; false: it has to stay open. NULL: it can. */
    bool (*prepare_close)(struct cached_fd *c);
};

void fdcache_init(struct cached_fd *c, bool (*prepare_close)(struct cached_fd *c));
/* c was opened as n, which is taken over. Another one may be closed. */
void fdcache_opened(struct cached_fd *c, int n);
/* c is used now. */
void fdcache_touch(struct cached_fd *c);
/* An open c stays open until it is unpinned as often as pinned. 0 or -ENFILE. */
int fdcache_pin(struct cached_fd *c);
void fdcache_unpin(struct cached_fd *c);
/* The owner goes: closes it. */
void fdcache_done(struct cached_fd *c);

/* How many may be open at once, from RLIMIT_NOFILE unless a test says so. */
void fdcache_set_limit(size_t limit);
size_t fdcache_open_count(void);
/* Closes all that can be closed: what an idle kernel does. */
void fdcache_trim(void);
