// SPDX-License-Identifier: Apache-2.0
#include "cli/report.h"

#include <jansson.h>
#include <string.h>

/* Enough to tell nanoseconds apart in runs of a day, and without the noise of binary fractions. */
#define NUMBER_DIGITS 12

static void json_freep(json_t **j)
{
    json_decref(*j);
}

static json_t *make_ms(int64_t ns)
{
    return json_real((double)(ns / NSEC_PER_USEC) / 1000.0);
}

static json_t *make_signal(int sig)
{
    const char *name = sig > 0 ? sigabbrev_np(sig) : NULL;
    if (sig <= 0)
        return json_null();
    return name ? json_sprintf("SIG%s", name) : json_sprintf("SIG%d", sig);
}

/* NAME, NAME_bytes and NAME_truncated. json_object_set_new() takes the value and refuses a NULL. */
static int set_stream(json_t *object, const char *name, const struct capture *c)
{
    struct buf text;
    char key[32];
    bool truncated;
    int r = capture_text(c, &text, &truncated);
    if (r < 0)
        return r;
    r |= json_object_set_new(object, name, json_stringn(text.data ? text.data : "", text.size));
    buf_done(&text);
    snprintf(key, sizeof(key), "%s_bytes", name);
    r |= json_object_set_new(object, key, json_integer((json_int_t)c->total_bytes));
    snprintf(key, sizeof(key), "%s_truncated", name);
    r |= json_object_set_new(object, key, json_boolean(truncated));
    return r ? -ENOMEM : 0;
}

/* A file name in it need not be valid UTF-8. */
static json_t *make_message(const char *text)
{
    char escaped[4 * SANDBOX_ERROR_MAX_BYTES];
    size_t size;
    if (!text[0])
        return json_null();
    sandbox_text_escape(text, strlen(text), escaped, sizeof(escaped), &size);
    return json_string(escaped);
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
    r |= json_object_set_new(object, "peak_memory_bytes", json_integer(o->peak_memory_bytes));
    return r ? -ENOMEM : 0;
}

int report_write(FILE *out, const char *name, const struct sandbox_outcome *outcome,
                 const struct capture *output, const struct capture *errors)
{
    __attribute__((cleanup(json_freep))) json_t *object = json_object();
    if (!object)
        return -ENOMEM;
    if (name && json_object_set_new(object, "name", json_string(name)) < 0)
        return -ENOMEM;
    if (set_outcome(object, outcome) < 0 || set_stream(object, "stdout", output) < 0 ||
        set_stream(object, "stderr", errors) < 0)
        return -ENOMEM;
    errno = 0;
    if (json_dumpf(object, out, JSON_COMPACT | JSON_REAL_PRECISION(NUMBER_DIGITS)) < 0 ||
        fputc('\n', out) == EOF || fflush(out) == EOF)
        return errno ? -errno : -EIO;
    return 0;
}
