// SPDX-License-Identifier: Apache-2.0
#include "sandbox/logs_ask.h"

#include "sandbox/ended.h"
#include "sandbox/exec_ask.h"
#include "sandbox/registry.h"

int logs_take(int socket, struct exec_message *m, struct journal_piece *ret, uint64_t *ret_next)
{
    ssize_t n = exec_receive(socket, m);
    const struct exec_packet *p = &m->packet;
    if (n <= 0)
        return n < 0 ? (int)n : -EPIPE;
    if (p->type == EXEC_ANSWER && p->flags == EXEC_LOGS && p->status == 0) {
        *ret_next = p->offset;
        return -EPIPE;
    }
    if (p->type == EXEC_LOGGED && journal_read(m->text, p->text_size, ret) == p->text_size)
        return 0;
    return -EPROTO;
}

static int ask(const char *name, uint64_t offset, uint32_t flags, struct sandbox_error *e)
{
    const struct exec_packet p = {
        .version = EXEC_VERSION, .type = EXEC_LOGS, .offset = offset, .flags = flags};
    _cleanup_close_ int fd = exec_connect(name, e);
    int r = fd < 0 ? fd : exec_ask(fd, &p, NULL);
    if (fd >= 0 && r < 0)
        sandbox_error_set(e, r, "%s: %s; does the sandbox still run?", name, strerror(-r));
    return r < 0 ? r : TAKE_FD(fd);
}

int logs_follow(const char *name, uint64_t offset, struct sandbox_error *e)
{
    return ask(name, offset, EXEC_FOLLOW, e);
}

static int read_running(const char *name, logs_see_fn see, void *userdata, uint64_t *ret_next,
                        struct sandbox_error *e)
{
    _cleanup_free_ struct exec_message *m = malloc(sizeof(*m));
    struct journal_piece piece;
    _cleanup_close_ int fd = ask(name, 0, 0, e);
    if (fd < 0 || !m)
        return fd < 0 ? fd : sandbox_error_set(e, -ENOMEM, "%s: out of memory; free some", name);
    *ret_next = UINT64_MAX;
    for (;;) {
        int r = logs_take(fd, m, &piece, ret_next);
        if (r == -EPIPE)
            return 0;
        if (r == 0)
            r = see(userdata, &piece);
        if (r < 0)
            return sandbox_error_set(e, r, "%s: its log: %s; try again", name, strerror(-r));
    }
}

struct reading {
    logs_see_fn see;
    void *userdata;
    bool is_found;
    int error;
};

/* An ended_see_fn. */
static bool see_ended(void *userdata, const char *name _unused_, const struct record *r _unused_,
                      const char *output, size_t output_size)
{
    struct reading *l = userdata;
    struct journal_piece piece;
    size_t used;
    l->is_found = true;
    for (; (used = journal_read(output, output_size, &piece)) > 0 && l->error == 0;
         output += used, output_size -= used)
        l->error = l->see(l->userdata, &piece);
    return false;
}

static int read_ended(const char *name, logs_see_fn see, void *userdata, struct sandbox_error *e)
{
    struct registry registry;
    struct reading l = {.see = see, .userdata = userdata};
    int r = registry_open(&registry, e);
    if (r < 0)
        return r;
    r = ended_list(registry.folder, name, see_ended, &l);
    registry_close(&registry);
    if (r == 0 && !l.is_found)
        return sandbox_error_set(e, -ENOENT,
                                 "%.*s: nothing is known of a sandbox of this name; glovebox ps -a "
                                 "lists those that are known",
                                 REGISTRY_NAME_MAX_BYTES, name);
    r = r < 0 ? r : l.error;
    return r < 0 ? sandbox_error_set(e, r, "%s: its log: %s; try again", name, strerror(-r)) : 0;
}

int logs_read(const char *name, logs_see_fn see, void *userdata, uint64_t *ret_next,
              struct sandbox_error *e)
{
    int r = read_running(name, see, userdata, ret_next, e);
    if (r != -ENOENT)
        return r;
    *ret_next = UINT64_MAX;
    return read_ended(name, see, userdata, e);
}
