// SPDX-License-Identifier: Apache-2.0
#include "cli/server_ask.h"

#include "lib/base/buf.h"
#include "lib/base/client.h"
#include "sandbox/memory_file.h"
#include "sandbox/program.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEFAULT_URL "http://127.0.0.1:3000"
#define URL_MAX     2048
#define JSON_FLAGS  (JSON_REJECT_DUPLICATES | JSON_DECODE_ANY)

extern char **environ;

/* ---- the order ---- */

static int read_key_file(const char *path, char *ret, size_t size, struct sandbox_error *e)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, ret, size - 1);
    if (n < 0)
        return sandbox_error_set(e, -errno, "--api-key-file '%s': %s; give a file that can be read",
                                 path, strerror(errno));
    while (n > 0 && isspace((unsigned char)ret[n - 1]))
        n--;
    ret[n] = '\0';
    return 0;
}

/* A key is one line of a field: another text would be another field. */
static bool is_key(const char *text)
{
    size_t size = strlen(text), i = 0;
    while (i < size && text[i] > ' ' && text[i] < 0x7f)
        i++;
    return size > 0 && size <= CLIENT_KEY_MAX && i == size;
}

static int choose_key(const struct server_place *place, char ret[CLIENT_KEY_MAX + 2],
                      struct sandbox_error *e)
{
    const char *given = getenv("E2B_API_KEY");
    int r = place->key_file ? read_key_file(place->key_file, ret, CLIENT_KEY_MAX + 2, e) : 0;
    if (r < 0)
        return r;
    if (!place->key_file && (!given || !*given))
        return sandbox_error_set(e, -ENOKEY,
                                 "no API key; set E2B_API_KEY to the one that glovebox serve "
                                 "printed, or give --api-key-file");
    if (!place->key_file)
        snprintf(ret, CLIENT_KEY_MAX + 2, "%s", given);
    if (!is_key(ret))
        return sandbox_error_set(e, -EINVAL, "%s: no API key in it; write e2b_ and 40 of 0-9 a-f",
                                 place->key_file ? place->key_file : "E2B_API_KEY");
    return 0;
}

static int choose_url(const struct server_place *place, const char *path, char ret[URL_MAX],
                      struct sandbox_error *e)
{
    const char *given = getenv("E2B_API_URL");
    const char *url = place->url ? place->url : given && *given ? given : DEFAULT_URL;
    size_t size = strlen(url);
    while (size > 0 && url[size - 1] == '/')
        size--;
    int r = snprintf(ret, URL_MAX, "%.*s%s", (int)MIN(size, (size_t)URL_MAX), url, path);
    return r < URL_MAX
               ? 0
               : sandbox_error_set(e, -EINVAL, "the server's URL is too long; give a shorter one");
}

/* A file with what the client reads, or negative errno. */
static int make_order(const struct server_place *place, const json_t *body, struct sandbox_error *e)
{
    char key[CLIENT_KEY_MAX + 2];
    struct buf order = BUF_INIT(CLIENT_KEY_MAX + 1 + CLIENT_CONTENT_MAX);
    int fd = -1, r = choose_key(place, key, e);
    if (r == 0) {
        char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
        buf_printf(&order, "%s\n%s", key, text ? text : "");
        free(text);
        fd =
            order.failed || (body && !text) ? -1 : memory_file_new("order", order.data, order.size);
        if (fd < 0)
            r = sandbox_error_set(e, -ENOMEM, "out of memory; free some and try again");
    }
    explicit_bzero(key, sizeof(key));
    buf_wipe(&order);
    return r < 0 ? r : fd;
}

/* ---- the client ---- */

/* 0 and *ret_pid, or a positive errno. */
static int spawn(const char *program, char *const arguments[], int input, int output,
                 pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error)
        return error;
    error = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    if (!error)
        error = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (!error)
        error = posix_spawn(ret_pid, program, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static int read_all(int fd, struct buf *to)
{
    for (;;) {
        char *room = buf_room(to, 65536);
        ssize_t n = room ? read(fd, room, 65536) : -1;
        if (n < 0 && room && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 || to->failed ? -EIO : 0;
        buf_extend(to, (size_t)n);
    }
}

static int run_client(const char *method, const char *url, int order, struct buf *answer,
                      struct sandbox_error *e)
{
    char program[PATH_MAX];
    char *const arguments[] = {"glovebox-client", (char *)method, (char *)url, NULL};
    int ends[2], r = sandbox_find_program("glovebox-client", "client", program, e);
    pid_t pid;
    if (r < 0)
        return r;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return sandbox_error_set(e, -errno, "pipe: %s; close some files", strerror(errno));
    int error = spawn(program, arguments, order, ends[1], &pid);
    bool is_started = error == 0;
    close(ends[1]);
    if (is_started)
        error = -read_all(ends[0], answer);
    close(ends[0]); /* first, for a client that still has something to say */
    while (is_started && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return error ? sandbox_error_set(e, -error, "glovebox-client: %s; try again", strerror(error))
                 : 0;
}

/* ---- the answer ---- */

static int refuse(long status, const char *content, struct sandbox_error *e)
{
    json_t *said = json_loads(content, JSON_FLAGS, NULL);
    const char *message = json_string_value(json_object_get(said, "message"));
    int r = sandbox_error_set(e, -EPERM, "the server says %ld: %s%s", status,
                              message ? message : "and no sentence",
                              message && strstr(message, "; ") ? "" : "; is it glovebox serve?");
    json_decref(said);
    return r;
}

static int take_answer(const struct buf *answer, json_t **ret, struct sandbox_error *e)
{
    char *content;
    long status = answer->data ? strtol(answer->data, &content, 10) : -1;
    if (status < 0 || *content != '\n')
        return sandbox_error_set(e, -EPROTO, "glovebox-client: ended without a word; try again");
    content++;
    if (status == 0)
        return sandbox_error_set(e, -EHOSTUNREACH, "%s", content);
    if (status / 100 != 2)
        return refuse(status, content, e);
    json_t *said = *content ? json_loads(content, JSON_FLAGS, NULL) : NULL;
    if (*content && !said)
        return sandbox_error_set(e, -EPROTO,
                                 "the server's answer is no JSON; is it glovebox serve?");
    if (ret)
        *ret = said;
    else
        json_decref(said);
    return 0;
}

int server_ask(const struct server_place *place, const char *method, const char *path,
               const json_t *body, json_t **ret, struct sandbox_error *e)
{
    char url[URL_MAX];
    struct buf answer = BUF_INIT(CLIENT_ANSWER_MAX + 65536);
    int r = choose_url(place, path, url, e);
    _cleanup_close_ int order = r == 0 ? make_order(place, body, e) : -1;
    if (r == 0 && order < 0)
        r = order;
    if (r == 0)
        r = run_client(method, url, order, &answer, e);
    if (r == 0)
        r = take_answer(&answer, ret, e);
    buf_wipe(&answer);
    return r;
}
