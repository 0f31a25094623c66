// SPDX-License-Identifier: Apache-2.0
#include "server/files_link.h"

#include "server/server.h"

#include <stdio.h>

static void on_idle(struct timer *t);

static struct list all = {&all, &all};    /* also those that are about to rest, whom nobody has */
static struct list idle = {&idle, &idle}; /* those that rest longest first */
static size_t idle_count;
static struct timer idle_timer = {.fire = on_idle};

static void release(struct watch *w)
{
    struct files_link *l = container_of(w, struct files_link, watch);
    list_remove(&l->all);
    free(l->texts);
    free(l);
}

static void forget_idle(struct files_link *l)
{
    if (!list_is_linked(&l->idle))
        return;
    list_remove(&l->idle);
    idle_count--;
}

void files_link_close(struct files_link *l)
{
    if (!l)
        return;
    forget_idle(l);
    launcher_forget(&l->ask);
    if (l->is_open) {
        l->connection.socket = -1; /* the watch closes it */
        files_disconnect(&l->connection);
    }
    l->is_open = false;
    watch_close(&l->watch, release);
}

/* ---- answers ---- */

static void fail(struct files_link *l, int error)
{
    if (list_is_linked(&l->idle)) {
        files_link_close(l);
        return;
    }
    watch_for(&l->watch, 0);
    l->is_asked = false;
    l->answered(l, error, NULL);
}

bool files_link_look(struct files_link *l)
{
    struct files_result result;
    int r = l->is_open ? files_receive(&l->connection, &result) : -EAGAIN;
    if (r == -EAGAIN)
        return false;
    if (r < 0) {
        fail(l, r == -ECONNRESET ? ENOENT : -r);
        return true;
    }
    l->is_asked = false;
    l->answered(l, 0, &result);
    return true;
}

static void on_ready(struct watch *w, uint32_t events _unused_)
{
    files_link_look(container_of(w, struct files_link, watch));
}

static void on_opened(struct ask *a, int error, const char *data _unused_, size_t size _unused_,
                      int fd)
{
    struct files_link *l = container_of(a, struct files_link, ask);
    if (error == 0 && fd < 0)
        error = EPROTO;
    if (error == 0)
        error = -files_begin(fd, FILES_MEMORY_MAX_BYTES, &l->connection);
    else
        base_closep(&fd);
    if (error == 0) {
        l->is_open = true;
        l->watch.fd = l->connection.socket;
        error = -watch_for(&l->watch, EPOLLIN);
    }
    if (error == 0 && l->is_asked)
        error = -files_send(&l->connection, &l->waiting);
    free(l->texts);
    l->texts = NULL;
    l->failed = error;
    if (error && l->is_asked)
        fail(l, error);
}

/* ---- questions ---- */

static char *copy_text(char **at, const char *text, size_t size)
{
    char *copy = *at;
    if (size > 0)
        memcpy(copy, text, size);
    copy[size] = '\0';
    *at += size + 1;
    return copy;
}

/* Keeps it until the connection is there. */
static int keep(struct files_link *l, const struct files_call *call)
{
    size_t user = call->user ? strlen(call->user) : 0, path = call->path ? strlen(call->path) : 0;
    char *at = malloc(user + path + call->more_size + 3);
    if (!at)
        return -ENOMEM;
    l->texts = at;
    l->waiting = *call;
    l->waiting.user = copy_text(&at, call->user, user);
    l->waiting.path = copy_text(&at, call->path, path);
    l->waiting.more = copy_text(&at, call->more, call->more_size);
    return 0;
}

int files_link_ask(struct files_link *l, const struct files_call *call)
{
    if (l->is_asked || l->failed)
        return l->failed ? -l->failed : -EBUSY;
    if (!files_call_fits(call))
        return -ENAMETOOLONG;
    int r = l->is_open ? files_send(&l->connection, call) : keep(l, call);
    l->is_asked = r == 0;
    return r;
}

/* ---- coming and going ---- */

static struct files_link *find_idle(const char *name)
{
    struct files_link *l;
    list_for_each(l, &idle, idle) if (!strcmp(l->name, name)) return l;
    return NULL;
}

struct files_link *files_link_get(const char *name,
                                  void (*answered)(struct files_link *l, int error,
                                                   const struct files_result *result),
                                  void *userdata)
{
    struct files_link *l = find_idle(name);
    if (l) {
        forget_idle(l);
    } else {
        l = calloc(1, sizeof(*l));
        if (!l)
            return NULL;
        snprintf(l->name, sizeof(l->name), "%s", name);
        l->connection = FILES_DISCONNECTED;
        l->watch = (struct watch){.fd = -1, .ready = on_ready};
        l->ask = (struct ask){.answered = on_opened};
        list_init(&l->idle);
        if (launcher_ask(&l->ask, LAUNCH_OPEN, LAUNCH_FILES, name, strlen(name)) < 0) {
            free(l);
            return NULL;
        }
        list_append(&all, &l->all);
    }
    l->answered = answered;
    l->userdata = userdata;
    return l;
}

/* Those that rest for long are closed. */
static void on_idle(struct timer *t)
{
    struct files_link *l;
    while ((l = list_first(&idle, struct files_link, idle)) && l->idle_until_ns <= server_now_ns())
        files_link_close(l);
    if (l)
        timer_set(t, l->idle_until_ns);
}

static void rest(struct files_link *l)
{
    if (idle_count >= FILES_LINK_IDLE_MAX)
        files_link_close(list_first(&idle, struct files_link, idle));
    l->idle_until_ns = server_now_ns() + FILES_LINK_IDLE_S * NSEC_PER_SEC;
    list_append(&idle, &l->idle);
    idle_count++;
    if (!idle_timer.place && timer_set(&idle_timer, l->idle_until_ns) < 0)
        files_link_close(l);
}

static void on_closed(struct files_link *l, int error, const struct files_result *result _unused_)
{
    if (error)
        files_link_close(l);
    else
        rest(l);
}

/* A file, list or watch is not to be held open by what rests. */
void files_link_put(struct files_link *l)
{
    const struct files_call call = {.question = {.type = FILES_CLOSE}};
    if (!l)
        return;
    l->answered = on_closed;
    if (!l->is_open || l->is_asked || !l->watch.events || files_link_ask(l, &call) < 0)
        files_link_close(l);
}
