// SPDX-License-Identifier: Apache-2.0
/*
 * File systems whose files are text that is made when it is read: /proc and /sys.
 *
 * A tree is described by constant tables of struct pseudo_entry. What an open file or a dentry
 * stands for is a struct pseudo_node: an entry, and of which process, thread, descriptor or CPU.
 * Nothing is kept in step with the objects behind: names are looked up anew each time (the super is
 * not `cached`), and text is made by the read at position 0 and kept for the reads after it, so
 * that a reader in small pieces sees one state, and one that goes back to the start a new one, as
 * with Linux's seq_file.
 *
 * A text that may be long is made in parts instead (`more`): only the part that was read last is
 * kept, and a seek back begins anew.
 *
 * Kept text is bounded for the whole sandbox by LIMIT_PSEUDO_BYTES: the text that was made longest
 * ago goes first, and is made again by the next read of its file.
 */
#pragma once

#include "kernel/fs/vfs.h"
#include "lib/base/buf.h"

/* No single text, or part of one, is larger: reading it is ENOMEM. */
#define PSEUDO_TEXT_MAX (16u * 1024 * 1024)
/* No single write is larger, as for Linux's sysctls. */
#define PSEUDO_WRITE_MAX 4096

struct pseudo_entry;
struct pseudo_fs;

struct pseudo_node {
    const struct pseudo_entry *entry;
    pid_t pid, tid;    /* 0: of no process; of the process as a whole */
    uint64_t identity; /* tells apart two processes that had the same pid */
    int number;        /* descriptor, CPU, NUMA node */
};

/* Names in a directory that stand in no table: a prefix and a number. */
struct pseudo_names {
    const char *prefix;
    const struct pseudo_entry *entry; /* what each of them is */
    /* The numbers that are there now, growing, into *ret_keys (heap, the caller's). Count or
     * -errno. */
    ssize_t (*collect)(const struct pseudo_node *dir, uint32_t **ret_keys);
    /* Completes *n, a copy of dir with the entry put in, for this number. 0, or -ENOENT. */
    int (*find)(const struct pseudo_node *dir, uint32_t key, struct pseudo_node *n);
};

struct pseudo_entry {
    const char *name;                    /* NULL ends a table */
    mode_t mode;                         /* type and permissions */
    const struct pseudo_entry *children; /* of a directory */
    const struct pseudo_names *names;    /* of a directory */
    const char *text;                    /* of a file whose text never changes, of a link */
    /* The text of a file or of a link. 0, or -errno for read(2) or readlink(2). */
    int (*show)(const struct pseudo_node *n, struct buf *b);
    /*
     * In place of show: appends the next part to b, whole lines. 1, 0 when there is no more, or
     * -errno. *state is its own, NULL at the start, and freed by forget. To one who can wait it may
     * also answer READ_WAITS.
     */
    int (*more)(const struct pseudo_node *n, void **state, bool can_wait, struct buf *b);
    void (*forget)(void *state);
    /* What a write means; text is NUL-terminated. NULL: nobody may open the file for writing. */
    int (*store)(const struct pseudo_node *n, const char *text, size_t size);
    /* A check at open(2) beyond the permission bits; for a directory at listing and lookup. */
    int (*check)(const struct pseudo_node *n);
    /* For magic links: where it leads, counted. `show` is its text. */
    int (*follow)(const struct pseudo_node *n, struct path *ret);
    /* Of a file that can be watched with epoll(7); its text never changes by itself here. */
    bool can_be_polled;
};

/* What tables mostly consist of: text that never changes, text that is made, directories, links. */
#define PSEUDO_TEXT(name_, text_)                            \
    {                                                        \
        .name = name_, .mode = S_IFREG | 0444, .text = text_ \
    }
#define PSEUDO_SHOWN(name_, show_)                           \
    {                                                        \
        .name = name_, .mode = S_IFREG | 0444, .show = show_ \
    }
#define PSEUDO_DIRECTORY(name_, children_)                           \
    {                                                                \
        .name = name_, .mode = S_IFDIR | 0555, .children = children_ \
    }
#define PSEUDO_LINK(name_, text_)                            \
    {                                                        \
        .name = name_, .mode = S_IFLNK | 0777, .text = text_ \
    }

struct pseudo_fs {
    const char *type_name;
    long magic;
    const struct pseudo_entry *root;
    /* To look for what is not there fails, in mkdir(2) too: so it is in Linux's proc. False: there
     * is a place for it, in which nothing may be made. */
    bool is_lookup_final;
    /* False when what n stands for is gone. NULL: never. */
    bool (*is_alive)(const struct pseudo_node *n);
    /* Sets mode and owner from what they are now. NULL: those of the entry, root's. */
    void (*refresh)(const struct pseudo_node *n, struct inode *i);
};

/* A super with this tree (borrowed for the life of the sandbox). 0 or -ENOMEM. */
int pseudo_super_new(const struct pseudo_fs *fs, struct super **ret);

/* What an inode stands for; NULL when it is of no such tree. */
const struct pseudo_node *pseudo_node_of(const struct inode *i);

/* Growing array for pseudo_names.collect. 0 or -ENOMEM. */
struct pseudo_keys {
    uint32_t *keys;
    size_t count, capacity;
};
int pseudo_keys_add(struct pseudo_keys *k, uint32_t key);
/* Sorts and hands the array over: what collect returns. */
ssize_t pseudo_keys_take(struct pseudo_keys *k, uint32_t **ret_keys);

/* The keys 0 .. count-1, for collect of a fixed number of things. */
ssize_t pseudo_keys_range(size_t count, uint32_t **ret_keys);

/*
 * The one decimal number in text, blanks around it allowed: 0, -ERANGE when it is no int at all,
 * -EINVAL when it is outside of min and max or there is something else.
 */
int pseudo_parse_int(const char *text, int min, int max, int *ret);

/*
 * For tree.c: operations of the regular files; of those of a process, which on Linux have neither
 * read_iter nor write_iter; and of those that can be polled.
 */
extern const struct file_ops pseudo_text_ops, pseudo_apart_text_ops, pseudo_polled_text_ops;

/* Bytes of text kept for open files at this moment. */
size_t pseudo_text_bytes(void);
