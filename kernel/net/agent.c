// SPDX-License-Identifier: Apache-2.0
#include "kernel/net/agent.h"

#include "kernel/core/limits.h"
#include "kernel/core/timer.h"
#include "kernel/net/gateway.h"
#include "kernel/net/unix.h"

#define SIZE_BYTES 4 /* before each message: draft-ietf-sshm-ssh-agent, 3 */
#define FAILURE    5 /* SSH_AGENT_FAILURE */

struct connection {
    struct list link;
    struct socket *socket; /* counted: the end that no program has */
    struct wait_entry wait;
    uint32_t number;
    bool is_known; /* to the gateway */
    bool is_asked; /* a message is under way */
    struct gateway_request request;
    size_t size; /* of input */
    uint8_t input[SIZE_BYTES + GATEWAY_AGENT_MAX];
};

static struct list connections = {&connections, &connections};
static size_t count;
static uint32_t last_number;
static struct socket *listener;
static struct wait_entry listener_wait;

/* Wake-ups only say that there is something to do; it is done from the main loop. */
static void on_work(struct timer *t);
static struct timer work = TIMER_INIT(on_work);

/* Without memory for it, the next wake-up tries again. */
static void on_wake(struct wait_entry *entry, uint32_t events)
{
    if (!timer_is_armed(&work))
        timer_arm(&work, clock_monotonic_ns());
}

/* ---- connections ---- */

static void close_connection(struct connection *c)
{
    waitq_remove(&c->wait);
    list_remove(&c->link);
    count--;
    if (c->is_known)
        gateway_end_agent(c->number);
    socket_release(c->socket);
    free(c);
}

static struct connection *connection_new(struct socket *s)
{
    struct connection *c = count < LIMIT_AGENTS ? calloc(1, sizeof(*c)) : NULL;
    if (!c)
        return NULL;
    c->socket = s;
    c->number = ++last_number ? last_number : ++last_number;
    c->wait.wake = on_wake;
    list_init(&c->link);
    list_init(&c->request.link);
    list_append(&connections, &c->link);
    waitq_add(&s->wait, &c->wait);
    count++;
    return c;
}

static void take_connections(void)
{
    struct socket *s;
    while ((s = unix_take_connection(listener)))
        if (!connection_new(s))
            socket_release(s);
}

/* ---- messages ---- */

/* False: the program is gone, or does not read. */
static bool give(struct connection *c, const uint8_t *message, size_t size)
{
    uint8_t data[SIZE_BYTES + GATEWAY_AGENT_MAX] = {0, 0, (uint8_t)(size >> 8), (uint8_t)size};
    struct sending out = {0};
    struct uio u;
    memcpy(data + SIZE_BYTES, message, size);
    uio_init_kernel(&u, data, SIZE_BYTES + size);
    return unix_send_stream(c->socket, &u, MSG_DONTWAIT, &out) == (ssize_t)(SIZE_BYTES + size);
}

static void step(struct connection *c);

static void on_answer(struct gateway_request *r, int error, const struct gateway_message *m,
                      struct hostfd fd)
{
    struct connection *c = container_of(r, struct connection, request);
    size_t size = error == 0 ? m->packet.data_size : 0;
    hostfd_close(&fd);
    c->is_asked = false;
    c->size = 0;
    if (size == 0 || size > GATEWAY_AGENT_MAX || !give(c, m->data, size))
        close_connection(c);
    else
        step(c);
}

/* Who asks for a connection to the agent: a program that has ended since has no name. */
static const struct thread *find_client(const struct connection *c)
{
    struct process *p = process_find(c->socket->peer_pid);
    return p ? process_leader(p) : NULL;
}

/* False: it is to be closed. */
static bool ask(struct connection *c)
{
    static const uint8_t failure = FAILURE;
    c->request.done = on_answer;
    int r = gateway_ask_agent(&c->request, c->number, find_client(c), c->input + SIZE_BYTES,
                              c->size - SIZE_BYTES);
    if (r == 0) {
        c->is_known = c->is_asked = true;
        return true;
    }
    c->size = 0;
    return r != -ENETUNREACH && give(c, &failure, sizeof(failure));
}

/* What the message that input begins with has, with its size; 0: it is none. */
static size_t message_bytes(const struct connection *c)
{
    const uint8_t *at = c->input;
    uint32_t size =
        (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | (uint32_t)at[3];
    return size > 0 && size <= GATEWAY_AGENT_MAX ? SIZE_BYTES + size : 0;
}

/* Reads no more than the message. 1: it is complete; 0: not yet; negative: it is to be closed. */
static int read_message(struct connection *c)
{
    for (;;) {
        size_t wanted = c->size < SIZE_BYTES ? SIZE_BYTES : message_bytes(c);
        struct received in = {0};
        struct uio u;
        if (wanted == 0)
            return -EMSGSIZE;
        if (c->size > SIZE_BYTES && c->size == wanted)
            return 1;
        uio_init_kernel(&u, c->input + c->size, wanted - c->size);
        ssize_t n = unix_receive_stream(c->socket, &u, MSG_DONTWAIT, &in);
        received_done(&in);
        if (n <= 0)
            return n == -EAGAIN ? 0 : -EPIPE;
        c->size += (size_t)n;
    }
}

static void step(struct connection *c)
{
    while (!c->is_asked) {
        int r = read_message(c);
        if (r == 0)
            return;
        if (r < 0 || !ask(c)) {
            close_connection(c);
            return;
        }
    }
}

static void on_work(struct timer *t)
{
    struct connection *c, *next;
    take_connections();
    list_for_each_safe(c, next, &connections, link)
    {
        step(c);
    }
}

/* ---- the start ---- */

static int make_owned(const struct walk_base *base, const char *path, uid_t uid, gid_t gid)
{
    const struct inode_attr attr = {.valid = ATTR_UID | ATTR_GID, .uid = uid, .gid = gid};
    struct path p;
    int r = walk_path(base, path, 0, &p, NULL);
    if (r < 0)
        return r;
    r = vfs_setattr(&p, &cred_kernel, &attr);
    path_put(&p);
    return r;
}

int agent_start(uid_t uid, gid_t gid)
{
    struct path root = {vfs_root_mount, vfs_root_mount->root};
    const struct walk_base base = {.root = root, .base = root, .cred = &cred_kernel};
    int r = vfs_mkdir(&base, "/run", S_IFDIR | 0755);
    if (r == 0 || r == -EEXIST)
        r = vfs_mkdir(&base, GATEWAY_AGENT_FOLDER, S_IFDIR | 0755);
    if (r == 0 || r == -EEXIST)
        r = unix_listen_at(&base, GATEWAY_AGENT_PATH, 0600, LIMIT_AGENTS, &listener);
    if (r == 0)
        r = make_owned(&base, GATEWAY_AGENT_PATH, uid, gid);
    if (r < 0)
        return r;
    listener_wait.wake = on_wake;
    list_init(&listener_wait.link);
    waitq_add(&listener->wait, &listener_wait);
    return 0;
}
