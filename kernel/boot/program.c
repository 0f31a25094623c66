// SPDX-License-Identifier: Apache-2.0
#include "kernel/boot/program.h"

#include "kernel/boot/console.h"
#include "kernel/boot/control.h"
#include "kernel/boot/loop.h"
#include "kernel/boot/trace.h"
#include "kernel/boot/user.h"
#include "kernel/core/kernel.h"
#include "kernel/fs/dev/hostpipe.h"
#include "kernel/proc/jobs.h"
#include "kernel/proc/limits.h"
#include "kernel/proc/process.h"
#include "kernel/proc/spawn.h"

#include <stdio.h>
#include <sys/wait.h>

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static struct spawn spawn;
static struct process *program;
static char program_path[GUEST_PATH_MAX];
static const char *command;
static const struct spec_limits *limits;

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
static int check_program(const struct walk_base *base, const char *path)
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
static int find_program(const struct walk_base *base, const char *name, char **envp)
{
    if (strchr(name, '/')) {
        size_t size = strlen(name) + 1;
        if (size > sizeof(program_path))
            return -ENAMETOOLONG;
        memcpy(program_path, name, size);
        return check_program(base, name);
    }
    int error = -ENOENT;
    const char *at = search_path(envp);
    while (*name) {
        size_t n = strcspn(at, ":");
        if ((size_t)snprintf(program_path, sizeof(program_path), "%.*s/%s", n ? (int)n : 1,
                             n ? at : ".", name) < sizeof(program_path)) {
            int r = check_program(base, program_path);
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

static void report_failure(int error)
{
    char text[GUEST_PATH_MAX + 128];
    int n = snprintf(text, sizeof(text), "%s: %s", command, reason_of(error));
    control_send(CONTROL_FAILED, error == -ENOENT ? STATUS_CANT_RUN : status_of(error), text,
                 (size_t)n);
}

static void on_process_end(struct process *p)
{
    if (p != program) {
        if (p->end_reason != CONTROL_BY_ITSELF)
            control_send_casualty(p);
        return;
    }
    console_drain();
    trace_finish();
    if (!p->did_exec && p->exec_error)
        report_failure(p->exec_error);
    else
        control_send_exit(p);
    control_set_program(NULL, NULL);
    jobs_program = NULL;
    program = NULL;
    loop_stop();
}

static void on_process_stop(struct process *p)
{
    if (p == program)
        control_send(CONTROL_STOPPED, p->stop_signal, NULL, 0);
}

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
    program = p;
    jobs_program = p;
    set_limits(p);
    control_set_program(p, console_tty());
    if (console_tty())
        tty_make_controlling(console_tty(), p);
    control_send(CONTROL_READY, p->pid, NULL, 0);
}

/* Programs look at what their standard input is: some read from anything but /dev/null. */
static int open_null(struct file **ret)
{
    struct path root = {vfs_root_mount, vfs_root_mount->root};
    const struct walk_base base = {.root = root, .base = root, .cred = &cred_kernel};
    const struct open_how_in how = {.flags = O_RDONLY};
    return vfs_open(&base, "/dev/null", &how, ret);
}

static int open_pipes(const struct spec *spec, const struct user *user, struct fdtable *files)
{
    static const int numbers[3] = {CONTROL_STDIN_FD, CONTROL_STDOUT_FD, CONTROL_STDERR_FD};
    for (int fd = 0; fd < 3; fd++) {
        struct file *f;
        struct hostfd pipe = {numbers[fd]};
        bool is_null = fd == 0 && spec->null_input;
        int r = is_null ? open_null(&f) : hostpipe_file(pipe, fd > 0, user->uid, &f);
        if (r < 0)
            return r;
        r = fdtable_install_at(files, f, fd, FD_LIMIT, false);
        if (r < 0) {
            file_put(f);
            return r;
        }
    }
    return 0;
}

static int open_streams(const struct spec *spec, const struct user *user, struct fdtable *files)
{
    struct file *slave;
    if (!spec->tty)
        return open_pipes(spec, user, files);
    int r = console_start(spec->rows, spec->columns, user->uid, &slave);
    for (int fd = 0; r >= 0 && fd < 3; fd++)
        r = fdtable_install_at(files, file_get(slave), fd, FD_LIMIT, false);
    if (r >= 0)
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

int program_start(const struct spec *spec, struct setup_error *e)
{
    struct user user;
    struct path root = {vfs_root_mount, vfs_root_mount->root};
    struct walk_base base = {.root = root, .base = root, .cred = &cred_kernel};
    command = spec->argv[0];
    limits = &spec->limits;
    if (user_find(&base, spec->user, &user) < 0) {
        setup_fail(e, ENOENT, "user %s is not in the sandbox's /etc/passwd", spec->user);
        return -STATUS_FAILED;
    }
    struct cred *cred = make_cred(&user);
    base.cred = cred;
    struct fdtable *files = fdtable_new();
    if (!cred || !files || enter_directory(spec, &user, &base, e) < 0)
        return -STATUS_FAILED;
    int r = find_program(&base, spec->argv[0], spec->envp);
    if (r < 0) {
        snprintf(e->text, sizeof(e->text), "%.300s: %s", command, reason_of(r));
        return -status_of(r);
    }
    r = open_streams(spec, &user, files);
    if (r < 0) {
        setup_fail(e, -r, "standard streams");
        return -STATUS_FAILED;
    }
    spawn = (struct spawn){
        .files = files,
        .fs = fs_context_new(root, base.base, 022),
        .cred = cred,
        .argv = spec->argv,
        .envp = spec->envp,
        .path = program_path,
        .started = on_started,
    };
    process_on_end = on_process_end;
    process_on_stop = on_process_stop;
    r = spawn.fs ? spawn_queue(&spawn) : -ENOMEM;
    if (r < 0) {
        setup_fail(e, -r, "arguments and environment");
        return -STATUS_CANT_RUN;
    }
    return 0;
}
