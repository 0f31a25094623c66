// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target for the records of what programs wrote (sandbox/journal.h), as a file or a
 * starter gives them. What must hold: each lies within the input, and comes back as it was when it
 * is written and read again.
 */
#include "sandbox/journal.h"
#include "tests/fuzz/input.h"

static void check_round_trip(const struct journal_piece *p)
{
    char tag[JOURNAL_TAG_MAX + 1];
    struct journal j;
    struct journal_piece again;
    struct buf b = BUF_INIT(1 << 20);
    memcpy(tag, p->tag, p->head.tag_size);
    tag[p->head.tag_size] = '\0';
    /* A tag of a program has no NUL in it. */
    if (strlen(tag) != p->head.tag_size)
        return;
    const struct journal_source from = {p->head.pid, p->head.stream, tag};
    journal_init(&j);
    journal_append(&j, &from, p->data, p->head.size);
    journal_write(&j, &b, 1 << 20);
    size_t at = 0, used;
    while ((used = journal_read(b.data + at, b.size - at, &again)) > 0) {
        CHECK(again.head.pid == from.pid && again.head.stream == from.stream);
        CHECK(!memcmp(again.data, p->data + again.head.offset, again.head.size));
        at += used;
    }
    CHECK(at == b.size);
    buf_done(&b);
    journal_done(&j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct journal_piece p;
    const char *at = (const char *)data, *end = at + size;
    size_t used;
    while (size > 0 && (used = journal_read(at, (size_t)(end - at), &p)) > 0) {
        CHECK(used <= (size_t)(end - at));
        CHECK(p.tag >= at && p.data + p.head.size == at + used);
        check_round_trip(&p);
        at += used;
    }
    return 0;
}
