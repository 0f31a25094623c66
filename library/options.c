// SPDX-License-Identifier: Apache-2.0
/*
 * What a sandbox is to be, and making it: by the program glovebox (sandbox/create_ask.h).
 */
#include "library/library.h"
#include "sandbox/create_ask.h"
#include "sandbox/exec_ask.h"

#include <stdio.h>

_Static_assert(GLOVEBOX_NAME_SIZE == SANDBOX_NAME_MAX_BYTES + 1, "one length of names");
_Static_assert(GLOVEBOX_ERROR_SIZE == SANDBOX_ERROR_MAX_BYTES, "one length of sentences");

struct glovebox_options {
    struct buf text; /* as create_ask() has it */
    size_t count;
};

struct glovebox_creation {
    struct create_request request;
};

_public_ struct glovebox_options *glovebox_options_new(void)
{
    struct glovebox_options *o = calloc(1, sizeof(*o));
    if (o)
        o->text = BUF_INIT(CREATE_OPTIONS_MAX_BYTES);
    return o;
}

_public_ void glovebox_options_free(struct glovebox_options *o)
{
    if (!o)
        return;
    /* A secret may be among them word for word. */
    buf_wipe(&o->text);
    free(o);
}

_public_ int glovebox_options_set(struct glovebox_options *o, const char *name, const char *value,
                                  struct glovebox_error *e)
{
    size_t name_size = strlen(name), value_size = value ? strlen(value) + 1 : 0;
    if (!create_is_option_name(name, name_size) || name_size > 64)
        return library_fail_with(e, -EINVAL,
                                 "'%.64s': no option is called so; write it as "
                                 "glovebox-create(1) does, without the dashes",
                                 name);
    if (o->count >= CREATE_OPTIONS_MAX || value_size > CREATE_OPTIONS_MAX_BYTES ||
        o->text.size + name_size + 1 + value_size > CREATE_OPTIONS_MAX_BYTES)
        return library_fail_with(e, -E2BIG,
                                 "%s: more options than can be passed on; pass large "
                                 "data in a file",
                                 name);
    char *to = buf_room(&o->text, name_size + 1 + value_size);
    if (!to)
        return library_fail_with(e, -ENOMEM, "%s: out of memory; free some and try again", name);
    memcpy(to, name, name_size);
    to[name_size] = value ? '=' : '\0';
    if (value)
        memcpy(to + name_size + 1, value, value_size);
    buf_extend(&o->text, name_size + 1 + value_size);
    o->count++;
    return 0;
}

static int begin(const struct glovebox_options *o, struct create_request *ret,
                 struct glovebox_error *e)
{
    static const struct buf none;
    char program[PATH_MAX];
    struct sandbox_error s;
    int r = library_find_program(program, &s);
    if (r == 0)
        r = create_ask(program, o ? &o->text : &none, ret, &s);
    return r < 0 ? library_fail(e, r, &s) : 0;
}

/* -EAGAIN, or it is over. */
static int end(struct create_request *request, char name[GLOVEBOX_NAME_SIZE], int64_t deadline_ms,
               struct glovebox_error *e)
{
    struct sandbox_error s;
    for (;;) {
        int r = create_ask_end(request, name, &s);
        if (r != -EAGAIN)
            return r < 0 ? library_fail(e, r, &s) : r;
        r = library_wait(request->pipe, deadline_ms);
        if (r < 0)
            return library_fail_with(e, r, "create: it is not known yet; call again");
    }
}

_public_ int glovebox_create(const struct glovebox_options *o, char name[GLOVEBOX_NAME_SIZE],
                             struct glovebox_error *e)
{
    struct create_request request;
    int r = begin(o, &request, e);
    return r < 0 ? r : end(&request, name, INT64_MAX, e);
}

_public_ int glovebox_create_begin(const struct glovebox_options *o, struct glovebox_creation **ret,
                                   struct glovebox_error *e)
{
    struct glovebox_creation *c = malloc(sizeof(*c));
    if (!c)
        return library_fail_with(e, -ENOMEM, "create: out of memory; free some and try again");
    int r = begin(o, &c->request, e);
    if (r < 0)
        free(c);
    else
        *ret = c;
    return r;
}

_public_ int glovebox_creation_fd(const struct glovebox_creation *c)
{
    return c->request.pipe;
}

_public_ int glovebox_create_end(struct glovebox_creation *c, char name[GLOVEBOX_NAME_SIZE],
                                 int timeout_ms, struct glovebox_error *e)
{
    int r = end(&c->request, name, library_deadline(timeout_ms), e);
    if (c->request.pipe < 0)
        free(c);
    return r;
}
