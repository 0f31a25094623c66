// SPDX-License-Identifier: Apache-2.0
/*
 * Sessions and process groups: setsid(2), setpgid(2), credentials(7); what job control needs of
 * them (POSIX 2.4.3, "orphaned process group").
 *
 * A process counts its group, a group counts its session; both go with their last reference. A
 * zombie stays a member until it is waited for, so that its group's number is not used again. A
 * child that has not shown up yet counts the group it will be in: without a member it lives on.
 */
#pragma once

#include "kernel/proc/process.h"

struct process_group *process_group_get(struct process_group *g);
void process_group_put(struct process_group *g);

/* Makes p a member of g (counted); p must be in no group. */
void process_join_group(struct process *p, struct process_group *g);
/* Nothing happens when p is in none. */
void process_leave_group(struct process *p);

/*
 * p is ending: it is a zombie, still has its threads, its group and its children. Orphaned groups
 * with stopped members are hung up and continued. If p leads its session, the session loses its
 * terminal, and the terminal's foreground group is hung up and continued.
 */
void session_leader_exit(struct process *p);

/*
 * What the room of the terminals tells this one; set once by it. detach: the session has lost the
 * terminal (its leader ended or gave it up): the terminal belongs to no session any more. Returns
 * the id of what was its foreground group, or 0.
 */
extern pid_t (*jobs_detach_tty)(struct tty *tty, struct session *session);

/*
 * The main program: its parent in the sense of job control is outside of the sandbox (the starter's
 * user, who can continue it), so that its group is not orphaned. NULL: none.
 */
extern const struct process *jobs_program;
