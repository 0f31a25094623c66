// SPDX-License-Identifier: Apache-2.0
/*
 * The record of what a sandbox was let do on the network, and what not: lines of JSON, kept by its
 * starter in the user's runtime folder (registry.h), for glovebox egress. It never holds more than
 * two files of DECISIONS_FILE_MAX_BYTES, and is there for a while after the sandbox's end.
 *
 *   egress/NUMBER.NAME     the latest lines; NUMBER: of milliseconds since 1970, at the start
 *   egress/NUMBER.NAME~    those before them
 *
 * A file is locked (F_OFD_SETLK) while its sandbox runs, which others can see without taking the
 * lock. Each start removes what is more than DECISIONS_KEPT_MAX records and of a sandbox that has
 * ended, or ended longer ago than DECISIONS_KEPT_S.
 */
#pragma once

#include "lib/base/buf.h"
#include "sandbox/kept.h"

#define DECISIONS_FOLDER         "egress"
#define DECISIONS_FILE_MAX_BYTES (512 * 1024)
#define DECISIONS_LINE_MAX_BYTES 8192
#define DECISIONS_KEPT_MAX       32
#define DECISIONS_KEPT_S         (24 * 3600)
/* Of lines without a gateway; the others are its care. */
#define DECISIONS_DENIED_PER_S 100

/* ---- the starter's ---- */

struct decisions {
    int folder, file; /* -1: not kept (any more) */
    size_t size;      /* of file */
    char name[KEPT_FILE_NAME_MAX + 1];
    const char *sandbox; /* borrowed */
    int64_t second;      /* that denied_count is of */
    uint64_t denied_count, folded;
};

#define DECISIONS_CLOSED ((struct decisions){.folder = -1, .file = -1})

/* Begins the record of the sandbox that r has entered. 0, or negative errno and the sentence. */
int decisions_open(struct decisions *d, const struct registry *r, struct sandbox_error *e);

/* Removes what is too old, or one too many. */
void decisions_sweep(const struct decisions *d);

/*
 * Adds a line. One that is not printable ASCII from { to } is dropped: a guest may have taken over
 * who wrote it. What there is no room for on the machine is lost. Whether it was one.
 */
bool decisions_add(struct decisions *d, const char *line, size_t size);

/*
 * A sandbox without a policy wanted out. what: the name it asked for, or an address; any bytes.
 * protocol: as in lib/base/control.h.
 */
void decisions_add_denied(struct decisions *d, unsigned protocol, uint16_t port, const char *what,
                          size_t size);

/* The gateway has ended while the sandbox runs: how, as in "was killed by SIGKILL". */
void decisions_add_gateway_gone(struct decisions *d, const char *how);

/* So many of those were not told. */
void decisions_add_folded(struct decisions *d, uint32_t count);

/* The sandbox has ended; the record stays. */
void decisions_close(struct decisions *d);

/* ---- a reader's ---- */

struct decisions_reader {
    int folder, file, older; /* older: to be read first; -1 */
    char name[KEPT_FILE_NAME_MAX + 1];
};

#define DECISIONS_READER_CLOSED ((struct decisions_reader){.folder = -1, .file = -1, .older = -1})

/*
 * Opens the latest record of a sandbox of this name; NULL: of whichever sandbox. 0, or negative
 * errno and the sentence; -ENOENT: there is none.
 */
int decisions_reader_open(struct decisions_reader *r, const char *name, struct sandbox_error *e);

/* Likewise, in that runtime folder, which stays the caller's. */
int decisions_reader_open_in(struct decisions_reader *r, int runtime, const char *name,
                             struct sandbox_error *e);

/* The name of its sandbox. */
const char *decisions_reader_sandbox(const struct decisions_reader *r);

/* Whether the sandbox runs, or that can't be known. What is read after a no is all there will be.
 */
bool decisions_reader_is_live(const struct decisions_reader *r);

/*
 * A descriptor that is readable when a record may have got more, or its sandbox may have ended:
 * then, and twice a second for one whose starter was killed, it is time to read (inotify(7), to be
 * emptied first). The caller's. Or negative errno and the sentence.
 */
int decisions_reader_watch(const struct decisions_reader *r, struct sandbox_error *e);

/*
 * The next bytes: their number; 0 when there are no more yet; negative errno. A line may come in
 * pieces, and one that was written by a starter that was killed may have no end.
 */
ssize_t decisions_reader_read(struct decisions_reader *r, char *data, size_t size);

void decisions_reader_close(struct decisions_reader *r);
