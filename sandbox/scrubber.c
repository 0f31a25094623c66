// SPDX-License-Identifier: Apache-2.0
#include "sandbox/scrubber.h"

#include "lib/policy/policy.h"
#include "lib/secret/file.h"
#include "sandbox/secrets.h"

struct scrubber {
    struct policy *policy; /* the secrets borrow its document */
    struct secrets *secrets;
    struct secrets_exchange exchange;
    struct buf text; /* of scrubber_replace() */
};

#define TEXT_MAX_BYTES (64 * 1024 * 1024) /* a packet that is all secrets */

static int fill(struct scrubber *s, const char *document, int fd, struct sandbox_error *e)
{
    struct policy_error wrong;
    struct secret_error bad;
    s->policy = policy_parse(document, strlen(document), &wrong);
    if (!s->policy)
        return sandbox_error_set(e, -EINVAL, "%s", wrong.text);
    int r = secret_file_read(fd, policy_get_document(s->policy), &s->secrets, &bad);
    if (r < 0)
        return sandbox_error_set(e, r, "%s", bad.text);
    const struct secrets_request none = {.method = "GET", .path = "/"};
    secrets_begin(&s->exchange, s->secrets, &none);
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
    if (s->secrets)
        secrets_end(&s->exchange);
    secrets_put(s->secrets);
    policy_free(s->policy);
    buf_done(&s->text);
    free(s);
}

void scrub_stream_begin(struct scrub_stream *s, struct scrubber *scrubber, bool is_awaited)
{
    *s = (struct scrub_stream){.early_max = is_awaited ? SCRUB_EARLY_BYTES : 0};
    secrets_scrub_begin(&s->scrub, &scrubber->exchange);
}

/* Of what was appended since `before`, the beginning has come out. */
static void drop_early(struct scrub_stream *s, struct buf *out, size_t before)
{
    size_t size = MIN(s->early, out->size - before);
    memmove(out->data + before, out->data + before + size, out->size - before - size);
    out->size -= size;
    s->early -= size;
}

/* The beginning of what is kept back, as far as it is nobody's secret yet. */
static int append_early(struct scrub_stream *s, struct buf *out)
{
    struct secrets_scrub copy = s->scrub;
    struct buf kept = BUF_INIT(out->max_bytes);
    int r = secrets_scrub_end(&copy, &kept);
    size_t size = MIN(kept.size, s->early_max);
    if (r == 0 && size > s->early) {
        r = buf_append(out, kept.data + s->early, size - s->early);
        s->early = size;
    }
    buf_done(&kept);
    return r;
}

int scrub_stream_take(struct scrub_stream *s, const void *data, size_t size, struct buf *out)
{
    size_t before = out->size;
    int r = secrets_scrub_take(&s->scrub, data, size, out);
    if (r == 0 && out->size > before)
        drop_early(s, out, before);
    return r < 0 || s->early_max == 0 ? r : append_early(s, out);
}

int scrub_stream_end(struct scrub_stream *s, struct buf *out)
{
    size_t before = out->size;
    int r = secrets_scrub_end(&s->scrub, out);
    if (r == 0 && out->size > before)
        drop_early(s, out, before);
    return r;
}

const char *scrubber_replace(struct scrubber *s, const char *text, size_t *size)
{
    struct secrets_scrub scrub;
    if (!s || *size == 0)
        return text;
    buf_reset(&s->text);
    secrets_scrub_begin(&scrub, &s->exchange);
    int r = secrets_scrub_take(&scrub, text, *size, &s->text);
    if (r == 0)
        r = secrets_scrub_end(&scrub, &s->text);
    *size = r == 0 ? s->text.size : 0;
    return *size ? s->text.data : "";
}
