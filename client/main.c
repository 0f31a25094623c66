// SPDX-License-Identifier: Apache-2.0
/*
 * glovebox-client METHOD URL (lib/base/client.h): started by those verbs of glovebox that ask a
 * server, which so needs neither TLS nor libc's look-up of names in it. It has all that its user
 * has, as curl(1) would: the server is the user's own, and what it answers is read strictly.
 */
#include "lib/base/client.h"
#include "lib/caller/caller.h"
#include "lib/caller/connect.h"
#include "lib/http/url.h"
#include "lib/tls/credentials.h"

#include <netdb.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static char why[CALLER_WHY_MAX + 100];

struct order {
    const char *method;
    struct http_url url;
    char *key, *content; /* of text */
    size_t content_size;
    char text[CLIENT_KEY_MAX + 1 + CLIENT_CONTENT_MAX + 1];
};

_printf_(2, 3) static int fail(int error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    return error;
}

static int read_order(int count, char **words, struct order *o)
{
    size_t size = fread(o->text, 1, sizeof(o->text) - 1, stdin);
    char *end = memchr(o->text, '\n', size);
    if (count != 3 || !end || ferror(stdin) || !feof(stdin))
        return fail(-EINVAL, "only glovebox starts this program");
    if (!http_url_parse(words[2], &o->url))
        return fail(-EINVAL, "'%.80s' is no URL; write one as http://127.0.0.1:3000", words[2]);
    *end = '\0';
    o->method = words[1];
    o->key = o->text;
    o->content = end + 1;
    o->content_size = size - (size_t)(o->content - o->text);
    return 0;
}

/* ---- what can't be given a deadline ---- */

static char late[CALLER_WHY_MAX + 100];
static timer_t alarm_clock;

/* Nothing was printed yet, and nobody is left who would have to clean up. */
static void give_up(int signal)
{
    static const char status[] = "0\n";
    (void)signal;
    if (write(STDOUT_FILENO, status, strlen(status)) < 0 ||
        write(STDOUT_FILENO, late, strlen(late)) < 0)
        _exit(1);
    _exit(0);
}

/* Whoever started this may have had it blocked. */
static int prepare_alarm(void)
{
    const struct sigaction action = {.sa_handler = give_up};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    if (sigaction(SIGALRM, &action, NULL) < 0 || sigprocmask(SIG_UNBLOCK, &set, NULL) < 0 ||
        timer_create(CLOCK_MONOTONIC, &event, &alarm_clock) < 0)
        return fail(-errno, "a timer: %s; end some programs and try again", strerror(errno));
    return 0;
}

static void stop_alarm(void)
{
    const struct itimerspec never = {0};
    timer_settime(alarm_clock, 0, &never, NULL);
}

/* From here to stop_alarm() it ends at the deadline, with these words. */
_printf_(2, 3) static void begin_alarm(const struct caller *c, const char *format, ...)
{
    const struct itimerspec at = {.it_value = {.tv_sec = c->deadline_ns / NSEC_PER_SEC,
                                               .tv_nsec = c->deadline_ns % NSEC_PER_SEC}};
    va_list args;
    va_start(args, format);
    vsnprintf(late, sizeof(late), format, args);
    va_end(args);
    timer_settime(alarm_clock, TIMER_ABSTIME, &at, NULL);
}

/* ---- a connection ---- */

static int connect_any(const struct addrinfo *list, const struct caller *c)
{
    struct caller_address addresses[CALLER_ADDRESSES_MAX];
    size_t count = 0;
    for (const struct addrinfo *a = list; a && count < ARRAY_SIZE(addresses); a = a->ai_next) {
        struct caller_address *to = &addresses[count];
        to->size = a->ai_addrlen;
        if (to->size > sizeof(to->v6))
            continue;
        memcpy(&to->v6, a->ai_addr, to->size);
        count++;
    }
    return caller_connect(addresses, count, c->deadline_ns);
}

static int dial(const struct http_url *url, const struct caller *c)
{
    char host[HTTP_HOST_MAX_BYTES + 1], port[8];
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *list;
    snprintf(host, sizeof(host), "%s", url->host + (url->host[0] == '['));
    host[strcspn(host, "]")] = '\0';
    snprintf(port, sizeof(port), "%u", url->port);
    begin_alarm(c, "%.100s: no answer within %d s to who that is; see the URL and resolv.conf(5)",
                url->host, CLIENT_S);
    int r = getaddrinfo(host, port, &hints, &list);
    stop_alarm();
    if (r)
        return fail(-ENOENT, "%.100s: %s; see the URL", url->host, gai_strerror(r));
    int fd = connect_any(list, c);
    freeaddrinfo(list);
    if (fd < 0)
        return fail(fd, "%.100s:%u: %s; does glovebox serve run there?", url->host, url->port,
                    strerror(-fd));
    return fd;
}

/* ---- one request ---- */

static int load_roots(struct caller *c, struct tls_roots **ret)
{
    const char *what, *bundle = getenv("SSL_CERT_FILE");
    begin_alarm(c, "the authorities can't be read within %d s; see SSL_CERT_FILE", CLIENT_S);
    int r = tls_roots_load(bundle && *bundle ? bundle : NULL, NULL, 0, ret, &what);
    stop_alarm();
    if (r < 0)
        return fail(r, "%.100s: %s; install ca-certificates, or see SSL_CERT_FILE", what,
                    strerror(-r));
    c->roots = *ret;
    return 0;
}

static int ask(const struct order *o, struct buf *answer)
{
    struct tls_roots *roots = NULL;
    struct caller c = {
        .host = o->url.host,
        .deadline_ns = caller_now_ns() + CLIENT_S * NSEC_PER_SEC,
        .why = why,
    };
    const struct http_field fields[] = {
        {"X-API-Key", o->key},
        {"User-Agent", "glovebox/" GLOVEBOX_VERSION},
        {"Content-Type", "application/json"},
    };
    const struct http_request_head head = {
        .method = o->method,
        .form = HTTP_TARGET_ORIGIN,
        .authority = {o->url.host, o->url.port},
        .path = o->url.path,
        .query = o->url.query,
        .fields = fields,
        .field_count = ARRAY_SIZE(fields) - (o->content_size == 0),
        .framing = {.kind = o->content_size ? HTTP_BODY_LENGTH : HTTP_BODY_NONE,
                    .length = o->content_size},
        .closes = true,
    };
    int r = o->url.is_secure ? load_roots(&c, &roots) : 0;
    _cleanup_close_ int fd = r == 0 ? dial(&o->url, &c) : -1;
    bool is_there = r == 0 && fd >= 0;
    c.fd = fd;
    if (r == 0)
        r = is_there ? caller_ask(&c, &head, o->content, o->content_size, answer) : fd;
    tls_roots_free(roots);
    if (r < 0 && is_there)
        strcat(why, o->url.is_secure ? "; is it your server? SSL_CERT_FILE names its authorities"
                                     : "; is it glovebox serve?");
    return r;
}

int main(int argc, char **argv)
{
    static struct order order;
    struct buf answer = BUF_INIT(CLIENT_ANSWER_MAX);
    signal(SIGPIPE, SIG_IGN);
    int r = tls_credentials_start() < 0 ? fail(-ENOMEM, "out of memory; free some and try again")
                                        : read_order(argc, argv, &order);
    if (r == 0)
        r = prepare_alarm();
    if (r == 0)
        r = ask(&order, &answer);
    explicit_bzero(order.text, sizeof(order.text));
    printf("%d\n", MAX(r, 0));
    if (r < 0)
        fputs(why, stdout);
    else if (answer.size > 0)
        fwrite(answer.data, 1, answer.size, stdout);
    buf_wipe(&answer);
    return fflush(stdout) != 0;
}
