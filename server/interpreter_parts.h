// SPDX-License-Identifier: Apache-2.0
/*
 * What the files of the code interpreter share: interpreter.c has the routes and the plain calls,
 * interpreter_execute.c the cells and their answers, interpreter_context.c the contexts,
 * interpreter_driver.c the programs that run them, interpreter_language.c which those are.
 * Not for other files.
 *
 *   context   NEW --start--> STARTING --EXEC_STARTED--> READY <--> RUNNING (a cell)
 *              ^                |                         |           |
 *              \----------------+-- its program ended ----+-----------/
 *
 * A program that a shell begins is only STARTING until it has answered a cell of nothing. When it
 * ends before, with words about what is missing, no cell was lost, and who waits is told the words.
 *
 * A context has a queue of cells, which run one after the other. It outlives its program: when that
 * has ended, the next cell is run by a new one, and says so. It outlives the server, too: contexts
 * are records, and their programs go on without a server, have the context's id as their tag, and
 * are found again when they are needed. A cell that ran then has nobody who listens: it is
 * interrupted.
 */
#pragma once

#include "sandbox/strv.h"
#include "server/boxes.h"
#include "server/frames.h"
#include "server/interpreter.h"
#include "server/limits.h"
#include "server/request.h"

#define CONTEXT_ID_SIZE TOKEN_SIZE

/* ---- interpreter_language.c ---- */

struct language {
    const char *name, *alias; /* alias: or NULL */
    const char *word;         /* of a cell's line: "cell", "typescript" */
    const char *command[8];   /* the program, and its arguments up to the one that boots */
    const char *boot, *boot_end;
    bool is_begun_by_shell; /* who knows whether the image has the program: asked before any cell */
    struct {
        const char *text, *end;
    } texts[5]; /* that are read before the first cell */
};

const struct language *language_find(const char *name); /* or NULL */

/* All names, for a sentence. */
#define LANGUAGE_NAMES "python, javascript, typescript, bash, r, java"

/* The command of a driver. 0 or -ENOMEM. */
int language_add_command(const struct language *l, struct strv *args);

/* What a driver reads first. */
void language_add_texts(const struct language *l, struct buf *out);

/* A cell as the driver reads it. variables: of strings, or NULL; code NULL: nothing. */
void language_add_cell(const struct language *l, struct buf *out, const char *mark, uint32_t number,
                       const json_t *variables, const char *code, size_t code_size);

/* Whether all are strings with names that every language can have. */
bool language_are_variables(const json_t *variables);

/* ---- interpreter_driver.c ---- */

struct driver;
struct context;

/*
 * Starts the program of c, or (is_left) looks for the one that an earlier server has started; c is
 * told of all that comes. NULL: too much is asked at once.
 */
struct driver *driver_start(struct context *c, bool is_left);

/* Has the program run a cell; or none (code NULL), to which it only says that it is there. 0 or
 * negative errno. */
int driver_run(struct driver *d, uint32_t number, const json_t *variables, const char *code,
               size_t code_size);

void driver_interrupt(struct driver *d);

/* Whether all that it is to read is on its way to it. */
bool driver_is_fed(const struct driver *d);

/* Whether what it writes is taken; what is not holds it up. */
void driver_listen(struct driver *d, bool is_listening);

/* Kills it, and what it has started. It is nobody's from now on. */
void driver_kill(struct driver *d);

/* Of a context whose program an earlier server has started and that was not looked for yet. */
void driver_kill_left(struct context *c);

/* ---- interpreter_context.c ---- */

struct cell {
    struct list link;        /* in its context's queue */
    struct request *request; /* NULL: nobody listens any more */
    struct context *context; /* NULL: it is over */
    struct box_stream box_stream;
    struct timer keepalive;
    json_t *message, *variables;
    size_t body_bytes;
};

struct interpreter {
    struct list contexts;
    size_t count;
    size_t message_bytes; /* that its programs have begun to say */
};

struct context {
    struct list all;
    struct box *box;
    char id[CONTEXT_ID_SIZE + 1];
    const struct language *language;
    char *workdir;
    bool is_default;       /* of its language */
    struct driver *driver; /* or NULL */
    bool is_started;       /* ... and that it runs is known */
    bool is_left;          /* one that an earlier server has started may run */
    bool is_finding_out;   /* ... and does: it is to say where it is */
    bool is_awaited;       /* it is to say that it is there */
    uint32_t number;       /* of its latest cell */
    struct list cells;     /* the first one runs, if any does */
    size_t cell_count;
    struct cell *running;
    bool has_error; /* of the one that runs: it was told of one */
    bool lost;      /* what earlier cells made; the next one is told */
    bool is_wanted; /* its program is to start without a cell */
    bool has_ended[2];
    uint32_t said_number; /* with the last of these */
    struct buf text[2];   /* of stdout and stderr, to be sent soon */
    struct timer flush, interrupt, start;
    unsigned interrupts;     /* of the cell that runs */
    struct request *creator; /* POST /contexts, which waits for the start */
    struct box_stream creator_stream;
};

/* The contexts of a sandbox, made when they are first asked for. NULL: no memory. */
struct interpreter *contexts_of(struct box *b);

struct context *context_find(struct interpreter *i, const char *id);
struct context *context_find_default(struct interpreter *i, const struct language *l);

/* A new one, and its record; language's default or not. workdir: as the client says it, or NULL. 0;
 * -EAGAIN: there are too many; another negative errno: the record can't be written. */
int context_new(struct box *b, const struct language *l, const char *workdir, bool is_default,
                struct context **ret);

/* Its creator's request is answered, or over. */
void context_forget_creator(struct context *c);

/* Goes on: starts what has to be started, runs what can be run. */
void context_advance(struct context *c);

static inline struct cell *context_first_cell(const struct context *c)
{
    return list_first(&c->cells, struct cell, link);
}

/* Of the cell that runs, to which nobody listens any more: again and again, then it is killed. */
void context_interrupt(struct context *c);

/* Ends its program; the cell that runs is told so by a named error. Its queue stays. */
void context_end_program(struct context *c, const char *error, const char *words);

/* With its program and its cells. */
void context_remove(struct context *c);

/* From the driver. */
void context_started(struct context *c);
void context_not_left(struct context *c); /* there is no program any more */
void context_failed(struct context *c, unsigned status, const char *words); /* c may be gone */
void context_wrote(struct context *c, bool is_err, const char *text, size_t size);
void context_said(struct context *c, bool is_err, const char *text, size_t size);
void context_fed(struct context *c);
void context_ended(struct context *c, const char *how);
void context_not_begun(struct context *c, bool is_missing, const char *how); /* c may be gone */
void context_cut(struct context *c); /* the sandbox is gone */

/* ---- interpreter.c ---- */

#define INTERPRETER_NO_MEMORY   "the server is short of memory or disk; try again later"
#define INTERPRETER_NO_LANGUAGE "language %.64s: it is not offered; give one of " LANGUAGE_NAMES

/* An answer in plain words, as SDKs show it. */
void interpreter_fail(struct request *r, unsigned status, const char *format, ...) _printf_(3, 4);

/* Why there is no new context: what context_new() returned. */
void interpreter_fail_new(struct request *r, int error);

void interpreter_answer_created(struct context *c);

/* ---- interpreter_execute.c ---- */

extern const struct handler interpreter_execute;

/* In the order of a cell's life. */
void cell_begin_answer(struct cell *cell);
int cell_run(struct cell *cell);                            /* 0 or negative errno */
void cell_send(struct cell *cell, const struct buf *lines); /* nobody listens: nothing is done */
bool cell_is_heard(const struct cell *cell);
/* It is over; name NULL: without an error of the server's. */
void cell_end(struct cell *cell, const char *name, const char *words);
/* It could not be started: a status when the answer has not begun, else an error. */
void cell_refuse(struct cell *cell, unsigned status, const char *words);
void cell_cut(struct cell *cell);
