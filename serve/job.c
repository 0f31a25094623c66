// SPDX-License-Identifier: Apache-2.0
#include "serve/serve_parts.h"

#include "sandbox/create.h"
#include "sandbox/stream_pair.h"
#include "sandbox/updates.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

struct job {
    struct list link;
    enum launch_type type; /* what was asked for */
    uint64_t id;
    char *records;
    size_t size;
    bool is_forgotten;
    pid_t pid; /* at work */
    pid_t launcher;
    int pipe, thanks;
};

/* Ends of the child's. */
struct ends {
    int report, thanks;
};

void jobs_init(struct jobs *c, const struct serve *s, job_done_fn done, void *userdata)
{
    *c = (struct jobs){.serve = s, .done = done, .userdata = userdata};
    list_init(&c->waiting);
    list_init(&c->working);
}

static void free_job(struct job *c)
{
    list_remove(&c->link);
    free(c->records);
    free(c);
}

/* ---- in the child ---- */

static int read_number(const char *text, uint64_t *ret)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || *end || text[0] < '0' || text[0] > '9' || value > INT64_MAX / NSEC_PER_MSEC)
        return -EINVAL;
    *ret = value;
    return 0;
}

/* Never more than the launcher was started with. */
static int lower_limit(struct sandbox_spec *spec, enum sandbox_limit which, const char *text,
                       uint64_t unit, struct sandbox_error *e)
{
    uint64_t value, *limit = &spec->limits.value[which];
    if (read_number(text, &value) < 0 || value == 0 || value > UINT64_MAX / unit)
        return sandbox_error_set(e, -EINVAL, "a limit that is no number");
    value = MAX(value * unit, sandbox_limit_rows[which].least);
    *limit = *limit ? MIN(*limit, value) : value;
    return 0;
}

/* Other sandboxes of this user are none of the server's. */
static int check_name(const char *name, struct sandbox_error *e)
{
    if (!launch_is_name(name, strlen(name)))
        return sandbox_error_set(e, -EINVAL, "a name that is none of the server's");
    return 0;
}

static int take_name(struct sandbox_spec *spec, const char *name, struct sandbox_error *e)
{
    int r = check_name(name, e);
    return r < 0 ? r : sandbox_spec_set_name(spec, name, e);
}

static int take_record(struct sandbox_spec *spec, const char *record, struct sandbox_error *e)
{
    uint64_t ms;
    if (!strncmp(record, "name=", 5))
        return take_name(spec, record + 5, e);
    if (!strncmp(record, "policy=", 7))
        return sandbox_spec_set_policy(spec, record + 7, strlen(record + 7), e);
    if (!strncmp(record, "lifetime_ms=", 12)) {
        if (read_number(record + 12, &ms) < 0 || ms == 0)
            return sandbox_error_set(e, -EINVAL, "a lifetime that is no number");
        spec->limits.value[LIMIT_LIFETIME] = ms * (uint64_t)NSEC_PER_MSEC;
        return 0;
    }
    if (!strncmp(record, "memory_mb=", 10))
        return lower_limit(spec, LIMIT_MEMORY, record + 10, 1 << 20, e);
    if (!strncmp(record, "cpus_thousandths=", 17))
        return lower_limit(spec, LIMIT_CPUS, record + 17, 1, e);
    /* The server knows which there are; all are this machine's own programs. */
    if (!strncmp(record, "template=", 9))
        return 0;
    return sandbox_error_set(e, -EINVAL, "a record that is not known");
}

static int complete(struct sandbox_spec *spec, const struct job *c, struct sandbox_error *e)
{
    spec->limits.value[LIMIT_LIFETIME] = 0;
    for (size_t at = 0; at < c->size; at += strlen(c->records + at) + 1) {
        int r = take_record(spec, c->records + at, e);
        if (r < 0)
            return r;
    }
    if (!spec->name || !spec->limits.value[LIMIT_LIFETIME])
        return sandbox_error_set(e, -EINVAL, "no name, or no lifetime");
    return 0;
}

/* Returns only when it has failed. */
static int create(struct sandbox_spec *spec, const struct job *c, const struct ends *ends,
                  struct sandbox_error *e)
{
    int r = complete(spec, c, e);
    if (r == 0)
        sandbox_create_as_guard(spec, ends->report, ends->thanks);
    return r;
}

/* name=..., policy=... */
static int read_policy(const struct job *c, const char **ret_name, const char **ret_policy,
                       struct sandbox_error *e)
{
    const char *name = c->records, *policy = name + strlen(name) + 1;
    if (policy >= c->records + c->size || strncmp(name, "name=", 5) != 0 ||
        strncmp(policy, "policy=", 7) != 0)
        return sandbox_error_set(e, -EINVAL, "records that are not name and policy");
    *ret_name = name + 5;
    *ret_policy = policy + 7;
    return check_name(*ret_name, e);
}

static int set_policy(const struct job *c, struct sandbox_error *e)
{
    const char *name = NULL, *policy = NULL;
    uint64_t generation;
    int r = read_policy(c, &name, &policy, e);
    if (r < 0)
        return r;
    const struct update u = {.json = policy, .size = strlen(policy)};
    return updates_set_policy(name, &u, &generation, e);
}

static int set_policy_apart(const struct job *c, struct sandbox_error *e)
{
    /* A terminal's Ctrl-C is for the launcher. */
    setpgid(0, 0);
    return set_policy(c, e);
}

static int deliver(const struct serve *s, const struct job *c, char *ret, size_t size,
                   struct sandbox_error *e)
{
    unsigned status;
    setpgid(0, 0);
    /* Nobody waits for it when the launcher is gone. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != c->launcher)
        _exit(1);
    int r = courier_deliver(s, c->records, c->size, &status, e);
    if (r == 0)
        snprintf(ret, size, "%u", status);
    return r;
}

static int do_it(const struct serve *s, const struct job *c, const struct ends *ends,
                 struct sandbox_report *r, struct sandbox_error *e)
{
    switch (c->type) {
    case LAUNCH_CREATE:
        return create(s->spec, c, ends, e);
    case LAUNCH_DELIVER:
        return deliver(s, c, r->text, sizeof(r->text), e);
    default:
        return set_policy_apart(c, e);
    }
}

static _noreturn_ void work(const struct serve *s, const struct job *c, const struct ends *ends)
{
    struct sandbox_report r = {0};
    struct sandbox_error e = {0};
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    /* Or the next launcher would find its address in use. */
    for (size_t i = 0; i < s->listener_count; i++)
        close(s->listeners[i]);
    r.error = do_it(s, c, ends, &r, &e);
    if (r.error < 0)
        snprintf(r.text, sizeof(r.text), "%s", e.text);
    _exit(write(ends->report, &r, sizeof(r)) == (ssize_t)sizeof(r) ? 0 : 1);
}

/* ---- in the launcher ---- */

/* In a child: their guards are to see when the launcher is gone. */
static void leave_others(const struct jobs *all)
{
    const struct job *other;
    list_for_each(other, &all->working, link)
    {
        close(other->pipe);
        close(other->thanks);
    }
}

/* The specification is the child's own copy from the fork on. */
static int start(struct jobs *all, struct job *c)
{
    _cleanup_close_ int report = -1, report_end = -1, thanks = -1, thanks_end = -1;
    if (!stream_pair_pipe(&report, &report_end, true) ||
        !stream_pair_sockets(SOCK_STREAM, &thanks, &thanks_end))
        return -errno;
    c->launcher = getpid();
    c->pid = fork();
    if (c->pid == 0) {
        close(report);
        close(thanks);
        leave_others(all);
        work(all->serve, c, &(struct ends){report_end, thanks_end});
    }
    if (c->pid < 0)
        return -errno;
    c->pipe = TAKE_FD(report);
    c->thanks = TAKE_FD(thanks);
    list_remove(&c->link);
    list_append(&all->working, &c->link);
    all->working_count++;
    return 0;
}

static void start_waiting(struct jobs *all)
{
    struct job *c;
    while (all->working_count < JOBS_MAX && (c = list_first(&all->waiting, struct job, link))) {
        int r = start(all, c);
        if (r == 0)
            continue;
        all->done(all->userdata, c->type, c->id, -r, "the machine is short of memory or processes");
        free_job(c);
    }
}

int jobs_add(struct jobs *all, const struct launch_packet *p, const char *records)
{
    size_t size = p->data_size;
    if (size == 0 || records[size - 1] != '\0')
        return -EINVAL;
    struct job *c = calloc(1, sizeof(*c));
    char *copy = c ? malloc(size) : NULL;
    if (!copy) {
        free(c);
        return -ENOMEM;
    }
    memcpy(copy, records, size);
    *c = (struct job){.type = p->type, .id = p->id, .records = copy, .size = size};
    list_append(&all->waiting, &c->link);
    start_waiting(all);
    return 0;
}

size_t jobs_fill_poll(const struct jobs *all, struct pollfd p[JOBS_MAX])
{
    struct job *c;
    size_t count = 0;
    list_for_each(c, &all->working, link) p[count++] =
        (struct pollfd){.fd = c->pipe, .events = POLLIN};
    return count;
}

/* It has written all that it ever will, or is gone: so neither call waits for long. */
static void finish(struct jobs *all, struct job *c)
{
    struct sandbox_report r;
    ssize_t size = read(c->pipe, &r, sizeof(r));
    close(c->pipe);
    if (size == (ssize_t)sizeof(r))
        (void)send(c->thanks, "", 1, MSG_NOSIGNAL); /* who is gone already needs none */
    else
        r = (struct sandbox_report){.error = -EPIPE, .text = "it was interrupted; try again"};
    close(c->thanks);
    r.text[sizeof(r.text) - 1] = '\0';
    if (!c->is_forgotten)
        all->done(all->userdata, c->type, c->id, -r.error, r.text);
    while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    all->working_count--;
    free_job(c);
}

void jobs_step(struct jobs *all, const struct pollfd *p, size_t count)
{
    struct job *c, *next;
    list_for_each_safe(c, next, &all->working, link)
    {
        for (size_t i = 0; i < count; i++)
            if (p[i].fd == c->pipe && p[i].revents) {
                finish(all, c);
                break;
            }
    }
    start_waiting(all);
}

void jobs_forget(struct jobs *all)
{
    struct job *c, *next;
    list_for_each_safe(c, next, &all->waiting, link) free_job(c);
    list_for_each(c, &all->working, link) c->is_forgotten = true;
}

void jobs_done(struct jobs *all)
{
    struct job *c;
    jobs_forget(all);
    while ((c = list_first(&all->working, struct job, link))) {
        close(c->pipe);
        close(c->thanks);
        free_job(c);
    }
    all->working_count = 0;
}
