// SPDX-License-Identifier: Apache-2.0
#include "serve/serve_parts.h"

#include "lib/base/passed.h"
#include "sandbox/child.h"
#include "sandbox/clone.h"
#include "sandbox/host.h"
#include "sandbox/jail.h"
#include "sandbox/program.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define SEND_MS 5000
#define CHANNEL_BYTES                                                          \
    (4 * LAUNCH_DATA_MAX) /* of messages under way; the machine may allow less \
                           */

static int system_error(struct sandbox_error *e, const char *what)
{
    int error = errno;
    return sandbox_error_set(e, -error, "serve: %s: %s; free memory or descriptors and try again",
                             what, strerror(error));
}

static int make_channel(int ret[2])
{
    const int size = CHANNEL_BYTES;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret) < 0)
        return -1;
    for (int i = 0; i < 2; i++)
        setsockopt(ret[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    return fcntl(ret[0], F_SETFL, O_NONBLOCK);
}

static int run_child(const struct serve *s, struct child *c, struct server_child *ret,
                     struct sandbox_error *e)
{
    char program[PATH_MAX];
    struct seal_report report = {0};
    int r = sandbox_find_program("glovebox-server", "server", program, e);
    if (r < 0)
        return r;
    _cleanup_close_ int starter = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (starter < 0)
        return system_error(e, "pidfd_open");
    c->program = program;
    c->starter = starter;
    pid_t pid = clone_child(child_main, c, jail_namespaces(s->spec->allow_missing, &report), -1,
                            &ret->pidfd);
    if (pid < 0)
        return sandbox_explain_namespaces(-pid, e);
    ret->pid = pid;
    if (!c->failed_step)
        return 0;
    server_child_end(ret);
    return sandbox_error_set(e, -c->error,
                             "serve: server: %s: %s; check that user namespaces are allowed "
                             "(glovebox doctor), and free memory",
                             c->failed_step, strerror(c->error));
}

static int send_key(const struct server_child *c, const char *key)
{
    static uint64_t starts;
    const struct launch_packet p = {
        .type = LAUNCH_KEY, .id = starts++, .data_size = key ? (uint32_t)strlen(key) : 0};
    return server_child_send(c, &p, key, -1);
}

int server_child_start(const struct serve *s, struct server_child *ret, struct sandbox_error *e)
{
    int ends[2];
    char count[16];
    char memory[24], cpus[24], disk[24];
    const uint64_t *limits = s->spec->limits.value;
    const char *arguments[] = {"glovebox-server",
                               count,
                               s->allows_egress ? "allow" : "deny",
                               s->has_public_ports ? "public" : "private",
                               memory,
                               cpus,
                               disk,
                               s->domain,
                               NULL};
    struct child c = {.arguments = arguments, .uid = geteuid(), .gid = getegid()};
    snprintf(count, sizeof(count), "%zu", s->listener_count);
    snprintf(memory, sizeof(memory), "%" PRIu64, limits[LIMIT_MEMORY] >> 20);
    snprintf(cpus, sizeof(cpus), "%" PRIu64, limits[LIMIT_CPUS]);
    snprintf(disk, sizeof(disk), "%" PRIu64, limits[LIMIT_DISK] >> 20);
    _cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return system_error(e, "/dev/null");
    if (make_channel(ends) < 0)
        return system_error(e, "channel");
    for (size_t i = 0; i < CHILD_SOURCE_COUNT; i++)
        c.sources[i] = -1;
    c.sources[STDIN_FILENO] = c.sources[STDOUT_FILENO] = null;
    c.sources[STDERR_FILENO] = STDERR_FILENO;
    c.sources[LAUNCH_CHANNEL_FD] = ends[1];
    c.sources[LAUNCH_STATE_FD] = s->state;
    for (size_t i = 0; i < s->listener_count; i++)
        c.sources[LAUNCH_LISTENER_FD + i] = s->listeners[i];
    *ret = (struct server_child){.pidfd = -1, .channel = ends[0]};
    int r = run_child(s, &c, ret, e);
    close(ends[1]);
    if (r == 0)
        r = settings_send(s, ret, e);
    if (r == 0)
        r = send_key(ret, s->key);
    /* It has ended already, by what it was given before: it says itself why. */
    if (ret->pid > 0 && (r == -EPIPE || r == -ECONNRESET))
        return 0;
    if (r < 0)
        server_child_end(ret);
    return r;
}

#ifdef __SANITIZE_ADDRESS__
/* It has to end by itself for what leaks to be looked for. */
static void let_end(struct server_child *c)
{
    struct pollfd p = {.fd = c->pidfd, .events = POLLIN};
    base_closep(&c->channel);
    poll(&p, 1, 60 * 1000);
}
#else
static void let_end(struct server_child *c _unused_)
{
}
#endif

int server_child_end(struct server_child *c)
{
    int status = 0;
    if (c->pid > 0) {
        let_end(c);
        syscall(SYS_pidfd_send_signal, c->pidfd, SIGKILL, NULL, 0);
        while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
            ;
    }
    base_closep(&c->pidfd);
    base_closep(&c->channel);
    *c = SERVER_CHILD_NONE;
    return status;
}

int server_child_send(const struct server_child *c, const struct launch_packet *packet,
                      const void *data, int fd)
{
    struct launch_packet p = *packet;
    p.version = LAUNCH_VERSION;
    union passed with;
    struct iovec parts[] = {{&p, sizeof(p)}, {(void *)data, p.data_size}};
    struct msghdr m = {.msg_iov = parts, .msg_iovlen = p.data_size ? 2 : 1};
    struct pollfd room = {.fd = c->channel, .events = POLLOUT};
    passed_put(&m, &with, fd);
    for (;;) {
        if (sendmsg(c->channel, &m, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
            return 0;
        int error = errno;
        if (error != EAGAIN && error != EINTR)
            return -error;
        if (error == EAGAIN && poll(&room, 1, SEND_MS) == 0)
            return -ETIMEDOUT;
    }
}
