// SPDX-License-Identifier: Apache-2.0
#include "sandbox/exec.h"

_Static_assert(JOURNAL_TAG_MAX >= EXEC_TAG_MAX_BYTES, "each tag is one");

/* A piece with its tag and head in front. */
static void send_piece(struct execs *x, struct exec_client *c, struct journal_piece *piece)
{
    static char text[EXEC_TEXT_MAX_BYTES];
    const size_t most = sizeof(text) - sizeof(piece->head) - JOURNAL_TAG_MAX;
    piece->head.size = (uint32_t)MIN(piece->head.size, most);
    size_t size = sizeof(piece->head) + piece->head.tag_size;
    memcpy(text, &piece->head, sizeof(piece->head));
    memcpy(text + sizeof(piece->head), piece->tag, piece->head.tag_size);
    memcpy(text + size, piece->data, piece->head.size);
    const struct exec_packet p = {.version = EXEC_VERSION,
                                  .type = EXEC_LOGGED,
                                  .offset = piece->head.offset,
                                  .text_size = (uint32_t)(size + piece->head.size)};
    exec_client_send(x, c, &p, text);
}

static void end_reading(struct execs *x, struct exec_client *c)
{
    const struct exec_packet p = {
        .version = EXEC_VERSION, .type = EXEC_ANSWER, .flags = EXEC_LOGS, .offset = c->log_offset};
    c->reads_log = false;
    exec_client_send(x, c, &p, "");
}

/* One that does not fit into the socket waits in `unsent`; the next is sent when that is gone. */
void exec_journal_send(struct execs *x, struct exec_client *c)
{
    struct journal_piece piece;
    while (c->source.fd >= 0 && c->unsent.size == 0 && c->reads_log) {
        uint64_t until = c->follows_log ? UINT64_MAX : c->log_end;
        if (!journal_at(&x->journal, &c->log_offset, &piece) || c->log_offset >= until) {
            if (!c->follows_log || x->is_over)
                end_reading(x, c);
            return;
        }
        piece.head.size = (uint32_t)MIN(piece.head.size, until - c->log_offset);
        send_piece(x, c, &piece);
        c->log_offset += piece.head.size;
        x->delivered_bytes += piece.head.size;
    }
}

int exec_journal_ask(struct execs *x, struct exec_client *c, const struct exec_packet *p)
{
    if (c->exec || c->reads_log)
        return EBUSY;
    c->reads_log = true;
    c->follows_log = p->flags & EXEC_FOLLOW;
    c->log_end = x->journal.end;
    c->log_offset = MIN(p->offset, x->journal.end);
    return 0;
}

void execs_keep_output(struct execs *x, const struct journal_source *from, const char *data,
                       size_t size)
{
    struct exec_client *c;
    journal_append(&x->journal, from, data, size);
    list_for_each(c, &x->clients, link)
    {
        if (c->reads_log)
            exec_client_advance(x, c);
    }
}
