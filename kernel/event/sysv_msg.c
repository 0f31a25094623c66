// SPDX-License-Identifier: Apache-2.0
/* host calls: time */
#include "kernel/event/sysv_msg.h"

#include "kernel/core/call.h"
#include "kernel/core/kernel.h"

#include <time.h>

struct msg_queue {
    struct ipc_object object;
    struct list messages;
    size_t count, bytes, max_bytes;
    uint64_t next_number;
    time_t stime, rtime, ctime;
    pid_t last_sender, last_receiver;
    struct waitq senders, receivers;
};

static struct ipc_table queues = {.max_count = LIMIT_MSG_QUEUES};
static size_t memory_total; /* of all messages, with those that wait for room */
static size_t message_total, byte_total;

static struct msg_queue *queue_of(struct ipc_object *o)
{
    return o ? container_of(o, struct msg_queue, object) : NULL;
}

/* ---- messages ---- */

struct msg_item *msg_item_new(long type, size_t size)
{
    size_t cost = sizeof(struct msg_item) + size;
    if (memory_total + cost > LIMIT_MSG_TOTAL_BYTES)
        return NULL;
    struct msg_item *m = malloc(cost);
    if (!m)
        return NULL;
    memory_total += cost;
    list_init(&m->link);
    m->type = type;
    m->size = size;
    return m;
}

void msg_item_free(struct msg_item *m)
{
    if (!m)
        return;
    memory_total -= sizeof(*m) + m->size;
    free(m);
}

/* ---- queues ---- */

int msg_get(key_t key, int flags, const struct cred *cred)
{
    struct ipc_object *o;
    int r = ipc_get(&queues, key, flags, &o);
    if (r == 0) {
        r = ipc_permission(o, cred, flags);
        return r < 0 ? r : o->id;
    }
    if (r < 0)
        return r;
    struct msg_queue *q = calloc(1, sizeof(*q));
    if (!q)
        return -ENOMEM;
    r = ipc_add(&queues, &q->object, -1, key, flags, cred);
    if (r < 0) {
        free(q);
        return r;
    }
    list_init(&q->messages);
    waitq_init(&q->senders);
    waitq_init(&q->receivers);
    q->max_bytes = LIMIT_MSG_QUEUE_BYTES;
    q->ctime = time(NULL);
    return q->object.id;
}

struct msg_queue *msg_find(int id)
{
    return queue_of(ipc_find(&queues, id));
}

struct msg_queue *msg_find_index(int index)
{
    return queue_of(ipc_at(&queues, index));
}

struct ipc_object *msg_object(struct msg_queue *q)
{
    return &q->object;
}

struct waitq *msg_senders(struct msg_queue *q)
{
    return &q->senders;
}

struct waitq *msg_receivers(struct msg_queue *q)
{
    return &q->receivers;
}

static bool matches(const struct msg_item *m, long type, int flags)
{
    if (type == 0)
        return true;
    if (type > 0)
        return flags & MSG_EXCEPT ? m->type != type : m->type == type;
    /* -LONG_MIN would not be a long: every type is below it. */
    return type == INT64_MIN || m->type <= -type;
}

/* Those whom m suits; only calls of msgrcv(2) wait here. */
static void wake_receivers(struct msg_queue *q, const struct msg_item *m)
{
    const struct call_wait *w;
    list_for_each(w, &q->receivers.entries, entry.link)
    {
        if (matches(m, (long)w->call->arg[3], call_int(w->call, 4)))
            call_wake(w->call);
    }
}

bool msg_put(struct msg_queue *q, struct msg_item *m, pid_t pid)
{
    /* The count is bounded like the bytes, else empty messages would be free. */
    if (m->size + q->bytes > q->max_bytes ||
        q->count + 1 > MIN(q->max_bytes, (size_t)LIMIT_MSG_QUEUE_MESSAGES))
        return false;
    m->number = q->next_number++;
    list_append(&q->messages, &m->link);
    q->count++;
    q->bytes += m->size;
    message_total++;
    byte_total += m->size;
    q->stime = time(NULL);
    q->last_sender = pid;
    wake_receivers(q, m);
    return true;
}

uint64_t msg_next_number(const struct msg_queue *q)
{
    return q->next_number;
}

/* Found from the end: what comes while many wait is young. The list's head: there is none. */
static struct list *first_since(struct msg_queue *q, uint64_t number)
{
    struct list *at = &q->messages;
    if (number == 0)
        return at->next;
    while (at->prev != &q->messages &&
           list_entry(at->prev, struct msg_item, link)->number >= number)
        at = at->prev;
    return at;
}

struct msg_item *msg_choose(struct msg_queue *q, long type, int flags, uint64_t first)
{
    struct msg_item *best = NULL;
    for (struct list *at = first_since(q, first); at != &q->messages; at = at->next) {
        struct msg_item *m = list_entry(at, struct msg_item, link);
        if (flags & MSG_COPY) {
            if (type-- == 0)
                return m;
            continue;
        }
        if (!matches(m, type, flags))
            continue;
        if (type >= 0)
            return m;
        if (!best || m->type < best->type)
            best = m;
    }
    return best;
}

static void unlink_message(struct msg_queue *q, struct msg_item *m)
{
    list_remove(&m->link);
    q->count--;
    q->bytes -= m->size;
    message_total--;
    byte_total -= m->size;
}

void msg_take(struct msg_queue *q, struct msg_item *m, pid_t pid)
{
    unlink_message(q, m);
    q->rtime = time(NULL);
    q->last_receiver = pid;
    waitq_wake(&q->senders, 0);
}

void msg_stat(struct msg_queue *q, struct msqid_ds *ret)
{
    memset(ret, 0, sizeof(*ret));
    ipc_stat(&q->object, &ret->msg_perm);
    ret->msg_stime = q->stime;
    ret->msg_rtime = q->rtime;
    ret->msg_ctime = q->ctime;
    ret->__msg_cbytes = q->bytes;
    ret->msg_qnum = q->count;
    ret->msg_qbytes = q->max_bytes;
    ret->msg_lspid = q->last_sender;
    ret->msg_lrpid = q->last_receiver;
}

int msg_set(struct msg_queue *q, const struct msqid_ds *in, bool privileged)
{
    if (in->msg_qbytes > LIMIT_MSG_QUEUE_BYTES && !privileged)
        return -EPERM;
    int r = ipc_set(&q->object, &in->msg_perm);
    if (r < 0)
        return r;
    q->max_bytes = in->msg_qbytes;
    q->ctime = time(NULL);
    /* Rights may have been taken away, room may have come. */
    waitq_wake(&q->receivers, 0);
    waitq_wake(&q->senders, 0);
    return 0;
}

void msg_remove(struct msg_queue *q)
{
    struct msg_item *m;
    ipc_remove(&queues, &q->object);
    while ((m = list_first(&q->messages, struct msg_item, link))) {
        unlink_message(q, m);
        msg_item_free(m);
    }
    waitq_done(&q->senders);
    waitq_done(&q->receivers);
    free(q);
}

int msg_info(struct msginfo *ret, bool usage)
{
    *ret = (struct msginfo){
        .msgpool = usage ? (int)queues.count : LIMIT_MSG_QUEUES * LIMIT_MSG_QUEUE_BYTES / 1024,
        .msgmap = usage ? (int)message_total : LIMIT_MSG_QUEUE_BYTES,
        .msgmax = LIMIT_MSG_BYTES,
        .msgmnb = LIMIT_MSG_QUEUE_BYTES,
        .msgmni = LIMIT_MSG_QUEUES,
        .msgssz = 16,
        .msgtql = usage ? (int)byte_total : LIMIT_MSG_QUEUE_BYTES,
        .msgseg = 0xffff,
    };
    return ipc_last_index(&queues);
}
