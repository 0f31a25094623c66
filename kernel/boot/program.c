// SPDX-License-Identifier: Apache-2.0
#include "kernel/boot/program.h"

#include "kernel/boot/console.h"
#include "kernel/boot/control.h"
#include "kernel/boot/loop.h"
#include "kernel/boot/trace.h"
#include "kernel/boot/user.h"
#include "kernel/core/kernel.h"
#include "kernel/fs/dev/hostpipe.h"
#include "kernel/proc/budget.h"
#include "kernel/proc/jobs.h"
#include "kernel/proc/limits.h"
#include "kernel/proc/process.h"
#include "kernel/proc/spawn.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define STREAMS      3

struct program {
    struct list link;
    int32_t number; /* of its CONTROL_EXEC; 0: the main program */
    const struct spec *spec;
    struct spec own;         /* what came with a CONTROL_EXEC */
    struct process *process; /* NULL: not there yet, or no more */
    struct session *session; /* of the process; only to be compared, it may be gone */
    struct console *console; /* NULL: it has no terminal */
    struct spawn spawn;
    bool takes_session_along; /* its end is its session's */
    int32_t status;           /* of its end, as CONTROL_EXEC_ENDED has it */
    enum control_reason reason;
    char path[GUEST_PATH_MAX];
    char home[sizeof("HOME=") + USER_HOME_MAX_BYTES]; /* where the records have none */
};

/* Those that were not told to have ended. */
static struct list programs = {&programs, &programs};
static size_t program_count;
/* For all programs: what --ulimit asked for. */
static const struct spec_limits *limits;

/* spec: borrowed. */
static struct program *program_new(int32_t number, const struct spec *spec)
{
    struct program *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->number = number;
    p->spec = spec;
    list_append(&programs, &p->link);
    program_count++;
    return p;
}

static void program_free(struct program *p)
{
    list_remove(&p->link);
    program_count--;
    spec_done(&p->own);
    free(p);
}

static struct program *find_program(int32_t number)
{
    struct program *p;
    list_for_each(p, &programs, link)
    {
        if (p->number == number)
            return p;
    }
    return NULL;
}

/* ---- where it is found ---- */

static int status_of(int error)
{
    return error == -ENOENT || error == -ENOTDIR ? STATUS_NOT_FOUND : STATUS_CANT_RUN;
}

static const char *reason_of(int error)
{
    if (error == -EISDIR)
        return "is a directory";
    if (error == -ENOENT)
        return "not found in the sandbox";
    if (error == -ENOEXEC)
        return "is neither a program for this machine nor a script";
    return strerror(-error);
}

/* 0 when path can be executed by cred. */
static int check_file(const struct walk_base *base, const char *path)
{
    struct path p;
    int r = walk_path(base, path, WALK_FOLLOW, &p, NULL);
    if (r < 0)
        return r;
    struct inode *i = p.dentry->inode;
    if (S_ISDIR(i->mode))
        r = -EISDIR;
    else if (!S_ISREG(i->mode))
        r = -EACCES;
    else
        r = inode_permission(i, base->cred, MAY_EXEC);
    path_put(&p);
    return r;
}

static const char *search_path(char **envp)
{
    for (; *envp; envp++)
        if (!strncmp(*envp, "PATH=", 5))
            return *envp + 5;
    return DEFAULT_PATH;
}

/* As execvp(3): the first directory of PATH where it can be run; an EACCES on the way is
 * remembered. */
static int find_file(struct program *program, const struct walk_base *base)
{
    const char *name = program->spec->argv[0];
    char *path = program->path;

    if (strchr(name, '/')) {
        size_t size = strlen(name) + 1;
        if (size > sizeof(program->path))
            return -ENAMETOOLONG;
        memcpy(path, name, size);
        return check_file(base, name);
    }
    int error = -ENOENT;
    const char *at = search_path(program->spec->envp);
    while (*name) {
        size_t n = strcspn(at, ":");
        if ((size_t)snprintf(path, sizeof(program->path), "%.*s/%s", n ? (int)n : 1, n ? at : ".",
                             name) < sizeof(program->path)) {
            int r = check_file(base, path);
            if (r == 0)
                return 0;
            if (r != -ENOENT && r != -ENOTDIR && r != -EISDIR)
                error = r;
        }
        if (at[n] == '\0')
            break;
        at += n + 1;
    }
    return error;
}

/* ---- its end ---- */

static void tell_failure(const struct program *p, int status, const char *text)
{
    struct control_packet packet = {
        .type = p->number ? CONTROL_EXEC_FAILED : CONTROL_FAILED,
        .value = p->number ? p->number : status,
        .status = status,
        .text_size = (uint32_t)strlen(text),
    };
    control_send_packet(&packet, text);
}

static void fail_to_start(const struct program *p, int error)
{
    char text[GUEST_PATH_MAX + 128];
    /* The program itself was found. */
    const char *reason =
        error == -ENOENT ? "what runs it, a dynamic loader or the interpreter that its first line "
                           "names, is not in the sandbox"
                         : reason_of(error);
    snprintf(text, sizeof(text), "%s: %s", p->spec->argv[0], reason);
    tell_failure(p, error == -ENOENT ? STATUS_CANT_RUN : status_of(error), text);
}

static void end_session(const struct program *program)
{
    struct process *p;
    list_for_each(p, &process_all, all_link)
    {
        if (p != program->process && p->group && p->group->session == program->session)
            process_kill(p, SIGKILL);
    }
}

static void on_main_end(struct program *program, struct process *p)
{
    console_drain(program->console);
    trace_finish();
    if (!p->did_exec && p->exec_error)
        fail_to_start(program, p->exec_error);
    else
        control_send_exit(p);
    control_set_program(NULL, NULL);
    jobs_program = NULL;
    loop_stop();
}

/* All that it wrote is out. */
static void tell_end(void *context)
{
    struct program *program = context;
    const struct control_packet packet = {.type = CONTROL_EXEC_ENDED,
                                          .value = program->number,
                                          .status = program->status,
                                          .reason = program->reason};
    control_send_packet(&packet, NULL);
    program_free(program);
}

static void forget(void *context)
{
    program_free(context);
}

static void tell_start(const struct program *program, const struct process *p)
{
    const struct control_packet packet = {
        .type = CONTROL_EXEC_STARTED, .value = program->number, .reason = (uint32_t)p->pid};
    control_send_packet(&packet, NULL);
}

static void on_exec_end(struct program *program, struct process *p)
{
    void (*done)(void *context) = tell_end;
    if (program->takes_session_along)
        end_session(program);
    program->status = p->wait_status;
    program->reason = p->end_reason;
    program->process = NULL;
    if (!p->did_exec && p->exec_error) {
        fail_to_start(program, p->exec_error);
        done = forget;
    } else if (!p->did_exec) { /* it was killed before it came to that */
        tell_start(program, p);
    }
    if (program->console)
        console_finish(program->console, done, program);
    else
        done(program);
}

static struct program *program_of(const struct process *p)
{
    struct program *program;
    list_for_each(program, &programs, link)
    {
        if (program->process == p)
            return program;
    }
    return NULL;
}

static void on_process_end(struct process *p)
{
    struct program *program = program_of(p);
    if (p->end_reason != CONTROL_BY_ITSELF && (!program || program->number))
        control_send_casualty(p);
    if (program && program->number)
        on_exec_end(program, p);
    else if (program)
        on_main_end(program, p);
}

/* Not before: until then it may turn out that the program can't be started. */
static void on_first_exec(struct process *p)
{
    struct program *program = program_of(p);
    if (program && program->number)
        tell_start(program, p);
}

static void on_process_stop(struct process *p)
{
    const struct program *program = program_of(p);
    if (program && program->number == 0)
        control_send(CONTROL_STOPPED, p->stop_signal, NULL, 0);
}

/* ---- its beginning ---- */

/* What --ulimit asked for, before the program runs. */
static void set_limits(struct process *p)
{
    for (size_t i = 0; i < limits->rlimit_count; i++) {
        const struct spec_rlimit *l = &limits->rlimits[i];
        struct rlimit value = l->value;
        if (l->resource == RLIMIT_NOFILE) {
            value.rlim_max = MIN(value.rlim_max, (rlim_t)FD_LIMIT);
            value.rlim_cur = MIN(value.rlim_cur, value.rlim_max);
        }
        int r = limits_change(p, &cred_kernel, (unsigned)l->resource, &value, NULL);
        if (r < 0)
            kernel_log("resource limit %d: %s; it is as without --ulimit", l->resource,
                       strerror(-r));
    }
}

static void on_started(struct spawn *s, struct process *p)
{
    struct program *program = container_of(s, struct program, spawn);
    struct tty *tty = console_tty(program->console);
    program->process = p;
    program->session = p->group->session;
    set_limits(p);
    if (tty)
        tty_make_controlling(tty, p);
    if (program->number == 0) {
        jobs_program = p;
        control_set_program(p, tty);
        control_send(CONTROL_READY, p->pid, NULL, 0);
    }
}

static void on_failed(struct spawn *s, int error)
{
    struct program *program = container_of(s, struct program, spawn);
    char text[GUEST_PATH_MAX + 128];
    snprintf(text, sizeof(text), "%.300s: no process can be made: %s%s", program->spec->argv[0],
             strerror(error),
             process_count_tasks() >= kernel.config.thread_count
                 ? "; the sandbox has as many as --pids lets it have"
                 : "");
    tell_failure(program, STATUS_FAILED, text);
    if (program->number == 0)
        loop_stop();
    else if (program->console)
        console_finish(program->console, forget, program);
    else
        program_free(program);
}

/* Programs look at what their standard input is: some read from anything but /dev/null. */
static int open_null(struct file **ret)
{
    struct path root = {vfs_root_mount, vfs_root_mount->root};
    const struct walk_base base = {.root = root, .base = root, .cred = &cred_kernel};
    const struct open_how_in how = {.flags = O_RDONLY};
    return vfs_open(&base, "/dev/null", &how, ret);
}

/* Takes over the descriptors that it uses, as open_streams(). */
static int open_pipes(const struct spec *spec, const struct user *user, struct hostfd *streams,
                      struct fdtable *files)
{
    for (int fd = 0; fd < STREAMS; fd++) {
        struct file *f;
        bool is_null = fd == 0 && spec->null_input;
        int r = is_null ? open_null(&f) : hostpipe_file(streams[fd], fd > 0, user->uid, &f);
        if (r < 0)
            return r;
        if (!is_null)
            streams[fd] = HOSTFD_NONE;
        r = fdtable_install_at(files, f, fd, FD_LIMIT, false);
        if (r < 0) {
            file_put(f);
            return r;
        }
    }
    return 0;
}

static int open_streams(struct program *program, const struct user *user, struct hostfd *streams,
                        struct fdtable *files)
{
    const struct spec *spec = program->spec;
    struct file *slave;
    if (!spec->tty)
        return open_pipes(spec, user, streams, files);
    int r =
        console_open(streams[0], spec->rows, spec->columns, user->uid, &program->console, &slave);
    if (r < 0)
        return r;
    streams[0] = HOSTFD_NONE;
    for (int fd = 0; r >= 0 && fd < STREAMS; fd++)
        r = fdtable_install_at(files, file_get(slave), fd, FD_LIMIT, false);
    file_put(slave);
    return r < 0 ? r : 0;
}

static struct cred *make_cred(const struct user *user)
{
    struct cred *c = cred_new(user->uid, user->gid);
    if (!c)
        return NULL;
    for (size_t i = 0; i < user->group_count && i < CRED_GROUPS_MAX; i++)
        c->groups[c->group_count++] = user->groups[i];
    return c;
}

/* The working directory: the one asked for, or the user's home, or "/". */
static int enter_directory(const struct spec *spec, const struct user *user, struct walk_base *base,
                           struct setup_error *e)
{
    struct path cwd;
    const char *name = spec->workdir ? spec->workdir : user->home;
    int r = walk_path(base, name, WALK_FOLLOW | WALK_DIRECTORY, &cwd, NULL);
    if (r < 0 && !spec->workdir)
        r = walk_path(base, "/", WALK_FOLLOW | WALK_DIRECTORY, &cwd, NULL);
    if (r == 0)
        r = inode_permission(cwd.dentry->inode, base->cred, MAY_EXEC);
    if (r < 0)
        return setup_fail(e, -r, "working directory %s", name);
    base->base = cwd;
    return 0;
}

/* The starter does not read the image's passwd(5): what it says is for this side to look up. */
static void complete_environment(struct program *program, const struct user *user)
{
    char **env = program->spec->envp;
    for (; *env; env++)
        if (!strncmp(*env, "HOME=", 5))
            return;
    snprintf(program->home, sizeof(program->home), "HOME=%s", user->home);
    /* There are as many places as records, and one of them is the command. */
    env[0] = program->home;
    env[1] = NULL;
}

/*
 * Queues its start. 0; or the exit status, negative, with the reason in e. What it has by then is
 * the caller's to free, with the program.
 */
static int prepare(struct program *program, struct hostfd *streams, struct setup_error *e)
{
    struct spawn *s = &program->spawn;
    const struct spec *spec = program->spec;
    struct user user;
    struct path root = {vfs_root_mount, vfs_root_mount->root};
    struct walk_base base = {.root = root, .base = root, .cred = &cred_kernel};
    if (user_find(&base, spec->user, &user) < 0) {
        setup_fail(e, ENOENT, "user %s is not in the sandbox's /etc/passwd", spec->user);
        return -STATUS_FAILED;
    }
    s->cred = make_cred(&user);
    base.cred = s->cred;
    s->files = fdtable_new();
    if (!s->cred || !s->files) {
        setup_fail(e, ENOMEM, "start");
        return -STATUS_FAILED;
    }
    if (enter_directory(spec, &user, &base, e) < 0)
        return -STATUS_FAILED;
    int r = find_file(program, &base);
    if (r < 0) {
        snprintf(e->text, sizeof(e->text), "%.300s: %s", spec->argv[0], reason_of(r));
        return -status_of(r);
    }
    r = open_streams(program, &user, streams, s->files);
    if (r < 0) {
        setup_fail(e, -r, "standard streams");
        return -STATUS_FAILED;
    }
    complete_environment(program, &user);
    s->argv = spec->argv;
    s->envp = spec->envp;
    s->path = program->path;
    s->started = on_started;
    s->failed = on_failed;
    s->fs = fs_context_new(root, base.base, 022);
    r = s->fs ? spawn_queue(s) : -ENOMEM;
    if (r < 0) {
        setup_fail(e, -r, "arguments and environment");
        return -STATUS_CANT_RUN;
    }
    return 0;
}

static void undo(struct program *program)
{
    struct spawn *s = &program->spawn;
    if (s->files)
        fdtable_put(s->files);
    fs_context_put(s->fs);
    if (s->cred)
        cred_put(s->cred);
    if (program->console)
        console_finish(program->console, forget, program);
    else
        program_free(program);
}

/* ---- CONTROL_EXEC and kin ---- */

static void refuse_exec(int32_t number, const char *text)
{
    const struct control_packet packet = {.type = CONTROL_EXEC_FAILED,
                                          .value = number,
                                          .status = STATUS_FAILED,
                                          .text_size = (uint32_t)strlen(text)};
    control_send_packet(&packet, text);
}

static void start_exec(struct program *program, struct hostfd *fds, size_t count)
{
    struct setup_error error = {""};
    const char *bad;
    struct hostfd streams[STREAMS] = {HOSTFD_NONE, HOSTFD_NONE, HOSTFD_NONE};
    int r = spec_read_command(fds[0].n, &program->own, &bad);
    size_t first = program->own.null_input && !program->own.tty;
    size_t wanted = program->own.tty ? 1 : STREAMS - first;
    if (r < 0 || count != 1 + wanted) {
        setup_fail(&error, r < 0 ? -r : EINVAL, "bad specification at %s",
                   r < 0 ? bad : "its descriptors");
        r = -STATUS_FAILED;
    } else {
        for (size_t i = 0; i < wanted; i++) {
            streams[first + i] = fds[1 + i];
            fds[1 + i] = HOSTFD_NONE;
        }
        r = prepare(program, streams, &error);
    }
    for (size_t i = 0; i < STREAMS; i++)
        hostfd_close(&streams[i]);
    if (r == 0)
        return;
    tell_failure(program, -r, error.text);
    undo(program);
}

static void take_exec(const struct control_packet *p, struct hostfd *fds, size_t count)
{
    if (p->value <= 0 || find_program(p->value))
        return;
    if (count == 0) { /* they came, and there was no room for them */
        refuse_exec(p->value, "the sandbox's kernel has no descriptor left; end programs in it");
        return;
    }
    struct program *program = NULL;
    if (program_count < CONTROL_EXECS_MAX)
        program = program_new(p->value, NULL);
    if (!program) {
        refuse_exec(p->value, "too many programs were started from outside and have not ended; "
                              "wait for one of them");
        return;
    }
    program->spec = &program->own;
    start_exec(program, fds, count);
}

static void signal_one(struct program *program, int sig)
{
    const siginfo_t info = signal_info_kernel(sig);
    signal_send_process(program->process, sig, &info);
}

static void signal_session(struct program *program, int sig)
{
    struct process *p;
    list_for_each(p, &process_all, all_link)
    {
        const siginfo_t info = signal_info_kernel(sig);
        if (p->group && p->group->session == program->session)
            signal_send_process(p, sig, &info);
    }
    program->takes_session_along = true;
}

static void signal_program(const struct control_packet *p)
{
    struct program *program = p->value > 0 ? find_program(p->value) : NULL;
    int sig = (int)(p->reason & CONTROL_SIGNAL_MASK);
    if (!program || !program->process || sig < 1 || sig > SIGNAL_COUNT)
        return;
    if (p->reason & CONTROL_TO_PROCESS) {
        signal_one(program, sig);
    } else if (p->reason & CONTROL_TO_SESSION) {
        signal_session(program, sig);
    } else if (console_tty(program->console)) {
        tty_signal_foreground(console_tty(program->console), sig);
    } else if (program->process->group) {
        siginfo_t info = signal_info_kernel(sig);
        signal_send_group(program->process->group, sig, &info);
    }
}

static void resize_program(const struct control_packet *p)
{
    struct program *program = p->value > 0 ? find_program(p->value) : NULL;
    struct tty *tty = program ? console_tty(program->console) : NULL;
    if (tty)
        tty_set_window_size(tty, (uint16_t)(p->reason >> 16), (uint16_t)(p->reason & 0xffff));
}

static void on_exec_packet(const struct control_packet *p, struct hostfd *fds, size_t count)
{
    if (p->type == CONTROL_EXEC)
        take_exec(p, fds, count);
    else if (p->type == CONTROL_EXEC_SIGNAL)
        signal_program(p);
    else if (p->type == CONTROL_EXEC_WINDOW)
        resize_program(p);
}

int program_start(const struct spec *spec, struct setup_error *e)
{
    struct hostfd streams[STREAMS] = {{CONTROL_STDIN_FD}, {CONTROL_STDOUT_FD}, {CONTROL_STDERR_FD}};
    limits = &spec->limits;
    process_on_first_exec = on_first_exec;
    process_on_end = on_process_end;
    process_on_stop = on_process_stop;
    control_exec = on_exec_packet;
    if (spec->waits) {
        budget_over = control_send_over;
        control_send(CONTROL_READY, 0, NULL, 0);
        return 0;
    }
    struct program *program = program_new(0, spec);
    if (!program) {
        setup_fail(e, ENOMEM, "start");
        return -STATUS_FAILED;
    }
    return prepare(program, streams, e);
}
