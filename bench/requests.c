// SPDX-License-Identifier: Apache-2.0
/*
 * A client of glovebox serve that costs next to nothing itself: blocking sockets, a thread for each
 * that is to ask at once, requests that were written beforehand.
 *
 *     requests VERB WORKERS COUNT ...   prints COUNT lines: nanoseconds of one operation
 *
 *     first  PORT KEY PROGRAM...                 a sandbox is made and PROGRAM has ended in it
 *     start  PORT SANDBOX TOKEN PROGRAM...       PROGRAM has ended in a sandbox that lives
 *     write  PORT SANDBOX TOKEN BYTES            a file is written, one for each worker
 *     read   PORT SANDBOX TOKEN BYTES            it is read, all of it
 *     code   PORT KEY                            run_code in a sandbox that was just made
 *     cell   PORT SANDBOX TOKEN                  run_code where some was run
 *     kill   PORT KEY                            a sandbox is ended, and a stream of it is cut
 *     socket SANDBOX PROGRAM...                  as start, by way of libglovebox, without the
 * server spawn  PROGRAM...                          posix_spawn and wait on the machine itself
 *
 *     requests hold STREAMS SANDBOXES PORT KEY
 *         that many sandboxes, and streams spread over them: says "held" and for each line that it
 *         reads "alive", when all are; ends the sandboxes when there are no more lines
 */
#include <arpa/inet.h>
#include <errno.h>
#include <glovebox.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NSEC_PER_SEC 1000000000LL
#define NAME_SIZE    64
#define REQUEST_SIZE 8192
#define READ_SIZE    65536
#define ENVD_PORT    49983
#define CODE_PORT    49999
#define BOUNDARY     "glovebox-bench-3b1f"

struct box {
    char name[NAME_SIZE], token[NAME_SIZE];
};

/* What the operations have in common, from the command line. */
static int port;
static const char *key;
static struct box the_box;
static char **program;
static size_t file_bytes;
static char *file;

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "requests: %s: %s\n", what, why);
    exit(1);
}

static void *need(void *memory)
{
    return memory ? memory : (fail("memory", "none left"), NULL);
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

/* ---- HTTP ---- */

struct connection {
    int fd;
    size_t at, end; /* of what was read */
    char data[READ_SIZE];
};

static struct connection *connect_to_server(void)
{
    const int on = 1;
    struct connection *c = need(calloc(1, sizeof(*c)));
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((in_port_t)port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&a, sizeof(a)) < 0)
        fail("connect", strerror(errno));
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return c;
}

static void disconnect(struct connection *c)
{
    close(c->fd);
    free(c);
}

static void send_all(struct connection *c, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t n = send(c->fd, data, size, MSG_NOSIGNAL);
        if (n <= 0)
            fail("send", strerror(errno));
        data += n;
        size -= (size_t)n;
    }
}

/* False: the server has ended the connection. */
static int fill(struct connection *c)
{
    c->at = 0;
    ssize_t n = recv(c->fd, c->data, sizeof(c->data), 0);
    c->end = n > 0 ? (size_t)n : 0;
    return n > 0;
}

static void read_line(struct connection *c, char *line, size_t size)
{
    size_t n = 0;
    for (;;) {
        if (c->at == c->end && !fill(c))
            fail("read", "the server has ended the connection");
        char byte = c->data[c->at++];
        if (byte == '\n')
            break;
        if (byte != '\r' && n + 1 < size)
            line[n++] = byte;
    }
    line[n] = '\0';
}

/* To text as much as fits, which is its first size - 1 bytes. */
static void read_bytes(struct connection *c, size_t count, char *text, size_t size, size_t *used)
{
    while (count > 0) {
        if (c->at == c->end && !fill(c))
            fail("read", "the server has ended the connection");
        size_t part = c->end - c->at < count ? c->end - c->at : count;
        size_t kept = part < size - 1 - *used ? part : size - 1 - *used;
        memcpy(text + *used, c->data + c->at, kept);
        *used += kept;
        c->at += part;
        count -= part;
    }
    text[*used] = '\0';
}

struct head {
    int status, is_chunked;
    size_t size;
};

static struct head read_head(struct connection *c)
{
    char line[1024];
    struct head h = {0};
    read_line(c, line, sizeof(line));
    h.status = atoi(line + strcspn(line, " "));
    for (read_line(c, line, sizeof(line)); line[0]; read_line(c, line, sizeof(line))) {
        if (!strncasecmp(line, "content-length:", 15))
            h.size = strtoull(line + 15, NULL, 10);
        if (!strncasecmp(line, "transfer-encoding:", 18))
            h.is_chunked = 1;
    }
    return h;
}

static size_t read_chunk_size(struct connection *c)
{
    char line[64];
    read_line(c, line, sizeof(line));
    return strtoull(line, NULL, 16);
}

/* The whole answer; its status, and what fits of its content. */
static int read_answer(struct connection *c, char *text, size_t size, size_t *ret_total)
{
    char line[64];
    size_t used = 0;
    struct head h = read_head(c);
    text[0] = '\0';
    *ret_total = h.size;
    if (!h.is_chunked)
        read_bytes(c, h.size, text, size, &used);
    for (size_t n; h.is_chunked; *ret_total += n) {
        n = read_chunk_size(c);
        read_bytes(c, n, text, size, &used);
        read_line(c, line, sizeof(line));
        if (n == 0)
            break;
    }
    return h.status;
}

/* ---- what the server is asked ---- */

static void take_member(const char *text, const char *name, char ret[NAME_SIZE])
{
    char pattern[NAME_SIZE];
    snprintf(pattern, sizeof(pattern), "\"%s\":", name);
    const char *at = strstr(text, pattern);
    const char *begin = at ? strchr(at + strlen(pattern), '"') : NULL;
    const char *end = begin ? strchr(begin + 1, '"') : NULL;
    if (!end || end - begin > NAME_SIZE)
        fail(name, text);
    snprintf(ret, NAME_SIZE, "%.*s", (int)(end - begin - 1), begin + 1);
}

static void create_from(struct connection *c, const char *template, struct box *ret)
{
    char body[128], text[REQUEST_SIZE];
    size_t total;
    snprintf(body, sizeof(body), "{\"templateID\":\"%s\",\"timeout\":600}", template);
    int n = snprintf(text, sizeof(text),
                     "POST /v2/sandboxes HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: %s\r\n"
                     "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                     key, strlen(body), body);
    send_all(c, text, (size_t)n);
    if (read_answer(c, text, sizeof(text), &total) != 201)
        fail("create", text);
    take_member(text, "sandboxID", ret->name);
    take_member(text, "envdAccessToken", ret->token);
}

static void create(struct connection *c, struct box *ret)
{
    create_from(c, "base", ret);
}

static void end(struct connection *c, const struct box *b)
{
    char text[REQUEST_SIZE];
    size_t total;
    int n = snprintf(text, sizeof(text),
                     "DELETE /sandboxes/%s HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: %s\r\n\r\n",
                     b->name, key);
    send_all(c, text, (size_t)n);
    if (read_answer(c, text, sizeof(text), &total) != 204)
        fail("kill", text);
}

/* The head of a request to a port of a sandbox, all but its length. */
static int write_head_to(const struct box *b, int sandbox_port, const char *line, const char *type,
                         char *text)
{
    return snprintf(text, REQUEST_SIZE,
                    "%s HTTP/1.1\r\nHost: 127.0.0.1\r\nE2b-Sandbox-Id: %s\r\n"
                    "E2b-Sandbox-Port: %d\r\nX-Access-Token: %s\r\nContent-Type: %s\r\n",
                    line, b->name, sandbox_port, b->token, type);
}

static int write_head(const struct box *b, const char *line, const char *type, char *text)
{
    return write_head_to(b, ENVD_PORT, line, type, text);
}

static void ask_start(struct connection *c, const struct box *b, char **words)
{
    char message[REQUEST_SIZE / 4], text[REQUEST_SIZE];
    int size =
        snprintf(message, sizeof(message), "{\"process\":{\"cmd\":\"%s\",\"args\":[", words[0]);
    for (int i = 1; words[i]; i++)
        size += snprintf(message + size, sizeof(message) - (size_t)size, "%s\"%s\"",
                         i > 1 ? "," : "", words[i]);
    size += snprintf(message + size, sizeof(message) - (size_t)size, "]},\"stdin\":false}");
    int n = write_head(b, "POST /process.Process/Start", "application/connect+json", text);
    n += snprintf(text + n, sizeof(text) - (size_t)n, "Content-Length: %d\r\n\r\n", size + 5);
    uint32_t length = htonl((uint32_t)size);
    text[n] = 0;
    memcpy(text + n + 1, &length, sizeof(length));
    memcpy(text + n + 5, message, (size_t)size);
    send_all(c, text, (size_t)(n + 5 + size));
}

/* Frames have NULs in them. */
static int has(const char *text, size_t size, const char *what)
{
    return memmem(text, size, what, strlen(what)) != NULL;
}

static void run_program(struct connection *c, const struct box *b, char **words)
{
    char text[REQUEST_SIZE];
    size_t total;
    ask_start(c, b, words);
    int status = read_answer(c, text, sizeof(text), &total);
    size_t kept = total < sizeof(text) ? total : sizeof(text) - 1;
    if (status != 200 || !has(text, kept, "\"exitCode\":0"))
        fail(words[0], kept > 5 ? text + 5 : "no answer");
}

static void open_stream(struct connection *c, const struct box *b)
{
    static char *words[] = {"/bin/sleep", "3600", NULL};
    char text[REQUEST_SIZE];
    size_t used = 0;
    ask_start(c, b, words);
    struct head h = read_head(c);
    if (h.status != 200 || !h.is_chunked)
        fail("stream", "it did not begin");
    read_bytes(c, read_chunk_size(c), text, sizeof(text), &used);
    if (!has(text, used, "\"start\""))
        fail("stream", text + 5);
    read_line(c, text, sizeof(text));
}

static void write_file(struct connection *c, const struct box *b, int number)
{
    char line[256], part[256], text[REQUEST_SIZE];
    size_t total;
    snprintf(line, sizeof(line), "POST /files?path=/tmp/file-%d", number);
    int before =
        snprintf(part, sizeof(part),
                 "--" BOUNDARY
                 "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"file\"\r\n\r\n");
    static const char after[] = "\r\n--" BOUNDARY "--\r\n";
    int n = write_head(b, line, "multipart/form-data; boundary=" BOUNDARY, text);
    n += snprintf(text + n, sizeof(text) - (size_t)n, "Content-Length: %zu\r\n\r\n%s",
                  (size_t)before + file_bytes + strlen(after), part);
    send_all(c, text, (size_t)n);
    send_all(c, file, file_bytes);
    send_all(c, after, strlen(after));
    if (read_answer(c, text, sizeof(text), &total) != 200)
        fail("write", text);
}

static void read_file(struct connection *c, const struct box *b, int number)
{
    char line[256], text[REQUEST_SIZE];
    size_t total;
    snprintf(line, sizeof(line), "GET /files?path=/tmp/file-%d", number);
    int n = write_head(b, line, "text/plain", text);
    n += snprintf(text + n, sizeof(text) - (size_t)n, "\r\n");
    send_all(c, text, (size_t)n);
    if (read_answer(c, text, sizeof(text), &total) != 200 || total != file_bytes)
        fail("read", text);
}

static void run_code(struct connection *c, const struct box *b)
{
    static const char body[] = "{\"code\":\"1 + 1\"}";
    char text[REQUEST_SIZE];
    size_t total;
    int n = write_head_to(b, CODE_PORT, "POST /execute", "application/json", text);
    n += snprintf(text + n, sizeof(text) - (size_t)n, "Content-Length: %zu\r\n\r\n%s", strlen(body),
                  body);
    send_all(c, text, (size_t)n);
    if (read_answer(c, text, sizeof(text), &total) != 200 || !strstr(text, "\"text\":\"2\"") ||
        !strstr(text, "end_of_execution"))
        fail("run_code", text);
}

/* ---- operations: each returns its nanoseconds ---- */

struct worker {
    pthread_t thread;
    int number, count;
    int64_t *samples;
    struct connection *connection;
};

static int64_t do_first(struct worker *w)
{
    struct box b;
    int64_t begin = now_ns();
    create(w->connection, &b);
    run_program(w->connection, &b, program);
    int64_t took = now_ns() - begin;
    end(w->connection, &b);
    return took;
}

static int64_t do_start(struct worker *w)
{
    int64_t begin = now_ns();
    run_program(w->connection, &the_box, program);
    return now_ns() - begin;
}

static int64_t do_write(struct worker *w)
{
    int64_t begin = now_ns();
    write_file(w->connection, &the_box, w->number);
    return now_ns() - begin;
}

static int64_t do_read(struct worker *w)
{
    int64_t begin = now_ns();
    read_file(w->connection, &the_box, w->number);
    return now_ns() - begin;
}

static int64_t do_code(struct worker *w)
{
    struct box b;
    create_from(w->connection, "code-interpreter-v1", &b);
    int64_t begin = now_ns();
    run_code(w->connection, &b);
    int64_t took = now_ns() - begin;
    end(w->connection, &b);
    return took;
}

static int64_t do_cell(struct worker *w)
{
    int64_t begin = now_ns();
    run_code(w->connection, &the_box);
    return now_ns() - begin;
}

/* Until the stream's end has come. */
static int64_t do_kill(struct worker *w)
{
    struct box b;
    struct connection *stream = connect_to_server();
    create(w->connection, &b);
    open_stream(stream, &b);
    int64_t begin = now_ns();
    end(w->connection, &b);
    while (fill(stream))
        ;
    int64_t took = now_ns() - begin;
    disconnect(stream);
    return took;
}

static int64_t do_socket(struct worker *w)
{
    (void)w;
    struct glovebox_error e;
    struct glovebox_exec *exec;
    struct glovebox_event event;
    struct glovebox_command *c = glovebox_command_new(program[0]);
    for (int i = 1; program[i]; i++)
        glovebox_command_add_argument(c, program[i]);
    int64_t begin = now_ns();
    if (glovebox_exec(the_box.name, c, &exec, &e) < 0 ||
        glovebox_exec_wait(exec, -1, &event, &e) < 0)
        fail("socket", e.text);
    int64_t took = now_ns() - begin;
    if (event.type != GLOVEBOX_ENDED || event.status != 0)
        fail(program[0], "it failed");
    glovebox_exec_free(exec);
    glovebox_command_free(c);
    return took;
}

/* In an environment like that of a sandbox's programs: no start-up files of whoever measures. */
static int64_t do_spawn(struct worker *w)
{
    static char *environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/", NULL};
    (void)w;
    pid_t pid;
    int status;
    int64_t begin = now_ns();
    int error = posix_spawn(&pid, program[0], NULL, NULL, program, environment);
    if (error || waitpid(pid, &status, 0) != pid || status != 0)
        fail(program[0], "it failed");
    return now_ns() - begin;
}

static const struct verb {
    const char *name;
    int64_t (*run)(struct worker *w);
    int words; /* behind WORKERS COUNT */
    int with_server, with_sandbox, with_key, with_bytes;
} verbs[] = {
    {"first", do_first, 3, .with_server = 1, .with_key = 1},
    {"start", do_start, 4, .with_server = 1, .with_sandbox = 1},
    {"write", do_write, 4, .with_server = 1, .with_sandbox = 1, .with_bytes = 1},
    {"read", do_read, 4, .with_server = 1, .with_sandbox = 1, .with_bytes = 1},
    {"code", do_code, 2, .with_server = 1, .with_key = 1},
    {"cell", do_cell, 3, .with_server = 1, .with_sandbox = 1},
    {"kill", do_kill, 2, .with_server = 1, .with_key = 1},
    {"socket", do_socket, 2, .with_sandbox = 1},
    {"spawn", do_spawn, 1, .with_server = 0},
};

static const struct verb *the_verb;
static pthread_barrier_t all_are_ready;

/* The first one is not counted: it makes what later ones find. */
static void *work(void *argument)
{
    struct worker *w = argument;
    if (the_verb->with_server)
        w->connection = connect_to_server();
    the_verb->run(w);
    pthread_barrier_wait(&all_are_ready);
    for (int i = 0; i < w->count; i++)
        w->samples[i] = the_verb->run(w);
    if (w->connection)
        disconnect(w->connection);
    return NULL;
}

static void run_workers(int workers, int count)
{
    struct worker *all = need(calloc((size_t)workers, sizeof(*all)));
    pthread_barrier_init(&all_are_ready, NULL, (unsigned)workers);
    for (int i = 0; i < workers; i++) {
        all[i].number = i;
        all[i].count = (count + workers - 1) / workers;
        all[i].samples = need(calloc((size_t)all[i].count, sizeof(int64_t)));
        int error = pthread_create(&all[i].thread, NULL, work, &all[i]);
        if (error)
            fail("thread", strerror(error));
    }
    for (int i = 0; i < workers; i++) {
        pthread_join(all[i].thread, NULL);
        for (int k = 0; k < all[i].count; k++)
            printf("%lld\n", (long long)all[i].samples[k]);
        free(all[i].samples);
    }
    free(all);
}

/* ---- hold ---- */

static void check_alive(struct connection **streams, int count)
{
    char byte;
    for (int i = 0; i < count; i++)
        if (recv(streams[i]->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EAGAIN)
            fail("hold", "a stream has ended");
}

static int hold(int streams_count, int boxes_count)
{
    char line[16];
    struct connection *control = connect_to_server();
    struct box *boxes = need(calloc((size_t)boxes_count, sizeof(*boxes)));
    struct connection **streams = need(calloc((size_t)streams_count, sizeof(*streams)));
    for (int i = 0; i < boxes_count; i++)
        create(control, &boxes[i]);
    for (int i = 0; i < streams_count; i++) {
        streams[i] = connect_to_server();
        open_stream(streams[i], &boxes[i % boxes_count]);
    }
    puts("held");
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin)) {
        check_alive(streams, streams_count);
        puts("alive");
        fflush(stdout);
    }
    for (int i = 0; i < boxes_count; i++)
        end(control, &boxes[i]);
    return 0;
}

/* ---- the command line ---- */

static char **take_words(const struct verb *v, char **words)
{
    if (v->with_server)
        port = atoi(*words++);
    if (v->with_key)
        key = *words++;
    if (v->with_sandbox)
        snprintf(the_box.name, NAME_SIZE, "%s", *words++);
    if (v->with_sandbox && v->with_server)
        snprintf(the_box.token, NAME_SIZE, "%s", *words++);
    if (v->with_bytes)
        file_bytes = strtoull(*words++, NULL, 10);
    return words;
}

int main(int argc, char **argv)
{
    int workers = argc > 3 ? atoi(argv[2]) : 0, count = workers > 0 ? atoi(argv[3]) : 0;
    if (count > 0 && argc == 6 && !strcmp(argv[1], "hold")) {
        port = atoi(argv[4]);
        key = argv[5];
        return hold(workers, count);
    }
    for (size_t i = 0; count > 0 && i < sizeof(verbs) / sizeof(*verbs); i++) {
        if (strcmp(verbs[i].name, argv[1]) != 0 || argc < 4 + verbs[i].words)
            continue;
        the_verb = &verbs[i];
        program = take_words(the_verb, argv + 4);
        file = need(malloc(file_bytes + 1));
        memset(file, 'x', file_bytes);
        run_workers(workers, count);
        return 0;
    }
    fputs("usage: requests VERB WORKERS COUNT ...; the head of requests.c says which\n", stderr);
    return 2;
}
