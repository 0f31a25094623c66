// SPDX-License-Identifier: Apache-2.0
/*
 * A value that was replaced while the sandbox runs may still come back, so the secrets as they were
 * are kept: each generation is searched for in turn, in what the one before it has left.
 */
#include "sandbox/scrubber.h"

#include "lib/policy/policy.h"
#include "lib/policy/same.h"
#include "lib/secret/file.h"
#include "lib/secret/pages.h"
#include "sandbox/secrets.h"

#define TEXT_MAX_BYTES    (64 * 1024 * 1024) /* a packet that is all secrets */
#define RENEWAL_MAX_BYTES 16384              /* more than one value's file has */

/* Secrets, and the document that they refer to: streams have them for as long as they search. */
struct scrub_generation {
    unsigned references;
    struct scrub_policy {
        unsigned references;
        struct policy *policy;
    } * policy;
    struct secrets *secrets; /* NULL: there are none */
    uint64_t number;         /* 0: it is not searched for */
};

struct scrubber {
    /* The last ones, the oldest first, and one that is unsettled. */
    struct scrub_generation *generations[SCRUB_GENERATIONS_MAX + 1];
    size_t count;
    uint64_t newest; /* number of the last one that came, from 1 */
    struct scrub_generation *in_force, *unsettled;
    struct buf text; /* of scrubber_replace() */
};

/* ---- generations ---- */

static void policy_put(struct scrub_policy *p)
{
    if (!p || --p->references > 0)
        return;
    policy_free(p->policy);
    free(p);
}

static struct scrub_generation *generation_get(struct scrub_generation *g)
{
    g->references++;
    return g;
}

static void generation_put(struct scrub_generation *g)
{
    if (!g || --g->references > 0)
        return;
    secrets_put(g->secrets);
    policy_put(g->policy);
    free(g);
}

static int no_memory(struct sandbox_error *e)
{
    return sandbox_error_set(e, -ENOMEM, "secrets: out of memory; free some and try again");
}

/* One of a policy, without secrets yet. */
static int generation_parse(const char *document, size_t size, struct scrub_generation **ret,
                            struct sandbox_error *e)
{
    int r = -ENOMEM;
    struct policy_error wrong;
    struct scrub_generation *g = calloc(1, sizeof(*g));
    struct scrub_policy *p = calloc(1, sizeof(*p));
    if (g && p)
        p->policy = policy_parse(document, size, &wrong);
    if (!g || !p || !p->policy) {
        r = g && p ? sandbox_error_set(e, -EINVAL, "%s", wrong.text) : no_memory(e);
        free(p);
        free(g);
        return r;
    }
    p->references = g->references = 1;
    g->policy = p;
    *ret = g;
    return 0;
}

/* Takes secrets over, which refer to the policy of old. */
static struct scrub_generation *generation_like(struct scrub_generation *old,
                                                struct secrets *secrets)
{
    struct scrub_generation *g = calloc(1, sizeof(*g));
    if (!g) {
        secrets_put(secrets);
        return NULL;
    }
    old->policy->references++;
    *g = (struct scrub_generation){.references = 1, .policy = old->policy, .secrets = secrets};
    return g;
}

static const struct policy_document *document_of(const struct scrub_generation *g)
{
    return policy_get_document(g->policy->policy);
}

static void drop_generation(struct scrubber *s, size_t i)
{
    generation_put(s->generations[i]);
    s->count--;
    memmove(s->generations + i, s->generations + i + 1, (s->count - i) * sizeof(s->generations[0]));
}

/* g is searched for from now on. */
static void add_generation(struct scrubber *s, struct scrub_generation *g)
{
    if (!g->secrets)
        return;
    g->number = ++s->newest;
    s->generations[s->count++] = generation_get(g);
}

/* g came into force: what it has of others is not searched for twice. */
static void make_room(struct scrubber *s, const struct scrub_generation *g)
{
    for (size_t i = s->count; i-- > 0;)
        if (s->generations[i] != g && secrets_cover(g->secrets, s->generations[i]->secrets))
            drop_generation(s, i);
    if (s->count > SCRUB_GENERATIONS_MAX)
        drop_generation(s, 0);
}

static void forget_generation(struct scrubber *s, const struct scrub_generation *g)
{
    for (size_t i = s->count; i-- > 0;)
        if (s->generations[i] == g)
            drop_generation(s, i);
}

/* ---- the secrets ---- */

static int fill(struct scrubber *s, const char *document, int fd, struct sandbox_error *e)
{
    struct secret_error bad;
    int r = generation_parse(document, strlen(document), &s->in_force, e);
    if (r < 0 || fd < 0)
        return r;
    r = secret_file_read(fd, document_of(s->in_force), &s->in_force->secrets, &bad);
    if (r < 0)
        return sandbox_error_set(e, r, "%s", bad.text);
    add_generation(s, s->in_force);
    return 0;
}

int scrubber_new(const struct sandbox_spec *spec, struct scrubber **ret, struct sandbox_error *e)
{
    int opened = -1;
    int r = sandbox_secrets_open(spec, &opened, e);
    _cleanup_close_ int fd = opened;
    if (r < 0)
        return r;
    if (!spec->policy) {
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
    while (s->count > 0)
        drop_generation(s, s->count - 1);
    generation_put(s->in_force);
    generation_put(s->unsettled);
    buf_done(&s->text);
    free(s);
}

bool scrubber_is_idle(const struct scrubber *s)
{
    return !s || s->newest == 0;
}

/* Takes g over. */
static void begin_change(struct scrubber *s, struct scrub_generation *g)
{
    scrubber_settle(s, false);
    s->unsettled = g;
    add_generation(s, g);
}

void scrubber_settle(struct scrubber *s, bool is_in_force)
{
    struct scrub_generation *g = s ? s->unsettled : NULL;
    if (!g)
        return;
    s->unsettled = NULL;
    if (is_in_force) {
        generation_put(s->in_force);
        s->in_force = g;
        make_room(s, g);
    } else {
        forget_generation(s, g);
        generation_put(g);
    }
}

const struct secrets *scrubber_secrets(const struct scrubber *s, bool is_unsettled)
{
    const struct scrub_generation *g = is_unsettled ? s->unsettled : s->in_force;
    return g ? g->secrets : NULL;
}

static int renew(struct scrubber *s, const char *data, size_t size, struct sandbox_error *e)
{
    struct secret_error bad;
    struct secrets *next;
    if (!s->in_force->secrets)
        return sandbox_error_set(e, -ENOENT,
                                 "secret: the sandbox has none; add it with NAME=SOURCE@HOST");
    int r = secret_file_parse_one(data, size, s->in_force->secrets, &next, &bad);
    if (r < 0)
        return sandbox_error_set(e, r, "%s", bad.text);
    struct scrub_generation *g = generation_like(s->in_force, next);
    if (!g)
        return no_memory(e);
    begin_change(s, g);
    return 0;
}

int scrubber_renew(struct scrubber *s, int fd, struct sandbox_error *e)
{
    char *data = secret_memory_new(RENEWAL_MAX_BYTES);
    ssize_t size = data ? pread(fd, data, RENEWAL_MAX_BYTES, 0) : -1;
    int r = size < 0 ? no_memory(e) : renew(s, data, (size_t)size, e);
    secret_memory_free(data, RENEWAL_MAX_BYTES);
    return r;
}

int scrubber_change(struct scrubber *s, const char *document, size_t size, const void *values,
                    size_t value_bytes, struct sandbox_error *e)
{
    struct secret_error bad;
    struct scrub_generation *g;
    int r = generation_parse(document, size, &g, e);
    if (r < 0)
        return r;
    if (!policy_have_same_secrets(document_of(s->in_force), document_of(g))) {
        r = secret_file_parse_more(values, value_bytes, document_of(g), s->in_force->secrets,
                                   &g->secrets, &bad);
        if (r < 0)
            sandbox_error_set(e, r, "%s", bad.text);
        else
            r = 1;
    }
    if (r > 0)
        begin_change(s, g);
    else
        generation_put(g);
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

/* The i-th stage ends: what it kept back goes through those behind it. */
static int drop_stage(struct scrub_stream *s, size_t i, struct buf *out)
{
    struct buf kept = BUF_INIT(out->max_bytes);
    int r = secrets_scrub_end(&s->scrubs[i], &kept);
    const struct finder_bytes rest = {kept.data ? kept.data : "", kept.size};
    secrets_end(&s->exchanges[i]);
    generation_put(s->generations[i]);
    size_t behind = --s->count - i;
    memmove(s->scrubs + i, s->scrubs + i + 1, behind * sizeof(s->scrubs[0]));
    memmove(s->exchanges + i, s->exchanges + i + 1, behind * sizeof(s->exchanges[0]));
    memmove(s->generations + i, s->generations + i + 1, behind * sizeof(s->generations[0]));
    if (r == 0)
        r = pass(s->scrubs + i, behind, &rest, false, out);
    secret_wipe_buf(&kept);
    return r;
}

/* One that is not searched for any more, as there are newer ones that have all of it. */
static bool is_gone(const struct scrubber *from, const struct scrub_generation *g)
{
    for (size_t i = 0; i < from->count; i++)
        if (from->generations[i] == g)
            return false;
    return true;
}

static void add_stage(struct scrub_stream *s, struct scrub_generation *g)
{
    const struct secrets_request none = {.method = "GET", .path = "/"};
    size_t i = s->count++;
    s->generations[i] = generation_get(g);
    secrets_begin(&s->exchanges[i], g->secrets, &none);
    secrets_scrub_begin(&s->scrubs[i], &s->exchanges[i]);
    s->scrubs[i].stream.keeps_size = s->keeps_size;
}

/*
 * Adds stages for the generations that came since, and then ends those of generations that are
 * gone: what these kept back may be the beginning of a value of the new ones.
 */
static int follow(struct scrub_stream *s, struct buf *out)
{
    const struct scrubber *from = s->scrubber;
    int r = 0;
    for (size_t i = 0; i < from->count && r == 0; i++) {
        if (from->generations[i]->number <= s->newest)
            continue;
        s->newest = from->generations[i]->number;
        add_stage(s, from->generations[i]);
        for (size_t k = s->count; k-- > 0 && r == 0;)
            if (is_gone(from, s->generations[k]))
                r = drop_stage(s, k, out);
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

void scrub_stream_begin_connection(struct scrub_stream *s, struct scrubber *scrubber)
{
    *s = (struct scrub_stream){
        .scrubber = scrubber, .keeps_size = true, .early_max = SCRUB_EARLY_BYTES};
}

void scrub_stream_done(struct scrub_stream *s)
{
    while (s->count > 0) {
        secrets_end(&s->exchanges[--s->count]);
        generation_put(s->generations[s->count]);
    }
}

/* Of what was appended since `before`, the beginning has come out. */
static void drop_early(struct scrub_stream *s, struct buf *out, size_t before)
{
    size_t size = MIN(s->early, out->size - before);
    if (size == 0)
        return;
    memmove(out->data + before, out->data + before + size, out->size - before - size);
    out->size -= size;
    out->data[out->size] = '\0';
    s->early -= size;
}

/* The first bytes, at most so many, of what is kept back, as far as they have not come out yet. */
static int append_early(struct scrub_stream *s, size_t max, struct buf *out)
{
    struct secrets_scrub copies[SCRUB_STAGES_MAX];
    struct buf kept = BUF_INIT(out->max_bytes);
    memcpy(copies, s->scrubs, s->count * sizeof(copies[0]));
    int r = pass(copies, s->count, &nothing, true, &kept);
    size_t size = MIN(kept.size, max);
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
    return r < 0 || s->early_max == 0 ? r : append_early(s, s->early_max, out);
}

int scrub_stream_let_out(struct scrub_stream *s, struct buf *out)
{
    return append_early(s, SIZE_MAX, out);
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
    if (scrubber_is_idle(s) || *size == 0)
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
        size_t longest = secrets_scrub_longest(s->generations[i]->secrets);
        reach += longest ? longest - 1 : 0;
    }
    return reach;
}
