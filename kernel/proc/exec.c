// SPDX-License-Identifier: Apache-2.0
#include "kernel/proc/exec.h"

#include "kernel/core/kernel.h"
#include "kernel/guest/numbers.h"
#include "kernel/host/host.h"
#include "kernel/proc/embryo.h"
#include "kernel/proc/shadow.h"
#include "kernel/proc/space.h"
#include "lib/base/buf.h"

#include <linux/capability.h>
#include <linux/sched.h>
#include <linux/securebits.h>
#include <stdio.h>
#include <sys/syscall.h>

#define ARGUMENTS_MAX_BYTES (6u * 1024 * 1024) /* three quarters of _STK_LIM */
#define ARGUMENT_MAX_BYTES  (128u * 1024)      /* MAX_ARG_STRLEN */

void exec_image_free(struct exec_image *image)
{
    if (!image)
        return;
    exec_watch_end(&image->watch);
    shadow_release(&image->shadow);
    if (image->program)
        file_put(image->program);
    if (image->interpreter)
        file_put(image->interpreter);
    path_put(&image->exe);
    if (image->cred)
        cred_put(image->cred);
    free(image->cmdline);
    free(image);
}

void exec_forget(struct thread *t)
{
    struct process *p = t->process;
    exec_image_free(t->exec);
    t->exec = NULL;
    if (p->executing == t) {
        p->executing = NULL;
        waitq_wake(&p->exec_wait, 0);
    }
}

void exec_cancel(struct thread *t)
{
    struct thread *other;
    exec_forget(t);
    /* Nobody was kicked meanwhile. */
    list_for_each(other, &t->process->threads, process_link) signal_kick(other);
}

struct thread *exec_pending(const struct process *p)
{
    return p->executing;
}

bool exec_may_run(struct call *c)
{
    const struct thread *t = c->thread->process->executing;
    if (!t || t == c->thread || c->nr == SYS_GLOVEBOX_EXEC)
        return true;
    /* The first queue of a call needs no memory. */
    call_wait_on(c, &c->thread->process->exec_wait);
    call_park(c, RESTART_NONE);
    return false;
}

/* ---- finding the program ---- */

static int open_program(struct path p, const struct cred *cred, struct file **ret)
{
    struct inode *i = p.dentry->inode;
    if (!S_ISREG(i->mode) || (p.mount && p.mount->noexec))
        return -EACCES;
    int r = inode_permission(i, cred, MAY_EXEC);
    if (r < 0)
        return r;
    if (i->writers > 0)
        return -ETXTBSY;
    return vfs_open_path(p, &cred_kernel, O_RDONLY, ret);
}

/* Puts `word` before the strings that are in the plan already. */
static int prepend_argument(struct stub_plan *plan, const char *word, size_t length)
{
    if (length + 1 > sizeof(plan->arguments) - plan->argument_bytes)
        return -E2BIG;
    memmove(plan->arguments + length + 1, plan->arguments, plan->argument_bytes);
    memcpy(plan->arguments, word, length);
    plan->arguments[length] = '\0';
    plan->argument_bytes += length + 1;
    plan->argument_count++;
    return 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/*
 * "#! interpreter [one argument]": both into the plan, before the script's own name. *ret_name is
 * cut out of line. The line ends at a newline or at the end of a file that is all header; without
 * either the interpreter's name must be whole (binfmt_script of Linux).
 */
static int parse_script(struct stub_plan *plan, char *line, size_t size, const char *script,
                        char **ret_name)
{
    char *end = memchr(line, '\n', size);
    if (!end) {
        end = line + size;
        if (size == EXEC_HEADER_BYTES) {
            char *word = line + 2;
            while (word < end && is_blank(*word))
                word++;
            while (word < end && !is_blank(*word) && *word)
                word++;
            if (word == end)
                return -ENOEXEC;
        }
    }
    char *name = line + 2;
    while (end > name && is_blank(end[-1]))
        end--;
    *end = '\0'; /* line has room for one more byte */
    while (is_blank(*name))
        name++;
    if (*name == '\0')
        return -ENOEXEC;
    char *argument = name;
    while (*argument && !is_blank(*argument))
        argument++;
    if (*argument)
        *argument++ = '\0';
    while (is_blank(*argument))
        argument++;

    if (plan->argument_count > 0) {
        /* The first word stands for the script that is itself an interpreter: it is replaced. */
        size_t old = strlen(plan->arguments) + 1;
        memmove(plan->arguments, plan->arguments + old, plan->argument_bytes - old);
        plan->argument_bytes -= old;
        plan->argument_count--;
    }
    int r = prepend_argument(plan, script, strlen(script));
    if (r == 0 && *argument)
        r = prepend_argument(plan, argument, strlen(argument));
    if (r == 0)
        r = prepend_argument(plan, name, strlen(name));
    *ret_name = name;
    return r;
}

/* Follows #! lines until an ELF program is found; its header is in header. */
static ssize_t find_program(struct exec_image *image, struct thread *t, const char *name,
                            char *header)
{
    char script[GUEST_PATH_MAX];
    char line[EXEC_HEADER_BYTES + 1];
    snprintf(script, sizeof(script), "%s", name);
    for (int depth = 0;; depth++) {
        int r = open_program(image->exe, t->cred, &image->program);
        if (r < 0)
            return r;
        ssize_t n = file_read_kernel(image->program, line, EXEC_HEADER_BYTES, 0);
        if (n < 2 || line[0] != '#' || line[1] != '!') {
            memcpy(header, line, n > 0 ? (size_t)n : 0);
            return n;
        }
        if (depth >= EXEC_SCRIPT_DEPTH)
            return -ELOOP;
        char *interpreter;
        r = parse_script(&image->plan, line, (size_t)n, script, &interpreter);
        if (r < 0)
            return r;
        file_put(image->program);
        image->program = NULL;
        path_put(&image->exe);
        struct walk_base base;
        r = thread_walk_base(t, AT_FDCWD, &base);
        if (r == 0)
            r = walk_path(&base, interpreter, WALK_FOLLOW, &image->exe, NULL);
        if (r < 0)
            return r;
        snprintf(script, sizeof(script), "%s", interpreter);
    }
}

/* ---- credentials ---- */

/* Another process could lead the program to other files: check_unsafe_exec() of Linux. */
static bool shares_directories(const struct thread *t)
{
    const struct process *p = t->process;
    const struct thread *other;
    size_t own = p->embryo && p->embryo->fs == t->fs && (p->embryo->flags & CLONE_THREAD);
    list_for_each(other, &p->threads, process_link) own += other->fs == t->fs;
    return t->fs->refs > own;
}

/* set-user-ID and set-group-ID, and what happens to capabilities: capabilities(7), execve(2). */
static struct cred *new_credentials(const struct thread *t, const struct file *program)
{
    const struct cred *old = t->cred;
    const struct inode *i = program->inode;
    bool shared = shares_directories(t);
    bool honoured = !old->no_new_privs && !(program->path.mount && program->path.mount->nosuid) &&
                    (!shared || cred_has_cap(old, CAP_SETUID));
    struct cred *c = cred_copy(old);
    if (!c)
        return NULL;
    if (honoured && (i->mode & S_ISUID))
        c->euid = i->uid;
    if (honoured && (i->mode & S_ISGID) && (i->mode & S_IXGRP))
        c->egid = i->gid;
    bool changed = c->euid != old->euid || c->egid != old->egid;
    c->suid = c->fsuid = c->euid;
    c->sgid = c->fsgid = c->egid;
    if (changed)
        c->cap_ambient = 0;
    if ((c->euid == 0 || c->uid == 0) && !(c->securebits & SECBIT_NOROOT)) {
        c->cap_permitted = c->cap_bounding | c->cap_inheritable;
        c->cap_effective = c->euid == 0 ? c->cap_permitted : 0;
    } else {
        c->cap_permitted = c->cap_effective = c->cap_ambient;
    }
    if (changed && shared) {
        c->cap_permitted &= old->cap_permitted;
        c->cap_effective &= old->cap_permitted;
    }
    c->securebits &= ~(uint32_t)SECBIT_KEEP_CAPS;
    return c;
}

/* ---- the command line, for /proc/PID/cmdline ---- */

/*
 * Words of a vector mostly lie side by side, and there may be hundreds of thousands: a page of
 * them, or of pointers to them, is copied at once.
 */
struct page_reader {
    struct guest_memory memory;
    uint64_t at; /* of what was copied, `size` bytes */
    size_t size;
    char data[GUEST_PAGE_SIZE];
};

/* What was copied from `at` on, to the end of its page at most: *ret_size bytes. */
static int page_read(struct page_reader *p, uint64_t at, const char **ret, size_t *ret_size)
{
    if (at < p->at || at - p->at >= p->size) {
        size_t size = GUEST_PAGE_SIZE - (at & (GUEST_PAGE_SIZE - 1));
        ssize_t n = guest_read_some(p->memory, p->data, gaddr_at(at), size);
        if (n < 0)
            return (int)n;
        p->at = at;
        p->size = (size_t)n;
    }
    *ret = p->data + (at - p->at);
    *ret_size = p->size - (at - p->at);
    return 0;
}

static int read_pointer(struct page_reader *p, uint64_t at, uint64_t *ret)
{
    const char *data;
    size_t size;
    int r = page_read(p, at, &data, &size);
    if (r < 0)
        return r;
    if (size < sizeof(*ret)) /* it crosses a page */
        return guest_read(p->memory, ret, gaddr_at(at), sizeof(*ret));
    memcpy(ret, data, sizeof(*ret));
    return 0;
}

/* The length of a word that *ret then points to; spare has room for ARGUMENT_MAX_BYTES. */
static ssize_t read_word(struct page_reader *p, uint64_t at, char *spare, const char **ret)
{
    const char *data;
    size_t size;
    int r = page_read(p, at, &data, &size);
    if (r < 0)
        return r;
    const char *end = memchr(data, '\0', size);
    *ret = end ? data : spare;
    if (end)
        return end - data;
    ssize_t n = guest_read_string(p->memory, spare, gaddr_at(at), ARGUMENT_MAX_BYTES);
    return n == -ENAMETOOLONG ? -E2BIG : n;
}

struct word_reader {
    struct page_reader pointers, words;
    char spare[ARGUMENT_MAX_BYTES];
};

/* limit_bytes: of the words and the pointers to them. */
static int append_guest_strings(struct buf *b, struct word_reader *w, struct gaddr argv,
                                size_t skip, size_t limit_bytes)
{
    for (size_t i = 0; b->size + i * sizeof(uint64_t) < limit_bytes; i++) {
        const char *word;
        uint64_t at;
        int r = read_pointer(&w->pointers, gaddr_plus(argv, i * sizeof(at)).v, &at);
        if (r < 0)
            return r;
        if (at == 0)
            return 0;
        ssize_t n = read_word(&w->words, at, w->spare, &word);
        if (n < 0)
            return (int)n;
        if (i < skip)
            continue;
        r = buf_append(b, word, (size_t)n);
        if (r == 0)
            r = buf_append(b, "", 1);
        if (r < 0)
            return -ENOMEM;
    }
    return -E2BIG;
}

/* execve(2), "Limits on size of arguments and environment". */
static size_t argument_limit(const struct process *p)
{
    rlim_t quarter = p->rlimits[RLIMIT_STACK].rlim_cur / 4;
    return MAX(MIN(quarter, (rlim_t)ARGUMENTS_MAX_BYTES), (rlim_t)ARGUMENT_MAX_BYTES);
}

static int collect_cmdline(struct exec_image *image, const struct thread *t, struct gaddr argv)
{
    size_t limit = argument_limit(t->process);
    struct buf b = BUF_INIT(limit + 2 * ARGUMENT_MAX_BYTES);
    _cleanup_free_ struct word_reader *w = malloc(sizeof(*w));
    if (!w)
        return -ENOMEM;
    w->words.size = w->pointers.size = 0;
    w->words.memory = w->pointers.memory = (struct guest_memory){t->host_tid};
    int r = buf_append(&b, image->plan.arguments, image->plan.argument_bytes);
    if (r == 0 && argv.v)
        r = append_guest_strings(&b, w, argv, image->plan.argument_count ? 1 : 0, limit);
    if (r < 0) {
        buf_done(&b);
        return r;
    }
    /* Each process has a copy for its life: a long one is looked up in its own memory. */
    if (b.size > LIMIT_ARGUMENT_BYTES)
        buf_done(&b);
    image->cmdline = b.data;
    image->cmdline_size = b.size;
    return 0;
}

static void fill_identity(struct exec_image *image)
{
    const struct cred *c = image->cred;
    image->plan.uid = c->uid;
    image->plan.euid = c->euid;
    image->plan.gid = c->gid;
    image->plan.egid = c->egid;
    image->plan.secure = c->uid != c->euid || c->gid != c->egid;
}

int exec_prepare(struct thread *t, struct path program, const char *name, struct gaddr argv)
{
    char header[EXEC_HEADER_BYTES];
    struct exec_image *image = calloc(1, sizeof(*image));
    if (!image)
        return -ENOMEM;
    image->exe = path_get(program);
    const char *slash = strrchr(name, '/');
    snprintf(image->name, sizeof(image->name), "%.15s", slash ? slash + 1 : name);

    ssize_t r = find_program(image, t, name, header);
    if (r >= 0)
        r = exec_load_elf(image, t, header, (size_t)r);
    if (r >= 0)
        r = collect_cmdline(image, t, argv);
    if (r >= 0) {
        image->cred = new_credentials(t, image->program);
        r = image->cred ? exec_watch_start(&image->watch, t) : -ENOMEM;
    }
    if (r < 0) {
        exec_image_free(image);
        return (int)r;
    }
    fill_identity(image);
    t->exec = image;
    t->process->executing = t;
    return 0;
}

/* ---- after the host's exec ---- */

static void free_other_threads(struct thread *t)
{
    struct thread *other, *next;
    list_for_each_safe(other, next, &t->process->threads, process_link) if (other != t)
        thread_free(other);
}

static int unshare(struct thread *t)
{
    struct process *p = t->process;
    if (t->files->refs > 1) {
        struct fdtable *copy = fdtable_copy(t->files);
        if (!copy)
            return -ENOMEM;
        fdtable_put(t->files);
        t->files = copy;
    }
    if (p->actions->refs > 1) {
        struct signal_actions *copy = signal_actions_copy(p->actions);
        if (!copy)
            return -ENOMEM;
        signal_actions_put(p->actions);
        p->actions = copy;
    }
    return 0;
}

/* Whose memory holds what it may not read in its file is nobody else's to look into: would_dump().
 */
static bool may_read(const struct cred *cred, const struct file *f)
{
    return !f || inode_permission(f->inode, cred, MAY_READ) == 0;
}

static struct program_vector vector_of(const struct stub_plan *plan)
{
    return (struct program_vector){
        .phdr = plan->phdr,
        .phnum = plan->phnum,
        .base = plan->base,
        .entry = plan->program_entry,
        .secure = plan->secure,
    };
}

int exec_commit(struct thread *t)
{
    struct process *p = t->process;
    struct exec_image *image = t->exec;
    free_other_threads(t);
    struct address_space *space = space_new();
    if (!space || unshare(t) < 0) {
        space_put(space);
        return -ENOMEM;
    }
    exec_watch_end(&image->watch);
    shadow_release(&image->shadow);
    space_put(p->space);
    p->space = space;
    space_set_program(space, image->exe, file_get(image->program), TAKE_PTR(image->cmdline),
                      image->cmdline_size);
    space->vector = vector_of(&image->plan);
    /* The stub's own pages: /proc/PID/mem and kin of others look at this. */
    space->dumpable = !image->plan.secure && may_read(t->cred, image->program) &&
                      may_read(t->cred, image->interpreter);
    fdtable_exec(t->files, p);
    signal_exec(p);
    if (image->plan.secure)
        p->parent_death_signal = 0;
    cred_put(t->cred);
    t->cred = TAKE_PTR(image->cred);
    memcpy(t->name, image->name, sizeof(t->name));
    t->robust_list = t->clear_child_tid = 0;
    if (!p->did_exec && process_on_first_exec)
        process_on_first_exec(p);
    p->did_exec = true;
    image->loading = true;
    return 0;
}
