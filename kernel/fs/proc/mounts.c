// SPDX-License-Identifier: Apache-2.0
/*
 * /proc/PID/mounts and mountinfo: proc(5). Mounts that can't be reached from the process's root are
 * left out, as Linux does.
 */
#include "kernel/fs/proc/proc.h"

#include <sys/sysmacros.h>

/* The mount point seen from root, escaped; false: unreachable. */
static bool append_mount_point(struct buf *b, const struct mount *m, struct path root)
{
    char text[GUEST_PATH_MAX];
    struct path p = {(struct mount *)m, m->root};
    if (path_text(p, root, text, sizeof(text)) < 0 || text[0] != '/')
        return false;
    proc_append_escaped(b, text);
    return true;
}

static bool is_reachable(const struct mount *m, struct path root)
{
    struct buf scratch = BUF_INIT(4 * GUEST_PATH_MAX);
    bool reachable = append_mount_point(&scratch, m, root);
    buf_done(&scratch);
    return reachable;
}

static void append_options(struct buf *b, const struct mount *m)
{
    buf_append_str(b, m->read_only ? "ro" : "rw");
    if (m->nosuid)
        buf_append_str(b, ",nosuid");
    if (m->nodev)
        buf_append_str(b, ",nodev");
    if (m->noexec)
        buf_append_str(b, ",noexec");
    buf_append_str(b, ",relatime");
}

static int mounts_root(const struct pseudo_node *n, struct path *ret)
{
    struct thread *t = proc_thread(n);
    if (!proc_process(n))
        return -ESRCH;
    if (!t || !t->fs)
        return -EINVAL;
    *ret = t->fs->root;
    return 0;
}

int proc_show_mounts(const struct pseudo_node *n, struct buf *b)
{
    struct path root;
    struct mount *m;
    int r = mounts_root(n, &root);
    if (r < 0)
        return r;
    list_for_each(m, &vfs_mounts, link)
    {
        if (!is_reachable(m, root))
            continue;
        proc_append_escaped(b, m->source);
        buf_append_str(b, " ");
        append_mount_point(b, m, root);
        buf_printf(b, " %s ", m->super->type_name);
        append_options(b, m);
        buf_append_str(b, " 0 0\n");
    }
    return 0;
}

/* Where in its file system the mount's root lies. */
static void append_root(struct buf *b, const struct mount *m)
{
    char text[GUEST_PATH_MAX];
    struct mount whole = *m; /* the same file system, as if it were mounted from its top */
    whole.root = m->super->root;
    whole.at = (struct path){0};
    struct path p = {&whole, m->root}, top = {&whole, m->super->root};
    if (m->root == m->super->root || path_text(p, top, text, sizeof(text)) < 0)
        buf_append_str(b, "/");
    else
        proc_append_escaped(b, text);
}

int proc_show_mountinfo(const struct pseudo_node *n, struct buf *b)
{
    struct path root;
    struct mount *m;
    int r = mounts_root(n, &root);
    if (r < 0)
        return r;
    list_for_each(m, &vfs_mounts, link)
    {
        if (!is_reachable(m, root))
            continue;
        buf_printf(b, "%d %d %u:%u ", m->id, m->at.mount ? m->at.mount->id : 0,
                   major(m->super->dev), minor(m->super->dev));
        append_root(b, m);
        buf_append_str(b, " ");
        append_mount_point(b, m, root);
        buf_append_str(b, " ");
        append_options(b, m);
        buf_printf(b, " - %s ", m->super->type_name);
        proc_append_escaped(b, m->source);
        buf_append_str(b, m->super->read_only ? " ro\n" : " rw\n");
    }
    return 0;
}
