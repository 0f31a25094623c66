// SPDX-License-Identifier: Apache-2.0
/*
 * Users of the sandbox: what its /etc/passwd and /etc/group say.
 */
#pragma once

#include "kernel/fs/vfs.h"

#define USER_GROUPS_MAX     33
#define USER_HOME_MAX_BYTES 256

struct user {
    uid_t uid;
    gid_t gid;
    char home[USER_HOME_MAX_BYTES];
    gid_t groups[USER_GROUPS_MAX]; /* in order; gid is one of them */
    size_t group_count;
};

/*
 * text: NAME, UID, NAME:GROUP or UID:GID. A number need not be in the files (home is "/" then). A
 * user who is in the files has the groups of which he is a member, also when a number names him;
 * one with GROUP or GID that group alone.
 * -ENOENT: no such name; -EINVAL.
 */
int user_find(const struct walk_base *base, const char *text, struct user *ret);
