// SPDX-License-Identifier: Apache-2.0
/*
 * Who is connected: questions in, answers out.
 *
 * host calls: fstat newfstatat recvfrom sendto shutdown
 */
#include "kernel/boot/files/client.h"
#include "kernel/boot/files/files.h"

#include <sys/socket.h>

struct files_reply files_reply;

static struct list clients = {&clients, &clients};
static size_t client_count;

void files_activity_end(struct files_client *c)
{
    file_put(c->file);
    files_write_free(c->write);
    files_list_free(c->list);
    files_remove_free(c->remove);
    files_watch_free(c->watching);
    c->file = NULL;
    c->write = NULL;
    c->list = NULL;
    c->remove = NULL;
    c->watching = NULL;
    c->work = NULL;
    timer_disarm(&c->timer);
}

/* Whoever let him in may have a duplicate of his socket: closing alone would be no end. */
static void drop(struct files_client *c)
{
    files_activity_end(c);
    host_watch_remove(&c->watch);
    shutdown(c->watch.fd.n, SHUT_RDWR);
    hostfd_close(&c->watch.fd);
    hostfd_close(&c->memory);
    list_remove(&c->link);
    client_count--;
    free(c);
}

/* ---- answers ---- */

static bool send_answer(struct hostfd socket, const struct files_answer *head)
{
    static struct {
        struct files_answer head;
        char text[FILES_ANSWER_MAX_BYTES];
    } m;
    m.head = *head;
    memcpy(m.text, files_reply.bytes, head->text_size);
    size_t size = sizeof(m.head) + head->text_size;
    ssize_t n;
    do
        n = send(socket.n, &m, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)size;
}

/*
 * While something is under way the next question follows soon, and is not to wait for a tick; a
 * connection that rests costs the programs nothing.
 */
static void listen_on(struct files_client *c)
{
    bool rests = !c->file && !c->write && !c->list;
    if (c->watch.patient != rests) {
        host_watch_change(&c->watch, 0);
        c->watch.patient = rests;
    }
    host_watch_change(&c->watch, EPOLLIN);
}

/* Who has no room for an answer has asked for more than one: its socket is of no use any more. */
void files_answer(struct files_client *c, int error, int64_t value)
{
    const struct files_answer head = {
        .type = c->asked_type,
        .error = -error,
        .value = value,
        .text_size = (uint32_t)files_reply.size,
    };
    c->asked_type = 0;
    c->work = NULL;
    if (!send_answer(c->watch.fd, &head))
        shutdown(c->watch.fd.n, SHUT_RDWR);
    files_reply.size = 0;
    listen_on(c);
}

static void run_work(struct timer *t)
{
    struct files_client *c = container_of(t, struct files_client, timer);
    if (c->work)
        c->work(c);
}

int files_work_soon(struct files_client *c, void (*work)(struct files_client *c))
{
    c->work = work;
    return timer_arm(&c->timer, clock_monotonic_ns());
}

/* ---- questions ---- */

static void take_text(char *ret, const char **at, uint32_t size)
{
    memcpy(ret, *at, size);
    ret[size] = '\0';
    *at += size;
}

/* False: it is none. */
static bool parse(const struct files_question *q, const char *text, size_t size,
                  struct files_asked *ret)
{
    if (q->user_size > FILES_USER_MAX_BYTES || q->path_size > FILES_PATH_MAX_BYTES ||
        q->more_size > FILES_METADATA_MAX_BYTES ||
        (size_t)q->user_size + q->path_size + q->more_size != size)
        return false;
    if (memchr(text, '\0', q->user_size + q->path_size) || q->type == 0 || q->type > FILES_CLOSE ||
        q->offset < 0)
        return false;
    ret->q = *q;
    take_text(ret->user, &text, q->user_size);
    take_text(ret->path, &text, q->path_size);
    take_text(ret->more, &text, q->more_size);
    return true;
}

static void ask_close(struct files_client *c, const struct files_asked *a _unused_)
{
    files_activity_end(c);
    files_answer(c, 0, 0);
}

static void (*const asks[FILES_CLOSE + 1])(struct files_client *c, const struct files_asked *a) = {
    [FILES_STAT] = files_ask_stat,
    [FILES_MAKE_DIRECTORY] = files_ask_make_directory,
    [FILES_MOVE] = files_ask_move,
    [FILES_LINK] = files_ask_link,
    [FILES_REMOVE] = files_ask_remove,
    [FILES_SET_METADATA] = files_ask_set_metadata,
    [FILES_LIST] = files_ask_list,
    [FILES_LIST_NEXT] = files_ask_list_next,
    [FILES_READ_OPEN] = files_ask_read_open,
    [FILES_READ] = files_ask_read,
    [FILES_WRITE_OPEN] = files_ask_write_open,
    [FILES_WRITE] = files_ask_write,
    [FILES_COMMIT] = files_ask_commit,
    [FILES_WATCH] = files_ask_watch,
    [FILES_EVENTS] = files_ask_events,
    [FILES_CLOSE] = ask_close,
};

static void take_question(struct files_client *c, const struct files_asked *a)
{
    c->asked_type = a->q.type;
    host_watch_change(&c->watch, 0);
    if (a->q.size > c->memory_size)
        files_answer(c, -EINVAL, 0);
    else
        asks[a->q.type](c, a);
}

static void on_ready(struct host_watch *w, uint32_t events)
{
    static struct {
        struct files_question q;
        char text[FILES_QUESTION_TEXT_MAX];
    } m;
    static struct files_asked asked;
    struct files_client *c = container_of(w, struct files_client, watch);
    if (c->asked_type) { /* nothing is listened for: the other end is gone */
        drop(c);
        return;
    }
    ssize_t n = recv(w->fd.n, &m, sizeof(m), MSG_DONTWAIT | MSG_TRUNC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < (ssize_t)sizeof(m.q) || n > (ssize_t)sizeof(m) ||
        !parse(&m.q, m.text, (size_t)n - sizeof(m.q), &asked))
        drop(c);
    else
        take_question(c, &asked);
}

/* ---- coming and going ---- */

/* What waits never is none: it is read and written at positions, or not at all. */
static bool is_memory(struct hostfd fd, size_t *ret_size)
{
    struct stat st;
    if (!hostfd_is_open(fd) || fstat(fd.n, &st) < 0 || !S_ISREG(st.st_mode) ||
        st.st_size < FILES_MEMORY_MIN_BYTES || st.st_size > FILES_MEMORY_MAX_BYTES)
        return false;
    *ret_size = (size_t)st.st_size;
    return true;
}

static int admit(struct hostfd socket, struct hostfd memory)
{
    size_t memory_size;
    if (client_count >= FILES_CLIENTS_MAX)
        return -EUSERS;
    if (!is_memory(memory, &memory_size))
        return -EBADF;
    struct files_client *c = calloc(1, sizeof(*c));
    if (!c)
        return -ENOMEM;
    c->watch = (struct host_watch){.fd = socket, .ready = on_ready, .patient = true};
    c->memory = memory;
    c->memory_size = memory_size;
    c->timer = TIMER_INIT(run_work);
    int r = host_watch_add(&c->watch, EPOLLIN);
    if (r < 0) {
        free(c);
        return r;
    }
    list_append(&clients, &c->link);
    client_count++;
    return 0;
}

void files_admit(struct hostfd socket, struct hostfd memory)
{
    if (!hostfd_is_open(socket)) {
        hostfd_close(&memory);
        return;
    }
    int r = admit(socket, memory);
    if (r == 0)
        return;
    send_answer(socket, &(struct files_answer){.error = -r});
    /* Unread questions would take the answer away: unix(7) resets then. None comes after this. */
    shutdown(socket.n, SHUT_RD);
    while (recv(socket.n, files_reply.bytes, sizeof(files_reply.bytes), MSG_DONTWAIT) > 0)
        ;
    shutdown(socket.n, SHUT_RDWR);
    hostfd_close(&socket);
    hostfd_close(&memory);
}

void files_end_all(void)
{
    struct files_client *c;
    while ((c = list_first(&clients, struct files_client, link)))
        drop(c);
}
