// SPDX-License-Identifier: Apache-2.0
#include "kernel/boot/cursor.h"

static bool take_name(struct dir_emit *e, const char *name, size_t length, uint64_t ino _unused_,
                      uint8_t d_type _unused_, uint64_t cookie)
{
    struct cursor_name *n = container_of(e, struct cursor_name, emit);
    if (n->length > 0 || (n->end && cookie >= n->end))
        return false;
    if (length == 0 || length > NAME_LENGTH_MAX || !strcmp(name, ".") || !strcmp(name, ".."))
        return true;
    memcpy(n->text, name, length);
    n->text[length] = '\0';
    n->length = length;
    n->cookie = cookie;
    return true;
}

bool cursor_next(struct cursor *c, struct cursor_name *ret)
{
    const struct inode_ops *ops = c->dir->inode->ops;
    *ret = (struct cursor_name){.emit = {.emit = take_name, .after = c->after}, .end = c->end};
    int r = ops->list ? ops->list(c->dir, &ret->emit) : dentry_list(c->dir, &ret->emit);
    /* Without it a program that renames what is being read would be followed for ever. */
    if (!ops->list && c->after == 0)
        c->end = c->dir->path.dentry->next_seq;
    c->after = ret->cookie;
    c->error = r == -ENOENT ? 0 : r;
    return r == 0 && ret->length > 0;
}
