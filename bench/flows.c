// SPDX-License-Identifier: Apache-2.0
/*
 * Connections, measured by the program that makes them, and the servers at their other end.
 *
 *     flows serve ADDRESS CERTIFICATE KEY   until standard input ends
 *     flows down|up HOST FLOWS MS           prints bytes a second of each flow
 *     flows echo HOST PORT SAMPLES          prints ns of each round trip of a byte
 *     flows loop SAMPLES                    the same, with a server of its own on loopback
 *     flows connect HOST SAMPLES            prints ns from connect(2) to the first byte that came
 *     flows fetch HOST MS                   prints bytes a second of one flow of HTTPS, and how
 *                                           many bytes came in all
 *     flows greet HOST PROCESSES MS HOW     prints HTTPS requests a second, each on a connection of
 *                                           its own, and how many per cent resumed a session;
 *                                           HOW: "resume", or "anew" to resume none
 *     flows hold HOST PORT COUNT            says "held" when so many are open, and "alive" when
 *                                           a line came on standard input and all still answer
 *
 * Ports: PORT_*. A client verifies no certificate: what that costs a client is not what is
 * measured.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NSEC_PER_SEC  1000000000LL
#define NSEC_PER_MSEC 1000000LL
#define BLOCK_BYTES   (128 << 10) /* of a read or a write, as iperf3 has it */
#define FETCH_BYTES   (64 << 20)  /* of an answer */
#define BATCH_MAX     64
#define BACKLOG       4096
#define FLOWS_MAX     1024
#define HOLD_MAX      30000

#define DNS_HEADER_BYTES 12

#define PORT_NAMES    53   /* UDP */
#define PORT_SOURCE   5001 /* writes for ever */
#define PORT_SINK     5002 /* reads to the end, then says how many bytes those were */
#define PORT_ECHO     5003
#define PORT_HTTPS    5443 /* GET /N: N bytes */
#define PORT_TLS_ECHO 5444

static char block[BLOCK_BYTES];

static void fail(const char *what)
{
    fprintf(stderr, "flows: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void fail_tls(const char *what)
{
    unsigned long code = ERR_get_error();
    fprintf(stderr, "flows: %s: %s\n", what, code ? ERR_reason_error_string(code) : "ended");
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

static void send_at_once(int fd)
{
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static void watch(int set, int call, int fd, uint32_t events, void *context)
{
    struct epoll_event e = {.events = events, .data.ptr = context};
    if (epoll_ctl(set, call, fd, &e) < 0)
        fail("epoll");
}

static void raise_descriptor_limit(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) < 0)
        fail("descriptors");
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

/* ---- servers: one loop for all of them ---- */

struct peer;

/* What it waits for next; 0: it is over. */
typedef uint32_t (*step_fn)(struct peer *p);

struct service {
    uint16_t port;
    bool is_tls;
    uint32_t begins_with;
    step_fn step;
};

struct peer {
    const struct service *service;
    step_fn step;
    int fd;
    uint32_t events;
    SSL *ssl;
    uint64_t count; /* sink: bytes that came; HTTPS: that are still to go out */
};

static int server_set = -1;
static struct in_addr served_at;
static SSL_CTX *server_context;

static uint32_t step_source(struct peer *p)
{
    ssize_t n = send(p->fd, block, sizeof(block), MSG_NOSIGNAL);
    return n > 0 || errno == EAGAIN ? EPOLLOUT : 0;
}

static uint32_t step_sink(struct peer *p)
{
    ssize_t n = recv(p->fd, block, sizeof(block), 0);
    if (n > 0)
        p->count += (uint64_t)n;
    if (n > 0 || (n < 0 && errno == EAGAIN))
        return EPOLLIN;
    if (n == 0)
        send(p->fd, &p->count, sizeof(p->count), MSG_NOSIGNAL);
    return 0;
}

static uint32_t step_echo(struct peer *p)
{
    char text[64];
    ssize_t n = recv(p->fd, text, sizeof(text), 0);
    if (n < 0 && errno == EAGAIN)
        return EPOLLIN;
    return n > 0 && send(p->fd, text, (size_t)n, MSG_NOSIGNAL) == n ? EPOLLIN : 0;
}

static uint32_t tls_wants(const struct peer *p, int result)
{
    int error = SSL_get_error(p->ssl, result);
    ERR_clear_error();
    return error == SSL_ERROR_WANT_READ ? EPOLLIN : error == SSL_ERROR_WANT_WRITE ? EPOLLOUT : 0;
}

static uint32_t step_tls_echo(struct peer *p)
{
    char text[64];
    int n;
    do {
        n = SSL_read(p->ssl, text, sizeof(text));
        if (n > 0)
            n = SSL_write(p->ssl, text, n);
    } while (n > 0);
    return tls_wants(p, n);
}

/* Requests are short and wait for their answers: each comes in one piece, to an empty socket. */
static uint32_t step_https(struct peer *p)
{
    char text[4096];
    int n;
    while (p->count == 0) {
        n = SSL_read(p->ssl, text, sizeof(text) - 1);
        if (n <= 0)
            return tls_wants(p, n);
        text[n] = '\0';
        if (strncmp(text, "GET /", 5) != 0)
            return 0;
        p->count = strtoull(text + 5, NULL, 10);
        int size = snprintf(text, sizeof(text), "HTTP/1.1 200 OK\r\nContent-Length: %llu\r\n\r\n",
                            (unsigned long long)p->count);
        if (SSL_write(p->ssl, text, size) != size)
            return 0;
    }
    size_t size = p->count < sizeof(block) ? p->count : sizeof(block);
    n = SSL_write(p->ssl, block, (int)size);
    if (n <= 0)
        return tls_wants(p, n);
    p->count -= (uint64_t)n;
    return p->count > 0 ? EPOLLOUT : EPOLLIN;
}

static uint32_t step_accept(struct peer *listener)
{
    int fd;
    while ((fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        const struct service *s = listener->service;
        struct peer *p = calloc(1, sizeof(*p));
        if (!p)
            fail("accept");
        *p = (struct peer){.service = s, .step = s->step, .fd = fd, .events = s->begins_with};
        send_at_once(fd);
        if (s->is_tls) {
            p->ssl = SSL_new(server_context);
            if (!p->ssl || !SSL_set_fd(p->ssl, fd))
                fail_tls("accept");
            SSL_set_accept_state(p->ssl);
        }
        watch(server_set, EPOLL_CTL_ADD, fd, p->events, p);
    }
    if (errno != EAGAIN && errno != ECONNABORTED)
        fail("accept");
    return EPOLLIN;
}

/* Whatever name is asked for, an IPv4 address of it is the servers'. */
static uint32_t step_names(struct peer *p)
{
    uint8_t text[512 + 16];
    struct sockaddr_in asker;
    socklen_t size = sizeof(asker);
    ssize_t n = recvfrom(p->fd, text, 512, 0, (struct sockaddr *)&asker, &size);
    if (n < DNS_HEADER_BYTES + 5)
        return EPOLLIN;
    size_t end = DNS_HEADER_BYTES;
    while (end < (size_t)n - 5 && text[end])
        end += text[end] + 1U;
    bool is_v4 = end + 5 <= (size_t)n && text[end + 2] == 1;
    const uint8_t head[] = {0x81, 0x80, 0, 1, 0, is_v4, 0, 0, 0, 0};
    const uint8_t answer[] = {0xc0, DNS_HEADER_BYTES, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4};
    memcpy(text + 2, head, sizeof(head));
    end += 5;
    if (is_v4) {
        memcpy(text + end, answer, sizeof(answer));
        memcpy(text + end + sizeof(answer), &served_at, sizeof(served_at));
        end += sizeof(answer) + sizeof(served_at);
    }
    sendto(p->fd, text, end, 0, (struct sockaddr *)&asker, size);
    return EPOLLIN;
}

static uint32_t step_exit(struct peer *p)
{
    exit(0);
}

static void run_peer(struct peer *p)
{
    uint32_t events = p->step(p);
    if (events == 0) {
        SSL_free(p->ssl);
        close(p->fd);
        free(p);
    } else if (events != p->events) {
        p->events = events;
        watch(server_set, EPOLL_CTL_MOD, p->fd, events, p);
    }
}

static void bind_at(int type, uint16_t port, step_fn step, struct peer *ret)
{
    const int on = 1;
    const struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = served_at};
    int fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (fd < 0 || bind(fd, (const struct sockaddr *)&a, sizeof(a)) < 0 ||
        (type == SOCK_STREAM && listen(fd, BACKLOG) < 0))
        fail("bind");
    ret->step = step;
    ret->fd = fd;
    ret->events = EPOLLIN;
    watch(server_set, EPOLL_CTL_ADD, fd, EPOLLIN, ret);
}

static const struct service services[] = {
    {PORT_SOURCE, false, EPOLLOUT, step_source},   {PORT_SINK, false, EPOLLIN, step_sink},
    {PORT_ECHO, false, EPOLLIN, step_echo},        {PORT_HTTPS, true, EPOLLIN, step_https},
    {PORT_TLS_ECHO, true, EPOLLIN, step_tls_echo},
};
#define SERVICES (sizeof(services) / sizeof(*services))

__attribute__((noreturn)) static void serve(char **words)
{
    static struct peer listeners[SERVICES], names, input = {.step = step_exit, .events = EPOLLIN};
    struct epoll_event ready[BATCH_MAX];
    server_set = epoll_create1(EPOLL_CLOEXEC);
    server_context = SSL_CTX_new(TLS_server_method());
    if (!server_context || SSL_CTX_use_certificate_chain_file(server_context, words[1]) != 1 ||
        SSL_CTX_use_PrivateKey_file(server_context, words[2], SSL_FILETYPE_PEM) != 1)
        fail_tls(words[1]);
    SSL_CTX_set_mode(server_context,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (inet_pton(AF_INET, words[0], &served_at) != 1)
        fail(words[0]);
    for (size_t i = 0; i < SERVICES; i++) {
        listeners[i].service = &services[i];
        bind_at(SOCK_STREAM, services[i].port, step_accept, &listeners[i]);
    }
    bind_at(SOCK_DGRAM, PORT_NAMES, step_names, &names);
    watch(server_set, EPOLL_CTL_ADD, STDIN_FILENO, EPOLLIN, &input);
    puts("ready");
    fflush(stdout);
    for (;;) {
        int count = epoll_wait(server_set, ready, BATCH_MAX, -1);
        for (int i = 0; i < count; i++)
            run_peer(ready[i].data.ptr);
    }
}

/* ---- clients ---- */

static struct sockaddr_in server = {.sin_family = AF_INET};
static const char *host;

/* Once: look-ups are not part of what is measured. */
static void resolve(const char *name)
{
    const struct addrinfo wanted = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    int r = getaddrinfo(name, NULL, &wanted, &found);
    if (r != 0) {
        fprintf(stderr, "flows: %s: %s\n", name, gai_strerror(r));
        exit(1);
    }
    memcpy(&server, found->ai_addr, sizeof(server));
    freeaddrinfo(found);
    host = name;
}

static int dial(uint16_t port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    server.sin_port = htons(port);
    if (fd < 0 || connect(fd, (struct sockaddr *)&server, sizeof(server)) < 0)
        fail("connect");
    send_at_once(fd);
    return fd;
}

/* session: to resume; NULL: none. */
static SSL *greet(uint16_t port, SSL_SESSION *session)
{
    static SSL_CTX *context;
    if (!context)
        context = SSL_CTX_new(TLS_client_method());
    SSL *ssl = SSL_new(context);
    if (!ssl || !SSL_set_fd(ssl, dial(port)))
        fail_tls("TLS");
    if (host[strspn(host, "0123456789.")])
        SSL_set_tlsext_host_name(ssl, host);
    if (session)
        SSL_set_session(ssl, session);
    if (SSL_connect(ssl) != 1)
        fail_tls("handshake");
    return ssl;
}

static void hang_up(SSL *ssl)
{
    int fd = SSL_get_fd(ssl);
    SSL_shutdown(ssl);
    SSL_free(ssl);
    close(fd);
}

/* ---- throughput ---- */

struct flow {
    int fd;
    uint64_t bytes;
};

static struct flow flows[FLOWS_MAX];

static void move(struct flow *f, bool is_up)
{
    ssize_t n = is_up ? send(f->fd, block, sizeof(block), MSG_DONTWAIT)
                      : recv(f->fd, block, sizeof(block), MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN))
        fail(is_up ? "send" : "receive");
    f->bytes += n > 0 ? (uint64_t)n : 0;
}

static void move_until(int set, bool is_up, int64_t end_ns)
{
    struct epoll_event ready[BATCH_MAX];
    while (now_ns() < end_ns) {
        int count = epoll_wait(set, ready, BATCH_MAX, -1);
        for (int i = 0; i < count; i++)
            move(ready[i].data.ptr, is_up);
    }
}

/* How many bytes have arrived is for the server to say. */
static void count_arrived(int count)
{
    for (int i = 0; i < count; i++)
        shutdown(flows[i].fd, SHUT_WR);
    for (int i = 0; i < count; i++)
        if (recv(flows[i].fd, &flows[i].bytes, sizeof(flows[i].bytes), MSG_WAITALL) !=
            sizeof(flows[i].bytes))
            fail("count");
}

static int transfer(bool is_up, int count, int64_t span_ns)
{
    int set = epoll_create1(EPOLL_CLOEXEC);
    if (count < 1 || count > FLOWS_MAX)
        return 2;
    for (int i = 0; i < count; i++) {
        flows[i].fd = dial(is_up ? PORT_SINK : PORT_SOURCE);
        watch(set, EPOLL_CTL_ADD, flows[i].fd, is_up ? EPOLLOUT : EPOLLIN, &flows[i]);
    }
    int64_t begin = now_ns();
    if (!is_up) {
        /* Until windows have grown. */
        move_until(set, is_up, begin + span_ns / 4);
        for (int i = 0; i < count; i++)
            flows[i].bytes = 0;
        begin = now_ns();
    }
    move_until(set, is_up, begin + span_ns);
    if (is_up)
        count_arrived(count);
    double seconds = (double)(now_ns() - begin) / NSEC_PER_SEC;
    for (int i = 0; i < count; i++)
        printf("%.0f\n", (double)flows[i].bytes / seconds);
    return 0;
}

/* Asks for that many bytes and reads them, as long as the time is not over. Returns how many. */
static uint64_t get(SSL *ssl, uint64_t size, int64_t end_ns)
{
    char request[512];
    bool is_in_body = false;
    uint64_t bytes = 0;
    int n = snprintf(request, sizeof(request), "GET /%llu HTTP/1.1\r\nHost: %s:%d\r\n\r\n",
                     (unsigned long long)size, host, PORT_HTTPS);
    if (SSL_write(ssl, request, n) != n)
        fail_tls("request");
    while (bytes < size && now_ns() < end_ns) {
        n = SSL_read(ssl, block, sizeof(block));
        if (n <= 0)
            fail_tls("response");
        const char *body = is_in_body ? block : memmem(block, (size_t)n, "\r\n\r\n", 4);
        if (!body || (!is_in_body && strncmp(block, "HTTP/1.1 200", 12) != 0)) {
            fprintf(stderr, "flows: response: %.40s\n", block);
            exit(1);
        }
        bytes += (uint64_t)(n - (body - block) - (is_in_body ? 0 : 4));
        is_in_body = true;
    }
    return bytes;
}

static int fetch(int64_t span_ns)
{
    SSL *ssl = greet(PORT_HTTPS, NULL);
    uint64_t bytes = 0, first = get(ssl, FETCH_BYTES / 4, INT64_MAX);
    int64_t begin = now_ns();
    while (now_ns() < begin + span_ns)
        bytes += get(ssl, FETCH_BYTES, begin + span_ns);
    printf("%.0f\n%llu\n", (double)bytes * NSEC_PER_SEC / (double)(now_ns() - begin),
           (unsigned long long)(first + bytes));
    return 0;
}

/* ---- times ---- */

/* A byte there and back, over TLS where ssl is not NULL. */
static void bounce(int fd, SSL *ssl)
{
    char byte = 0; /* of no text, so that nobody waits for the rest of a line */
    bool is_back = ssl ? SSL_write(ssl, &byte, 1) == 1 && SSL_read(ssl, &byte, 1) == 1
                       : send(fd, &byte, 1, 0) == 1 && recv(fd, &byte, 1, 0) == 1;
    if (!is_back)
        fail("echo");
}

static int echo(uint16_t port, int samples)
{
    SSL *ssl = port == PORT_TLS_ECHO ? greet(port, NULL) : NULL;
    int fd = ssl ? SSL_get_fd(ssl) : dial(port);
    for (int i = 0; i < samples / 10; i++)
        bounce(fd, ssl);
    for (int i = 0; i < samples; i++) {
        int64_t begin = now_ns();
        bounce(fd, ssl);
        printf("%lld\n", (long long)(now_ns() - begin));
    }
    return 0;
}

static void echo_for_ever(int listener)
{
    char byte;
    int fd = accept(listener, NULL, NULL);
    send_at_once(fd);
    while (recv(fd, &byte, 1, 0) == 1 && send(fd, &byte, 1, 0) == 1)
        ;
    _exit(0);
}

static int loop(int samples)
{
    socklen_t size = sizeof(server);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (listener < 0 || bind(listener, (struct sockaddr *)&server, sizeof(server)) < 0 ||
        listen(listener, 1) < 0 || getsockname(listener, (struct sockaddr *)&server, &size) < 0)
        fail("loopback");
    pid_t pid = fork();
    if (pid < 0)
        fail("fork");
    if (pid == 0)
        echo_for_ever(listener);
    return echo(ntohs(server.sin_port), samples);
}

static int connect_often(int samples)
{
    for (int i = 0; i < samples; i++) {
        int64_t begin = now_ns();
        int fd = dial(PORT_ECHO);
        bounce(fd, NULL);
        printf("%lld\n", (long long)(now_ns() - begin));
        close(fd);
    }
    return 0;
}

/* ---- many connections ---- */

struct greetings {
    uint64_t count, resumed;
};

static struct greetings greet_until(int64_t end_ns, bool resumes)
{
    struct greetings g = {0};
    SSL_SESSION *session = NULL;
    while (now_ns() < end_ns) {
        SSL *ssl = greet(PORT_HTTPS, resumes ? session : NULL);
        get(ssl, 1, INT64_MAX);
        g.count++;
        g.resumed += SSL_session_reused(ssl) ? 1 : 0;
        SSL_SESSION_free(session);
        session = SSL_get1_session(ssl);
        hang_up(ssl);
    }
    return g;
}

static int greet_often(int processes, int64_t span_ns, bool resumes)
{
    struct greetings sum = {0}, one;
    int ends[2];
    int64_t begin = now_ns();
    if (pipe(ends) < 0)
        fail("pipe");
    for (int i = 0; i < processes; i++) {
        pid_t pid = fork();
        if (pid < 0)
            fail("fork");
        if (pid == 0) {
            one = greet_until(begin + span_ns, resumes);
            _exit(write(ends[1], &one, sizeof(one)) == sizeof(one) ? 0 : 1);
        }
    }
    close(ends[1]);
    while (read(ends[0], &one, sizeof(one)) == sizeof(one)) {
        sum.count += one.count;
        sum.resumed += one.resumed;
        processes--;
    }
    if (processes != 0 || sum.count == 0)
        return 1;
    printf("%.0f\n%.0f\n", (double)sum.count * NSEC_PER_SEC / (double)(now_ns() - begin),
           100.0 * (double)sum.resumed / (double)sum.count);
    return 0;
}

struct link {
    int fd;
    SSL *ssl;
};

/* Ends by a reset: thousands in TIME_WAIT would slow down whatever connects after us. */
static void leave_no_trace(int fd)
{
    const struct linger now = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

static int hold(uint16_t port, int count)
{
    static struct link links[HOLD_MAX];
    if (count < 1 || count > HOLD_MAX)
        return 2;
    raise_descriptor_limit();
    for (int i = 0; i < count; i++) {
        links[i].ssl = port == PORT_TLS_ECHO ? greet(port, NULL) : NULL;
        links[i].fd = links[i].ssl ? SSL_get_fd(links[i].ssl) : dial(port);
        bounce(links[i].fd, links[i].ssl);
    }
    puts("held");
    fflush(stdout);
    if (getchar() == EOF)
        return 1;
    for (int i = 0; i < count; i++) {
        bounce(links[i].fd, links[i].ssl);
        leave_no_trace(links[i].fd);
    }
    puts("alive");
    return 0;
}

/* ---- words ---- */

static int run(const char *verb, int count, char **words)
{
    int a = count > 1 ? atoi(words[1]) : 0, b = count > 2 ? atoi(words[2]) : 0;
    if (!strcmp(verb, "serve") && count == 3)
        serve(words);
    if (!strcmp(verb, "loop") && count == 1)
        return loop(atoi(words[0]));
    if (count < 2)
        return 2;
    resolve(words[0]);
    if (!strcmp(verb, "connect"))
        return connect_often(a);
    if (!strcmp(verb, "fetch"))
        return fetch(a * NSEC_PER_MSEC);
    if (count < 3)
        return 2;
    if (!strcmp(verb, "down") || !strcmp(verb, "up"))
        return transfer(verb[0] == 'u', a, b * NSEC_PER_MSEC);
    if (!strcmp(verb, "echo"))
        return echo((uint16_t)a, b);
    if (!strcmp(verb, "greet") && count == 4)
        return greet_often(a, b * NSEC_PER_MSEC, !strcmp(words[3], "resume"));
    if (!strcmp(verb, "hold"))
        return hold((uint16_t)a, b);
    return 2;
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    raise_descriptor_limit();
    int status = argc > 2 ? run(argv[1], argc - 2, argv + 2) : 2;
    if (status == 2)
        fputs(
            "usage: flows serve|down|up|echo|loop|connect|fetch|greet|hold WORDS..., see flows.c\n",
            stderr);
    return status;
}
