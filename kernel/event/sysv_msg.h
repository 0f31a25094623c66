// SPDX-License-Identifier: Apache-2.0
/*
 * System V message queues: msgget(2), msgop(2), msgctl(2).
 */
#pragma once

#include "kernel/core/waitq.h"
#include "kernel/event/sysv_ipc.h"

#include <sys/msg.h>

struct msg_queue;

struct msg_item {
    struct list link;
    uint64_t number; /* counts the messages of its queue */
    long type;
    size_t size;
    char text[];
};

/* size was checked against LIMIT_MSG_BYTES. NULL: out of memory, or over LIMIT_MSG_TOTAL_BYTES. */
struct msg_item *msg_item_new(long type, size_t size);
void msg_item_free(struct msg_item *m); /* may be NULL */

int msg_get(key_t key, int flags, const struct cred *cred);

struct msg_queue *msg_find(int id);
struct msg_queue *msg_find_index(int index);
struct ipc_object *msg_object(struct msg_queue *q);
struct waitq *msg_senders(struct msg_queue *q);
struct waitq *msg_receivers(struct msg_queue *q);

/* Takes m over if there is room for it: true. */
bool msg_put(struct msg_queue *q, struct msg_item *m, pid_t pid);

/*
 * The message that type and flags (MSG_EXCEPT, MSG_COPY: type is a position) choose, borrowed, or
 * NULL; none with a number below `first` is looked at. msg_take() takes it out of the queue, for
 * the caller to free.
 */
struct msg_item *msg_choose(struct msg_queue *q, long type, int flags, uint64_t first);
/* The number of the message that comes next. */
uint64_t msg_next_number(const struct msg_queue *q);
void msg_take(struct msg_queue *q, struct msg_item *m, pid_t pid);

void msg_stat(struct msg_queue *q, struct msqid_ds *ret);
/* IPC_SET. -EPERM: more bytes than LIMIT_MSG_QUEUE_BYTES without `privileged`. */
int msg_set(struct msg_queue *q, const struct msqid_ds *in, bool privileged);
/* Ends the queue: waiting calls find it gone. */
void msg_remove(struct msg_queue *q);
/* IPC_INFO, or MSG_INFO when usage is wanted. Returns the highest index. */
int msg_info(struct msginfo *ret, bool usage);
