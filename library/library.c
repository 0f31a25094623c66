// SPDX-License-Identifier: Apache-2.0
#include "library/library.h"

#include "lib/text/shown.h"

#include <dlfcn.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

_public_ const char *glovebox_version(void)
{
    return GLOVEBOX_VERSION;
}

int library_fail(struct glovebox_error *e, int code, const struct sandbox_error *from)
{
    if (!e)
        return code;
    e->code = code;
    text_line(from->text, strlen(from->text), e->text, sizeof(e->text));
    return code;
}

int library_fail_with(struct glovebox_error *e, int code, const char *format, ...)
{
    struct sandbox_error s;
    va_list args;
    va_start(args, format);
    vsnprintf(s.text, sizeof(s.text), format, args);
    va_end(args);
    return library_fail(e, code, &s);
}

int64_t library_now_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000 + ts.tv_nsec / NSEC_PER_MSEC;
}

int64_t library_deadline(int timeout_ms)
{
    return timeout_ms < 0 ? INT64_MAX : library_now_ms() + timeout_ms;
}

int library_left(int64_t deadline_ms)
{
    if (deadline_ms == INT64_MAX)
        return -1;
    return (int)MAX(deadline_ms - library_now_ms(), (int64_t)0);
}

int library_wait(int fd, int64_t deadline_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int n;
    do
        n = poll(&p, 1, library_left(deadline_ms));
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n == 0 ? -EAGAIN : 0;
}

/* ---- where glovebox is ---- */

static bool can_run(const char *folder, size_t size, const char *program, char ret[static PATH_MAX])
{
    return size < PATH_MAX &&
           snprintf(ret, PATH_MAX, "%.*s%s", (int)size, folder, program) < PATH_MAX &&
           access(ret, X_OK) == 0;
}

/* The folder that this library lies in; or the program that it is part of. */
static bool find_own_folder(char ret[static PATH_MAX])
{
    Dl_info info;
    if (!dladdr((void *)glovebox_version, &info) || !info.dli_fname ||
        !realpath(info.dli_fname, ret))
        return false;
    *strrchr(ret, '/') = '\0';
    return true;
}

/* PREFIX/lib/libglovebox.so, or PREFIX/lib/x86_64-linux-gnu/libglovebox.so; and in a build. */
static bool find_beside(const char *folder, char ret[static PATH_MAX])
{
    size_t size = strlen(folder);
    for (int i = 0; i < 3 && size > 0; i++) {
        if (can_run(folder, size, "/bin/glovebox", ret) ||
            can_run(folder, size, "/cli/glovebox", ret))
            return true;
        while (size > 0 && folder[--size] != '/')
            ;
    }
    return false;
}

int library_find_program(char ret[static PATH_MAX], struct sandbox_error *e)
{
    char folder[PATH_MAX];
    /* Not for a program that has more rights than who starts it. */
    const char *named = secure_getenv("GLOVEBOX_PROGRAM");
    if (named && named[0])
        return can_run(named, strlen(named), "", ret)
                   ? 0
                   : sandbox_error_set(e, -ENOENT,
                                       "GLOVEBOX_PROGRAM: %s can't be executed; correct it, or "
                                       "take it out",
                                       named);
    if ((find_own_folder(folder) && find_beside(folder, ret)) ||
        can_run(GLOVEBOX_BINDIR, strlen(GLOVEBOX_BINDIR), "/glovebox", ret))
        return 0;
    return sandbox_error_set(e, -ENOENT,
                             "glovebox: not in " GLOVEBOX_BINDIR
                             "; install it, or say where it is in GLOVEBOX_PROGRAM");
}
