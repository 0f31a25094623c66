// SPDX-License-Identifier: Apache-2.0
/*
 * libglovebox: sandboxes for code that nobody trusts, from C.
 *
 *   struct glovebox_options *o = glovebox_options_new();
 *   glovebox_options_set(o, "memory", "512M", NULL);
 *   char name[GLOVEBOX_NAME_SIZE];
 *   glovebox_create(o, name, &error);
 *
 * Results: 0 or more, or a negative errno, as each function says. Then, where there is a
 * glovebox_error that is not NULL, it has the code and one sentence "WHAT: REASON; NEXT STEP" for
 * people: safe to show, without a newline. Outputs are untouched on failure. Every _free and _close
 * takes NULL. Strings that come in are copied, unless said otherwise; those that come out are
 * borrowed from the object that they are of.
 *
 * Threads: an object is used by one thread at a time, different objects by different threads as
 * they like; there is no other state. Nothing here starts a thread, sets a signal handler, or keeps
 * a descriptor that is not closed on exec, and no SIGPIPE comes of it. glovebox_create() does not
 * fork this process: it starts the program glovebox with posix_spawn(3) and reaps that child by its
 * number, so that it may be called whatever other threads do; a program that reaps all its children
 * itself does no harm.
 *
 * Waiting: functions with a timeout_ms wait at most for so long, -1 is without end, and 0 not at
 * all; -EAGAIN: what they wait for is not there yet. Objects with a descriptor (_fd) make it
 * readable, for poll(2) and kin, when it is worth to call again; it stays theirs.
 *
 * A sandbox lives on when the program that made it ends, until its lifetime is over or somebody
 * ends it. Whoever is of the same user on the same machine finds it by its name.
 *
 * The ABI grows and does not change as long as the library's major version stays.
 */
#ifndef GLOVEBOX_H
#define GLOVEBOX_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GLOVEBOX_NAME_SIZE  64   /* of a sandbox's name with its NUL */
#define GLOVEBOX_ERROR_SIZE 2048 /* of a sentence with its NUL */
#define GLOVEBOX_WRITE_MAX  32768
#define GLOVEBOX_READ_MAX   (1 << 20)

struct glovebox_error {
    int code; /* negative errno */
    char text[GLOVEBOX_ERROR_SIZE];
};

/* "0.1.0", of the library that is linked. */
const char *glovebox_version(void);

/* ---- making one ---- */

/* What a sandbox is to be; new ones, and where NULL stands for one, are as `glovebox create`
 * without options has it. */
struct glovebox_options;

/* NULL: no memory. */
struct glovebox_options *glovebox_options_new(void);
void glovebox_options_free(struct glovebox_options *o);

/*
 * Sets an option of glovebox-create(1), named as there but for the dashes: "memory", "512M";
 * "mount", "/srv/data:/data:ro"; "env", "KEY=VALUE"; "policy", "/etc/agent.json"; "lifetime", "1h".
 * What may be repeated there is added. value: NULL for options that have none. Values are looked at
 * by glovebox_create(). 0; -EINVAL: no name of an option can be so; -E2BIG, -ENOMEM.
 */
int glovebox_options_set(struct glovebox_options *o, const char *name, const char *value,
                         struct glovebox_error *e);

/*
 * Makes a sandbox and waits until programs can be started in it: some milliseconds. Relative paths
 * and variables are this process's; warnings go to its standard error. 0 and the sandbox's name.
 * -EINVAL: an option makes no sense; -EEXIST: the name is used; -EUSERS: that would be too many;
 * and whatever the machine refuses. Nothing is left then.
 */
int glovebox_create(const struct glovebox_options *o, char name[GLOVEBOX_NAME_SIZE],
                    struct glovebox_error *e);

/* The same in two steps, for who must not wait. */
struct glovebox_creation;
int glovebox_create_begin(const struct glovebox_options *o, struct glovebox_creation **ret,
                          struct glovebox_error *e);
int glovebox_creation_fd(const struct glovebox_creation *c);
/* -EAGAIN: call again. Else as glovebox_create(), and c is freed. */
int glovebox_create_end(struct glovebox_creation *c, char name[GLOVEBOX_NAME_SIZE], int timeout_ms,
                        struct glovebox_error *e);

/* ---- which there are ---- */

/* What is known of a sandbox at one moment. */
struct glovebox_info;

enum glovebox_text {
    GLOVEBOX_TEXT_NAME,
    GLOVEBOX_TEXT_COMMAND, /* of its main program; "" when it has none */
    GLOVEBOX_TEXT_EGRESS,  /* its network policy in a few words; "" without one */
    GLOVEBOX_TEXT_STATE,   /* "running", "ended" */
    GLOVEBOX_TEXT_CAUSE,   /* of one that has ended: "lifetime", "killed", "memory", ... */
    GLOVEBOX_TEXT_WORDS,   /* the same for people */
};

enum glovebox_number {
    GLOVEBOX_NUMBER_KERNEL_PID,
    GLOVEBOX_NUMBER_STARTER_PID,
    GLOVEBOX_NUMBER_CREATED_MS,        /* since 1970 */
    GLOVEBOX_NUMBER_MEMORY_BYTES,      /* that it uses */
    GLOVEBOX_NUMBER_PEAK_MEMORY_BYTES, /* the most that it used */
    GLOVEBOX_NUMBER_PROCESSES,
    GLOVEBOX_NUMBER_THREADS,
    GLOVEBOX_NUMBER_CPU_NS,       /* processor time */
    GLOVEBOX_NUMBER_MEMORY_LIMIT, /* bytes; of limits 0 is none */
    GLOVEBOX_NUMBER_CPU_LIMIT,    /* thousandths of a processor */
    GLOVEBOX_NUMBER_PROCESS_LIMIT,
    GLOVEBOX_NUMBER_DISK_LIMIT, /* bytes */
    GLOVEBOX_NUMBER_LIFETIME_LIMIT_NS,
    GLOVEBOX_NUMBER_ENDED_MS, /* since 1970; of one that has ended, as the next two */
    GLOVEBOX_NUMBER_STATUS,   /* as `glovebox run` would exit */
    GLOVEBOX_NUMBER_WALL_NS,  /* how long it ran; -1 where nobody knows */
    /* Of one that is running, by glovebox_inspect() alone; -1 where its kernel does not say within
     * a second: */
    GLOVEBOX_NUMBER_DISK_BYTES,     /* of its private files */
    GLOVEBOX_NUMBER_FILES,          /* how many those are */
    GLOVEBOX_NUMBER_RECEIVED_BYTES, /* from the outside, by its programs */
    GLOVEBOX_NUMBER_SENT_BYTES,
    GLOVEBOX_NUMBER_WRITTEN_BYTES, /* to whatever, in all; also of one that has ended */
};

/* The one of that name that runs, or else the latest that has ended: 0 and *ret; -ENOENT: nothing
 * is known of any. Of those that have ended the last 100 are known, for a week. Of one that is
 * ending just now it waits for the end to be written down, ten seconds at most: -EAGAIN. */
int glovebox_inspect(const char *name, struct glovebox_info **ret, struct glovebox_error *e);
void glovebox_info_free(struct glovebox_info *i);

/* "" and -1 for what is not known, also by this version of the library. */
const char *glovebox_info_text(const struct glovebox_info *i, enum glovebox_text which);
int64_t glovebox_info_number(const struct glovebox_info *i, enum glovebox_number which);

/* The value of its label of that key (glovebox-create(1)); NULL: it has none. Borrowed. */
const char *glovebox_info_label(const struct glovebox_info *i, const char *key);

/* Those that run, of this user on this machine, in no order; with GLOVEBOX_ALL behind them those
 * that have ended, the latest first. */
#define GLOVEBOX_ALL 1
struct glovebox_list;
int glovebox_list(int flags, struct glovebox_list **ret, struct glovebox_error *e);
void glovebox_list_free(struct glovebox_list *l);
size_t glovebox_list_count(const struct glovebox_list *l);
/* The list's; NULL when there are not so many. */
const struct glovebox_info *glovebox_list_get(const struct glovebox_list *l, size_t index);

/* Forgets all of that name that have ended. 0; -EBUSY: one is running; -ENOENT: none is known. */
int glovebox_forget(const char *name, struct glovebox_error *e);

/* ---- what happens to them ---- */

/* Starts and ends of sandboxes of this user and of programs in them, from the earliest that is
 * known on: glovebox-events(1). */
struct glovebox_events;
int glovebox_events_open(struct glovebox_events **ret, struct glovebox_error *e);
void glovebox_events_free(struct glovebox_events *v);
/* Call glovebox_events_next() when it is readable, until that says -EAGAIN; and every second or so,
 * for the ends of those whose starters were killed. */
int glovebox_events_fd(const struct glovebox_events *v);
/* The next one: 0 and *ret_json, an object as "glovebox events --json" prints it, but for its
 * "time"; borrowed until the next call with this object. -EAGAIN. */
int glovebox_events_next(struct glovebox_events *v, int timeout_ms, const char **ret_json,
                         struct glovebox_error *e);

/* ---- its life ---- */

/* Asks it to end: its programs get SIGTERM, and SIGKILL when its grace is over. */
int glovebox_stop(const char *name, struct glovebox_error *e);
/* Ends it at once. Neither waits until it has ended: glovebox_wait(). */
int glovebox_kill(const char *name, struct glovebox_error *e);

/* It is to end in lifetime_ms from now, instead of when it was; 0: never. */
int glovebox_set_lifetime(const char *name, int64_t lifetime_ms, struct glovebox_error *e);

struct glovebox_end {
    int status;       /* as `glovebox run` would exit */
    char cause[32];   /* "lifetime", "killed", "memory", ...: glovebox-run(1) */
    char words[512];  /* the same for people */
    char reserved[8]; /* 0 */
};

/* Somebody who waits for its end. Later changes of the name do not matter. */
struct glovebox_watch;
int glovebox_watch(const char *name, struct glovebox_watch **ret, struct glovebox_error *e);
void glovebox_watch_free(struct glovebox_watch *w);
int glovebox_watch_fd(const struct glovebox_watch *w);
/* 0 and *ret when it has ended, whenever it is asked; -EAGAIN; -EPIPE: it has ended, and was to be
 * forgotten, and its starter was killed, who would have told. */
int glovebox_watch_wait(struct glovebox_watch *w, int timeout_ms, struct glovebox_end *ret,
                        struct glovebox_error *e);

/* All of that at once; of the latest that has ended, where none is running. -ENOENT: nothing is
 * known of one of that name. */
int glovebox_wait(const char *name, int timeout_ms, struct glovebox_end *ret,
                  struct glovebox_error *e);

/* ---- programs in it ---- */

/* What is to be started. */
struct glovebox_command;

/* With the program's name or path as its first argument. NULL: no memory. */
struct glovebox_command *glovebox_command_new(const char *program);
void glovebox_command_free(struct glovebox_command *c);

/* Each 0 or -ENOMEM, and what is wrong with it is told by glovebox_exec(). */
int glovebox_command_add_argument(struct glovebox_command *c, const char *word);
int glovebox_command_set_env(struct glovebox_command *c, const char *name, const char *value);
int glovebox_command_set_user(struct glovebox_command *c, const char *user);
int glovebox_command_set_workdir(struct glovebox_command *c, const char *path);
int glovebox_command_set_tag(struct glovebox_command *c, const char *tag); /* for attach */
/* It has a standard input, which glovebox_exec_write() fills; else that is empty. */
void glovebox_command_set_input(struct glovebox_command *c, int has_input);
/* It has a terminal, and with it an input. */
void glovebox_command_set_terminal(struct glovebox_command *c, unsigned rows, unsigned columns);
/* What it writes is kept for glovebox_logs_open(): for one that nobody will follow. */
void glovebox_command_set_logged(struct glovebox_command *c, int is_logged);
/* SIGTERM after timeout_ms, SIGKILL grace_ms later; 0: none. */
void glovebox_command_set_timeout(struct glovebox_command *c, int64_t timeout_ms, int64_t grace_ms);

/* A program that was started in a sandbox, as somebody follows it. It lives on when this is freed.
 */
struct glovebox_exec;

/* Asks for it; what comes of that is told by glovebox_exec_next(). 0; -ENOENT: no such sandbox. */
int glovebox_exec(const char *sandbox, const struct glovebox_command *c, struct glovebox_exec **ret,
                  struct glovebox_error *e);

/*
 * Follows one that was started before: by its process id in the sandbox, or where that is 0 by its
 * tag. Its output comes from byte `offset` on, of what is kept: the last MiB;
 * GLOVEBOX_FROM_NOW: only what is new. That there is no such program is told by
 * glovebox_exec_next().
 */
#define GLOVEBOX_FROM_NOW UINT64_MAX
int glovebox_attach(const char *sandbox, int64_t pid, const char *tag, uint64_t offset,
                    struct glovebox_exec **ret, struct glovebox_error *e);
void glovebox_exec_free(struct glovebox_exec *x);
int glovebox_exec_fd(const struct glovebox_exec *x);

enum glovebox_event_type {
    GLOVEBOX_STARTED = 1, /* pid; offset: of the output that comes next */
    GLOVEBOX_FAILED,      /* it can't be started: status 125 to 127, data: why. The last event */
    GLOVEBOX_OUTPUT,      /* stream, offset, data */
    GLOVEBOX_INPUT,       /* there is room for input again */
    GLOVEBOX_ENDED,       /* status and the rest. The last event */
};

struct glovebox_event {
    enum glovebox_event_type type;
    int stream; /* 1: standard output, or the terminal; 2: standard error */
    int64_t pid;
    uint64_t offset;  /* of data in all of its output, both streams together; ENDED: its size */
    const char *data; /* any bytes; borrowed until the next call with this object */
    size_t size;
    int status; /* as a shell has it: 0 to 255, 128+N for signal N, 124 when its time was up */
    int signal; /* that ended it; 0: none */
    int was_timed_out, was_out_of_memory;
};

/*
 * What happens next: 0 and *ret; -EAGAIN; -EPIPE: the sandbox has ended, or all was told. Output
 * that is not read holds the program up.
 */
int glovebox_exec_next(struct glovebox_exec *x, int timeout_ms, struct glovebox_event *ret,
                       struct glovebox_error *e);

/*
 * Gives it input: how many bytes were taken, at most GLOVEBOX_WRITE_MAX. -EAGAIN: what was given
 * before is still under way, and GLOVEBOX_INPUT tells when it is not; -EPIPE: it takes none any
 * more. After GLOVEBOX_STARTED.
 */
ssize_t glovebox_exec_write(struct glovebox_exec *x, const void *data, size_t size,
                            struct glovebox_error *e);
/* There will be no more input. A terminal's ends by what is typed, such as "\4". */
int glovebox_exec_end_input(struct glovebox_exec *x, struct glovebox_error *e);

/* Nobody wants to read that stream any more: to write there fails, as to a pipe without a reader.
 * Without effect while somebody else is attached. */
int glovebox_exec_end_output(struct glovebox_exec *x, int stream, struct glovebox_error *e);

/* To its process group. 0: it was sent; one that has ended gets nothing. */
int glovebox_exec_signal(struct glovebox_exec *x, int signal, struct glovebox_error *e);
int glovebox_exec_resize(struct glovebox_exec *x, unsigned rows, unsigned columns,
                         struct glovebox_error *e);

/* Lets its output go by until its end: 0 and the event GLOVEBOX_ENDED or _FAILED. */
int glovebox_exec_wait(struct glovebox_exec *x, int timeout_ms, struct glovebox_event *ret,
                       struct glovebox_error *e);

/* ---- what they wrote ---- */

/*
 * What is kept of the output of a sandbox's main program, and of those with
 * glovebox_command_set_logged(), of the one of that name that runs or of the latest that has ended:
 * glovebox-logs(1). With GLOVEBOX_FOLLOW also what comes, until the sandbox has ended; who does not
 * read holds nobody up, and misses what is not kept any more, which the offsets tell.
 */
#define GLOVEBOX_FOLLOW 1
struct glovebox_logs;
int glovebox_logs_open(const char *name, int flags, struct glovebox_logs **ret,
                       struct glovebox_error *e);
void glovebox_logs_free(struct glovebox_logs *l);
/* -1: nothing is followed. */
int glovebox_logs_fd(const struct glovebox_logs *l);

struct glovebox_logged {
    int64_t time_ms;  /* since 1970, of the first byte */
    int64_t pid;      /* in the sandbox; 0: the main program's */
    int stream;       /* 1: standard output, or a terminal; 2: standard error */
    uint64_t offset;  /* of data in all that was logged */
    const char *tag;  /* of the program; "" */
    const char *data; /* any bytes; both borrowed until the next call with this object */
    size_t size;
};

/* The next piece: 0 and *ret; -EAGAIN; -EPIPE: that was all. */
int glovebox_logs_next(struct glovebox_logs *l, int timeout_ms, struct glovebox_logged *ret,
                       struct glovebox_error *e);

/* ---- its network policy ---- */

/* What is to be in force from now on. All of it is 0 at first, and what is not named here stays so.
 */
struct glovebox_policy {
    const char *json;     /* a document, glovebox-policy(5); NULL: the one that is in force */
    size_t size;          /* of json, without a NUL */
    const char *phase;    /* NULL or "": the one it is in, where json has that; else json's first */
    uint64_t generation;  /* that is to be replaced, and no other; 0: whichever is in force */
    uint64_t reserved[4]; /* 0 */
};

/*
 * Puts a document, or another phase of the one in force, in force in a running sandbox, as
 * `glovebox policy set` and `policy phase` do: 0 and its generation (the policy that a sandbox was
 * made with is 1), when no connection is open any more that it does not allow. What is wrong with a
 * document is said with its line and column, and the one before it stays in force: -EINVAL: it is
 * none, or has no such phase, or has a secret that is new (its value `glovebox policy set` alone
 * brings along), or neither a document nor a phase was given; -EOPNOTSUPP: it changes
 * what can't be changed in a running sandbox; -E2BIG: more than 256 KiB; -ESTALE: another
 * generation is in force. -ENOENT: no such sandbox runs; -ENOTCONN: it was made without a policy,
 * and has nobody to give one to. -EAGAIN: its gateway has too much to do; try again. -ETIMEDOUT:
 * its starter has been stopped, and did not answer for ten seconds, the longest that is waited for,
 * whatever signals come; -ECONNRESET: its starter or gateway ended, or others who asked were in the
 * way; -EPROTO: its starter is of another version: with these three it may have come into force, or
 * still do, which the record below tells. ret_generation may be NULL; it is written to only with 0.
 */
int glovebox_policy_set(const char *name, const struct glovebox_policy *p, uint64_t *ret_generation,
                        struct glovebox_error *e);

/*
 * The record of what a sandbox was let look up and connect to, and what was denied it, and why, of
 * the latest one of that name, also when it has ended (NULL: of whichever was started last), from
 * the earliest that is kept on: glovebox-egress(1). With GLOVEBOX_FOLLOW also what comes, until the
 * sandbox has ended. -ENOENT: nothing is known of it.
 */
struct glovebox_egress;
int glovebox_egress_open(const char *name, int flags, struct glovebox_egress **ret,
                         struct glovebox_error *e);
void glovebox_egress_free(struct glovebox_egress *x);
/* -1: nothing is followed. Call glovebox_egress_next() when it is readable, until that says
 * -EAGAIN; and every second or so, for the end of one whose starter was killed. */
int glovebox_egress_fd(const struct glovebox_egress *x);
/* The name of the sandbox; borrowed. */
const char *glovebox_egress_sandbox(const struct glovebox_egress *x);
/* The next decision: 0 and *ret_json, an object as "glovebox egress --json" prints it; borrowed
 * until the next call with this object. -EAGAIN; -EPIPE: that was all. */
int glovebox_egress_next(struct glovebox_egress *x, int timeout_ms, const char **ret_json,
                         struct glovebox_error *e);

/* ---- files in it ---- */

/*
 * A connection to a sandbox's file system. Paths are the sandbox's: absolute, or from the user's
 * home. What is done has the rights of that user, by name or number; NULL: of the sandbox's own.
 *
 * Each function waits at most glovebox_files_set_timeout() (at first without end). -EAGAIN: it has
 * begun, and goes on when the same call is made again; other calls are -EBUSY till then.
 * What the sandbox refuses has its errno: -ENOENT, -EACCES, -ENOSPC, ... -ECONNRESET: it has ended.
 */
struct glovebox_files;
int glovebox_files_open(const char *sandbox, const char *user, struct glovebox_files **ret,
                        struct glovebox_error *e);
void glovebox_files_close(struct glovebox_files *f);
int glovebox_files_fd(const struct glovebox_files *f);
void glovebox_files_set_timeout(struct glovebox_files *f, int timeout_ms);

struct glovebox_file {
    const char *path;   /* whole */
    const char *target; /* where a symbolic link leads in the end; "" */
    const char *owner, *group;
    uint32_t mode;        /* as lstat(2) has it */
    uint32_t target_mode; /* of a link that leads somewhere; 0 */
    uint32_t uid, gid;
    int64_t size_bytes, mtime_s;
    uint32_t mtime_ns;
};

/* *ret: its strings are borrowed until the next call with f. */
int glovebox_files_stat(struct glovebox_files *f, const char *path, struct glovebox_file *ret,
                        struct glovebox_error *e);

/* What is in a directory, `depth` levels of it (at least 1), a directory before what is in it.
 * *ret_count files at *ret, borrowed until the next call with f. -E2BIG: more than 100,000. */
int glovebox_files_list(struct glovebox_files *f, const char *path, unsigned depth,
                        const struct glovebox_file **ret, size_t *ret_count,
                        struct glovebox_error *e);

/* One directory; with parents, those that are missing on the way too. -EEXIST: it is there. */
int glovebox_files_make_directory(struct glovebox_files *f, const char *path, unsigned mode,
                                  int parents, struct glovebox_error *e);
int glovebox_files_move(struct glovebox_files *f, const char *from, const char *to,
                        struct glovebox_error *e);
/* With all that is in it; 0 also when nothing is there. */
int glovebox_files_remove(struct glovebox_files *f, const char *path, struct glovebox_error *e);

/*
 * Reading: opens a file, and reads from it, at most GLOVEBOX_READ_MAX bytes at once: how many; 0:
 * that was all. The file stays open until another call is made.
 */
int glovebox_files_read_open(struct glovebox_files *f, const char *path, int64_t *ret_size_bytes,
                             struct glovebox_error *e);
ssize_t glovebox_files_read(struct glovebox_files *f, void *data, size_t size, int64_t offset,
                            struct glovebox_error *e);

/*
 * Writing: a new file, which takes the place of what is at its path at once and whole when it is
 * committed, and is gone when another call is made before. Missing directories are made. At most
 * GLOVEBOX_READ_MAX bytes at once.
 */
int glovebox_files_write_open(struct glovebox_files *f, const char *path, unsigned mode,
                              struct glovebox_error *e);
ssize_t glovebox_files_write(struct glovebox_files *f, const void *data, size_t size,
                             int64_t offset, struct glovebox_error *e);
int glovebox_files_commit(struct glovebox_files *f, struct glovebox_error *e);

/*
 * Watching: from now on what happens to a file, or in a directory (with `recursive` also further
 * down, in directories that are made later, too) is kept until glovebox_files_changes() asks for
 * it. Any other call ends that, so that a connection of its own is best. -ENOENT: it is not there.
 */
int glovebox_files_watch(struct glovebox_files *f, const char *path, int recursive,
                         struct glovebox_error *e);

enum glovebox_change_type {
    GLOVEBOX_CREATED = 1,
    GLOVEBOX_WRITTEN,
    GLOVEBOX_REMOVED,
    GLOVEBOX_RENAMED,    /* away from this name; at the new one, if that is watched, CREATED */
    GLOVEBOX_ATTRIBUTES, /* its mode, owner or times */
    GLOVEBOX_LOST,       /* more than is kept: look at it anew */
};
struct glovebox_change {
    int type;
    const char *name; /* from the watched directory on; "." for that itself */
};

/* Waits for one at least: *ret_count at *ret, borrowed until the next call with f. -EAGAIN as
 * above. */
int glovebox_files_changes(struct glovebox_files *f, const struct glovebox_change **ret,
                           size_t *ret_count, struct glovebox_error *e);

/* ---- ports in it ---- */

/* Ways to the ports on which programs of a running sandbox listen. Its connections end with it. */
struct glovebox_ports;
int glovebox_ports_open(const char *sandbox, struct glovebox_ports **ret, struct glovebox_error *e);
void glovebox_ports_close(struct glovebox_ports *p);

struct glovebox_listener {
    const char *address; /* "127.0.0.1", "::" */
    const char *program; /* its name, which it chose; "" when it has ended */
    int64_t pid, uid;    /* of who made the socket, in the sandbox */
    uint16_t port;
};

/* *ret_count listeners at *ret, borrowed until the next call with p. -ETIMEDOUT: no answer. */
int glovebox_ports_list(struct glovebox_ports *p, int timeout_ms,
                        const struct glovebox_listener **ret, size_t *ret_count,
                        struct glovebox_error *e);

/*
 * Connects: a stream socket, which does not block and is the caller's to close. timeout_ms: at most
 * a minute, for a program that is slow to accept; -1 is 10 s. -ECONNREFUSED: nothing listens there.
 * If the sandbox has secrets, what comes is searched for their values (glovebox-port(1)).
 */
int glovebox_ports_connect(struct glovebox_ports *p, uint16_t port, int timeout_ms,
                           struct glovebox_error *e);

#ifdef __cplusplus
}
#endif
#endif
