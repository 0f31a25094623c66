// SPDX-License-Identifier: Apache-2.0
#include "sandbox/exec.h"
#include "sandbox/outcome.h"
#include "sandbox/socket_file.h"

#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>

#define EVENTS_MAX       64
#define UNSENT_MAX_BYTES (2u << 20)
/* Who has more to be sent is not asked for its next question, but at one with less: it may not read
 * and still want to say that its program is to end. */
#define UNSENT_ASKING_BYTES 65536
int64_t execs_now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

int64_t execs_in_ns(int64_t ns)
{
    int64_t then;
    return __builtin_add_overflow(execs_now_ns(), ns, &then) ? INT64_MAX : then;
}

/* ---- sources ---- */

int exec_source_watch(struct execs *x, struct exec_source *s, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = s};
    if (events == s->events)
        return 0;
    int how = events == 0 ? EPOLL_CTL_DEL : s->events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (epoll_ctl(x->epoll, how, s->fd, &e) < 0)
        return -errno;
    s->events = events;
    return 0;
}

void exec_source_close(struct execs *x, struct exec_source *s)
{
    if (s->fd < 0)
        return;
    exec_source_watch(x, s, 0);
    close(s->fd);
    s->fd = -1;
    x->has_closed = true;
}

/* ---- clients ---- */

uint64_t execs_needed(const struct execs *x, const struct exec *program)
{
    const struct exec_client *c;
    uint64_t needed = UINT64_MAX;
    list_for_each(c, &x->clients, link)
    {
        if (c->exec == program && c->source.fd >= 0)
            needed = MIN(needed, c->offset);
    }
    return needed;
}

void exec_client_drop(struct execs *x, struct exec_client *c)
{
    if (c->source.fd >= 0)
        exec_client_hear_out(x, c);
    exec_source_close(x, &c->source);
}

static void free_client(struct execs *x, struct exec_client *c)
{
    struct exec *program = c->exec;
    exec_source_close(x, &c->source);
    list_remove(&c->link);
    x->client_count--;
    buf_done(&c->unsent);
    free(c);
    /* Perhaps it was the one that did not read. */
    if (program)
        exec_resume(program);
}

/* 1: sent; 0: there is no room; or negative errno. */
static int try_send(struct exec_client *c, const void *a, size_t a_size, const void *b,
                    size_t b_size)
{
    struct iovec parts[] = {{(void *)a, a_size}, {(void *)b, b_size}};
    const struct msghdr m = {.msg_iov = parts, .msg_iovlen = b_size ? 2 : 1};
    ssize_t n;
    do
        n = sendmsg(c->source.fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n >= 0 ? 1 : errno == EAGAIN ? 0 : -errno;
}

bool exec_client_send(struct execs *x, struct exec_client *c, const struct exec_packet *p,
                      const char *text)
{
    uint32_t size = (uint32_t)sizeof(*p) + p->text_size;
    int r = c->unsent.size > 0 ? 0 : try_send(c, p, sizeof(*p), text, p->text_size);
    if (r == 0) {
        buf_append(&c->unsent, &size, sizeof(size));
        buf_append(&c->unsent, p, sizeof(*p));
        buf_append(&c->unsent, text, p->text_size);
    }
    if (r < 0 || c->unsent.failed) {
        exec_client_drop(x, c);
        return false;
    }
    return true;
}

/* False: there is no room, or nobody. */
static bool send_unsent(struct execs *x, struct exec_client *c)
{
    while (c->unsent.size > 0) {
        uint32_t size;
        memcpy(&size, c->unsent.data, sizeof(size));
        int r = try_send(c, c->unsent.data + sizeof(size), size, NULL, 0);
        if (r < 0)
            exec_client_drop(x, c);
        if (r <= 0)
            return false;
        buf_consume(&c->unsent, sizeof(size) + size);
    }
    return true;
}

static void tell_start(struct execs *x, struct exec_client *c)
{
    const struct exec *program = c->exec;
    struct exec_packet p = {.version = EXEC_VERSION,
                            .type = EXEC_STARTED,
                            .value = program->pid,
                            .offset = c->offset,
                            .flags = program->flags & EXEC_TTY};
    const char *text = "";
    if (program->is_failed) {
        text = program->failure ? program->failure
                                : "it can't be started, and there is no memory to say why";
        p.type = EXEC_FAILED;
        p.status = program->failed_status;
        p.text_size = (uint32_t)strlen(text);
    }
    c->is_told_start = true;
    exec_client_send(x, c, &p, text);
    if (program->is_failed)
        c->exec = NULL;
}

static void tell_end(struct execs *x, struct exec_client *c)
{
    const struct exec *program = c->exec;
    const struct exec_packet p = {.version = EXEC_VERSION,
                                  .type = EXEC_ENDED,
                                  .status = program->status,
                                  .flags = program->reason,
                                  .offset = program->end,
                                  .value = program->is_timed_out};
    c->exec = NULL;
    exec_client_send(x, c, &p, "");
}

/* Its program's output, as far as there is room in the socket. */
static void send_output(struct execs *x, struct exec_client *c)
{
    struct exec *program = c->exec;
    while (c->source.fd >= 0) {
        size_t size;
        struct exec_packet p = {.version = EXEC_VERSION, .type = EXEC_OUTPUT};
        const char *data = exec_log_at(&program->log, &c->offset, &size, &p.flags);
        /* What was written behind its end is somebody else's. */
        if (program->is_end_known)
            size = c->offset < program->end ? MIN(size, (size_t)(program->end - c->offset)) : 0;
        if (size == 0) {
            if (program->is_end_known)
                tell_end(x, c);
            return;
        }
        p.offset = c->offset;
        p.text_size = (uint32_t)MIN(size, (size_t)EXEC_TEXT_MAX_BYTES);
        int r = try_send(c, &p, sizeof(p), data, p.text_size);
        if (r < 0)
            exec_client_drop(x, c);
        if (r <= 0)
            return;
        c->offset += p.text_size;
        x->delivered_bytes += p.text_size;
    }
}

static bool is_asking(const struct exec_client *c)
{
    return !c->held && c->unsent.size <= UNSENT_ASKING_BYTES;
}

/* What it waits for: room when something is to be sent, and its next question. */
static void update_client(struct execs *x, struct exec_client *c)
{
    uint32_t events = 0;
    if (c->source.fd < 0)
        return;
    if (c->unsent.size > 0 || (c->exec && c->is_told_start && c->offset < c->exec->log.end))
        events |= EPOLLOUT;
    if (is_asking(c))
        events |= EPOLLIN;
    /* The end of the connection is told in any case, but for none. */
    if (exec_source_watch(x, &c->source, events ? events : EPOLLRDHUP) < 0)
        exec_client_drop(x, c);
}

void exec_client_advance(struct execs *x, struct exec_client *c)
{
    struct exec *program = c->exec;
    if (c->source.fd < 0 || !send_unsent(x, c))
        goto out;
    if (c->fed && exec_has_input_room(c->fed)) {
        const struct exec_packet p = {
            .version = EXEC_VERSION, .type = EXEC_ANSWER, .flags = EXEC_INPUT};
        c->fed = NULL;
        exec_client_send(x, c, &p, "");
    }
    if (c->held && exec_has_input_room(c->held))
        c->held = NULL;
    if (program && !c->is_told_start && program->state != EXEC_STARTING)
        tell_start(x, c);
    if (c->exec && c->is_told_start && c->unsent.size == 0)
        send_output(x, c);
    exec_journal_send(x, c);
    if (program)
        exec_resume(program);
out:
    update_client(x, c);
}

void execs_wake(struct execs *x, struct exec *program)
{
    struct exec_client *c;
    list_for_each(c, &x->clients, link)
    {
        if (c->exec == program || c->fed == program || c->held == program)
            exec_client_advance(x, c);
    }
}

void execs_forget(struct execs *x, const struct exec *program)
{
    struct exec_client *c;
    list_for_each(c, &x->clients, link)
    {
        if (c->exec == program)
            c->exec = NULL;
        if (c->fed == program)
            c->fed = NULL;
        if (c->held == program)
            c->held = NULL;
    }
}

/* Input waits until there is room for it; what else is asked does not. */
static bool has_to_wait(struct execs *x, struct exec_client *c)
{
    struct exec_packet p;
    ssize_t n = recv(c->source.fd, &p, sizeof(p), MSG_PEEK | MSG_DONTWAIT);
    if (n != sizeof(p) || p.type != EXEC_INPUT)
        return false;
    struct exec *program = c->fed ? c->fed : exec_client_target(x, c, &p);
    if (program && !exec_has_input_room(program))
        c->held = program;
    return c->held != NULL;
}

static void on_client(struct execs *x, struct exec_source *s, uint32_t events)
{
    static struct exec_message m;
    struct exec_client *c = container_of(s, struct exec_client, source);
    if ((events & EPOLLIN) && is_asking(c) && !has_to_wait(x, c)) {
        int fd = -1;
        ssize_t n = socket_file_receive(s->fd, &m, sizeof(m), &fd);
        _cleanup_close_ int held = fd;
        bool is_fine =
            n == -EAGAIN || (exec_message_is_whole(&m, n) && exec_client_take(x, c, &m, held));
        if (!is_fine)
            exec_client_drop(x, c);
    } else if (events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP)) {
        exec_client_drop(x, c);
    }
    exec_client_advance(x, c);
}

static void admit(struct execs *x)
{
    _cleanup_close_ int fd = socket_file_accept(x->listener);
    const int size = EXEC_IN_FLIGHT_BYTES / 2; /* socket(7): the host doubles it */
    /* If none of ours is closed before. */
    if (socket_file_is_short(fd)) {
        x->is_deaf = epoll_ctl(x->epoll, EPOLL_CTL_DEL, x->listener, NULL) == 0;
        x->has_closed = false;
        x->deaf_until_ns = execs_in_ns(SOCKET_FILE_REST_NS);
    }
    if (fd < 0 || x->client_count >= EXEC_CLIENTS_MAX ||
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) < 0)
        return;
    struct exec_client *c = calloc(1, sizeof(*c));
    if (!c)
        return;
    c->source = (struct exec_source){.fd = TAKE_FD(fd), .ready = on_client};
    c->unsent = BUF_INIT(UNSENT_MAX_BYTES);
    list_append(&x->clients, &c->link);
    x->client_count++;
    update_client(x, c);
}

/* ---- the whole ---- */

void execs_init(struct execs *x)
{
    *x = (struct execs){.listener = -1, .epoll = -1};
    list_init(&x->programs);
    list_init(&x->clients);
    journal_init(&x->journal);
}

int execs_open(struct execs *x, const struct registry *r, struct sandbox *s,
               const struct sandbox_spec *spec, struct sandbox_error *e)
{
    struct epoll_event event = {.events = EPOLLIN};
    x->registry = r;
    x->sandbox = s;
    x->spec = spec;
    x->epoll = epoll_create1(EPOLL_CLOEXEC);
    int fd = x->epoll < 0 ? -errno : socket_file_listen_as(r, SOCKET_FILE_EXECS, EXEC_CLIENTS_MAX);
    if (fd >= 0) {
        x->listener = fd;
        fd = epoll_ctl(x->epoll, EPOLL_CTL_ADD, x->listener, &event) < 0 ? -errno : 0;
    }
    if (fd < 0)
        return sandbox_error_set(e, fd, "%s/sandboxes/%s: socket: %s; make room there", r->path,
                                 r->name, strerror(-fd));
    return 0;
}

int execs_poll_descriptor(const struct execs *x)
{
    return x->epoll;
}

int64_t execs_deadline(const struct execs *x)
{
    const struct exec *program;
    int64_t deadline = x->is_deaf ? x->deaf_until_ns : 0;
    list_for_each(program, &x->programs, link)
    {
        int64_t next = exec_deadline(program);
        if (next && (deadline == 0 || next < deadline))
            deadline = next;
    }
    return deadline;
}

/* Of those that have ended the latest are kept, and all that somebody is attached to. */
static void sweep(struct execs *x)
{
    struct exec_client *c, *next_client;
    struct exec *program, *next;
    struct epoll_event event = {.events = EPOLLIN};
    list_for_each_safe(c, next_client, &x->clients, link)
    {
        if (c->source.fd < 0)
            free_client(x, c);
    }
    if (x->is_deaf && (x->has_closed || execs_now_ns() >= x->deaf_until_ns))
        x->is_deaf = epoll_ctl(x->epoll, EPOLL_CTL_ADD, x->listener, &event) < 0;
    list_for_each_safe(program, next, &x->programs, link)
    {
        if (x->ended <= EXEC_ENDED_KEPT_MAX)
            break;
        if (program->state == EXEC_OVER_WITH && execs_needed(x, program) == UINT64_MAX)
            exec_free(program);
    }
}

void execs_step(struct execs *x)
{
    struct epoll_event events[EVENTS_MAX];
    struct exec *program;
    int64_t now = execs_now_ns();
    list_for_each(program, &x->programs, link)
    {
        exec_check_clock(program, now);
    }
    int n = x->epoll < 0 ? 0 : epoll_wait(x->epoll, events, EVENTS_MAX, 0);
    for (int i = 0; i < n; i++) {
        struct exec_source *s = events[i].data.ptr;
        if (!s)
            admit(x);
        else if (s->fd >= 0 && s->events)
            s->ready(x, s, events[i].events);
    }
    sweep(x);
}

static struct exec *find_number(struct execs *x, int32_t number)
{
    struct exec *program;
    list_for_each(program, &x->programs, link)
    {
        if (program->number == number && program->state != EXEC_OVER_WITH)
            return program;
    }
    return NULL;
}

void execs_take(struct execs *x, const struct control_packet *p, const char *text)
{
    struct exec *program = find_number(x, p->value);
    if (!program && p->type == CONTROL_EXEC_STARTED)
        exec_end_late(x, p->value);
    if (!program)
        return;
    if (p->type == CONTROL_EXEC_STARTED && program->state == EXEC_STARTING) {
        program->pid = (pid_t)(p->reason & INT32_MAX);
        program->state = EXEC_RUNNING;
        exec_tell_start(program);
        exec_resume(program);
        execs_wake(x, program);
    } else if (p->type == CONTROL_EXEC_FAILED && program->state == EXEC_STARTING) {
        exec_note_failed(program, p->status, text, p->text_size);
    } else if (p->type == CONTROL_EXEC_ENDED && program->state == EXEC_RUNNING) {
        uint32_t reason = p->reason & CONTROL_REASON_MASK;
        /* The kernel may live just long enough to see what the end of the sandbox did to it, or
         * what the starter did, who kills programs where the kernel is late. */
        bool is_ours = reason == CONTROL_BY_ITSELF ||
                       (control_is_by_host(reason) && !program->ran_out_of_memory);
        if (x->is_ending && p->status == SIGKILL && is_ours)
            reason = CONTROL_BY_ITSELF | EXEC_WITH_SANDBOX;
        exec_note_ended(program, p->status, reason);
    }
}

void execs_ready(struct execs *x)
{
    x->is_ready = true;
}

void execs_refuse(struct execs *x)
{
    x->is_ready = false;
}

void execs_expect_end(struct execs *x)
{
    x->is_ready = false;
    x->is_ending = true;
}

void execs_note_memory(struct execs *x, int32_t pid)
{
    struct exec *program;
    list_for_each(program, &x->programs, link)
    {
        if (program->state == EXEC_RUNNING && program->pid == pid)
            program->ran_out_of_memory = true;
    }
}

bool execs_signal_all(struct execs *x, int sig)
{
    struct exec *program;
    list_for_each(program, &x->programs, link)
    {
        if (program->state == EXEC_OVER_WITH)
            continue;
        exec_signal(program, sig, 0);
        exec_signal(program, SIGCONT, 0);
    }
    return x->running > 0;
}

void execs_kernel_gone(struct execs *x)
{
    static const char words[] = "the sandbox has ended";
    struct exec *program, *next;
    x->is_ready = false;
    list_for_each_safe(program, next, &x->programs, link)
    {
        if (program->state == EXEC_STARTING)
            exec_note_failed(program, SANDBOX_STATUS_FAILED, words, sizeof(words) - 1);
        else if (program->state == EXEC_RUNNING)
            exec_note_ended(program, SIGKILL, CONTROL_BY_ITSELF | EXEC_WITH_SANDBOX);
    }
}

bool execs_have_rest(const struct execs *x)
{
    const struct exec *program;
    list_for_each(program, &x->programs, link)
    {
        if (program->flags & EXEC_LOG && !program->is_end_known)
            return true;
    }
    return false;
}

void execs_end_output(struct execs *x)
{
    struct exec_client *c;
    x->is_over = true;
    list_for_each(c, &x->clients, link)
    {
        exec_client_advance(x, c);
    }
}

bool execs_is_quiet(const struct execs *x)
{
    const struct exec_client *c;
    list_for_each(c, &x->clients, link)
    {
        if (c->source.fd >= 0 && (c->exec || c->unsent.size > 0 || c->reads_log))
            return false;
    }
    return !execs_have_rest(x);
}

static void tell_over(struct execs *x, struct exec_client *c, int status, const char *cause,
                      const char *words)
{
    char text[512];
    int n = snprintf(text, sizeof(text), "%s%c%s", cause, '\0', words);
    const struct exec_packet p = {.version = EXEC_VERSION,
                                  .type = EXEC_OVER,
                                  .status = status,
                                  .text_size = (uint32_t)MIN(n, (int)sizeof(text) - 1)};
    if (c->source.fd >= 0 && c->is_watching)
        exec_client_send(x, c, &p, text);
}

void execs_close(struct execs *x, int status, const char *cause, const char *words)
{
    struct exec_client *c, *next_client;
    struct exec *program, *next;
    list_for_each_safe(c, next_client, &x->clients, link)
    {
        if (cause)
            tell_over(x, c, status, cause, words);
        c->exec = NULL;
        free_client(x, c);
    }
    list_for_each_safe(program, next, &x->programs, link)
    {
        exec_free(program);
    }
    journal_done(&x->journal);
    base_closep(&x->listener);
    base_closep(&x->epoll);
    x->listener = x->epoll = -1;
}
