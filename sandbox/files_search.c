// SPDX-License-Identifier: Apache-2.0
#include "sandbox/files_search.h"

#include "sandbox/memory_file.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

struct files_pair;

struct pair_side {
    int fd;
    struct files_pair *pair;
};

struct files_pair {
    struct list link;
    struct files_search *search;
    struct pair_side client, kernel;
    int client_memory;
    char *memory; /* the kernel's, which it may change at any time */
    size_t memory_size;
    bool is_asked, is_over;
    struct files_question question; /* as the client has asked it */
    struct files_question asked;    /* as the kernel was asked last */
    struct files_scrub scrub;       /* while bytes are read */
    uint64_t given;                 /* bytes in the client's memory */
    struct buf records;             /* of the first answer to READ_OPEN */
};

struct question_packet {
    struct files_question head;
    char text[FILES_QUESTION_TEXT_MAX];
};

struct answer_packet {
    struct files_answer head;
    char text[FILES_ANSWER_MAX_BYTES];
};

/* For one at a time. */
static char piece[FILES_SEARCH_PIECE_BYTES];

/* ---- coming and going ---- */

static void free_pair(struct files_pair *p)
{
    list_remove(&p->link);
    p->search->count--;
    base_closep(&p->client.fd);
    base_closep(&p->kernel.fd);
    base_closep(&p->client_memory);
    if (p->memory)
        munmap(p->memory, p->memory_size);
    files_scrub_end(&p->scrub);
    buf_done(&p->records);
    free(p);
}

static int watch_side(const struct files_pair *p, const struct pair_side *side, int operation,
                      uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = (void *)side};
    return epoll_ctl(p->search->epoll, operation, side->fd, &e) < 0 ? -errno : 0;
}

/* Who is not listened to is still seen when he goes. */
static void listen_to_client(struct files_pair *p, bool is_heard)
{
    p->is_asked = !is_heard;
    if (watch_side(p, &p->client, EPOLL_CTL_MOD, is_heard ? EPOLLIN : 0) < 0)
        p->is_over = true;
}

/* What can wait is none: it must be memory, as the host says. O_APPEND would make each write
 * longer. */
static int check_memory(int fd, size_t *ret_size)
{
    struct stat st;
    if (fcntl(fd, F_GET_SEALS) < 0 || (fcntl(fd, F_GETFL) & O_APPEND) || fstat(fd, &st) < 0 ||
        st.st_size < FILES_MEMORY_MIN_BYTES || st.st_size > FILES_MEMORY_MAX_BYTES)
        return -EBADF;
    *ret_size = (size_t)st.st_size;
    return 0;
}

/* The kernel gets one end of a pair, and a memory file of the client's size. */
static int connect_kernel(struct files_pair *p)
{
    const struct control_packet packet = {.type = CONTROL_FILES};
    int ends[2];
    _cleanup_close_ int memory = memory_file_new_shared("glovebox-search", p->memory_size);
    if (memory < 0)
        return -errno;
    void *at = mmap(NULL, p->memory_size, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (at == MAP_FAILED)
        return -errno;
    p->memory = at;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        return -errno;
    p->kernel.fd = ends[0];
    _cleanup_close_ int given = ends[1];
    const int fds[] = {given, memory};
    return sandbox_send_descriptors(p->search->sandbox, &packet, fds, ARRAY_SIZE(fds)) ? 0
                                                                                       : -EAGAIN;
}

static int begin(struct files_pair *p)
{
    int r = check_memory(p->client_memory, &p->memory_size);
    if (r == 0)
        r = connect_kernel(p);
    if (r == 0)
        r = watch_side(p, &p->kernel, EPOLL_CTL_ADD, EPOLLIN);
    return r < 0 ? r : watch_side(p, &p->client, EPOLL_CTL_ADD, EPOLLIN);
}

/* Unread questions would take the answer away: unix(7) resets then. None comes after the shutdown.
 */
static void refuse(int socket, int error)
{
    const struct files_answer answer = {.error = error};
    send(socket, &answer, sizeof(answer), MSG_DONTWAIT | MSG_NOSIGNAL);
    shutdown(socket, SHUT_RD);
    while (recv(socket, piece, sizeof(piece), MSG_DONTWAIT) > 0)
        ;
}

void files_search_admit(struct files_search *f, int socket, int memory)
{
    struct files_pair *p = f->count < FILES_CLIENTS_MAX ? calloc(1, sizeof(*p)) : NULL;
    if (!p) {
        refuse(socket, f->count < FILES_CLIENTS_MAX ? ENOMEM : EUSERS);
        close(socket);
        close(memory);
        return;
    }
    p->search = f;
    p->client = (struct pair_side){socket, p};
    p->kernel = (struct pair_side){-1, p};
    p->client_memory = memory;
    p->records = BUF_INIT(FILES_ANSWER_MAX_BYTES);
    list_append(&f->pairs, &p->link);
    f->count++;
    int r = begin(p);
    if (r == 0)
        return;
    refuse(socket, -r);
    free_pair(p);
}

/* ---- answers to the client ---- */

static void answer(struct files_pair *p, const struct files_answer *head, const char *text)
{
    struct iovec parts[] = {{(void *)head, sizeof(*head)}, {(void *)text, head->text_size}};
    const struct msghdr m = {.msg_iov = parts, .msg_iovlen = head->text_size ? 2 : 1};
    ssize_t n;
    do
        n = sendmsg(p->client.fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        p->is_over = true;
    else
        listen_to_client(p, true);
}

/* The last one: of no type, or of one that its reader refuses, as what a kernel must not say. */
static void answer_last(struct files_pair *p, uint32_t type, int error)
{
    const struct files_answer last = {.type = type, .error = error};
    answer(p, &last, NULL);
    p->is_over = true;
}

/* ---- questions to the kernel ---- */

/* What it can't take now can't be answered: it has closed its end, and why may be to be read; or it
 * does not do what it should. */
static void ask_kernel(struct files_pair *p, const struct files_question *q, const char *text)
{
    struct iovec parts[] = {
        {(void *)q, sizeof(*q)},
        {(void *)text, (size_t)q->user_size + q->path_size + q->more_size},
    };
    const struct msghdr m = {.msg_iov = parts, .msg_iovlen = parts[1].iov_len ? 2 : 1};
    ssize_t n;
    do
        n = sendmsg(p->kernel.fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno != EPIPE)
        p->is_over = true;
    p->asked = *q;
}

/* False: there is no more to ask for. */
static bool ask_for_piece(struct files_pair *p, struct files_question *q, const char *text)
{
    size_t size;
    files_scrub_next(&p->scrub, MIN(sizeof(piece), p->memory_size), &q->offset, &size);
    q->size = size;
    if (size > 0)
        ask_kernel(p, q, text);
    return size > 0;
}

static void pass_to_kernel(struct files_pair *p, size_t size)
{
    for (size_t done = 0; done < size && !p->is_over;) {
        ssize_t n = pread(p->client_memory, p->memory + done, size - done, (off_t)done);
        p->is_over = n <= 0;
        done += n > 0 ? (size_t)n : 0;
    }
}

static bool is_read(const struct files_question *q)
{
    return q->type == FILES_READ || q->type == FILES_READ_OPEN;
}

static bool has_data(const struct files_question *q)
{
    return q->type == FILES_WRITE || (q->type == FILES_WRITE_OPEN && (q->flags & FILES_WITH_DATA));
}

/* What makes no sense is the kernel's to refuse. */
static void take_question(struct files_pair *p, struct question_packet *m)
{
    struct files_question q = m->head;
    bool fits = q.size <= p->memory_size && q.offset >= 0;
    p->question = q;
    p->given = 0;
    listen_to_client(p, false);
    if (is_read(&q) && fits && q.size > 0) {
        files_scrub_begin(&p->scrub, p->search->scrubber, q.type == FILES_READ_OPEN ? 0 : q.offset,
                          q.size);
        ask_for_piece(p, &q, m->text);
        return;
    }
    if (has_data(&q) && fits)
        pass_to_kernel(p, (size_t)q.size);
    ask_kernel(p, &q, m->text);
}

static void read_client(struct files_pair *p)
{
    static struct question_packet m;
    if (p->is_asked) { /* nothing is listened for: he is gone */
        p->is_over = true;
        return;
    }
    ssize_t n = recv(p->client.fd, &m, sizeof(m), MSG_DONTWAIT | MSG_TRUNC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    const struct files_question *q = &m.head;
    if (n < (ssize_t)sizeof(*q) || n > (ssize_t)sizeof(m) ||
        (uint64_t)q->user_size + q->path_size + q->more_size != (size_t)n - sizeof(*q))
        p->is_over = true;
    else
        take_question(p, &m);
}

/* ---- answers of the kernel ---- */

static void give(struct files_pair *p)
{
    const struct buf *b = &p->scrub.found;
    for (size_t done = 0; done < b->size && !p->is_over;) {
        ssize_t n = pwrite(p->client_memory, b->data + done, b->size - done, (off_t)p->given);
        p->is_over = n <= 0;
        done += n > 0 ? (size_t)n : 0;
        p->given += n > 0 ? (uint64_t)n : 0;
    }
}

static void end_read(struct files_pair *p, int error)
{
    const struct files_answer head = {.type = p->question.type,
                                      .error = error,
                                      .value = (int64_t)p->given,
                                      .text_size = (uint32_t)p->records.size};
    files_scrub_end(&p->scrub);
    answer(p, &head, p->records.data);
    buf_reset(&p->records);
}

/* One piece of what is read. */
static void take_piece(struct files_pair *p, const struct answer_packet *m)
{
    struct files_question q = {.type = FILES_READ};
    size_t size = (size_t)m->head.value;
    int r = 0;
    if (p->asked.type == FILES_READ_OPEN)
        r = buf_append(&p->records, m->text, m->head.text_size);
    if (r == 0 && m->head.error == 0) {
        memcpy(piece, p->memory, size);
        r = files_scrub_take(&p->scrub, piece, size, size < p->asked.size);
    }
    if (r == 0)
        give(p);
    if (p->is_over)
        return;
    if (r < 0 || m->head.error)
        end_read(p, r < 0 ? -r : m->head.error);
    else if (!ask_for_piece(p, &q, NULL))
        end_read(p, 0);
}

/* What sandbox/files_ask.c makes sure of is not looked at here, but where it is needed. */
static bool is_answer(const struct files_pair *p, const struct answer_packet *m, size_t size)
{
    const struct files_answer *a = &m->head;
    return size >= sizeof(*a) && size <= sizeof(*m) && a->text_size == size - sizeof(*a) &&
           (a->type == 0 ||
            (a->type == p->asked.type &&
             (!p->scrub.scrubber || (a->value >= 0 && (uint64_t)a->value <= p->asked.size))));
}

static void take_answer(struct files_pair *p, struct answer_packet *m, size_t size)
{
    int r = is_answer(p, m, size) ? 0 : -EPROTO;
    if (r == 0)
        r = files_scrub_records(p->search->scrubber, m->head.type == FILES_EVENTS, m->text,
                                m->head.text_size);
    if (r == -EPROTO)
        answer_last(p, UINT32_MAX, 0);
    else if (r == 0 && m->head.type == 0)
        answer_last(p, 0, m->head.error);
    else if (r < 0)
        p->is_over = true;
    else if (p->scrub.scrubber)
        take_piece(p, m);
    else
        answer(p, &m->head, m->text);
}

/* Not taken in: it is told so before the first question. */
static void refuse_as_kernel(struct files_pair *p, const struct answer_packet *m, size_t size)
{
    bool is_refusal = size == sizeof(m->head) && m->head.type == 0 && m->head.error > 0;
    refuse(p->client.fd, is_refusal ? m->head.error : EPROTO);
    p->is_over = true;
}

static void read_kernel(struct files_pair *p)
{
    static struct answer_packet m;
    ssize_t n = recv(p->kernel.fd, &m, sizeof(m), MSG_DONTWAIT | MSG_TRUNC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0)
        p->is_over = true;
    else if (p->is_asked)
        take_answer(p, &m, (size_t)n);
    else
        refuse_as_kernel(p, &m, (size_t)n);
}

/* ---- the whole ---- */

void files_search_init(struct files_search *f)
{
    *f = (struct files_search){.epoll = -1};
    list_init(&f->pairs);
}

int files_search_open(struct files_search *f, struct sandbox *s, struct scrubber *scrubber)
{
    f->sandbox = s;
    f->scrubber = scrubber;
    f->epoll = epoll_create1(EPOLL_CLOEXEC);
    return f->epoll < 0 ? -errno : 0;
}

/* A pair may be told of twice: it goes after that. */
void files_search_step(struct files_search *f)
{
    struct epoll_event events[FILES_SEARCH_AT_ONCE];
    struct files_pair *p, *next;
    int n = f->epoll < 0 ? 0 : epoll_wait(f->epoll, events, FILES_SEARCH_AT_ONCE, 0);
    for (int i = 0; i < n; i++) {
        const struct pair_side *side = events[i].data.ptr;
        if (side->pair->is_over)
            continue;
        if (side == &side->pair->client)
            read_client(side->pair);
        else
            read_kernel(side->pair);
    }
    list_for_each_safe(p, next, &f->pairs, link)
    {
        if (p->is_over)
            free_pair(p);
    }
}

void files_search_close(struct files_search *f)
{
    struct files_pair *p;
    while ((p = list_first(&f->pairs, struct files_pair, link)))
        free_pair(p);
    base_closep(&f->epoll);
}
