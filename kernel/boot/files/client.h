// SPDX-License-Identifier: Apache-2.0
/*
 * What the files of this room share.
 *
 * A client is IDLE, or is in the middle of one thing, which has its own state and is ended with
 * files_activity_end(). A question is answered at once (files_answer() was called when its function
 * returns), or later: then the function has set `work` or waits for an event, and no further
 * question is read until it is answered.
 */
#pragma once

#include "kernel/boot/cursor.h"
#include "kernel/boot/user.h"
#include "kernel/core/timer.h"
#include "kernel/fs/vfs.h"
#include "kernel/host/watch.h"
#include "lib/base/files.h"

struct files_list;
struct files_remove;
struct files_watch;

/* A question whose sizes were checked; its texts are NUL-terminated. */
struct files_asked {
    struct files_question q;
    char user[FILES_USER_MAX_BYTES + 1];
    char path[FILES_PATH_MAX_BYTES + 1];
    char more[FILES_METADATA_MAX_BYTES + 1];
};

/* With whose rights, and where his names begin. */
struct files_identity {
    struct user user;
    struct cred *cred; /* counted */
};

struct files_client {
    struct list link;
    struct host_watch watch;
    struct hostfd memory;
    size_t memory_size;
    uint32_t asked_type;                  /* of the question that is not answered yet; 0: none is */
    void (*work)(struct files_client *c); /* the next piece of what was asked; NULL */
    struct timer timer;                   /* runs it */

    /* At most one of these is open. */
    struct file *file; /* that is read */
    struct files_write {
        struct file *file; /* NULL: none */
        struct path dir;   /* where it is to be named */
        char name[NAME_LENGTH_MAX + 1];
        char hidden[32]; /* its name until then; "": it has none */
        char path[FILES_PATH_MAX_BYTES + 1];
        struct files_identity identity;
        struct timespec mtime;
        bool has_mtime;
    } * write;
    struct files_list *list;
    struct files_remove *remove;
    struct files_watch *watching;
};

/* Ends what is open and drops what was not committed. */
void files_activity_end(struct files_client *c);

/* ---- answers ---- */

/* Records of the answer that is being made: one at a time in this process. */
struct files_reply {
    size_t size;
    char bytes[FILES_ANSWER_MAX_BYTES];
};
extern struct files_reply files_reply;

static inline size_t files_reply_room(void)
{
    return FILES_ANSWER_MAX_BYTES - files_reply.size;
}

/* Answers with files_reply, which is empty afterwards. error: negative errno or 0. */
void files_answer(struct files_client *c, int error, int64_t value);

/* c->work runs once the programs had their turn. -ENOMEM. */
int files_work_soon(struct files_client *c, void (*work)(struct files_client *c));

/* ---- identity and places ---- */

/* -ESRCH: no such user. End with files_identity_done(). */
int files_identity_find(const struct files_asked *a, struct files_identity *ret);
void files_identity_done(struct files_identity *i);

/* The base for walks: the sandbox's root, or a directory. */
struct walk_base files_root(const struct files_identity *i);
struct walk_base files_base(const struct files_identity *i, struct path dir);

/*
 * The absolute path that text means for him, without ".", ".." and double slashes; 0, or
 * -ENAMETOOLONG.
 */
int files_path_resolve(const struct files_identity *i, const char *text,
                       char ret[FILES_PATH_MAX_BYTES + 1]);

/* Makes what is missing of the directory in which path is. */
int files_make_parents(const struct files_identity *i, const char *path);

/* ---- entries ---- */

/* Names of users and groups are looked up while it is there. */
struct files_names {
    char *passwd, *group;
    uint32_t uid, gid; /* those that were looked up last */
    char owner[FILES_OWNER_MAX_BYTES + 1], group_name[FILES_OWNER_MAX_BYTES + 1];
    bool has_owner, has_group;
};
void files_names_done(struct files_names *n);

/* Appends an entry for p, a link not followed, under that name. 0 or -errno. */
int files_append_entry(struct files_names *n, const struct files_identity *i, struct path p,
                       const char *name, unsigned level, int error);

/* Appends the entry of an absolute path, as the answer to what was done to it. */
int files_append_path(const struct files_identity *i, const char *path);

/* Replaces all user.e2b.*; metadata as in lib/base/files.h, of that size. No permission is asked.
 */
int files_set_metadata(struct inode *i, const char *metadata, size_t size);

/* Whether metadata is well-formed and its names and values fit. */
bool files_metadata_is_valid(const char *metadata, size_t size);

/* ---- the questions ---- */

/* A name of a file that is being written. */
bool files_name_is_hidden(const char *name);

void files_ask_stat(struct files_client *c, const struct files_asked *a);
void files_ask_make_directory(struct files_client *c, const struct files_asked *a);
void files_ask_move(struct files_client *c, const struct files_asked *a);
void files_ask_link(struct files_client *c, const struct files_asked *a);
void files_ask_set_metadata(struct files_client *c, const struct files_asked *a);
void files_ask_remove(struct files_client *c, const struct files_asked *a);
void files_ask_list(struct files_client *c, const struct files_asked *a);
void files_ask_list_next(struct files_client *c, const struct files_asked *a);
void files_ask_read_open(struct files_client *c, const struct files_asked *a);
void files_ask_read(struct files_client *c, const struct files_asked *a);
void files_ask_write_open(struct files_client *c, const struct files_asked *a);
void files_ask_write(struct files_client *c, const struct files_asked *a);
void files_ask_commit(struct files_client *c, const struct files_asked *a);
void files_ask_watch(struct files_client *c, const struct files_asked *a);
void files_ask_events(struct files_client *c, const struct files_asked *a);

void files_write_free(struct files_write *w);
void files_list_free(struct files_list *l);
void files_remove_free(struct files_remove *r);
void files_watch_free(struct files_watch *w);
