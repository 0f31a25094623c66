// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target for what takes values of secrets out of files that are copied out
 * (sandbox/copy_scrub.c): an input is packets as those of copy.c.
 *
 * What must hold, whatever comes: what goes are packets of whole records; bytes of a file ascend;
 * no value is in what belongs together, and of a file there are as many bytes as came.
 */
#include "sandbox/copy_scrub.h"
#include "sandbox/secrets.h"
#include "tests/fuzz/input.h"

#define VALUE "secret/1"
#define DOCUMENT                                                \
    "{\"version\":1,\"secrets\":{\"A\":{\"source\":{"           \
    "\"literal\":\"" VALUE "\"},\"placeholder\":\"QQQQQQQQQ\"," \
    "\"env\":[\"A\"],\"allow\":{\"hosts\":[\"a.test\"]}}}}"
#define TOLD_MAX (1 << 20)

static struct sandbox_spec spec;
static struct scrubber *scrubber;
static struct buf told = {.max_bytes = TOLD_MAX}; /* since the last hole */
static int64_t told_to;
static uint64_t told_bytes;

static void begin(void)
{
    struct sandbox_error e;
    spec.policy = strdup(DOCUMENT);
    CHECK(spec.policy && sandbox_secrets_load(&spec, &e) == 0);
    CHECK(scrubber_new(&spec, &scrubber, &e) == 0 && scrubber);
}

static void check_text(const void *text, size_t size)
{
    CHECK(size == 0 || !memmem(text, size, VALUE, strlen(VALUE)));
}

static void note_data(const struct copy_record *r, const char *text)
{
    CHECK(r->text_size > 0 && r->value >= told_to);
    if (r->value > told_to)
        buf_reset(&told);
    told_to = r->value + r->text_size;
    told_bytes += r->text_size;
    CHECK(buf_append(&told, text, r->text_size) == 0);
    check_text(told.data, told.size);
}

static void note(const char *records, size_t size)
{
    struct copy_record r;
    CHECK(size <= COPY_ANSWER_MAX);
    for (; size > 0; size -= sizeof(r) + r.text_size, records += r.text_size) {
        CHECK(size >= sizeof(r));
        memcpy(&r, records, sizeof(r));
        records += sizeof(r);
        CHECK(r.text_size <= size - sizeof(r));
        if (r.type == COPY_DATA) {
            note_data(&r, records);
            continue;
        }
        check_text(records, r.text_size);
        buf_reset(&told);
        told_to = 0;
    }
}

/* Bytes of DATA records in a packet that was taken. */
static uint64_t count_data(const uint8_t *at, size_t size)
{
    struct copy_record r;
    uint64_t sum = 0;
    for (; size > 0; size -= sizeof(r) + r.text_size, at += sizeof(r) + r.text_size) {
        memcpy(&r, at, sizeof(r));
        sum += r.type == COPY_DATA ? r.text_size : 0;
    }
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct input in = {bytes, size};
    const char *records;
    uint64_t came = 0;
    int r = 0;
    if (!scrubber)
        begin();
    struct copy_scrub *c = copy_scrub_new(scrubber);
    CHECK(c);
    buf_reset(&told);
    told_to = 0;
    told_bytes = 0;
    while (in.size > 0 && r == 0 && size < TOLD_MAX) {
        size_t piece;
        const uint8_t *at = input_bytes(&in, input_word(&in, 2), &piece);
        r = copy_scrub_take(c, (const char *)at, piece);
        CHECK(r == 0 || r == -EPROTO);
        came += r == 0 ? count_data(at, piece) : 0;
        for (size_t n; (n = copy_scrub_next(c, &records)) > 0;)
            note(records, n);
        /* Less is told only while it may be the beginning of a value, in its longest form. */
        CHECK(r < 0 || (told_bytes <= came && came - told_bytes < 3 * strlen(VALUE)));
    }
    copy_scrub_free(c);
    return 0;
}
