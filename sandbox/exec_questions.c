// SPDX-License-Identifier: Apache-2.0
#include "sandbox/exec.h"
#include "sandbox/exec_records.h"
#include "sandbox/outcome.h"
#include "sandbox/socket_file.h"

#include <signal.h>
#include <stdio.h>

#define SIGNAL_MAX    64
#define HEARD_OUT_MAX 512 /* questions; no socket holds more */

static bool answer(struct execs *x, struct exec_client *c, const struct exec_message *m, int error,
                   const char *text)
{
    const struct exec_packet p = {.version = EXEC_VERSION,
                                  .type = EXEC_ANSWER,
                                  .flags = m->packet.type,
                                  .status = error,
                                  .text_size = (uint32_t)strlen(text)};
    return exec_client_send(x, c, &p, text);
}

static struct exec *find_pid(struct execs *x, int64_t pid, bool with_ended)
{
    struct exec *program, *found = NULL;
    list_for_each(program, &x->programs, link)
    {
        bool is_there = program->state == EXEC_RUNNING ||
                        (with_ended && program->state == EXEC_OVER_WITH && !program->is_failed);
        /* A number may have been used again: the latest. */
        if (is_there && program->pid == pid && pid > 0)
            found = program;
    }
    return found;
}

static struct exec *find_tag(struct execs *x, const char *tag, size_t size)
{
    struct exec *program, *found = NULL;
    list_for_each(program, &x->programs, link)
    {
        if (program->state != EXEC_STARTING && !program->is_failed && size > 0 &&
            strlen(program->tag) == size && !memcmp(program->tag, tag, size))
            found = program;
    }
    return found;
}

static bool refuse_start(struct execs *x, struct exec_client *c, const char *text)
{
    const struct exec_packet p = {.version = EXEC_VERSION,
                                  .type = EXEC_FAILED,
                                  .status = SANDBOX_STATUS_FAILED,
                                  .text_size = (uint32_t)strlen(text)};
    return exec_client_send(x, c, &p, text);
}

static bool start(struct execs *x, struct exec_client *c, const struct exec_message *m, int fd)
{
    const struct exec_packet *p = &m->packet;
    struct sandbox_error e;
    const struct exec_order o = {
        .flags = p->flags & (EXEC_TTY | EXEC_NULL_INPUT | EXEC_LOG),
        .timeout_ns = p->value,
        .grace_ns = (int64_t)MIN(p->offset, (uint64_t)INT64_MAX),
        .tag = m->text,
        .tag_size = p->text_size,
        .records = fd,
    };
    if (c->exec || c->reads_log || p->value < 0 || p->text_size > EXEC_TAG_MAX_BYTES ||
        memchr(m->text, '\0', p->text_size))
        return false;
    if (!x->is_ready)
        return refuse_start(x, c, "the sandbox is about to end, or has only begun; try again");
    if (x->running >= CONTROL_EXECS_MAX)
        return refuse_start(x, c,
                            "too many programs were started from outside and have not ended; "
                            "wait for one of them");
    c->is_told_start = false;
    c->offset = 0;
    c->fed = NULL;
    return exec_start(x, &o, &c->exec, &e) == 0 || refuse_start(x, c, e.text);
}

static bool attach(struct execs *x, struct exec_client *c, const struct exec_message *m)
{
    const struct exec_packet *p = &m->packet;
    struct exec *program =
        p->value ? find_pid(x, p->value, true) : find_tag(x, m->text, p->text_size);
    if (c->exec || c->reads_log)
        return false;
    if (!program)
        return answer(x, c, m, ESRCH, "no such program was started here from outside");
    c->exec = program;
    c->is_told_start = false;
    c->offset = MIN(p->offset, program->log.end);
    return true;
}

struct exec *exec_client_target(struct execs *x, const struct exec_client *c,
                                const struct exec_packet *p)
{
    if (p->value)
        return find_pid(x, p->value, false);
    return c->exec && c->exec->state == EXEC_RUNNING ? c->exec : NULL;
}

static bool feed(struct execs *x, struct exec_client *c, struct exec *program,
                 const struct exec_message *m)
{
    int r = exec_feed(program, m->text, m->packet.text_size);
    if (r < 0)
        return answer(x, c, m, -r, "its standard input is closed");
    c->fed = program; /* answered when there is room */
    return true;
}

static bool answer_told(struct execs *x, struct exec_client *c, const struct exec_message *m,
                        bool is_told)
{
    return is_told ? answer(x, c, m, 0, "")
                   : answer(x, c, m, EAGAIN, "the sandbox's kernel is busy; try again");
}

static bool signal_program(struct execs *x, struct exec_client *c, struct exec *program,
                           const struct exec_message *m)
{
    int sig = m->packet.status;
    if (sig < 1 || sig > SIGNAL_MAX)
        return answer(x, c, m, EINVAL, "no such signal");
    return answer_told(x, c, m, exec_signal(program, sig, m->packet.flags));
}

static bool resize(struct execs *x, struct exec_client *c, const struct exec *program,
                   const struct exec_message *m)
{
    const struct control_packet window = {.type = CONTROL_EXEC_WINDOW,
                                          .value = program->number,
                                          .reason = (uint32_t)m->packet.offset};
    if (!(program->flags & EXEC_TTY))
        return answer(x, c, m, ENOTTY, "it has no terminal");
    return answer_told(x, c, m, sandbox_send_text(x->sandbox, &window, ""));
}

static bool end_output(struct execs *x, struct exec_client *c, struct exec *program,
                       const struct exec_message *m)
{
    const struct exec_client *other;
    list_for_each(other, &x->clients, link)
    {
        if (other != c && other->exec == program && other->source.fd >= 0)
            return answer(x, c, m, EBUSY, "somebody else reads its output");
    }
    exec_end_output(program, m->packet.flags);
    return answer(x, c, m, 0, "");
}

static bool talk(struct execs *x, struct exec_client *c, const struct exec_message *m)
{
    const struct exec_packet *p = &m->packet;
    struct exec *program = exec_client_target(x, c, p);
    if (!program)
        return answer(x, c, m, ESRCH, "no such program runs that was started from outside");
    switch (p->type) {
    case EXEC_INPUT:
        return feed(x, c, program, m);
    case EXEC_INPUT_END:
        exec_end_input(program);
        return answer(x, c, m, 0, "");
    case EXEC_SIGNAL:
        return signal_program(x, c, program, m);
    case EXEC_WINDOW:
        return resize(x, c, program, m);
    default:
        return end_output(x, c, program, m);
    }
}

static bool list(struct execs *x, struct exec_client *c, const struct exec_message *m)
{
    const struct exec *program;
    list_for_each(program, &x->programs, link)
    {
        char text[EXEC_TAG_MAX_BYTES + 1 + EXEC_RECORDS_SHOWN_BYTES];
        size_t tag = strlen(program->tag) + 1;
        if (program->state != EXEC_RUNNING)
            continue;
        memcpy(text, program->tag, tag);
        memcpy(text + tag, program->records, program->records_size);
        const struct exec_packet p = {.version = EXEC_VERSION,
                                      .type = EXEC_ITEM,
                                      .value = program->pid,
                                      .flags = program->flags,
                                      .text_size = (uint32_t)(tag + program->records_size)};
        if (!exec_client_send(x, c, &p, text))
            return false;
    }
    return answer(x, c, m, 0, "");
}

static void end_sandbox(struct execs *x, const struct exec_message *m)
{
    char who[128];
    snprintf(who, sizeof(who), "%.*s", (int)MIN(m->packet.text_size, (uint32_t)100), m->text);
    x->owner.end(x->owner.userdata, m->packet.status == 1, who);
}

void exec_client_hear_out(struct execs *x, struct exec_client *c)
{
    static struct exec_message m;
    for (int i = 0; i < HEARD_OUT_MAX; i++) {
        int fd = -1;
        ssize_t n = socket_file_receive(c->source.fd, &m, sizeof(m), &fd);
        base_closep(&fd);
        if (n == -ECONNRESET) /* told once, before what is there */
            continue;
        if (!exec_message_is_whole(&m, n))
            return;
        if (m.packet.type == EXEC_END)
            end_sandbox(x, &m);
        else if (m.packet.type == EXEC_LIFETIME && m.packet.value >= 0)
            x->owner.set_lifetime(x->owner.userdata, m.packet.value);
    }
}

bool exec_client_take(struct execs *x, struct exec_client *c, const struct exec_message *m, int fd)
{
    int error;
    bool is_told;
    switch (m->packet.type) {
    case EXEC_START:
        return start(x, c, m, fd);
    case EXEC_ATTACH:
        return attach(x, c, m);
    case EXEC_INPUT:
    case EXEC_INPUT_END:
    case EXEC_SIGNAL:
    case EXEC_WINDOW:
    case EXEC_OUTPUT_END:
        return talk(x, c, m);
    case EXEC_LIST:
        return list(x, c, m);
    case EXEC_END:
        is_told = answer(x, c, m, 0, "");
        end_sandbox(x, m);
        return is_told;
    case EXEC_LIFETIME:
        if (m->packet.value < 0)
            return answer(x, c, m, EINVAL, "a time is not negative");
        x->owner.set_lifetime(x->owner.userdata, m->packet.value);
        return answer(x, c, m, 0, "");
    case EXEC_WATCH:
        c->is_watching = true;
        return answer(x, c, m, 0, "");
    case EXEC_USAGE:
        error = exec_usage_ask(x, c);
        return error == 0 || answer(x, c, m, error, "the sandbox's kernel is busy; try again");
    case EXEC_LOGS:
        error = exec_journal_ask(x, c, &m->packet);
        return error == 0 || answer(x, c, m, error, "a program is followed here, or a log");
    default:
        return false;
    }
}
