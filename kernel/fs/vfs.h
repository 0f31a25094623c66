// SPDX-License-Identifier: Apache-2.0
/*
 * The virtual file system: inodes, names, mounts, open files.
 *
 * inode    a file itself: its type, owner, mode, times, link count. Counted.
 * dentry   a name in a directory: (parent, name) -> inode, or "known not to be there". All names
 *          of one directory hang off its dentry, in the order of their making (`seq`), and in one
 * hash table. In file systems that live in memory the dentries ARE the directory (`pinned`); in
 * others (host folders, /proc) they are a cache that is asked again at each look-up. mount    a
 * file system at a place of the tree; path = (mount, dentry). file     an open file description:
 * what fork and dup share. Position, flags.
 *
 * All of it is single-threaded. File operations never park: they answer -EAGAIN, and the
 * system-call layer waits with the file's poll operation if the file is blocking (see sys/rw.c).
 */
#pragma once

#include "kernel/core/call.h"
#include "kernel/core/cred.h"
#include "lib/base/list.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>

struct inode;
struct dentry;
struct mount;
struct file;
struct file_lock_set;
struct notify_watch;

#define NAME_LENGTH_MAX   255
#define SYMLINK_DEPTH_MAX 40

/* ---- super block: one file system instance ---- */

struct super {
    const char *type_name; /* as in /proc/mounts: "overlay", "tmpfs", "proc", ... */
    uint64_t dev;          /* st_dev: makedev(0, n), unique in the sandbox */
    uint64_t next_ino;
    long magic;  /* statfs f_type */
    bool cached; /* dentries are the truth (or a cache that nothing else changes) */
    bool noexec, nodev;
    bool read_only; /* its mounts are read-only */
    bool stored;    /* its files are, by what /proc/PID/io says, on storage */
    struct dentry *root;
    int (*statfs)(struct super *s, struct statfs *ret);
    void *private;
};

/* A zeroed super with a fresh dev; inode numbers start at 1. NULL when out of memory. */
struct super *super_new(const char *type_name, long magic);

/* ---- inode ---- */

struct inode_attr { /* what setattr changes; valid: ATTR_* bits */
    uint32_t valid;
    mode_t mode; /* permission bits only */
    uid_t uid;
    gid_t gid;
    off_t size;
    struct timespec atime, mtime, ctime;
};
#define ATTR_MODE  (1u << 0)
#define ATTR_UID   (1u << 1)
#define ATTR_GID   (1u << 2)
#define ATTR_SIZE  (1u << 3)
#define ATTR_ATIME (1u << 4)
#define ATTR_MTIME (1u << 5)
#define ATTR_CTIME (1u << 6) /* set by the caller of setattr to now */
/* The times are `now` (utimensat(2) with NULL or UTIME_NOW for both): who may write may do it. */
#define ATTR_TOUCH (1u << 7)
/* chown(2) was called, even if it leaves both owners as they are. */
#define ATTR_CHOWN (1u << 8)

struct buf;
struct dir_emit; /* see below */
struct walk;
struct path;

struct inode_ops {
    /*
     * Looks d->name up in dir; on success d has its inode (dentry_set_inode) or stays negative.
     * 0, or -errno for a failure other than "not there".
     */
    int (*lookup)(struct inode *dir, struct dentry *d);
    /* For supers that are not `cached`: false when d is no longer true (it is dropped and looked
     * up). */
    bool (*revalidate)(struct dentry *d);
    /*
     * Make a new object under the negative dentry d. Permission was checked, mode has the umask
     * applied and the file type set; owner uid/gid as given. On success d has its inode.
     */
    int (*mknod)(struct inode *dir, struct dentry *d, mode_t mode, uint64_t rdev, uid_t uid,
                 gid_t gid); /* regular files, FIFOs, sockets, devices */
    int (*mkdir)(struct inode *dir, struct dentry *d, mode_t mode, uid_t uid, gid_t gid);
    int (*symlink)(struct inode *dir, struct dentry *d, const char *target, uid_t uid, gid_t gid);
    int (*link)(struct inode *target, struct inode *dir, struct dentry *d);
    int (*unlink)(struct inode *dir, struct dentry *d);
    int (*rmdir)(struct inode *dir, struct dentry *d); /* -ENOTEMPTY is checked here */
    /* flags: RENAME_EXCHANGE or 0 (NOREPLACE was checked). The caller moves the dentries after. */
    int (*rename)(struct inode *old_dir, struct dentry *old_d, struct inode *new_dir,
                  struct dentry *new_d, unsigned flags);
    /* An unnamed regular file (O_TMPFILE) in dir's file system: a new inode with nlink 0. */
    int (*tmpfile)(struct inode *dir, mode_t mode, uid_t uid, gid_t gid, struct inode **ret);
    /* The target of a symbolic link: length without NUL, buffer NUL-terminated. */
    ssize_t (*readlink)(struct inode *i, char *buffer, size_t size);
    /* For magic links of /proc: where it leads, as counted path; NULL op: by text. */
    int (*follow)(struct dentry *d, struct path *ret);
    /* Brings the fields of the inode up to date before they are read. NULL: they are. */
    int (*refresh)(struct inode *i);
    /* Applies attr (permission was checked). NULL: inode_set_attr_generic without ATTR_SIZE. */
    int (*setattr)(struct inode *i, const struct inode_attr *attr);
    /* Lists a directory whose dentries are not the truth. NULL: the dentries are listed. */
    int (*list)(struct file *dir, struct dir_emit *emit);
    /* Makes all names of a directory present as dentries. NULL: they are. */
    int (*populate)(struct inode *dir, struct dentry *dir_dentry);
    /*
     * Extended attributes (xattr(7)). get: size of the value (copied when size suffices, else
     * -ERANGE; size 0 asks), -ENODATA. set: flags XATTR_CREATE/REPLACE; value NULL removes. list:
     * NUL-separated names. NULL ops: -EOPNOTSUPP.
     */
    ssize_t (*getxattr)(struct inode *i, const char *name, void *value, size_t size);
    int (*setxattr)(struct inode *i, const char *name, const void *value, size_t size, int flags);
    ssize_t (*listxattr)(struct inode *i, char *names, size_t size);
    /* The last reference is gone: frees `private`. */
    void (*release)(struct inode *i);
};

struct inode {
    size_t refs;
    struct super *super;
    const struct inode_ops *ops;
    const struct file_ops *file_ops; /* given to files that are opened on it */
    uint64_t ino;
    mode_t mode; /* type and permissions */
    uid_t uid;
    gid_t gid;
    uint32_t nlink;
    uint64_t rdev;
    off_t size;
    uint64_t blocks; /* of 512 bytes */
    struct timespec atime, mtime, ctime, btime;
    unsigned writers;            /* files open for writing; ETXTBSY for exec */
    unsigned executing;          /* processes that execute it; ETXTBSY for writing opens */
    uint8_t write_hint;          /* fcntl F_SET_RW_HINT; kept, without an effect */
    struct file_lock_set *locks; /* fs/locks.h, made on first use */
    struct list watches;         /* notify_watch, fs/notify.h */
    bool keep;                   /* holds what its file system can't read again: its names stay */
    bool linkable; /* made by O_TMPFILE without O_EXCL: linkat(2) may name it at nlink 0 */
    void *pipe;    /* of a FIFO or a bound socket: the live object, see fs/pipe, net/unix */
    void *private; /* the file system's */
};

/* A counted inode with refs 1, times now, nlink 1, ino from the super. NULL when out of memory. */
struct inode *inode_new(struct super *s, mode_t mode);
struct inode *inode_get(struct inode *i);
void inode_put(struct inode *i);

/* Sets the named fields and, for ATTR_MODE & kin, ctime when asked. */
void inode_set_attr_generic(struct inode *i, const struct inode_attr *attr);

/* mtime and ctime (or ctime alone) := now. */
void inode_touch_modified(struct inode *i);
void inode_touch_changed(struct inode *i);

/* Permission by mode, owner, groups and capabilities: mask of MAY_*. 0 or -EACCES. inode(7) */
#define MAY_EXEC  1
#define MAY_WRITE 2
#define MAY_READ  4
int inode_permission(struct inode *i, const struct cred *cred, int mask);

/* cred owns i or has CAP_FOWNER. */
bool inode_is_owner(const struct inode *i, const struct cred *cred);

/* After a write through f: mtime and ctime, set-user-ID and kin are dropped (inode(7)). */
void file_modified(struct file *f);
/*
 * After a read, or a look into a symbolic link: atime, as the mount option relatime. mount: by
 * which it was reached, or NULL.
 */
void inode_accessed(struct inode *i, const struct mount *mount);
void file_accessed(struct file *f);

/* ---- dentry ---- */

struct dentry {
    size_t refs;
    struct dentry *parent; /* NULL: root of its super, or of no tree (pipes, sockets: name only) */
    struct inode *inode;   /* NULL: negative, or not loaded yet */
    struct list sibling;   /* in parent->children, ordered by seq */
    struct list children;
    struct list hash_link;
    uint64_t hash;
    uint64_t seq;          /* cookie of getdents64: unique and growing within a directory */
    uint64_t next_seq;     /* of the directory itself */
    struct mount *mounted; /* what is mounted here, topmost */
    struct super *super;
    bool pinned;    /* holds a reference of its own: the name exists because of this dentry */
    bool unloaded;  /* listed by populate, its inode is looked up at first use */
    bool unlinked;  /* removed from its directory; paths show " (deleted)" */
    bool populated; /* of a directory: every name is present as a dentry */
    uint8_t d_type; /* DT_* for an unloaded one */
    uint64_t d_ino;
    uint16_t name_length, name_capacity;
    size_t child_count; /* of its references, those that its children in `children` hold */
    struct list lru;    /* among the unreferenced ones that are kept as a cache */
    char *name;         /* NUL-terminated; first_name, or heap after a move */
    char first_name[];
};

struct dentry *dentry_new(struct dentry *parent, const char *name,
                          size_t length); /* refs 1, hashed */
/* A dentry outside of any tree, for anonymous files: name e.g. "pipe:[7]", "anon_inode:[eventfd]".
 */
struct dentry *dentry_new_anonymous(struct inode *inode, const char *name);
struct dentry *dentry_get(struct dentry *d);
void dentry_put(struct dentry *d);
/* Takes a reference of inode over into d. */
void dentry_set_inode(struct dentry *d, struct inode *inode);
/* Marks d as one that exists because of itself: a reference that dentry_detach() drops. */
void dentry_pin(struct dentry *d);
/* The cached child, uncounted (count it before anything else is called), or NULL. */
struct dentry *dentry_find(struct dentry *parent, const char *name, size_t length);
/* Takes d out of its directory (unlink): path text gets " (deleted)", the pin is dropped. */
void dentry_detach(struct dentry *d);
/* Moves d to a new parent and name; seq is renewed. -ENOMEM. (The dentry keeps its identity.) */
int dentry_move(struct dentry *d, struct dentry *new_parent, const char *name, size_t length);
/* Room for a name of this length, so that dentry_move() can't fail. 0 or -ENOMEM. */
int dentry_reserve_name(struct dentry *d, size_t length);
/* Frees unreferenced cached dentries until `keep` are left: what an idle kernel does. */
void dentry_trim(size_t keep);

/* ---- mounts and paths ---- */

struct path {
    struct mount *mount;
    struct dentry *dentry;
};

struct mount {
    size_t refs;
    int id;
    struct super *super;
    struct dentry *root;
    struct path at;   /* where it is mounted; at.mount NULL for the root mount */
    struct list link; /* kernel-wide list, in the order of mounting */
    bool read_only, noexec, nosuid, nodev;
    char *source; /* as in mountinfo */
};

struct path path_get(struct path p);
void path_put(struct path *p); /* both may be NULL */
static inline bool path_is_same(struct path a, struct path b)
{
    return a.mount == b.mount && a.dentry == b.dentry;
}

/* Mounts super at `at` (NULL fields: as the root). The mount list is vfs_mounts. */
int mount_add(struct super *s, struct path at, const char *source, struct mount **ret);
extern struct list vfs_mounts;
extern struct mount *vfs_root_mount;

/*
 * The text of p as seen from root: "/a/b", with " (deleted)" for unlinked ones, "(unreachable)/.."
 * outside of root, the bare name for anonymous dentries. Length, or -ENAMETOOLONG.
 */
ssize_t path_text(struct path p, struct path root, char *buffer, size_t size);

/* ---- path walk: path_resolution(7) ---- */

#define WALK_FOLLOW        (1u << 0) /* follow a symbolic link in the last component */
#define WALK_DIRECTORY     (1u << 1) /* the result must be a directory */
#define WALK_PARENT        (1u << 2) /* stop at the parent: ret_last has the last component */
#define WALK_EMPTY_OK      (1u << 3) /* AT_EMPTY_PATH: "" is the base itself */
#define WALK_NO_SYMLINKS   (1u << 4) /* RESOLVE_NO_SYMLINKS and kin of openat2(2) */
#define WALK_NO_MAGICLINKS (1u << 5)
#define WALK_BENEATH       (1u << 6)
#define WALK_IN_ROOT       (1u << 7)
#define WALK_NO_XDEV       (1u << 8)

struct walk_base {
    struct path root, base; /* borrowed */
    const struct cred *cred;
};

struct walk_last {
    char name[NAME_LENGTH_MAX + 1];
    size_t length;
    enum { LAST_NORMAL, LAST_DOT, LAST_DOTDOT, LAST_ROOT } kind;
    bool trailing_slash;
};

/*
 * Resolves name from base. On success *ret is a counted path (of the parent with WALK_PARENT, and
 * ret_last says what is left; ret_last may be NULL otherwise). Search permission is checked on the
 * way.
 */
int walk_path(const struct walk_base *base, const char *name, unsigned flags, struct path *ret,
              struct walk_last *ret_last);

/*
 * The child called name of a directory: counted dentry, possibly negative (inode NULL).
 * No permission is checked, mounts and links are not followed. -ENAMETOOLONG, or what lookup
 * answers.
 */
int walk_lookup_child(struct dentry *dir, const char *name, size_t length, struct dentry **ret);

/* ---- open files ---- */

struct dir_emit {
    /* False: the buffer is full, stop. cookie is what d_off will say: list resumes after it. */
    bool (*emit)(struct dir_emit *e, const char *name, size_t length, uint64_t ino, uint8_t d_type,
                 uint64_t cookie);
    uint64_t after; /* list names whose cookie is greater; "." is 1 and ".." 2, others from 3 */
    bool in_parts;  /* a listing may answer -EAGAIN: it has looked long, and will go on */
};

#define READ_IN_PARTS (1 << 30)
#define READ_GOES_ON  (-6000)
#define READ_WAITS    (-6001)

struct file_ops {
    /*
     * Called for each open (O_CREAT's new file too); f has inode, path and flags. NULL: nothing to
     * do. May be -EAGAIN-free only: opening a FIFO waits in sys/open.c.
     */
    int (*open)(struct file *f);
    void (*release)(struct file *f); /* last reference gone */
    void (*flush)(struct file *f);   /* each close of a descriptor, before the reference is put */
    /*
     * At *pos (which is advanced; the caller decides whose it is). Bytes, 0 at the end, -EAGAIN
     * when it would have to wait. flags: RWF_* of preadv2(2); with READ_IN_PARTS too a read may
     * answer READ_GOES_ON: it has looked long without coming to *pos, and goes on when it is called
     * again; or READ_WAITS: there is nothing now, and it has to be asked again after a moment. The
     * caller yields (kernel/sys/args.h). write with O_APPEND moves *pos to the end first.
     */
    ssize_t (*read)(struct file *f, struct uio *u, off_t *pos, int flags);
    ssize_t (*write)(struct file *f, struct uio *u, off_t *pos, int flags);
    off_t (*lseek)(struct file *f, off_t offset, int whence); /* NULL: -ESPIPE */
    /* EPOLL* bits that are true now. NULL: always readable and writable. */
    uint32_t (*poll)(struct file *f, struct poll_table *table);
    /* -ENOTTY for unknown requests; generic ones (FIONBIO, FIOCLEX) never get here. */
    long (*ioctl)(struct file *f, struct call *c, unsigned request, struct gaddr argument);
    int (*fsync)(struct file *f);
    int (*fallocate)(struct file *f, int mode, off_t offset, off_t size);
    /*
     * A host descriptor that mmap(2) of this file may use, borrowed until the file is released.
     * writable: a shared writable mapping is asked for. private: MAP_PRIVATE. -ENODEV, -EACCES,
     * -EPERM.
     */
    int (*map)(struct file *f, bool shared_writable, struct hostfd *ret);
    /* The lines of /proc/PID/fdinfo/FD that only this kind of file has: proc(5). NULL: none. */
    void (*describe)(struct file *f, struct buf *b);
    /* sizes in bytes; for fcntl F_GETPIPE_SZ and kin the pipe's own functions are called */
    bool stream;          /* has no position: pread is -ESPIPE */
    bool write_all;       /* a blocking write goes on until all is written: pipes, ttys, sockets */
    bool tells_by_signal; /* O_ASYNC has an effect: event/async.h */
    /*
     * No read_iter, write_iter on Linux: of readv(2), writev(2) each buffer is an operation of its
     * own, and sendfile(2) and splice(2) are -EINVAL.
     */
    bool reads_apart, writes_apart;
};

/* F_SETOWN, F_SETSIG of fcntl(2): who is told of a file by which signal, and who said so. */
struct file_owner {
    int pid, type; /* 0: nobody; F_OWNER_* */
    int signal;    /* 0: SIGIO */
    uid_t uid, euid;
};

struct file {
    size_t refs;
    const struct file_ops *ops;
    struct inode *inode;
    struct path path; /* path.mount NULL for anonymous files */
    int flags;        /* O_* as F_GETFL shows them, without O_CREAT & kin */
    off_t pos;
    uint64_t list_end; /* of a directory: names from this cookie on came after its listing began */
    uint64_t id;       /* unique in the sandbox, never reused: key of epoll and lock owners */
    bool can_read, can_write;
    bool is_writer;          /* counts in inode->writers */
    bool keeps_suid;         /* opened with CAP_FSETID: writes do not drop set-user-ID */
    struct list epoll_items; /* event/epoll.c: items that watch this file */
    struct async *async;     /* event/async.c: while it tells of itself by a signal; NULL */
    struct file_owner owner;
    int64_t read_timeout_ns,
        write_timeout_ns; /* SO_RCVTIMEO, SO_SNDTIMEO; 0: none. See file_park() */
    void *private;        /* of the ops */
};

/*
 * An open file on inode (takes over neither inode nor path: counts them), with ops from the inode,
 * or `ops` if not NULL. ops->open is called. flags: O_*.
 */
int file_new(struct path path, struct inode *inode, int flags, const struct file_ops *ops,
             struct file **ret);
/* This file does not keep its inode from being executed, though it can write. */
void file_uncount_writer(struct file *f);
/*
 * An anonymous file (pipe, eventfd, socket ...): inode of `mode` in the kernel's anonymous super,
 * named as `name_format` with its inode number for %llu. private is set before ops->open.
 */
int file_new_anonymous(const char *name_format, mode_t mode, int flags, const struct file_ops *ops,
                       void *private, struct file **ret);
/* A FIFO's file from vfs_open() that pipe_open_fifo() has to replace; it does nothing. */
bool file_is_half_open(const struct file *f);

struct file *file_get(struct file *f);
void file_put(struct file *f);

/* Open files of the sandbox: /proc/sys/fs/file-nr. */
size_t file_count(void);

/* Set by event/epoll.c and async.c: called for a file with epoll_items, with async, before it goes.
 */
extern void (*file_epoll_release)(struct file *f);
extern void (*file_async_release)(struct file *f);

/* Operations of directories, for inode->file_ops: reads are EISDIR, positions are cookies. */
extern const struct file_ops dir_file_ops;

/* SEEK_SET, SEEK_CUR, SEEK_END by the inode's size; SEEK_DATA and SEEK_HOLE: all of it is data. */
off_t file_lseek_generic(struct file *f, off_t offset, int whence);

/* Poll state; files without the operation are always readable and writable. */
uint32_t file_poll(struct file *f, struct poll_table *table);

/* Parks c until f may be ready for `events` (EPOLLIN, EPOLLOUT): what sys/rw.c does at -EAGAIN. */
long file_park(struct file *f, struct call *c, uint32_t events, enum call_restart restart);

/* ---- operations of the VFS: permission, mounts, notification, then the file system ---- */

/* Each takes the counted parent path and last component from walk_path(WALK_PARENT). */
int vfs_mknod(const struct walk_base *b, const char *name, mode_t mode, uint64_t rdev);
int vfs_mkdir(const struct walk_base *b, const char *name, mode_t mode);
int vfs_symlink(const struct walk_base *b, const char *name, const char *target);
int vfs_unlink(const struct walk_base *b, const char *name);
int vfs_rmdir(const struct walk_base *b, const char *name);
int vfs_link(const struct path *target, const struct walk_base *b, const char *name);
/* 0 when the directory is there that the name's last component would be in. */
int vfs_find_parent(const struct walk_base *b, const char *name);
int vfs_rename(const struct walk_base *old_base, const char *old_name,
               const struct walk_base *new_base, const char *new_name, unsigned flags);
int vfs_setattr(const struct path *p, const struct cred *cred, const struct inode_attr *attr);
int vfs_truncate(const struct path *p, struct file *f, const struct cred *cred, off_t size);

struct open_how_in {
    int flags;
    mode_t mode;         /* with the umask applied */
    unsigned walk_flags; /* RESOLVE_* as WALK_* */
};
/*
 * open(2) without its waiting: FIFOs are opened in a half state, see fs/pipe. *ret is a counted
 * file.
 */
int vfs_open(const struct walk_base *b, const char *name, const struct open_how_in *how,
             struct file **ret);
/* Opens an object that was found already (exec, /proc/self/fd/N): permission is checked by flags.
 */
int vfs_open_path(struct path p, const struct cred *cred, int flags, struct file **ret);

/* The stat of an inode, refreshed. */
int vfs_stat(struct inode *i, struct stat *ret);

/* Reads from a regular file for the kernel itself (exec, splice): bytes or -errno. */
ssize_t file_read_kernel(struct file *f, void *data, size_t size, off_t pos);

/* Fills directory listings from dentries, for file systems whose ops have no list. */
int dentry_list(struct file *dir, struct dir_emit *emit);
