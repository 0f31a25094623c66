// SPDX-License-Identifier: Apache-2.0
#include "sandbox/exec_ask.h"

#include "lib/base/buf.h"
#include "lib/text/shown.h"
#include "sandbox/memory_file.h"
#include "sandbox/socket_file.h"

#include <stdio.h>
#include <sys/socket.h>

int exec_connect(const char *name, struct sandbox_error *e)
{
    return socket_file_reach(name, SOCKET_FILE_EXECS, e);
}

static void add_record(struct buf *b, const char *key, const char *value)
{
    if (!value)
        return;
    buf_printf(b, "%s=%s", key, value);
    buf_append(b, "", 1);
}

static void add_number(struct buf *b, const char *key, unsigned value)
{
    buf_printf(b, "%s=%u", key, value);
    buf_append(b, "", 1);
}

static int make_records(const struct exec_command *c, struct sandbox_error *e)
{
    struct buf b = BUF_INIT(EXEC_RECORDS_MAX);
    for (size_t i = 0; i < c->args.count; i++)
        add_record(&b, "arg", c->args.items[i]);
    add_record(&b, "user", c->user);
    add_record(&b, "workdir", c->workdir);
    if (c->flags & EXEC_TTY) {
        add_number(&b, "rows", c->rows);
        add_number(&b, "columns", c->columns);
    }
    for (size_t i = 0; i < c->env.count; i++)
        add_record(&b, "env", c->env.items[i]);
    int fd = b.failed ? -1 : memory_file_new("glovebox-command", b.data, b.size);
    int error = b.failed ? E2BIG : errno;
    buf_done(&b);
    if (fd < 0)
        return sandbox_error_set(e, -error,
                                 "exec: arguments and environment: %s; pass large data through a "
                                 "file or standard input",
                                 strerror(error));
    return fd;
}

int exec_ask_start(int socket, const struct exec_command *c, struct sandbox_error *e)
{
    struct exec_message m = {.packet = {.version = EXEC_VERSION,
                                        .type = EXEC_START,
                                        .flags = c->flags,
                                        .value = c->timeout_ns,
                                        .offset = (uint64_t)c->grace_ns}};
    size_t size = c->tag ? strlen(c->tag) : 0;
    if (size > EXEC_TAG_MAX_BYTES)
        return sandbox_error_set(e, -EINVAL, "exec: the tag is longer than %d bytes; shorten it",
                                 EXEC_TAG_MAX_BYTES);
    _cleanup_close_ int fd = make_records(c, e);
    if (fd < 0)
        return fd;
    m.packet.text_size = (uint32_t)size;
    if (size)
        memcpy(m.text, c->tag, size);
    int r = socket_file_send(socket, &m, sizeof(m.packet) + size, fd);
    return r < 0 ? sandbox_error_set(e, r, "exec: %s; does the sandbox still run?", strerror(-r))
                 : 0;
}

int exec_ask(int socket, const struct exec_packet *p, const char *text)
{
    struct iovec parts[] = {{(void *)p, sizeof(*p)}, {(void *)text, p->text_size}};
    const struct msghdr m = {.msg_iov = parts, .msg_iovlen = p->text_size ? 2 : 1};
    ssize_t n;
    do
        n = sendmsg(socket, &m, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : 0;
}

int exec_ask_attach(int socket, int64_t pid, const char *tag, uint64_t offset)
{
    const struct exec_packet p = {.version = EXEC_VERSION,
                                  .type = EXEC_ATTACH,
                                  .value = pid,
                                  .offset = offset,
                                  .text_size = tag ? (uint32_t)strlen(tag) : 0};
    return exec_ask(socket, &p, tag);
}

ssize_t exec_receive(int socket, struct exec_message *m)
{
    ssize_t n;
    do
        n = recv(socket, m, sizeof(*m), MSG_TRUNC);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == ECONNRESET ? 0 : -errno;
    return n == 0 || exec_message_is_whole(m, n) ? n : -EPROTO;
}

int exec_ask_wait(int socket, const struct exec_packet *p, const char *text,
                  struct sandbox_error *e)
{
    struct exec_message m;
    int r = exec_ask(socket, p, text);
    ssize_t n = r < 0 ? r : exec_receive(socket, &m);
    if (n <= 0 || m.packet.type != EXEC_ANSWER)
        return sandbox_error_set(e, n < 0 ? (int)n : -EPROTO,
                                 "the sandbox did not answer; does it still run?");
    if (m.packet.status == 0)
        return 0;
    char line[512];
    text_line(m.text, m.packet.text_size, line, sizeof(line));
    return sandbox_error_set(e, m.packet.status > 0 ? -m.packet.status : -EPROTO, "%s", line);
}
