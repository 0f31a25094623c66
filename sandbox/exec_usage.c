// SPDX-License-Identifier: Apache-2.0
#include "sandbox/exec.h"

/*
 * The kernel is asked once for all who wait. One that does not answer holds nobody up but those who
 * wait for it; with its end they are told.
 */
int exec_usage_ask(struct execs *x, struct exec_client *c)
{
    if (!x->is_ready)
        return EAGAIN;
    if (c->wants_usage)
        return EBUSY;
    if (!x->usage_asked) {
        int32_t number = x->last_usage == INT32_MAX ? 1 : x->last_usage + 1;
        const struct control_packet p = {.type = CONTROL_USAGE, .value = number};
        if (!sandbox_send_text(x->sandbox, &p, ""))
            return EAGAIN;
        x->usage_asked = x->last_usage = number;
    }
    c->wants_usage = true;
    return 0;
}

/* No sums of what came from elsewhere that could go over. */
static int64_t add_times(int64_t a, int64_t b)
{
    int64_t sum;
    return a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum) ? 0 : sum;
}

void execs_take_usage(struct execs *x, const struct control_packet *p, const char *text)
{
    struct exec_client *c;
    struct control_used used;
    if (p->value != x->usage_asked || x->usage_asked == 0 || p->text_size != sizeof(used))
        return;
    x->usage_asked = 0;
    memcpy(&used, text, sizeof(used));
    const struct exec_usage usage = {
        .disk_bytes = used.disk_bytes,
        .inodes = used.inodes,
        .received_bytes = used.received_bytes,
        .sent_bytes = used.sent_bytes,
        .written_bytes = p->written_bytes,
        .cpu_ns = add_times(p->user_ns, p->system_ns),
        .wall_ns = p->wall_ns,
        .processes = used.processes,
        .threads = used.threads,
    };
    const struct exec_packet answer = {
        .version = EXEC_VERSION, .type = EXEC_USED, .text_size = sizeof(usage)};
    list_for_each(c, &x->clients, link)
    {
        if (!c->wants_usage || c->source.fd < 0)
            continue;
        c->wants_usage = false;
        exec_client_send(x, c, &answer, (const char *)&usage);
        exec_client_advance(x, c);
    }
}
