// SPDX-License-Identifier: Apache-2.0
/*
 * What of the file system a process of ours may reach, by any path or descriptor: landlock(7).
 *
 * Everything that the host's Landlock knows of is denied, but what was allowed for a folder and all
 * below it, or for a file: files, TCP, abstract Unix sockets and signals to processes outside of
 * the domain, controls of devices. What was opened before stays open. Children inherit the domain;
 * a process may look into another (ptrace(2), process_vm_readv(2)) only when that one is in the
 * same domain or in one within. Within a domain nobody mounts or unmounts anything.
 */
#pragma once

#include "lib/base/base.h"

/*
 * The first that lets files be linked and renamed between folders at all (Linux 5.19). What later
 * ones added is used where it is there:
 *
 *   3  Linux 6.2    truncate(2)
 *   4  Linux 6.7    bind(2) and connect(2) of TCP
 *   5  Linux 6.10   ioctl(2) of devices
 *   6  Linux 6.12   abstract Unix sockets, signals
 */
#define SEAL_LANDLOCK_OLDEST 2

/* What can be allowed. */
enum seal_access {
    SEAL_READ_FILES = 1 << 0,
    SEAL_LIST = 1 << 1,        /* folders */
    SEAL_WRITE_FILES = 1 << 2, /* and cut them off; not make any */
    SEAL_MAKE_FILES = 1 << 3,  /* regular ones, and remove what is no folder */
    SEAL_MAKE_FOLDERS = 1 << 4,
    SEAL_MAKE_LINKS = 1 << 5, /* symbolic ones */
    SEAL_MOVE = 1 << 6,       /* link and rename from one folder to another */
    SEAL_EXECUTE = 1 << 7,
};

/* Of these only can a rule for a single file be made. */
#define SEAL_ACCESS_OF_A_FILE (SEAL_READ_FILES | SEAL_WRITE_FILES | SEAL_EXECUTE)

struct seal_landlock {
    int abi;
    int ruleset; /* descriptor */
    uint64_t handled;
};

/* What stays free for a process whose purpose it is. */
#define SEAL_SPARE_CONNECT (1u << 0) /* connect(2) of TCP */

/* spare: bits above. 0, or -EOPNOTSUPP when the host has no Landlock or too old a one, or -errno.
 */
int seal_landlock_begin(struct seal_landlock *ret, unsigned spare);

/* Allows access (of enum seal_access) to what fd is open on, and all below. 0 or -errno. */
int seal_landlock_allow(const struct seal_landlock *l, int fd, unsigned access);

/*
 * Puts the calling thread into a new domain for good; CAP_SYS_ADMIN or no_new_privs is needed. l is
 * done with. 0 or -errno.
 */
int seal_landlock_enforce(struct seal_landlock *l);
