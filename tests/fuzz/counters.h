// SPDX-License-Identifier: Apache-2.0
/*
 * What the kernel counts of what guests make it keep: files, locks, sockets, bytes in queues. They
 * are variables of its modules, and found by their names in the program's own symbol table: what a
 * new module counts is looked at too, if its name says so.
 *
 * A counter that doesn't go back grows with each guest's process until the limit that it is there
 * for refuses everything.
 */
#pragma once

/* Notes what they are now. */
void counters_note(void);
/* Each is what it was. */
void counters_check(void);
