// SPDX-License-Identifier: Apache-2.0
#include "server/port_link.h"

#include "sandbox/port_ask.h"
#include "server/boxes.h"
#include "server/server.h"

#define ANSWERS_AT_ONCE 16

struct port_link {
    struct box *box;
    struct watch watch;
    struct ask ask;
    bool is_open;
    unsigned asked_count; /* without an answer, also of who has forgotten it */
    struct list waiting;  /* to be asked */
    struct list asked;
    uint64_t last_number;
};

static void release(struct watch *w)
{
    free(container_of(w, struct port_link, watch));
}

static void answer(struct port_wish *w, int error)
{
    list_remove(&w->link);
    if (error)
        base_closep(&w->fd);
    w->answered(w, error);
}

static void answer_all(struct list *wishes, int error)
{
    struct port_wish *w;
    while ((w = list_first(wishes, struct port_wish, link)))
        answer(w, error);
}

static void end(struct port_link *l, int error)
{
    l->box->ports = NULL;
    l->is_open = false;
    launcher_forget(&l->ask);
    answer_all(&l->asked, error);
    answer_all(&l->waiting, error);
    watch_close(&l->watch, release);
}

/* As many as the starter reads at once. */
static void ask_waiting(struct port_link *l)
{
    struct port_wish *w;
    while (l->asked_count < PORT_ASKED_MAX &&
           (w = list_first(&l->waiting, struct port_wish, link))) {
        w->number = ++l->last_number;
        int r = port_ask_pair(l->watch.fd, w->number, w->port, PORTS_WAIT_DEFAULT_MS, &w->fd);
        if (r < 0) {
            w->fd = -1;
            answer(w, -r);
            continue;
        }
        list_remove(&w->link);
        list_append(&l->asked, &w->link);
        l->asked_count++;
    }
}

static void take_answer(struct port_link *l, const struct port_answer *a)
{
    struct port_wish *w;
    l->asked_count -= l->asked_count > 0;
    list_for_each(w, &l->asked, link)
    {
        if (w->number != a->number)
            continue;
        answer(w, a->error);
        return;
    }
}

static void on_answers(struct watch *watch, uint32_t events _unused_)
{
    static struct port_message m;
    struct port_link *l = container_of(watch, struct port_link, watch);
    int r = 0;
    for (int i = 0; i < ANSWERS_AT_ONCE && l->is_open && r == 0; i++) {
        r = port_receive(watch->fd, &m);
        if (r == 0 && m.answer.type != PORT_CONNECT)
            r = -EPROTO;
        if (r == 0)
            take_answer(l, &m.answer);
    }
    if (!l->is_open)
        return;
    if (r < 0 && r != -EAGAIN)
        end(l, ECONNRESET);
    else
        ask_waiting(l);
}

static void on_opened(struct ask *a, int error, const char *data _unused_, size_t size _unused_,
                      int fd)
{
    struct port_link *l = container_of(a, struct port_link, ask);
    if (error == 0 && fd < 0)
        error = EPROTO;
    l->watch = (struct watch){.fd = error ? -1 : fd, .ready = on_answers};
    l->is_open = !error;
    if (error)
        base_closep(&fd);
    else if (watch_for(&l->watch, EPOLLIN) < 0)
        error = ENOMEM;
    if (error)
        end(l, error == ENOENT ? ECONNRESET : error);
    else
        ask_waiting(l);
}

static int open_link(struct box *b)
{
    struct port_link *l = calloc(1, sizeof(*l));
    if (!l)
        return -ENOMEM;
    l->box = b;
    l->watch.fd = -1;
    l->ask.answered = on_opened;
    list_init(&l->waiting);
    list_init(&l->asked);
    int r = launcher_ask(&l->ask, LAUNCH_OPEN, LAUNCH_PORTS, b->id, strlen(b->id));
    if (r < 0)
        free(l);
    else
        b->ports = l;
    return r;
}

/* What is asked while others are is sent with the next answer, if not at once: an answer that came
 * from within would be one to whom asks. */
int port_link_ask(struct box *b, struct port_wish *w)
{
    int r = b->ports ? 0 : open_link(b);
    if (r < 0)
        return r;
    struct port_link *l = b->ports;
    w->fd = -1;
    if (!l->is_open || l->asked_count >= PORT_ASKED_MAX) {
        list_append(&l->waiting, &w->link);
        return 0;
    }
    w->number = ++l->last_number;
    r = port_ask_pair(l->watch.fd, w->number, w->port, PORTS_WAIT_DEFAULT_MS, &w->fd);
    if (r < 0)
        return r;
    list_append(&l->asked, &w->link);
    l->asked_count++;
    return 0;
}

void port_link_forget(struct port_wish *w)
{
    if (!list_is_linked(&w->link))
        return;
    list_remove(&w->link);
    base_closep(&w->fd);
}

void port_link_close(struct box *b)
{
    if (b->ports)
        end(b->ports, ECONNRESET);
}
