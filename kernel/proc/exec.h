// SPDX-License-Identifier: Apache-2.0
/*
 * execve(2): what happens in which order.
 *
 *   1. The task calls execve. The kernel finds the program in the sandbox's tree, checks permission, follows
 *      #! lines, reads the ELF headers of the program and its interpreter: exec_prepare(). All errors
 *      that Linux gives before the point of no return are given here.
 *   2. It hard-links the loader stub into the tasks' host root under the very path that the task passed
 *      (proc/shadow.h) and lets the host run the call. Whatever a racing thread writes over the path
 *      meanwhile, there is nothing but the stub that could be executed.
 *   3. The host kills the other threads and starts the stub, whose first call (SYS_GLOVEBOX_EXEC) tells the
 *      kernel that it happened: exec_commit() does the bookkeeping and hands out the plan.
 *   4. The stub maps the files: descriptors 0 and 1 stand for program and interpreter until
 *      SYS_GLOVEBOX_START.
 *
 * If the host's execve fails (E2BIG, ENOMEM), the task's next call is another one: exec_cancel().
 * No signal is sent to the task from 2 to the end of 4, since the handlers are not installed.
 */
#pragma once

#include "kernel/guest/protocol.h"
#include "kernel/proc/process.h"

#define EXEC_SCRIPT_DEPTH 5
#define EXEC_HEADER_BYTES 256 /* BINPRM_BUF_SIZE: how much of a #! line counts */

struct exec_image {
    struct file *program, *interpreter; /* counted; interpreter NULL when static */
    struct path exe;                    /* counted: the ELF file that runs */
    struct cred *cred;                  /* what the new program runs with */
    char name[16];                      /* comm */
    char *cmdline;
    size_t cmdline_size;
    bool loading; /* between SYS_GLOVEBOX_EXEC and SYS_GLOVEBOX_START */
    bool in_flight; /* the host runs the execve: shadow entries must stay */
    bool placed[2]; /* the host has the program (interpreter) at descriptor 0 (1) */
    struct stub_plan plan;
};

/*
 * Loads what the path stands for. name: as the task gave it, for scripts and comm. argv: address of
 * the task's vector. 0 with t->exec set, or the errno of execve(2).
 */
int exec_prepare(struct thread *t, struct path program, const char *name, struct gaddr argv);

/* Makes t (which called, as the leader by now) run t->exec's program; other threads are gone. */
int exec_commit(struct thread *t);

/* Forgets a prepared program that did not start. */
void exec_cancel(struct thread *t);

/* The thread of p that has one in flight, or NULL. */
struct thread *exec_pending(const struct process *p);

/* Parks c, of a thread of the same process, until that one is off; if it is not, c's thread ends. */
long exec_wait_for(struct call *c);

/* True while nothing but the stub has run in t's new address space. */
static inline bool exec_is_loading(const struct thread *t)
{
    return t->exec && t->exec->loading;
}

/* While loading: the file that descriptor number fd stands for, or NULL. */
struct file *exec_file(const struct thread *t, int fd);

/* The ELF part (elf.c): fills the plan's segments, entries and auxiliary values. */
int exec_load_elf(struct exec_image *image, struct thread *t, const char *header, size_t size);
