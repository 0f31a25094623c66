// SPDX-License-Identifier: Apache-2.0
/*
 * Files of a running sandbox, as somebody outside works with them by way of its kernel: between
 * sandbox/files_ask.h and kernel/boot/files/.
 *
 * Who asks connects to a socket of type SOCK_SEQPACKET in the registry's private folder, and says a
 * files_hello with a descriptor: a memory file of FILES_MEMORY_MIN_BYTES to FILES_MEMORY_MAX_BYTES.
 * The starter looks who it is, and hands both to the kernel (CONTROL_FILES): from then on the two
 * talk without it, and a closed socket ends what is under way. Of a sandbox with secrets the
 * starter stays in between, and speaks so to both (sandbox/files_search.h). Each question is
 * answered with one packet, and who asks has never more than one under way: so nothing is sent that
 * nobody waits for, and whoever is slow waits alone. The bytes of files pass through the memory
 * file, from its start: the kernel reads and writes it with pread(2) and pwrite(2), which never
 * wait.
 *
 * A connection does one thing at a time, many one after another: an OPEN, a LIST or a WATCH ends
 * what was before it, and what was written but not committed is gone then.
 *
 *   STAT            path                        one entry, whose name is the whole path
 *   MAKE_DIRECTORY  path, mode                  likewise. EEXIST: a directory is there,
 *                                               ENOTDIR: something else is
 *   MOVE            path, more: where to        likewise
 *   LINK            path, more: its target      likewise; a symbolic one, which replaces one
 *   REMOVE          path                        nothing; with all that is in it, and it is no
 *                                               error when there was nothing
 *   SET_METADATA    path, more: metadata        one entry
 *   LIST            path, depth from 1          the directory itself at level 0, then what is
 *                                               in it, depth first, in no order of names;
 *                                               value is 1 when that was all
 *   LIST_NEXT                                   likewise
 *   READ_OPEN       path, size                  one entry, and as READ from 0
 *   READ            offset, size                value is how many bytes are in the memory;
 *                                               less than size: the file ended, or error
 *   WRITE_OPEN      path, mode, more: metadata  nothing. With FILES_WITH_DATA as WRITE too
 *   WRITE           offset, size                value is how many bytes were taken from the
 *                                               memory; less than size: error
 *   COMMIT                                      one entry: the file has its name, at once and
 *                                               whole, in place of what was there
 *   WATCH           path, FILES_RECURSIVE       nothing, as soon as it is watched
 *   EVENTS                                      waits; at least one event
 *   CLOSE                                       nothing; ends what is under way
 *
 * With FILES_AND_COMMIT a WRITE, or a WRITE_OPEN with data, is answered as COMMIT too.
 *
 * user is a name or number as in kernel/boot/user.h, or empty: the one that the sandbox was started
 * with. A path is empty or "~" for his home, "~/x" and "x" for what is in it, or absolute; "." and
 * ".." are taken out of the text. Metadata is NAME, NUL, VALUE, NUL, and so on: extended attributes
 * user.e2b.NAME.
 */
#pragma once

#include "lib/base/base.h"

#define FILES_VERSION 1

#define FILES_USER_MAX_BYTES     255
#define FILES_PATH_MAX_BYTES     4095
#define FILES_NAME_MAX_BYTES     255
#define FILES_OWNER_MAX_BYTES    64 /* a longer name is cut */
#define FILES_METADATA_MAX_BYTES 8192
#define FILES_ANSWER_MAX_BYTES   65000 /* of records in one packet */
#define FILES_MEMORY_MIN_BYTES   4096
#define FILES_MEMORY_MAX_BYTES   (1 << 20)

#define FILES_CLIENTS_MAX           128  /* connections at once: a further one gets EUSERS */
#define FILES_LIST_DEPTH_MAX        256  /* a greater depth is this one */
#define FILES_REMOVE_DEPTH_MAX      4096 /* ENAMETOOLONG */
#define FILES_WATCH_DIRECTORIES_MAX 8192 /* of one connection: FILES_OVERFLOW */

struct files_hello {
    uint32_t version, unused;
};

enum files_type {
    FILES_STAT = 1,
    FILES_MAKE_DIRECTORY,
    FILES_MOVE,
    FILES_LINK,
    FILES_REMOVE,
    FILES_SET_METADATA,
    FILES_LIST,
    FILES_LIST_NEXT,
    FILES_READ_OPEN,
    FILES_READ,
    FILES_WRITE_OPEN,
    FILES_WRITE,
    FILES_COMMIT,
    FILES_WATCH,
    FILES_EVENTS,
    FILES_CLOSE,
};

/* With the rights of root, for all that is not the user's name: what is made is still his. */
#define FILES_AS_ROOT (1u << 0)
/* Directories that are missing on the way are made, 0755. */
#define FILES_PARENTS (1u << 1)
/* Of WRITE_OPEN: mode counts also when a file is replaced; else that one's stays. */
#define FILES_EXACT_MODE (1u << 2)
/* Of WRITE_OPEN: mtime is set. */
#define FILES_WITH_TIME  (1u << 3)
#define FILES_WITH_DATA  (1u << 4)
#define FILES_AND_COMMIT (1u << 5)
#define FILES_RECURSIVE  (1u << 6) /* of WATCH: directories in it too, also those made later */
#define FILES_NO_FOLLOW  (1u << 7) /* of WRITE_OPEN: a link in the last place is replaced */

struct files_question { /* with user, path and more behind it, none with a NUL at its end */
    uint32_t type, flags;
    uint32_t mode; /* permission bits; set-user-ID and kin are left out */
    uint32_t depth;
    int64_t offset;
    uint64_t size;
    int64_t mtime_s;
    uint32_t mtime_ns, user_size, path_size, more_size;
};

#define FILES_QUESTION_TEXT_MAX \
    (FILES_USER_MAX_BYTES + FILES_PATH_MAX_BYTES + FILES_METADATA_MAX_BYTES)

struct files_answer { /* with text_size bytes of records behind it */
    uint32_t type;    /* of the question */
    int32_t error;    /* positive errno, or 0. ESRCH: there is no such user */
    int64_t value;
    uint32_t text_size, unused;
};

struct files_entry {      /* with its five texts behind it, in this order */
    uint32_t mode;        /* as lstat(2) has it */
    uint32_t target_mode; /* of a link that leads somewhere: as stat(2) has it */
    uint32_t uid, gid;
    int64_t size, mtime_s;
    uint32_t mtime_ns;
    int32_t error;  /* of LIST, a directory: why nothing in it is told */
    uint16_t level; /* of LIST: 0 for what was asked for, 1 for what is in it */
    uint16_t name_size, target_size, owner_size, group_size, metadata_size;
    uint32_t unused;
};

#define FILES_ENTRY_MAX_BYTES                                                            \
    (sizeof(struct files_entry) + 2 * FILES_PATH_MAX_BYTES + 2 * FILES_OWNER_MAX_BYTES + \
     FILES_METADATA_MAX_BYTES)

enum files_event_type {
    FILES_CREATED = 1,
    FILES_WRITTEN,
    FILES_REMOVED,
    FILES_RENAMED,  /* away from this name; the new one, if it is watched, is CREATED */
    FILES_CHANGED,  /* its mode, owner, times or attributes */
    FILES_OVERFLOW, /* events were lost */
};

struct files_event { /* with its name behind it, from the watched directory on, "." for that */
    uint16_t type, name_size;
    uint32_t unused;
};
