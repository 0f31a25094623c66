// SPDX-License-Identifier: Apache-2.0
#include "sandbox/gateway.h"

#include "lib/base/gateway.h"
#include "sandbox/child.h"
#include "sandbox/clone.h"
#include "sandbox/memory_file.h"
#include "sandbox/program.h"
#include "sandbox/secrets.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define READY_MS 10000
/* Of decisions that the starter has not read. The machine may allow less. */
#define CONTROL_ROOM_BYTES (1 << 20)

static int system_error(struct sandbox_error *e, const char *what)
{
    int error = errno;
    return sandbox_error_set(e, -error,
                             "start: gateway: %s: %s; free memory or descriptors and "
                             "try again",
                             what, strerror(error));
}

static int open_log(const char *path, int *ret, struct sandbox_error *e)
{
    *ret = -1;
    if (!path)
        return 0;
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
    if (fd < 0)
        return sandbox_error_set(e, -errno,
                                 "--egress-log: '%s': %s; give a file that can be "
                                 "written",
                                 path, strerror(errno));
    *ret = fd;
    return 0;
}

/* The words of its command line; NULL when there is no memory. */
static const char **make_arguments(const struct gateway_start *g, const struct sandbox_spec *spec)
{
    const char **arguments = calloc(spec->exempt.count + 3, sizeof(*arguments));
    if (!arguments)
        return NULL;
    arguments[0] = "glovebox-gateway";
    arguments[1] = g->name;
    for (size_t i = 0; i < spec->exempt.count; i++)
        arguments[2 + i] = spec->exempt.items[i];
    return arguments;
}

static int explain_child(const struct child *c, struct sandbox_error *e)
{
    return sandbox_error_set(e, -c->error,
                             "start: gateway: %s: %s; check that user namespaces are "
                             "allowed (glovebox doctor), and free memory",
                             c->failed_step, strerror(c->error));
}

static int run_child(const struct gateway_start *g, const struct sandbox_spec *spec,
                     struct child *c, struct sandbox_gateway *ret, struct sandbox_error *e)
{
    char program[PATH_MAX];
    uint64_t namespaces = g->namespaces & ~(uint64_t)CLONE_NEWNET;
    int r = sandbox_find_program("glovebox-gateway", "gateway", program, e);
    if (r < 0)
        return r;
    _cleanup_close_ int starter = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (starter < 0)
        return system_error(e, "pidfd_open");
    _cleanup_free_ const char **arguments = make_arguments(g, spec);
    if (!arguments)
        return system_error(e, "arguments");
    c->program = program;
    c->arguments = arguments;
    c->starter = starter;
    pid_t pid = clone_child(child_main, c, namespaces, -1, &ret->pidfd);
    if (pid < 0) {
        errno = -pid;
        return system_error(e, "namespaces");
    }
    ret->pid = pid;
    return c->failed_step ? explain_child(c, e) : 0;
}

/* Its first packet; nobody else has read from the channel. */
static int wait_ready(int channel, struct sandbox_ca *ret, struct sandbox_error *e)
{
    struct gateway_message m;
    struct pollfd p = {.fd = channel, .events = POLLIN};
    int n;
    do
        n = poll(&p, 1, READY_MS);
    while (n < 0 && errno == EINTR);
    if (n == 0)
        return sandbox_error_set(e, -ETIMEDOUT,
                                 "start: gateway: not ready in %d s; the machine is overloaded, "
                                 "try again",
                                 READY_MS / 1000);
    ssize_t size = recv(channel, &m, sizeof(m), MSG_DONTWAIT);
    if (size <= 0 || !gateway_is_valid(&m, (size_t)size) || m.packet.type != GATEWAY_READY)
        return -EPIPE;
    if (sandbox_ca_set(ret, m.data, m.packet.data_size, (uint32_t)m.packet.id) < 0)
        return sandbox_error_set(e, -EBADMSG,
                                 "start: gateway: its certificate can't be read; "
                                 "install the programs of one version");
    return 0;
}

/* Ours must not block, and its own has room for the ends of many flows at once. */
static int make_control(int ret[2])
{
    const int size = CONTROL_ROOM_BYTES;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret) < 0)
        return -1;
    setsockopt(ret[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    return fcntl(ret[0], F_SETFL, O_NONBLOCK);
}

int sandbox_gateway_start(const struct gateway_start *g, const struct sandbox_spec *spec,
                          struct sandbox_gateway *ret, int *ret_channel, struct sandbox_error *e)
{
    int ends[2], control[2];
    _cleanup_close_ int policy = -1, log = -1, secrets = -1;
    int r = open_log(spec->egress_log, &log, e);
    if (r == 0)
        r = sandbox_secrets_open(spec, &secrets, e);
    if (r < 0)
        return r;
    policy = memory_file_new("glovebox-policy", spec->policy, strlen(spec->policy));
    if (policy < 0)
        return system_error(e, "policy");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return system_error(e, "channel");
    _cleanup_close_ int ours = ends[0];
    if (make_control(control) < 0) {
        close(ends[1]);
        return system_error(e, "control");
    }
    ret->control = control[0];
    struct child c = {
        .uid = geteuid(),
        .gid = getegid(),
        .sources = {g->null, g->log, g->log, ends[1], policy, log, secrets, control[1], -1},
    };
    r = run_child(g, spec, &c, ret, e);
    close(ends[1]);
    close(control[1]);
    if (r == 0)
        r = wait_ready(ours, &ret->ca, e);
    if (r == 0)
        *ret_channel = TAKE_FD(ours);
    return r;
}

bool sandbox_gateway_has_failed(const struct sandbox_gateway *g, siginfo_t *ret)
{
    *ret = (siginfo_t){0};
    return waitid(P_PIDFD, (id_t)g->pidfd, ret, WEXITED | WNOHANG | WNOWAIT) == 0 && ret->si_pid &&
           (ret->si_code != CLD_EXITED || ret->si_status != 0);
}

void sandbox_gateway_end(struct sandbox_gateway *g, int limit_ms)
{
    struct pollfd p = {.fd = g->pidfd, .events = POLLIN};
    if (g->pid > 0) {
        if (poll(&p, 1, limit_ms) != 1)
            syscall(SYS_pidfd_send_signal, g->pidfd, SIGKILL, NULL, 0);
        while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    g->pid = 0;
    base_closep(&g->pidfd);
    base_closep(&g->control);
    g->pidfd = g->control = -1;
}
