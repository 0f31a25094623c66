// SPDX-License-Identifier: Apache-2.0
/*
 * A value that was replaced while the sandbox runs may still come back, so the secrets as they were
 * are kept: each generation is searched for in turn, in what the one before it has left.
 */
#include "sandbox/scrubber.h"

#include "lib/policy/policy.h"
#include "lib/secret/file.h"
#include "lib/secret/pages.h"
#include "sandbox/secrets.h"

#define TEXT_MAX_BYTES    (64 * 1024 * 1024) /* a packet that is all secrets */
#define RENEWAL_MAX_BYTES 16384              /* more than one value's file has */

struct scrubber {
    struct policy *policy;                              /* the secrets borrow its document */
    struct secrets *generations[SCRUB_GENERATIONS_MAX]; /* the last ones, the oldest first */
    size_t count;
    uint64_t newest; /* number of the last of them, from 1 */
    struct buf text; /* of scrubber_replace() */
};

static void begin_stage(struct secrets_exchange *x, struct secrets_scrub *scrub, struct secrets *s)
{
    const struct secrets_request none = {.method = "GET", .path = "/"};
    secrets_begin(x, s, &none);
    secrets_scrub_begin(scrub, x);
}

/* Takes s over. */
static void add_generation(struct scrubber *s, struct secrets *secrets)
{
    if (s->count == SCRUB_GENERATIONS_MAX) {
        secrets_put(s->generations[0]);
        s->count--;
        memmove(s->generations, s->generations + 1, s->count * sizeof(s->generations[0]));
    }
    s->generations[s->count++] = secrets;
    s->newest++;
}

static int fill(struct scrubber *s, const char *document, int fd, struct sandbox_error *e)
{
    struct policy_error wrong;
    struct secret_error bad;
    struct secrets *secrets;
    s->policy = policy_parse(document, strlen(document), &wrong);
    if (!s->policy)
        return sandbox_error_set(e, -EINVAL, "%s", wrong.text);
    int r = secret_file_read(fd, policy_get_document(s->policy), &secrets, &bad);
    if (r < 0)
        return sandbox_error_set(e, r, "%s", bad.text);
    add_generation(s, secrets);
    return 0;
}

int scrubber_new(const struct sandbox_spec *spec, struct scrubber **ret, struct sandbox_error *e)
{
    int opened = -1;
    int r = sandbox_secrets_open(spec, &opened, e);
    _cleanup_close_ int fd = opened;
    if (r < 0)
        return r;
    if (fd < 0) {
        *ret = NULL;
        return 0;
    }
    struct scrubber *s = calloc(1, sizeof(*s));
    if (!s)
        return sandbox_error_set(e, -ENOMEM, "start: out of memory; free some and try again");
    s->text = BUF_INIT(TEXT_MAX_BYTES);
    r = fill(s, spec->policy, fd, e);
    if (r < 0)
        scrubber_free(s);
    else
        *ret = s;
    return r;
}

void scrubber_free(struct scrubber *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++)
        secrets_put(s->generations[i]);
    policy_free(s->policy);
    buf_done(&s->text);
    free(s);
}

int scrubber_renew(struct scrubber *s, int fd, struct sandbox_error *e)
{
    struct secret_error bad;
    struct secrets *next;
    if (!s)
        return 0;
    char *data = secret_memory_new(RENEWAL_MAX_BYTES);
    ssize_t size = data ? pread(fd, data, RENEWAL_MAX_BYTES, 0) : -1;
    int r =
        size < 0
            ? sandbox_error_set(e, -ENOMEM, "the secret can't be read; free memory and try again")
            : secret_file_parse_one(data, (size_t)size, s->generations[s->count - 1], &next, &bad);
    if (size >= 0 && r < 0)
        sandbox_error_set(e, r, "%s", bad.text);
    secret_memory_free(data, RENEWAL_MAX_BYTES);
    if (r == 0)
        add_generation(s, next);
    return r;
}

/* ---- streams ---- */

/* Sends data through count searches, one after another; is_end: and what they have kept back. */
static int pass(struct secrets_scrub *scrubs, size_t count, const struct finder_bytes *data,
                bool is_end, struct buf *out)
{
    struct buf between = BUF_INIT(out->max_bytes);
    if (count == 0)
        return buf_append(out, data->data, data->size);
    struct buf *to = count == 1 ? out : &between;
    int r = secrets_scrub_take(scrubs, data->data, data->size, to);
    if (r == 0 && is_end)
        r = secrets_scrub_end(scrubs, to);
    const struct finder_bytes rest = {between.data ? between.data : "", between.size};
    if (r == 0 && count > 1)
        r = pass(scrubs + 1, count - 1, &rest, is_end, out);
    secret_wipe_buf(&between);
    return r;
}

static const struct finder_bytes nothing = {"", 0};

/* The first stage ends: what it kept back goes through the others. */
static int drop_stage(struct scrub_stream *s, struct buf *out)
{
    struct buf kept = BUF_INIT(out->max_bytes);
    int r = secrets_scrub_end(&s->scrubs[0], &kept);
    const struct finder_bytes rest = {kept.data ? kept.data : "", kept.size};
    s->count--;
    secrets_end(&s->exchanges[0]);
    memmove(s->scrubs, s->scrubs + 1, s->count * sizeof(s->scrubs[0]));
    memmove(s->exchanges, s->exchanges + 1, s->count * sizeof(s->exchanges[0]));
    if (r == 0)
        r = pass(s->scrubs, s->count, &rest, false, out);
    secret_wipe_buf(&kept);
    return r;
}

/* Adds stages for the generations that came since. */
static int follow(struct scrub_stream *s, struct buf *out)
{
    const struct scrubber *from = s->scrubber;
    uint64_t before = from->newest - from->count;
    int r = 0;
    for (s->generation = MAX(s->generation, before); s->generation < from->newest && r == 0;
         s->generation++) {
        if (s->count == SCRUB_GENERATIONS_MAX)
            r = drop_stage(s, out);
        begin_stage(&s->exchanges[s->count], &s->scrubs[s->count],
                    from->generations[s->generation - before]);
        s->scrubs[s->count].stream.keeps_size = s->keeps_size;
        s->count++;
    }
    return r;
}

void scrub_stream_begin(struct scrub_stream *s, struct scrubber *scrubber, bool is_awaited)
{
    *s = (struct scrub_stream){.scrubber = scrubber,
                               .early_max = is_awaited ? SCRUB_EARLY_BYTES : 0};
}

void scrub_stream_begin_file(struct scrub_stream *s, struct scrubber *scrubber)
{
    *s = (struct scrub_stream){.scrubber = scrubber, .keeps_size = true};
}

void scrub_stream_done(struct scrub_stream *s)
{
    while (s->count > 0)
        secrets_end(&s->exchanges[--s->count]);
}

/* Of what was appended since `before`, the beginning has come out. */
static void drop_early(struct scrub_stream *s, struct buf *out, size_t before)
{
    size_t size = MIN(s->early, out->size - before);
    if (size == 0)
        return;
    memmove(out->data + before, out->data + before + size, out->size - before - size);
    out->size -= size;
    s->early -= size;
}

/* The beginning of what is kept back, as far as it is nobody's secret yet. */
static int append_early(struct scrub_stream *s, struct buf *out)
{
    struct secrets_scrub copies[SCRUB_GENERATIONS_MAX];
    struct buf kept = BUF_INIT(out->max_bytes);
    memcpy(copies, s->scrubs, s->count * sizeof(copies[0]));
    int r = pass(copies, s->count, &nothing, true, &kept);
    size_t size = MIN(kept.size, s->early_max);
    if (r == 0 && size > s->early) {
        r = buf_append(out, kept.data + s->early, size - s->early);
        s->early = size;
    }
    secret_wipe_buf(&kept);
    return r;
}

int scrub_stream_take(struct scrub_stream *s, const void *data, size_t size, struct buf *out)
{
    const struct finder_bytes bytes = {data, size};
    size_t before = out->size;
    int r = follow(s, out);
    if (r == 0)
        r = pass(s->scrubs, s->count, &bytes, false, out);
    if (r == 0)
        drop_early(s, out, before);
    return r < 0 || s->early_max == 0 ? r : append_early(s, out);
}

int scrub_stream_end(struct scrub_stream *s, struct buf *out)
{
    size_t before = out->size;
    int r = pass(s->scrubs, s->count, &nothing, true, out);
    if (r == 0)
        drop_early(s, out, before);
    return r;
}

/* What becomes of text is in s->text. */
static int replace(struct scrub_stream *stream, struct scrubber *s, const char *text, size_t size)
{
    buf_reset(&s->text);
    int r = scrub_stream_take(stream, text, size, &s->text);
    if (r == 0)
        r = scrub_stream_end(stream, &s->text);
    scrub_stream_done(stream);
    return r;
}

int scrubber_replace_in_place(struct scrubber *s, char *text, size_t size)
{
    struct scrub_stream stream;
    if (size == 0)
        return 0;
    scrub_stream_begin_file(&stream, s);
    int r = replace(&stream, s, text, size);
    if (r < 0 || s->text.size != size)
        return -ENOMEM;
    memcpy(text, s->text.data, size);
    return 0;
}

const char *scrubber_replace(struct scrubber *s, const char *text, size_t *size)
{
    struct scrub_stream stream;
    if (!s || *size == 0)
        return text;
    scrub_stream_begin(&stream, s, false);
    int r = replace(&stream, s, text, *size);
    *size = r == 0 ? s->text.size : 0;
    return *size ? s->text.data : "";
}

/* What was replaced in a name makes no other name of it. */
static void keep_components(const char *before, char *name, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if ((before[i] == '/') != (name[i] == '/'))
            name[i] = before[i] == '/' ? '/' : FINDER_FILLER[0];
    for (size_t from = 0, to; from < size; from = to + 1) {
        const char *end = memchr(name + from, '/', size - from);
        to = end ? (size_t)(end - name) : size;
        bool is_dots = to - from <= 2 && !memcmp(name + from, "..", to - from);
        if (is_dots && memcmp(name + from, before + from, to - from) != 0)
            name[from] = FINDER_FILLER[0];
    }
}

int scrubber_replace_name(struct scrubber *s, char *name, size_t size)
{
    char before[SCRUB_NAME_MAX_BYTES];
    if (size > sizeof(before))
        return -ENOMEM;
    memcpy(before, name, size);
    int r = scrubber_replace_in_place(s, name, size);
    if (r == 0)
        keep_components(before, name, size);
    explicit_bzero(before, size);
    return r;
}

size_t scrubber_reach(const struct scrubber *s)
{
    size_t reach = 0;
    for (size_t i = 0; i < s->count; i++) {
        size_t longest = secrets_scrub_longest(s->generations[i]);
        reach += longest ? longest - 1 : 0;
    }
    return reach;
}
