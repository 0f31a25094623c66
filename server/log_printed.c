// SPDX-License-Identifier: Apache-2.0
#include "server/log_printed.h"

#include "lib/text/shown.h"
#include "sandbox/exec_messages.h"
#include "sandbox/journal.h"

/* Streams with a line that is begun. Of more the one that has waited longest is told so far. */
#define OPEN_MAX 64

/* Of which the rendering is done at once; and what a line may take with the room for that. */
#define PIECE_BYTES    512
#define LINE_MAX_BYTES (32 * 1024)

struct open_line {
    struct journal_head head; /* of the piece in which it begins; size 0: none is begun */
    uint64_t offset;          /* its first byte */
    char tag[64];
    struct text_shown shown;
    struct buf text;
};

struct printing {
    struct log_page *page;
    struct open_line *lines; /* OPEN_MAX */
};

static void finish(struct printing *p, struct open_line *l)
{
    char rest[TEXT_SHOWN_MAX_BYTES(0)];
    struct log_line line = {
        .place = {.at_ms = l->head.time_ns / NSEC_PER_MSEC,
                  .kind = LOG_PRINTED,
                  .number = l->offset},
        .level = l->head.stream == EXEC_ERR ? "warn" : "info",
        .event = l->head.stream == EXEC_ERR ? "stderr" : "stdout",
        .pid = l->head.pid,
        .tag = l->tag,
    };
    buf_append(&l->text, rest, text_shown_end(&l->shown, rest));
    if (l->text.size > 0 && l->text.data[l->text.size - 1] == '\n')
        l->text.size--;
    buf_append(&l->text, "", 1);
    line.text = l->text.data;
    if (l->text.failed)
        p->page->is_failed = true;
    else
        log_page_put(p->page, &line);
    buf_reset(&l->text);
    l->head.size = 0;
}

static void begin(struct open_line *l, const struct journal_piece *piece, const char *at)
{
    l->head = piece->head;
    l->offset = piece->head.offset + (uint64_t)(at - piece->data);
    text_line(piece->tag, piece->head.tag_size, l->tag, sizeof(l->tag));
    text_shown_init(&l->shown, &text_style_model);
}

static void render(struct open_line *l, const char *at, size_t size)
{
    for (size_t part; size > 0; at += part, size -= part) {
        part = MIN(size, (size_t)PIECE_BYTES);
        char *room = buf_room(&l->text, TEXT_SHOWN_MAX_BYTES(part));
        if (!room)
            return;
        buf_extend(&l->text, text_shown_feed(&l->shown, at, part, room));
    }
}

/* That of the piece's stream which is begun; or a free one. */
static struct open_line *find(struct printing *p, const struct journal_piece *piece)
{
    struct open_line *vacant = NULL, *oldest = p->lines;
    for (struct open_line *l = p->lines; l < p->lines + OPEN_MAX; l++) {
        if (l->head.size && l->head.pid == piece->head.pid && l->head.stream == piece->head.stream)
            return l;
        if (!l->head.size)
            vacant = l;
        else if (l->offset < oldest->offset)
            oldest = l;
    }
    if (!vacant)
        finish(p, oldest);
    return vacant ? vacant : oldest;
}

static void take(struct printing *p, const struct journal_piece *piece)
{
    const char *at = piece->data, *end = at + piece->head.size;
    struct open_line *l = find(p, piece);
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *next = newline ? newline + 1 : end;
        if (!l->head.size)
            begin(l, piece, at);
        render(l, at, (size_t)(next - at));
        if (newline)
            finish(p, l);
        at = next;
    }
}

int log_printed_put(struct log_page *page, const char *records, size_t size)
{
    struct printing p = {.page = page, .lines = calloc(OPEN_MAX, sizeof(*p.lines))};
    struct journal_piece piece;
    size_t used;
    if (!p.lines)
        return -ENOMEM;
    for (size_t i = 0; i < OPEN_MAX; i++)
        p.lines[i].text = BUF_INIT(LINE_MAX_BYTES);
    for (; (used = journal_read(records, size, &piece)) > 0; records += used, size -= used)
        take(&p, &piece);
    for (size_t i = 0; i < OPEN_MAX; i++) {
        if (p.lines[i].head.size)
            finish(&p, &p.lines[i]);
        buf_done(&p.lines[i].text);
    }
    free(p.lines);
    return 0;
}
