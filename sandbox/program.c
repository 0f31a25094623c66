// SPDX-License-Identifier: Apache-2.0
#include "sandbox/program.h"

#include <stdio.h>

static bool can_run(const char *path, char ret[static PATH_MAX])
{
    return realpath(path, ret) && access(ret, X_OK) == 0;
}

/* The directory that this program lies in. */
static int find_own_folder(char ret[static PATH_MAX], struct sandbox_error *e)
{
    ssize_t size = readlink("/proc/self/exe", ret, PATH_MAX - 1);
    if (size < 0)
        return sandbox_error_set(e, -errno, "start: /proc/self/exe: %s; mount /proc",
                                 strerror(errno));
    ret[size] = '\0';
    char *slash = strrchr(ret, '/');
    if (slash)
        *slash = '\0';
    return 0;
}

int sandbox_find_program(const char *name, const char *room, char ret[static PATH_MAX],
                         struct sandbox_error *e)
{
    char folder[PATH_MAX], path[2 * PATH_MAX];
    int r = find_own_folder(folder, e);
    if (r < 0)
        return r;
#ifdef GLOVEBOX_DEBUG
    const char *other = getenv("GLOVEBOX_LIBEXEC");
    if (other && (size_t)snprintf(path, sizeof(path), "%s/%s", other, name) < sizeof(path) &&
        can_run(path, ret))
        return 0;
#endif
    snprintf(path, sizeof(path), "%s/../libexec/glovebox/%s", folder, name);
    if (can_run(path, ret))
        return 0;
    snprintf(path, sizeof(path), "%s/../%s/%s", folder, room, name);
    if (can_run(path, ret))
        return 0;
    return sandbox_error_set(e, -ENOENT,
                             "start: no %s in %s/../libexec/glovebox; install Glovebox again, or "
                             "build it with ./quickstart",
                             name, folder);
}
