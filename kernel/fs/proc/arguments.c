// SPDX-License-Identifier: Apache-2.0
/*
 * /proc/PID/{cmdline,environ}: from the process's memory, by the host. Both may have megabytes, so
 * they are made a part at a time. Nothing is kept open between two parts but where the next begins.
 */
#include "kernel/fs/proc/proc.h"

#include "kernel/core/kernel.h"
#include "kernel/host/host.h"

/* Most texts are one part, and of most the beginning is all. */
#define PART_BYTES      (128u * 1024)
#define BEGINNING_BYTES 4096u

struct arguments_state {
    uint64_t offset; /* of the next part */
    bool is_kept;    /* the kernel's own text, space->cmdline, is shown instead of the host's */
};

void proc_forget_arguments(void *state)
{
    free(state);
}

static struct arguments_state *state_at(void **state)
{
    if (!*state)
        *state = calloc(1, sizeof(struct arguments_state));
    return *state;
}

/* 1; 0: that was the last; or -errno. */
static int append_part(const struct pseudo_node *n, const char *file, struct arguments_state *s,
                       struct buf *b)
{
    char name[64];
    int r = proc_host_name(n, file, name);
    if (r < 0)
        return r;
    for (size_t room = BEGINNING_BYTES; room > 0; room = PART_BYTES - b->size) {
        char *at = buf_room(b, room);
        if (!at)
            return -ENOMEM;
        ssize_t size = host->read_proc_part(name, s->offset, at, room);
        if (size < 0)
            return size == -ENOENT || size == -ESRCH ? 0 : (int)size; /* it has no memory */
        buf_extend(b, (size_t)size);
        s->offset += (uint64_t)size;
        if ((size_t)size < room)
            return 0;
    }
    return 1;
}

static int append_kept(const struct address_space *space, struct arguments_state *s, struct buf *b)
{
    uint64_t whole = space->cmdline ? space->cmdline_size : 0;
    uint64_t left = whole - MIN(s->offset, whole);
    size_t size = MIN(left, PART_BYTES);
    if (size > 0)
        buf_append(b, space->cmdline + s->offset, size);
    s->offset += size;
    return s->offset < whole;
}

static bool host_has_all(const struct pseudo_node *n, const struct address_space *space)
{
    struct host_stat h;
    return !space->cmdline ||
           (proc_host_stat(n, &h) == 0 &&
            h.field[HOST_STAT_ARG_END] - h.field[HOST_STAT_ARG_START] == space->cmdline_size);
}

/*
 * A program may have written over its arguments (setproctitle), so they are read from its memory;
 * but for a script the host knows the arguments before the interpreter's were put in front.
 */
int proc_more_cmdline(const struct pseudo_node *n, void **state, bool can_wait, struct buf *b)
{
    struct address_space *space = proc_space(n);
    if (!space)
        return proc_process(n) ? 0 : -ESRCH;
    struct arguments_state *s = state_at(state);
    if (!s)
        return -ENOMEM;
    if (s->offset == 0)
        s->is_kept = !host_has_all(n, space);
    int r = s->is_kept ? 0 : append_part(n, "cmdline", s, b);
    if (s->offset == 0)
        s->is_kept = true;
    return s->is_kept ? append_kept(space, s, b) : r;
}

int proc_more_environ(const struct pseudo_node *n, void **state, bool can_wait, struct buf *b)
{
    int r = proc_check_access(n);
    if (r < 0 || !proc_space(n))
        return r;
    struct arguments_state *s = state_at(state);
    return s ? append_part(n, "environ", s, b) : -ENOMEM;
}
