// SPDX-License-Identifier: Apache-2.0
/* One message of the server, delivered by a process that has less than the server: courier/. */
#include "serve/serve_parts.h"

#include "lib/base/courier.h"
#include "sandbox/child.h"
#include "sandbox/clone.h"
#include "sandbox/host.h"
#include "sandbox/jail.h"
#include "sandbox/program.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define PATIENCE_MS ((COURIER_S + 5) * 1000)

static int system_error(struct sandbox_error *e, const char *what)
{
    int error = errno;
    return sandbox_error_set(e, -error, "courier: %s: %s", what, strerror(error));
}

/* Its pidfd; negative errno with the sentence. */
static int start(const struct serve *s, int channel, pid_t *ret_pid, struct sandbox_error *e)
{
    char program[PATH_MAX];
    const char *roots = getenv("SSL_CERT_FILE");
    const char *arguments[WEBHOOK_NETWORKS_MAX + 3] = {"glovebox-courier", roots ? roots : ""};
    struct child c = {.arguments = arguments, .uid = geteuid(), .gid = getegid()};
    struct seal_report report = {0};
    int pidfd, r = sandbox_find_program("glovebox-courier", "courier", program, e);
    if (r < 0)
        return r;
    _cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    _cleanup_close_ int starter = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (null < 0 || starter < 0)
        return system_error(e, "descriptors");
    for (size_t i = 0; i < s->webhook_network_count; i++)
        arguments[2 + i] = s->webhook_networks[i];
    for (size_t i = 0; i < CHILD_SOURCE_COUNT; i++)
        c.sources[i] = -1;
    c.sources[STDIN_FILENO] = c.sources[STDOUT_FILENO] = null;
    c.sources[STDERR_FILENO] = STDERR_FILENO;
    c.sources[COURIER_FD] = channel;
    c.program = program;
    c.starter = starter;
    uint64_t namespaces = jail_namespaces(s->spec->allow_missing, &report);
    pid_t pid = clone_child(child_main, &c, namespaces & ~(uint64_t)CLONE_NEWNET, -1, &pidfd);
    if (pid < 0)
        return sandbox_explain_namespaces(-pid, e);
    *ret_pid = pid;
    if (!c.failed_step)
        return pidfd;
    close(pidfd);
    waitpid(pid, NULL, 0);
    return sandbox_error_set(e, -c.error, "courier: %s: %s", c.failed_step, strerror(c.error));
}

static int await(int channel, struct courier_report *ret, struct sandbox_error *e)
{
    struct pollfd p = {.fd = channel, .events = POLLIN};
    int n;
    do
        n = poll(&p, 1, PATIENCE_MS);
    while (n < 0 && errno == EINTR);
    if (n > 0 && recv(channel, ret, sizeof(*ret), MSG_DONTWAIT) == (ssize_t)sizeof(*ret)) {
        ret->text[sizeof(ret->text) - 1] = '\0';
        return 0;
    }
    return sandbox_error_set(e, n > 0 ? -EPIPE : -ETIMEDOUT, "courier: it has not come back");
}

int courier_deliver(const struct serve *s, const char *order, size_t size, unsigned *ret_status,
                    struct sandbox_error *e)
{
    int ends[2];
    pid_t pid = -1;
    struct courier_report report;
    if (size > COURIER_ORDER_MAX)
        return sandbox_error_set(e, -E2BIG, "courier: the message is too large");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return system_error(e, "channel");
    _cleanup_close_ int own = ends[0], other = ends[1];
    _cleanup_close_ int pidfd = start(s, other, &pid, e);
    if (pidfd < 0)
        return pidfd;
    base_closep(&other);
    other = -1;
    int r = send(own, order, size, MSG_NOSIGNAL) < 0 ? system_error(e, "channel")
                                                     : await(own, &report, e);
    syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    if (r == 0 && report.error)
        return sandbox_error_set(e, -abs(report.error), "%s", report.text);
    if (r == 0)
        *ret_status = report.status;
    return r;
}
