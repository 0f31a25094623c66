// SPDX-License-Identifier: Apache-2.0
/* What the server is given of files, at its start and again at SIGHUP. */
#include "serve/serve_parts.h"

#include <fcntl.h>

/*
 * Standard error anew where that is possible: not to wait for a reader is set for all who hold the
 * same description.
 */
static int open_stderr(void)
{
    int fd = open("/proc/self/fd/2", O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return fd >= 0 ? fd : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
}

static int open_log(const char *path, struct sandbox_error *e)
{
    int fd =
        !strcmp(path, "-")
            ? open_stderr()
            : open(path,
                   O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC,
                   0600);
    return fd >= 0 ? fd
                   : sandbox_error_set(e, -errno,
                                       "--log-file '%s': %s; give a file that can be written", path,
                                       strerror(errno));
}

static int send_log(const struct serve *s, const struct server_child *c, struct sandbox_error *e)
{
    const struct launch_packet p = {.type = LAUNCH_LOG,
                                    .kind = s->logs_text ? LAUNCH_TEXT : LAUNCH_JSON};
    _cleanup_close_ int fd = open_log(s->log_path, e);
    if (fd < 0)
        return fd;
    int r = server_child_send(c, &p, NULL, fd);
    return r < 0 ? sandbox_error_set(e, r, "serve: the server takes no log: %s", strerror(-r)) : 0;
}

bool settings_exist(const struct serve *s)
{
    return s->log_path != NULL;
}

int settings_send(const struct serve *s, const struct server_child *c, struct sandbox_error *e)
{
    return s->log_path ? send_log(s, c, e) : 0;
}
