// SPDX-License-Identifier: Apache-2.0
/*
 * Watches a directory, with inotify's own groups and queues (kernel/fs/notify.h).
 *
 * A watched directory is a node that knows its name and the node above it. Events are read in the
 * order in which they happened, and the nodes follow them: so a name is told as it was then. Nobody
 * reads events but who asks for them; meanwhile they wait in the group's bounded queue, and when it
 * is full that is told.
 *
 * A directory that comes while all are watched is watched when its event is read. What was made in
 * it until then is looked up, and told as CREATED: since the kernel has one thread, each name is
 * told either this way or by its own event.
 */
#include "kernel/boot/files/client.h"
#include "kernel/fs/notify.h"
#include "lib/base/map.h"

#include <dirent.h>
#include <stdio.h>

#define STEPS_MAX       256
#define EVENT_MAX_BYTES (sizeof(struct files_event) + FILES_PATH_MAX_BYTES)
#define WATCHED                                                                    \
    (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MODIFY | IN_ATTRIB | \
     IN_DELETE_SELF | IN_MOVE_SELF)

struct node {
    struct list link; /* watching->nodes, those above first */
    struct list scan_link;
    int wd;
    struct node *above; /* NULL: what was asked for */
    bool announces;     /* what is found in it is told */
    bool is_taken;      /* by take_tree(), which runs */
    struct cursor cursor;
    char *name;
};

struct files_watch {
    struct files_identity identity;
    char path[FILES_PATH_MAX_BYTES + 1];
    bool is_recursive, has_lost;
    struct notify_group *group;
    struct wait_entry entry;
    struct files_client *client;
    struct map by_wd;
    struct list nodes, unscanned;
    size_t node_count;
    struct node *moving; /* its MOVED_FROM was read, with this cookie */
    uint32_t moving_cookie, hidden_cookie;
};

/* ---- nodes ---- */

static void node_free(struct files_watch *w, struct node *n)
{
    list_remove(&n->link);
    list_remove(&n->scan_link);
    map_remove(&w->by_wd, (uint64_t)n->wd);
    file_put(n->cursor.dir);
    free(n->name);
    free(n);
    w->node_count--;
}

static bool is_below(const struct node *n, const struct node *above)
{
    for (; n; n = n->above)
        if (n == above)
            return true;
    return false;
}

/*
 * Puts a node and all that are below it into a list, those above first. They stand behind it, each
 * behind the one above it: so one look at each is enough, however deep they are.
 */
static void take_tree(struct files_watch *w, struct node *top, struct list *ret)
{
    struct list *at = &top->link, *next;
    struct node *n;
    list_init(ret);
    for (; at != &w->nodes; at = next) {
        n = list_entry(at, struct node, link);
        next = at->next;
        if (n != top && !(n->above && n->above->is_taken))
            continue;
        n->is_taken = true;
        list_remove(at);
        list_append(ret, at);
    }
    list_for_each(n, ret, link) n->is_taken = false;
}

/* With all that are below it, which go first. */
static void forget_tree(struct files_watch *w, struct node *top)
{
    struct list tree;
    take_tree(w, top, &tree);
    while (!list_is_empty(&tree)) {
        struct node *n = list_entry(tree.prev, struct node, link);
        notify_watch_remove(w->group, n->wd);
        node_free(w, n);
    }
}

void files_watch_free(struct files_watch *w)
{
    struct node *n;
    if (!w)
        return;
    waitq_remove(&w->entry);
    while ((n = list_first(&w->nodes, struct node, link)))
        node_free(w, n);
    map_done(&w->by_wd);
    if (w->group)
        notify_group_free(w->group);
    files_identity_done(&w->identity);
    free(w);
}

/*
 * The path of name in n from the watched directory on; n itself without name. False: it is too
 * long.
 */
static bool relative_path(const struct node *n, const char *name,
                          char ret[FILES_PATH_MAX_BYTES + 1])
{
    char text[FILES_PATH_MAX_BYTES + 1];
    size_t start = sizeof(text) - 1;
    text[start] = '\0';
    for (;; name = n->name, n = n->above) {
        size_t length = name ? strlen(name) : 0;
        if (length + 1 > start)
            return false;
        if (length > 0 && text[start])
            text[--start] = '/';
        start -= length;
        if (length > 0)
            memcpy(text + start, name, length);
        if (!n->above)
            break;
    }
    memcpy(ret, text + start, sizeof(text) - start);
    return true;
}

/* The directory itself, when its user may list it. */
static int open_node(const struct files_watch *w, const struct node *above, const char *name,
                     struct file **ret)
{
    char path[2 * FILES_PATH_MAX_BYTES + 2], relative[FILES_PATH_MAX_BYTES + 1];
    const struct walk_base base = files_root(&w->identity);
    struct path p;
    if (above && !relative_path(above, name, relative))
        return -ENAMETOOLONG;
    snprintf(path, sizeof(path), above ? "%s/%s" : "%s", w->path, relative);
    int r = walk_path(&base, path, above ? 0 : WALK_FOLLOW | WALK_NO_MAGICLINKS, &p, NULL);
    if (r < 0)
        return r;
    r = vfs_open_path(p, w->identity.cred, O_RDONLY | O_DIRECTORY, ret);
    path_put(&p);
    return r;
}

static int add_opened(struct files_watch *w, struct node *above, const char *name, struct file *dir,
                      bool announces)
{
    int wd = notify_watch_add(w->group, dir->inode, WATCHED);
    if (wd < 0)
        return wd;
    if (map_get(&w->by_wd, (uint64_t)wd))
        return 0;
    struct node *n = calloc(1, sizeof(*n));
    char *copy = strdup(name);
    if (!n || !copy || map_set(&w->by_wd, (uint64_t)wd, n) < 0) {
        free(n);
        free(copy);
        notify_watch_remove(w->group, wd);
        return -ENOMEM;
    }
    *n = (struct node){.wd = wd, .above = above, .announces = announces, .name = copy};
    list_append(&w->nodes, &n->link);
    list_init(&n->scan_link);
    w->node_count++;
    if (w->is_recursive) {
        n->cursor.dir = file_get(dir);
        list_append(&w->unscanned, &n->scan_link);
    }
    return 0;
}

/* What can't be watched since it is gone, or not his to read, is left out; the rest is told. */
static int add_node(struct files_watch *w, struct node *above, const char *name, bool announces)
{
    struct file *dir;
    if (w->node_count >= FILES_WATCH_DIRECTORIES_MAX) {
        w->has_lost = true;
        return -ENOSPC;
    }
    int r = open_node(w, above, name, &dir);
    if (r < 0)
        return r;
    r = add_opened(w, above, name, dir, announces);
    file_put(dir);
    if (r < 0)
        w->has_lost = true;
    return r;
}

/* ---- events ---- */

static void tell(struct files_watch *w, enum files_event_type type, const struct node *n,
                 const char *name)
{
    char path[FILES_PATH_MAX_BYTES + 1];
    if (!relative_path(n, name, path)) {
        w->has_lost = true;
        return;
    }
    const char *shown = *path ? path : ".";
    const struct files_event e = {.type = (uint16_t)type, .name_size = (uint16_t)strlen(shown)};
    memcpy(files_reply.bytes + files_reply.size, &e, sizeof(e));
    memcpy(files_reply.bytes + files_reply.size + sizeof(e), shown, e.name_size);
    files_reply.size += sizeof(e) + e.name_size;
}

static void tell_loss(struct files_watch *w)
{
    const struct files_event e = {.type = FILES_OVERFLOW, .name_size = 1};
    memcpy(files_reply.bytes + files_reply.size, &e, sizeof(e));
    files_reply.bytes[files_reply.size + sizeof(e)] = '.';
    files_reply.size += sizeof(e) + 1;
    w->has_lost = false;
}

static void scan_step(struct files_watch *w)
{
    struct node *n = list_first(&w->unscanned, struct node, scan_link);
    struct cursor_name name;
    struct path p;
    if (!cursor_next(&n->cursor, &name)) {
        w->has_lost |= n->cursor.error < 0 && n->cursor.error != -EACCES;
        file_put(n->cursor.dir);
        n->cursor.dir = NULL;
        list_remove(&n->scan_link);
        return;
    }
    const struct walk_base base = files_base(&w->identity, n->cursor.dir->path);
    if (files_name_is_hidden(name.text) || walk_path(&base, name.text, 0, &p, NULL) < 0)
        return;
    if (n->announces)
        tell(w, FILES_CREATED, n, name.text);
    if (S_ISDIR(p.dentry->inode->mode))
        add_node(w, n, name.text, n->announces);
    path_put(&p);
}

static struct node *find_child(const struct files_watch *w, const struct node *above,
                               const char *name)
{
    struct node *n;
    list_for_each(n, &w->nodes, link) if (n->above == above && !strcmp(n->name, name)) return n;
    return NULL;
}

/* The node that moves gets its new place; those below it go behind it in the list. */
static void finish_move(struct files_watch *w, struct node *above, const char *name)
{
    struct node *n = w->moving;
    char *copy = strdup(name);
    w->moving = NULL;
    if (!copy || is_below(above, n)) {
        free(copy);
        w->has_lost = true;
        forget_tree(w, n);
        return;
    }
    free(n->name);
    n->name = copy;
    n->above = above;
    struct list moved;
    take_tree(w, n, &moved);
    list_splice(&w->nodes, &moved);
}

static void take_directory(struct files_watch *w, const struct notify_event *e, struct node *n)
{
    if (e->mask & IN_MOVED_FROM) {
        w->moving = find_child(w, n, e->name);
        w->moving_cookie = e->cookie;
    } else if (e->mask & IN_MOVED_TO && w->moving && w->moving_cookie == e->cookie) {
        finish_move(w, n, e->name);
    } else if (e->mask & (IN_CREATE | IN_MOVED_TO)) {
        add_node(w, n, e->name, true);
    }
}

static void take_named(struct files_watch *w, const struct notify_event *e, struct node *n)
{
    static const struct {
        uint32_t mask;
        enum files_event_type type;
    } types[] = {
        {IN_CREATE | IN_MOVED_TO, FILES_CREATED},
        {IN_MODIFY, FILES_WRITTEN},
        {IN_DELETE, FILES_REMOVED},
        {IN_MOVED_FROM, FILES_RENAMED},
        {IN_ATTRIB, FILES_CHANGED},
    };
    if (files_name_is_hidden(e->name)) {
        w->hidden_cookie = e->cookie;
        return;
    }
    if (e->mask & IN_MOVED_TO && e->cookie == w->hidden_cookie)
        return; /* of a file that was written from outside: told by what follows */
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (e->mask & types[i].mask)
            tell(w, types[i].type, n, e->name);
    if (e->mask & IN_ISDIR && w->is_recursive)
        take_directory(w, e, n);
}

/* Of a directory in it, the one above has told. */
static void take_unnamed(struct files_watch *w, const struct notify_event *e, struct node *n)
{
    if (n->above || e->mask & IN_IGNORED)
        return;
    if (e->mask & IN_DELETE_SELF)
        tell(w, FILES_REMOVED, n, NULL);
    else if (e->mask & IN_MOVE_SELF)
        tell(w, FILES_RENAMED, n, NULL);
    else if (e->mask & IN_ATTRIB)
        tell(w, FILES_CHANGED, n, NULL);
}

static void take_event(struct files_watch *w)
{
    const struct notify_event *e = notify_group_first(w->group);
    struct node *n = e->wd < 0 ? NULL : map_get(&w->by_wd, (uint64_t)e->wd);
    if (w->moving && !(e->mask & IN_MOVED_TO && e->cookie == w->moving_cookie)) {
        struct node *gone = w->moving; /* out of what is watched */
        w->moving = NULL;
        if (n && is_below(n, gone))
            n = NULL;
        forget_tree(w, gone);
    }
    if (e->mask & IN_Q_OVERFLOW)
        w->has_lost = true;
    else if (n && e->name_length > 0)
        take_named(w, e, n);
    else if (n)
        take_unnamed(w, e, n);
    if (n && e->mask & IN_IGNORED && n->above)
        forget_tree(w, n);
    notify_group_drop_first(w->group);
}

/* ---- questions ---- */

static void work_scan(struct files_client *c)
{
    struct files_watch *w = c->watching;
    for (int i = 0; i < STEPS_MAX && !list_is_empty(&w->unscanned); i++)
        scan_step(w);
    if (list_is_empty(&w->unscanned)) {
        files_answer(c, 0, 0);
        return;
    }
    int r = files_work_soon(c, work_scan);
    if (r < 0) {
        files_activity_end(c);
        files_answer(c, r, 0);
    }
}

static void work_events(struct files_client *c)
{
    struct files_watch *w = c->watching;
    int i = 0;
    c->work = NULL;
    for (; i < STEPS_MAX && files_reply_room() >= 2 * EVENT_MAX_BYTES; i++) {
        if (!list_is_empty(&w->unscanned))
            scan_step(w);
        else if (notify_group_first(w->group))
            take_event(w);
        else
            break;
    }
    if (w->has_lost)
        tell_loss(w);
    if (files_reply.size > 0)
        files_answer(c, 0, 0);
    else if (i == STEPS_MAX && files_work_soon(c, work_events) < 0)
        files_answer(c, -ENOMEM, 0);
}

static void on_event(struct wait_entry *entry, uint32_t events _unused_)
{
    struct files_client *c = container_of(entry, struct files_watch, entry)->client;
    if (c->asked_type == FILES_EVENTS && !c->work)
        files_work_soon(c, work_events);
}

static int begin(struct files_watch *w, const struct files_asked *a)
{
    w->is_recursive = a->q.flags & FILES_RECURSIVE;
    int r = files_identity_find(a, &w->identity);
    if (r == 0)
        r = files_path_resolve(&w->identity, a->path, w->path);
    if (r == 0)
        r = notify_group_new(NOTIFY_OUTSIDE, &w->group);
    if (r < 0)
        return r;
    waitq_add(notify_group_wait(w->group), &w->entry);
    return add_node(w, NULL, "", false);
}

void files_ask_watch(struct files_client *c, const struct files_asked *a)
{
    files_activity_end(c);
    struct files_watch *w = calloc(1, sizeof(*w));
    int r = -ENOMEM;
    if (w) {
        list_init(&w->nodes);
        list_init(&w->unscanned);
        list_init(&w->entry.link);
        w->entry.wake = on_event;
        w->client = c;
        c->watching = w;
        r = begin(w, a);
    }
    if (r == 0) {
        work_scan(c);
        return;
    }
    files_activity_end(c);
    files_answer(c, r, 0);
}

void files_ask_events(struct files_client *c, const struct files_asked *a _unused_)
{
    if (c->watching)
        work_events(c);
    else
        files_answer(c, -EBADF, 0);
}
