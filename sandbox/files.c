// SPDX-License-Identifier: Apache-2.0
#include "sandbox/files.h"

#include "sandbox/scrubber.h"
#include "sandbox/socket_file.h"

#include <sys/socket.h>

void files_init(struct files *f)
{
    *f = (struct files){.listener.fd = -1};
    files_search_init(&f->search);
    for (size_t i = 0; i < FILES_NEWCOMERS_MAX; i++)
        f->newcomers[i] = -1;
    for (size_t i = 0; i < FILES_CLIENTS_MAX; i++)
        f->handed_over[i] = -1;
}

int files_open(struct files *f, const struct registry *r, struct sandbox *s,
               struct sandbox_error *e)
{
    int fd = f->scrubber ? files_search_open(&f->search, s, f->scrubber) : 0;
    if (fd == 0)
        fd = socket_file_listen_as(r, SOCKET_FILE_FILES, FILES_CLIENTS_MAX);
    if (fd < 0)
        return sandbox_error_set(e, fd, "%s/sandboxes/%s: socket: %s; make room there", r->path,
                                 r->name, strerror(-fd));
    f->listener.fd = fd;
    f->sandbox = s;
    return 0;
}

static void forget(struct files *f, size_t i)
{
    base_closep(&f->newcomers[i]);
    memmove(&f->newcomers[i], &f->newcomers[i + 1],
            (FILES_NEWCOMERS_MAX - 1 - i) * sizeof(f->newcomers[0]));
    f->newcomers[FILES_NEWCOMERS_MAX - 1] = -1;
}

/* ---- those whom the kernel has ---- */

/* Their places: who has gone, or was let go by the kernel, needs none. */
static void forget_gone(struct files *f)
{
    struct pollfd p[FILES_CLIENTS_MAX];
    for (size_t i = 0; i < FILES_CLIENTS_MAX; i++)
        p[i] = (struct pollfd){.fd = f->handed_over[i]};
    if (poll(p, FILES_CLIENTS_MAX, 0) <= 0)
        return;
    for (size_t i = 0; i < FILES_CLIENTS_MAX; i++)
        if (p[i].revents & (POLLHUP | POLLERR)) {
            base_closep(&f->handed_over[i]);
            f->handed_over[i] = -1;
        }
}

static int find_place(const struct files *f)
{
    for (int i = 0; i < FILES_CLIENTS_MAX; i++)
        if (f->handed_over[i] < 0)
            return i;
    return -1;
}

/*
 * The newcomer, to the kernel. One that takes nothing has enough to do with those who are there. A
 * duplicate is kept where secrets may come, to cut him by. False: there is no place, and nothing
 * was done.
 */
static bool hand_over(struct files *f, size_t newcomer, int memory)
{
    const int fds[] = {f->newcomers[newcomer], memory};
    const struct control_packet p = {.type = CONTROL_FILES};
    int place = -1;
    if (f->scrubber) {
        forget_gone(f);
        place = find_place(f);
        if (place < 0)
            return false;
    }
    bool is_sent = sandbox_send_descriptors(f->sandbox, &p, fds, ARRAY_SIZE(fds));
    if (is_sent && place >= 0)
        f->handed_over[place] = TAKE_FD(f->newcomers[newcomer]);
    forget(f, newcomer);
    return true;
}

void files_begin_search(struct files *f)
{
    for (size_t i = 0; i < FILES_CLIENTS_MAX; i++) {
        if (f->handed_over[i] >= 0)
            shutdown(f->handed_over[i], SHUT_RDWR);
        base_closep(&f->handed_over[i]);
        f->handed_over[i] = -1;
    }
}

/* ---- coming ---- */

static void hear(struct files *f, size_t i)
{
    struct files_hello hello;
    _cleanup_close_ int memory = -1;
    ssize_t n = socket_file_receive(f->newcomers[i], &hello, sizeof(hello), &memory);
    if (n == -EAGAIN)
        return;
    if (n == sizeof(hello) && hello.version == FILES_VERSION && memory >= 0) {
        if (scrubber_is_idle(f->scrubber) && hand_over(f, i, memory))
            return;
        files_search_admit(&f->search, TAKE_FD(f->newcomers[i]), TAKE_FD(memory));
    }
    forget(f, i);
}

/* Most have said their hello already. */
static void admit(struct files *f)
{
    int fd = listener_accept(&f->listener);
    size_t i = 0;
    if (fd < 0)
        return;
    if (f->newcomers[FILES_NEWCOMERS_MAX - 1] >= 0)
        forget(f, 0);
    while (f->newcomers[i] >= 0)
        i++;
    f->newcomers[i] = fd;
    hear(f, i);
}

void files_fill_poll(struct files *f, struct pollfd p[FILES_POLL_MAX])
{
    listener_fill_poll(&f->listener, &p[0]);
    p[1] = (struct pollfd){.fd = f->search.epoll, .events = POLLIN};
    for (size_t i = 0; i < FILES_NEWCOMERS_MAX; i++)
        p[2 + i] = (struct pollfd){.fd = f->newcomers[i], .events = POLLIN};
}

void files_step(struct files *f, const struct pollfd p[FILES_POLL_MAX])
{
    for (size_t i = FILES_NEWCOMERS_MAX; i-- > 0;)
        if (p[2 + i].revents && p[2 + i].fd == f->newcomers[i])
            hear(f, i);
    if (p[1].revents)
        files_search_step(&f->search);
    if (p[0].revents)
        admit(f);
}

void files_close(struct files *f)
{
    while (f->newcomers[0] >= 0)
        forget(f, 0);
    files_begin_search(f);
    listener_close(&f->listener);
    files_search_close(&f->search);
}
