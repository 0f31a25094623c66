// SPDX-License-Identifier: Apache-2.0
#pragma once

struct process;

/* A process has ended: undoes its semaphore operations (SEM_UNDO of semop(2)). */
void sysv_process_exit(struct process *p);
