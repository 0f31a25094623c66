// SPDX-License-Identifier: Apache-2.0
/* What the server is given of files, at its start and again at SIGHUP. */
#include "serve/serve_parts.h"

#include "lib/base/buf.h"

#include <fcntl.h>
#include <sys/stat.h>

#define TLS_FILE_MAX (LAUNCH_DATA_MAX / 2 - 1) /* both in one message, with a NUL between */

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

/* ---- TLS ---- */

/* Others must not be able to read what only the server may have. */
static int check_private(int fd, const char *path, struct sandbox_error *e)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return sandbox_error_set(e, -errno, "--tls-key '%s': %s", path, strerror(errno));
    if (st.st_mode & S_IRWXO)
        return sandbox_error_set(e, -EPERM,
                                 "--tls-key '%s': everybody can read it; make it yours alone: "
                                 "chmod 600",
                                 path);
    return 0;
}

/* Appends a file that is text, and not too long. */
static int append_file(struct buf *to, const char *option, const char *path, bool is_private,
                       struct sandbox_error *e)
{
    char piece[4096];
    ssize_t n = 0;
    size_t before = to->size;
    _cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    int r = fd >= 0 && is_private ? check_private(fd, path, e) : 0;
    if (r < 0)
        return r;
    while (fd >= 0 && to->size - before <= TLS_FILE_MAX && (n = read(fd, piece, sizeof(piece))) > 0)
        buf_append(to, piece, (size_t)n);
    int error = errno;
    explicit_bzero(piece, sizeof(piece));
    if (fd < 0 || n < 0)
        return sandbox_error_set(e, -error, "%s '%s': %s; give a file that can be read", option,
                                 path, strerror(error));
    size_t size = to->size - before;
    if (size == 0 || size > TLS_FILE_MAX || memchr(to->data + before, '\0', size))
        return sandbox_error_set(e, -EINVAL, "%s '%s': that is no PEM, or more than %d KiB of it",
                                 option, path, TLS_FILE_MAX / 1024);
    return 0;
}

static int send_tls(const struct serve *s, const struct server_child *c, struct sandbox_error *e)
{
    struct buf both = BUF_INIT(LAUNCH_DATA_MAX);
    int r = append_file(&both, "--tls-cert", s->tls_certificate, false, e);
    buf_append(&both, "", 1);
    if (r == 0)
        r = append_file(&both, "--tls-key", s->tls_key, true, e);
    if (r == 0 && both.failed)
        r = sandbox_error_set(e, -ENOMEM, "serve: no memory for the certificate; free some");
    if (r == 0) {
        const struct launch_packet p = {.type = LAUNCH_TLS, .data_size = (uint32_t)both.size};
        r = server_child_send(c, &p, both.data, -1);
        if (r < 0)
            sandbox_error_set(e, r, "serve: the server takes no certificate: %s", strerror(-r));
    }
    buf_wipe(&both);
    return r;
}

bool settings_exist(const struct serve *s)
{
    return s->log_path || s->tls_certificate;
}

int settings_send(const struct serve *s, const struct server_child *c, struct sandbox_error *e)
{
    int r = s->log_path ? send_log(s, c, e) : 0;
    return r == 0 && s->tls_certificate ? send_tls(s, c, e) : r;
}
