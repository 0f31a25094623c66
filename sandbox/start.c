// SPDX-License-Identifier: Apache-2.0
#include "sandbox/start.h"

#include "lib/text/shown.h"
#include "sandbox/child.h"
#include "sandbox/clone.h"
#include "sandbox/host.h"
#include "sandbox/jail.h"
#include "sandbox/memory_file.h"
#include "sandbox/program.h"
#include "sandbox/stream_pair.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* The kernel process's ends, closed here once it runs. */
struct ends {
    int null, control, spec, input, output, errors, log, gateway;
};

static void ends_done(struct ends *e)
{
    int *const all[] = {&e->null,   &e->control, &e->spec, &e->input,
                        &e->output, &e->errors,  &e->log,  &e->gateway};
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        base_closep(all[i]);
}

static int system_error(struct sandbox_error *e, const char *what)
{
    int error = errno;
    return sandbox_error_set(e, -error, "start: %s: %s; %s", what, strerror(error),
                             error == EMFILE || error == ENFILE
                                 ? "raise the limit of open files (ulimit -n)"
                                 : "free memory and try again");
}

static int make_spec(const struct sandbox_spec *spec, const struct sandbox_controls *controls,
                     int *ret, struct sandbox_error *e)
{
    struct buf records = BUF_INIT(CONTROL_SPEC_MAX_BYTES);
    int r = sandbox_spec_write(spec, controls, &records, e);
    int fd = r == 0 ? memory_file_new("glovebox-spec", records.data, records.size) : -1;
    if (r == 0 && fd < 0)
        r = system_error(e, "specification");
    if (r == 0)
        *ret = fd;
    buf_done(&records);
    return r;
}

static bool make_streams(const struct sandbox_spec *spec, struct sandbox *s, struct ends *ends)
{
    if (spec->tty)
        return stream_pair_terminal(&s->input, &s->output, &ends->input);
    if (!stream_pair_pipe(&s->input, &ends->input, false) ||
        !stream_pair_pipe(&s->output, &ends->output, true))
        return false;
    if (!spec->join_output)
        return stream_pair_pipe(&s->errors, &ends->errors, true);
    ends->errors = fcntl(ends->output, F_DUPFD_CLOEXEC, 0);
    return ends->errors >= 0;
}

/* Others write to it in their own time. */
static bool make_log(struct sandbox *s, struct ends *ends)
{
    if (!stream_pair_pipe(&s->log, &ends->log, true))
        return false;
    int flags = fcntl(ends->log, F_GETFL);
    return flags >= 0 && fcntl(ends->log, F_SETFL, flags & ~O_NONBLOCK) == 0;
}

static int make_channels(const struct sandbox_spec *spec, struct sandbox *s, struct ends *ends,
                         struct sandbox_error *e)
{
    if (!stream_pair_sockets(SOCK_SEQPACKET, &s->control, &ends->control))
        return system_error(e, "control socket");
    if (!make_streams(spec, s, ends) || !make_log(s, ends))
        return system_error(e, "pipes");
    ends->null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (ends->null < 0)
        return system_error(e, "/dev/null");
    return 0;
}

/* What a step of the child that failed means to a person. */
static int explain_child(const struct child *c, struct sandbox_error *e)
{
    if (!strcmp(c->failed_step, "user map") && (c->error == EPERM || c->error == EACCES))
        return sandbox_explain_namespaces(c->error, e);
    if (!strcmp(c->failed_step, "user map") && c->error == ENOENT)
        return sandbox_error_set(e, -c->error, "start: user map: /proc isn't there; mount it");
    if (!strcmp(c->failed_step, "exec"))
        return sandbox_error_set(e, -c->error, "start: %s: %s; install Glovebox again", c->program,
                                 strerror(c->error));
    return sandbox_error_set(e, -c->error, "start: %s: %s; free memory and try again",
                             c->failed_step, strerror(c->error));
}

/* The groups of version 1 that the child joins, and its birthplace in the unified hierarchy. */
static int take_groups(const struct cgroup *groups, struct child *c)
{
    size_t count = 0;
    for (size_t i = 0; i < groups->count; i++)
        if (groups->groups[i].version == 1 && groups->groups[i].join >= 0)
            c->joins[count++] = groups->groups[i].join;
    c->join_count = count;
    return cgroup_clone_target(groups);
}

static int run_child(struct sandbox *s, struct child *c, uint64_t namespaces, int cgroup,
                     struct sandbox_error *e)
{
    pid_t pid = clone_child(child_main, c, namespaces, cgroup, &s->pidfd);
    if (pid < 0 && cgroup >= 0)
        return sandbox_error_set(e, -ENOSYS, "start: cgroup: %s; set it up for this user",
                                 strerror(-pid));
    if (pid < 0)
        return sandbox_explain_namespaces(-pid, e);
    s->pid = pid;
    return c->failed_step ? explain_child(c, e) : 0;
}

static int start_kernel(uint64_t namespaces, const struct place *place, struct sandbox *s,
                        const struct ends *ends, struct sandbox_error *e)
{
    char program[PATH_MAX];
    _cleanup_close_ int starter = -1;
    int r = sandbox_find_program("glovebox-kernel", "kernel", program, e);
    if (r < 0)
        return r;
    starter = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (starter < 0)
        return system_error(e, "pidfd_open");
    struct child c = {
        .program = program,
        .arguments = (const char *const[]){"glovebox-kernel", place->registry.name, NULL},
        .uid = geteuid(),
        .gid = getegid(),
        .starter = starter,
        .sources = {ends->null, ends->log, ends->log, ends->control, ends->spec, ends->input,
                    ends->output, ends->errors, ends->gateway},
    };
    int cgroup = take_groups(&place->record.cgroup, &c);
    return run_child(s, &c, namespaces, cgroup, e);
}

/* It has ended and said why: "egress: the gateway: REASON". */
static int explain_gateway(const struct sandbox *s, struct sandbox_error *e)
{
    char text[512];
    ssize_t size = read(s->log, text, sizeof(text));
    if (size <= 0)
        return sandbox_error_set(e, -EPIPE,
                                 "start: the gateway has ended; free memory and try again");
    const char *newline = memchr(text, '\n', (size_t)size);
    char line[sizeof(text)];
    text_line(text, newline ? (size_t)(newline - text) : (size_t)size, line, sizeof(line));
    return sandbox_error_set(e, -EPIPE, "start: %s", line);
}

int sandbox_start(const struct sandbox_spec *spec, const struct place *place, struct sandbox **ret,
                  struct sandbox_error *e)
{
    struct ends ends = {-1, -1, -1, -1, -1, -1, -1, -1};
    struct sandbox *s = malloc(sizeof(*s));
    if (!s)
        return sandbox_error_set(e, -ENOMEM, "start: out of memory; free some and try again");
    *s = (struct sandbox){.pidfd = -1,
                          .control = -1,
                          .input = -1,
                          .output = -1,
                          .errors = -1,
                          .log = -1,
                          .gateway = {.pidfd = -1, .control = -1},
                          .store = {.folder = -1}};
    int r = store_make(&s->store, spec->store, e);
    if (r == 0)
        r = make_channels(spec, s, &ends, e);
    uint64_t namespaces = jail_namespaces(spec->allow_missing, &s->seal);
    if (r == 0 && spec->policy) {
        const struct gateway_start g = {namespaces, place->registry.name, ends.null, ends.log};
        r = sandbox_gateway_start(&g, spec, &s->gateway, &ends.gateway, e);
        if (r == -EPIPE)
            r = explain_gateway(s, e);
    }
    struct sandbox_spec own = *spec;
    own.store = s->store.path;
    own.ca = spec->installs_ca && s->gateway.ca.size > 0 ? &s->gateway.ca : NULL;
    if (r == 0)
        r = make_spec(&own, &place->record.controls, &ends.spec, e);
    if (r == 0)
        r = start_kernel(namespaces, place, s, &ends, e);
    ends_done(&ends);
    if (r < 0) {
        sandbox_free(s);
        return r;
    }
    *ret = s;
    return 0;
}

bool sandbox_send(struct sandbox *s, enum control_type type, int32_t value)
{
    struct control_packet packet = {.type = type, .value = value};
    return send(s->control, &packet, sizeof(packet), MSG_DONTWAIT | MSG_NOSIGNAL) ==
           (ssize_t)sizeof(packet);
}

bool sandbox_send_text(struct sandbox *s, const struct control_packet *p, const char *text)
{
    struct iovec parts[] = {{(void *)p, sizeof(*p)}, {(void *)text, p->text_size}};
    const struct msghdr m = {.msg_iov = parts, .msg_iovlen = ARRAY_SIZE(parts)};
    return sendmsg(s->control, &m, MSG_DONTWAIT | MSG_NOSIGNAL) ==
           (ssize_t)(sizeof(*p) + p->text_size);
}

bool sandbox_send_descriptors(struct sandbox *s, const struct control_packet *p, const int *fds,
                              size_t count)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(CONTROL_DESCRIPTORS_MAX * sizeof(int))];
    } room = {0};
    struct iovec part = {(void *)p, sizeof(*p)};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = &room,
                       .msg_controllen = CMSG_SPACE(count * sizeof(int))};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(c), fds, count * sizeof(int));
    return sendmsg(s->control, &m, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof(*p);
}

/*
 * Its children, of which there is one, the tasks' init: with it the host kills their namespace. A
 * pid that is not its child any more is not in the list.
 */
void sandbox_kill_programs(struct sandbox *s)
{
    char path[64], text[64];
    if (s->pid <= 0)
        return;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", s->pid, s->pid);
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    text[MAX(size, (ssize_t)0)] = '\0';
    long child = strtol(text, NULL, 10);
    if (child > 0)
        kill((pid_t)child, SIGKILL);
}

void sandbox_kill(struct sandbox *s)
{
    if (s->pid <= 0)
        return;
    sandbox_kill_programs(s);
    syscall(SYS_pidfd_send_signal, s->pidfd, SIGKILL, NULL, 0);
}

void sandbox_reap(struct sandbox *s)
{
    if (s->pid <= 0)
        return;
    while (wait4(s->pid, &s->wait_status, 0, &s->usage) < 0 && errno == EINTR)
        ;
    s->pid = 0;
}

static int64_t timeval_ns(struct timeval t)
{
    return t.tv_sec * NSEC_PER_SEC + t.tv_usec * NSEC_PER_USEC;
}

/* Its tasks are reaped by the host, so that they are not in this. */
int64_t sandbox_kernel_ns(const struct sandbox *s)
{
    return timeval_ns(s->usage.ru_utime) + timeval_ns(s->usage.ru_stime);
}

void sandbox_free(struct sandbox *s)
{
    if (!s)
        return;
    sandbox_kill(s);
    sandbox_reap(s);
    sandbox_gateway_end(&s->gateway, SANDBOX_GATEWAY_END_MS);
    sandbox_forget(s);
}

void sandbox_forget(struct sandbox *s)
{
    int *const all[] = {&s->pidfd, &s->control, &s->input, &s->output, &s->errors, &s->log};
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        base_closep(all[i]);
    sandbox_gateway_end(&s->gateway, 0);
    store_remove(&s->store);
    free(s);
}
