// SPDX-License-Identifier: Apache-2.0
/*
 * execve(2): what happens in which order.
 *
 *   1. The task calls execve. The kernel finds the program in the sandbox's tree, checks
 * permission, follows
 *      #! lines, reads the ELF headers of the program and its interpreter: exec_prepare(). All
 * errors that Linux gives before the point of no return are given here.
 *   2. It hard-links the loader stub into the tasks' host root under the very path that the task
 * passed (proc/shadow.h) and lets the host run the call. Whatever a racing thread writes over the
 * path meanwhile, there is nothing but the stub that could be executed.
 *   3. The host kills the other threads and starts the stub, whose first call (SYS_GLOVEBOX_EXEC)
 * tells the kernel that it happened: exec_commit() does the bookkeeping and hands out the plan.
 *   4. The stub maps the files: descriptors 0 and 1 stand for program and interpreter until
 *      SYS_GLOVEBOX_START.
 *
 * If the host's execve fails (E2BIG, ENOMEM), the task's next call is another one: exec_cancel().
 * Signals to the process wait from 2 to the end of 4, since the handlers are not installed.
 *
 * Until it is known which, both the old and the new program may be there, and the leader's number
 * is the old leader or the thread that executed:
 *
 *   leader: parked in read()           T2: execve, let run by the kernel
 *                                      host: kills the leader, T2 has its number and new memory
 *   another task writes: the leader's read is woken and would be written into the new program
 *
 * So calls of the other threads are held from 2 until 3 or exec_cancel(): exec_may_run(). Since the
 * thread whose execve has failed may make no call for long, it is also looked at: exec_watch.h.
 */
#pragma once

#include "kernel/guest/protocol.h"
#include "kernel/proc/exec_watch.h"
#include "kernel/proc/process.h"
#include "kernel/proc/shadow.h"

#define EXEC_SCRIPT_DEPTH 5
#define EXEC_HEADER_BYTES 256 /* BINPRM_BUF_SIZE: how much of a #! line counts */

struct exec_image {
    struct file *program, *interpreter; /* counted; interpreter NULL when static */
    struct path exe;                    /* counted: the ELF file that runs */
    struct cred *cred;                  /* what the new program runs with */
    char name[16];                      /* comm */
    char *cmdline;
    size_t cmdline_size;
    bool loading;             /* between SYS_GLOVEBOX_EXEC and SYS_GLOVEBOX_START */
    struct shadow_use shadow; /* until the host has executed the stub */
    struct exec_watch watch;  /* until then, too */
    struct stub_plan plan;
};

/*
 * Loads what the path stands for. name: as the task gave it, for scripts and comm. argv: address of
 * the task's vector. 0 with t->exec set, or the errno of execve(2).
 */
int exec_prepare(struct thread *t, struct path program, const char *name, struct gaddr argv);

/* Makes t (which called, as the leader by now) run t->exec's program; other threads are gone. */
int exec_commit(struct thread *t);

/* Forgets a prepared program that did not start: the others go on. */
void exec_cancel(struct thread *t);
/* The same without a word to the others: t or its process is about to end. */
void exec_forget(struct thread *t);

/* For call_may_run. */
bool exec_may_run(struct call *c);

/* The thread of p that has one in flight, or NULL. */
struct thread *exec_pending(const struct process *p);

/* The ELF part (elf.c): fills the plan's segments, entries and auxiliary values. */
int exec_load_elf(struct exec_image *image, struct thread *t, const char *header, size_t size);
