// SPDX-License-Identifier: Apache-2.0
/*
 * A connection to the keeper of a sandbox, for questions about its programs
 * (sandbox/exec_messages.h). The keeper is of the same user, but its sandbox is a stranger's: what
 * comes is checked, and whoever sends what is no message is hung up on.
 *
 *   link_open() -> opened() -> message()... -> closed()
 *              \-> closed()
 *
 * closed() comes once, and not after link_close().
 */
#pragma once

#include "sandbox/exec_messages.h"
#include "server/launcher.h"
#include "server/loop.h"

struct link {
    struct watch watch;
    struct ask ask;
    void (*opened)(struct link *l);
    void (*message)(struct link *l, const struct exec_message *m);
    /* error: positive errno; ENOENT: there is no such sandbox (any more). */
    void (*closed)(struct link *l, int error);
    bool is_open;
};

/* name: of the sandbox. The functions are set before. 0 or negative errno, and then nothing comes.
 */
int link_open(struct link *l, const char *name);

/*
 * One message with text, and a descriptor (-1: none), which stays the caller's. p's version and
 * sizes are filled in. 0 or negative errno.
 */
int link_send(struct link *l, struct exec_packet *p, const void *text, size_t size, int fd);

/* Whether messages are taken; what is not taken holds up who writes. */
void link_listen(struct link *l, bool is_listening);

/* release: as for watch_close(); NULL when l's memory outlives this turn anyway. */
void link_close(struct link *l, void (*release)(struct watch *w));
