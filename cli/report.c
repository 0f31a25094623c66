// SPDX-License-Identifier: Apache-2.0
#include "cli/report.h"

#include "cli/report_limits.h"
#include "lib/text/base64.h"
#include "lib/text/shown.h"
#include "lib/text/wrap.h"

#include <jansson.h>
#include <string.h>

/* Enough to tell nanoseconds apart in runs of a day, and without the noise of binary fractions. */
#define NUMBER_DIGITS 12
/* Nothing here is larger than what was kept of the streams and what the renderings make of it. */
#define TEXT_MAX_BYTES SIZE_MAX

static void json_freep(json_t **j)
{
    json_decref(*j);
}

/* Null: nobody knows. */
static json_t *make_ms(int64_t ns)
{
    return ns < 0 ? json_null() : json_real((double)(ns / NSEC_PER_USEC) / 1000.0);
}

static json_t *make_signal(int sig)
{
    const char *name = sig > 0 ? sigabbrev_np(sig) : NULL;
    if (sig <= 0)
        return json_null();
    return name ? json_sprintf("SIG%s", name) : json_sprintf("SIG%d", sig);
}

/* Frees b. NULL when it failed, which json_object_set_new() refuses. */
static json_t *make_text(struct buf *b)
{
    json_t *text = b->failed ? NULL : json_stringn(b->data ? b->data : "", b->size);
    buf_done(b);
    return text;
}

static json_t *make_valid(const struct text_excerpt *e)
{
    struct buf b = BUF_INIT(TEXT_MAX_BYTES);
    text_excerpt_append_valid(e, &b);
    return make_text(&b);
}

static json_t *make_base64(const struct text_excerpt *e)
{
    struct buf b = BUF_INIT(TEXT_MAX_BYTES);
    text_base64_append(&b, e->kept.data, e->kept.size);
    return make_text(&b);
}

/* NAME_SUFFIX. Takes the value. */
static int set_member(json_t *object, const char *name, const char *suffix, json_t *value)
{
    char key[32];
    snprintf(key, sizeof(key), "%s%s", name, suffix);
    return json_object_set_new(object, key, value);
}

static int set_stream(json_t *object, const char *name, const struct text_excerpt *e,
                      bool has_bytes)
{
    bool is_cut = e->omitted_bytes > 0;
    int r = 0;
    r |= set_member(object, name, "", make_valid(e));
    r |= set_member(object, name, "_bytes", json_integer((json_int_t)e->total_bytes));
    r |= set_member(object, name, "_truncated", json_boolean(is_cut));
    r |= set_member(object, name, "_omitted_bytes", json_integer((json_int_t)e->omitted_bytes));
    r |= set_member(object, name, "_omitted_at",
                    is_cut ? json_integer((json_int_t)e->gap_at) : json_null());
    if (has_bytes)
        r |= set_member(object, name, "_base64", make_base64(e));
    return r ? -ENOMEM : 0;
}

/* A file name in it need not be valid UTF-8. */
static json_t *make_message(const char *text)
{
    char line[2 * SANDBOX_ERROR_MAX_BYTES];
    if (!text[0])
        return json_null();
    return json_stringn(line, text_line(text, strlen(text), line, sizeof(line)));
}

static int set_outcome(json_t *object, const struct sandbox_outcome *o)
{
    int r = 0;
    r |= json_object_set_new(object, "cause", json_string(sandbox_cause_name(o->cause)));
    r |= json_object_set_new(object, "status", json_integer(o->exit_status));
    r |= json_object_set_new(object, "exit_code",
                             o->exit_code < 0 ? json_null() : json_integer(o->exit_code));
    r |= json_object_set_new(object, "signal", make_signal(o->signal));
    r |= json_object_set_new(object, "message", make_message(o->message.text));
    r |= json_object_set_new(object, "wall_ms", make_ms(o->wall_ns));
    r |= json_object_set_new(object, "cpu_user_ms", make_ms(o->user_ns));
    r |= json_object_set_new(object, "cpu_system_ms", make_ms(o->system_ns));
    r |= json_object_set_new(object, "peak_memory_bytes",
                             o->user_ns < 0 || o->peak_memory_bytes == 0
                                 ? json_null()
                                 : json_integer(o->peak_memory_bytes));
    return r ? -ENOMEM : 0;
}

/* The message may name what a program chose, so that it is wrapped too. */
static int append_model(const struct report *r, struct buf *b)
{
    const struct sandbox_outcome *o = r->outcome;
    struct text_capture capture;
    struct text_excerpt message;
    text_capture_init(&capture, sizeof(o->message.text));
    text_capture_take(&capture, o->message.text, strlen(o->message.text));
    int error = text_capture_end(&capture, &message);
    if (error < 0)
        return error;
    struct text_block blocks[] = {
        {"stdout", r->output}, {"stderr", r->errors}, {"message", &message}};
    buf_printf(b, "<sandbox-result cause=\"%s\" status=\"%d\"/>\n", sandbox_cause_name(o->cause),
               o->exit_status);
    error = text_wrap(blocks, message.total_bytes > 0 ? 3 : 2, b);
    text_excerpt_done(&message);
    return error;
}

static int set_model(json_t *object, const struct report *r)
{
    struct buf b = BUF_INIT(TEXT_MAX_BYTES);
    int error = append_model(r, &b);
    if (error < 0) {
        buf_done(&b);
        return error;
    }
    return json_object_set_new(object, "for_model", make_text(&b)) ? -ENOMEM : 0;
}

int report_write_json(FILE *out, const struct report *r)
{
    __attribute__((cleanup(json_freep))) json_t *object = json_object();
    if (!object)
        return -ENOMEM;
    const char *name = r->outcome->name[0] ? r->outcome->name : r->name;
    if (name && json_object_set_new(object, "name", json_string(name)) < 0)
        return -ENOMEM;
    int error = set_outcome(object, r->outcome);
    if (error == 0)
        error = report_set_limits(object, r->outcome);
    if (error == 0)
        error = set_stream(object, "stdout", r->output, r->has_bytes);
    if (error == 0)
        error = set_stream(object, "stderr", r->errors, r->has_bytes);
    if (error == 0 && r->has_model)
        error = set_model(object, r);
    if (error < 0)
        return error;
    errno = 0;
    size_t flags = JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(NUMBER_DIGITS);
    if (json_dumpf(object, out, flags) < 0 || fputc('\n', out) == EOF || fflush(out) == EOF)
        return errno ? -errno : -EIO;
    return 0;
}

int report_write_model(FILE *out, const struct report *r)
{
    struct buf b = BUF_INIT(TEXT_MAX_BYTES);
    int error = append_model(r, &b);
    errno = 0;
    if (error == 0 && (fwrite(b.data, 1, b.size, out) < b.size || fflush(out) == EOF))
        error = errno ? -errno : -EIO;
    buf_done(&b);
    return error;
}
