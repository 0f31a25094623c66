// SPDX-License-Identifier: Apache-2.0
/*
 * Connections to ports that somebody stands in between of, however their ends end. meson.build puts
 * this kernel, which is told of cuts alone, in the place of the program's.
 */
#include "sandbox/port_search.h"

#include "sandbox/secrets.h"
#include "tests/harness/harness.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#define VALUE "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
#define DOCUMENT                                                 \
    "{\"version\":1,\"secrets\":{\"A\":{\"source\":{\"literal\"" \
    ":\"" VALUE "\"},\"env\":[\"A\"],\"allow\":{\"hosts\":[\"a.test\"]}}}}"
#define MUCH_BYTES (64 << 20)

static struct sandbox_spec spec;
static struct scrubber *scrubber;
static struct port_search search;
static bool is_deaf; /* the kernel has no room for what it is told */
static size_t cuts;
static char piece[1 << 16];

struct connection {
    struct port_searched *of;
    int client, program; /* -1: closed */
    int32_t number;
};

bool __wrap_sandbox_send(struct sandbox *s, enum control_type type, int32_t value);

bool __wrap_sandbox_send(struct sandbox *s _unused_, enum control_type type, int32_t value)
{
    EXPECT_EQ(type, CONTROL_PORT_CUT);
    EXPECT_LT(value, 0);
    cuts += !is_deaf;
    return !is_deaf;
}

static void begin(void)
{
    struct sandbox_error e;
    spec.policy = strdup(DOCUMENT);
    ASSERT_EQ(sandbox_secrets_load(&spec, &e), 0);
    ASSERT_EQ(scrubber_new(&spec, &scrubber, &e), 0);
    port_search_init(&search);
    ASSERT_EQ(port_search_open(&search, NULL, scrubber), 0);
}

static void finish(void)
{
    port_search_close(&search);
    EXPECT_EQ(search.count, 0);
    scrubber_free(scrubber);
    sandbox_spec_done(&spec);
}

static void new_tcp_pair(int *ret_client, int *ret_server)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(a);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(bind(listener, (struct sockaddr *)&a, sizeof(a)), 0);
    ASSERT_EQ(listen(listener, 1), 0);
    ASSERT_EQ(getsockname(listener, (struct sockaddr *)&a, &size), 0);
    *ret_client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(connect(*ret_client, (struct sockaddr *)&a, sizeof(a)), 0);
    *ret_server = accept(listener, NULL, NULL);
    ASSERT_GE(*ret_server, 0);
    close(listener);
}

static struct connection begin_one(bool is_local)
{
    struct connection c;
    int pair[2], server;
    if (is_local) {
        ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        c.client = pair[0];
        server = pair[1];
    } else {
        new_tcp_pair(&c.client, &server);
    }
    ASSERT_EQ(port_search_begin(&search, &server, &search, &c.of, &c.number, &c.program), 0);
    return c;
}

static struct connection new_connection(bool is_local)
{
    struct connection c = begin_one(is_local);
    port_search_answer(c.of, 0, false);
    return c;
}

/* All that can be done now is. */
static void settle(void)
{
    struct pollfd p = {.fd = port_search_poll_descriptor(&search), .events = POLLIN};
    for (int i = 0; i < 1000 && poll(&p, 1, 0) > 0; i++)
        port_search_step(&search);
    EXPECT_EQ(poll(&p, 1, 0), 0);
    port_search_step(&search);
}

/* As the starter's loop would go on. False: what is waited for does not come. */
static bool wait_until_left(size_t count)
{
    struct pollfd p = {.fd = port_search_poll_descriptor(&search), .events = POLLIN};
    struct timespec ts;
    while (search.count > count) {
        int64_t deadline = port_search_deadline(&search);
        clock_gettime(CLOCK_MONOTONIC, &ts);
        int64_t left = deadline - ts.tv_sec * NSEC_PER_SEC - ts.tv_nsec;
        int ms = deadline ? (int)MIN(MAX(left / NSEC_PER_MSEC + 1, 0), 10000) : 10000;
        if (poll(&p, 1, ms) == 0 && !deadline)
            return false;
        port_search_step(&search);
    }
    return true;
}

static void reset(int *fd)
{
    const struct linger linger = {.l_onoff = 1};
    EXPECT_EQ(setsockopt(*fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
    close(*fd);
    *fd = -1;
}

/* As much as there is room for, on the way as well. */
static size_t fill(int fd)
{
    size_t sent = 0;
    for (int full = 0; full < 5 && sent < MUCH_BYTES;) {
        ssize_t n = send(fd, piece, sizeof(piece), MSG_DONTWAIT | MSG_NOSIGNAL);
        full = n < 0 ? full + 1 : 0;
        sent += n < 0 ? 0 : (size_t)n;
        settle();
    }
    return sent;
}

/* All that is there, and what comes then: 0 is the end, below 0 an errno. */
static int read_to_end(int fd)
{
    ssize_t n;
    do
        n = recv(fd, piece, sizeof(piece), MSG_DONTWAIT);
    while (n > 0);
    return n < 0 ? -errno : 0;
}

static bool has_hung_up(int fd)
{
    struct pollfd p = {.fd = fd};
    poll(&p, 1, 0);
    return p.revents & POLLHUP;
}

/* ---- who goes before the other ---- */

TEST(a_download_that_is_reset_when_its_program_has_gone)
{
    begin();
    for (int i = 0; i < 10; i++) {
        struct connection c = new_connection(false);
        EXPECT_GT(fill(c.program), 1 << 20);
        close(c.program);
        settle();
        EXPECT_EQ(search.count, 1);
        reset(&c.client);
        EXPECT_TRUE(wait_until_left(0));
        EXPECT_EQ(cuts, (size_t)i + 1);
        ASSERT_EQ(search.count, 0);
    }
    finish();
}

TEST(likewise_when_the_kernel_has_no_room_to_be_told)
{
    begin();
    struct connection c = new_connection(false);
    fill(c.program);
    close(c.program);
    settle();
    is_deaf = true;
    reset(&c.client);
    settle();
    EXPECT_EQ(search.count, 1);
    EXPECT_EQ(cuts, 0);
    is_deaf = false;
    EXPECT_TRUE(wait_until_left(0));
    EXPECT_EQ(cuts, 1);
    finish();
}

/* Both ways were ended by shutdown(2): the host calls that a hang-up too. */
TEST(a_reset_after_both_ways_have_ended)
{
    begin();
    struct connection c = new_connection(false);
    EXPECT_GT(fill(c.program), 1 << 20);
    shutdown(c.client, SHUT_WR);
    settle();
    shutdown(c.program, SHUT_WR);
    settle();
    EXPECT_EQ(search.count, 1);
    reset(&c.client);
    EXPECT_TRUE(wait_until_left(0));
    EXPECT_EQ(cuts, 1);
    close(c.program);
    finish();
}

/* ---- a reset is none before the kernel has cut it off ---- */

/* There is more for it than it reads: its end of the pair has room again just then. */
static void reset_with_much_to_read(bool is_untold)
{
    begin();
    struct connection c = new_connection(false);
    EXPECT_GT(fill(c.client), 1 << 20);
    is_deaf = is_untold;
    reset(&c.client);
    EXPECT_EQ(read_to_end(c.program), -EAGAIN);
    settle();
    EXPECT_EQ(read_to_end(c.program), -EAGAIN);
    EXPECT_TRUE(!has_hung_up(c.program));
    EXPECT_EQ(search.count, 1);
    EXPECT_EQ(cuts, is_untold ? 0 : 1);
    close(c.program);
    EXPECT_TRUE(wait_until_left(0));
    finish();
}

TEST(a_reset_with_much_to_read)
{
    reset_with_much_to_read(false);
}

TEST(a_reset_with_much_to_read_that_the_kernel_has_no_room_to_be_told_of)
{
    reset_with_much_to_read(true);
}

/* What it says is in hand, or comes while the kernel can't be told. */
static void reset_with_something_said(bool is_untold)
{
    begin();
    struct connection c = new_connection(false);
    settle();
    is_deaf = is_untold;
    reset(&c.client);
    EXPECT_EQ(send(c.program, "x", 1, MSG_NOSIGNAL), 1);
    settle();
    EXPECT_EQ(search.count, 1);
    EXPECT_EQ(send(c.program, "y", 1, MSG_NOSIGNAL), 1);
    settle();
    EXPECT_TRUE(!has_hung_up(c.program));
    EXPECT_EQ(search.count, 1);
    is_deaf = false;
    while (cuts == 0) {
        usleep(1000);
        port_search_step(&search);
    }
    close(c.program);
    EXPECT_TRUE(wait_until_left(0));
    finish();
}

TEST(a_reset_with_something_said)
{
    reset_with_something_said(false);
}

TEST(a_reset_with_something_said_that_the_kernel_has_no_room_to_be_told_of)
{
    reset_with_something_said(true);
}

/* ---- who does not become one ---- */

TEST(there_are_too_many)
{
    struct port_searched *more;
    int client, server, end, pipe_ends[2];
    int32_t number;
    begin();
    search.max = 1;
    struct connection c = new_connection(false);
    new_tcp_pair(&client, &server);
    int given = server;
    EXPECT_EQ(port_search_begin(&search, &given, NULL, &more, &number, &end), -EUSERS);
    EXPECT_EQ(given, server); /* to be reset by its owner */
    close(c.program);
    close(c.client);
    EXPECT_TRUE(wait_until_left(0));
    ASSERT_EQ(pipe(pipe_ends), 0);
    EXPECT_EQ(port_search_begin(&search, &pipe_ends[0], NULL, &more, &number, &end), -ENOTSOCK);
    EXPECT_EQ(port_search_begin(&search, &given, NULL, &more, &number, &end), 0);
    EXPECT_EQ(given, -1);
    close(end);
    close(client);
    finish();
}

TEST(a_client_that_is_gone_cuts_what_it_has)
{
    begin();
    struct connection asked = begin_one(true), carried = new_connection(true);
    settle();
    port_search_cut(&search, &search);
    EXPECT_EQ(cuts, 2);
    EXPECT_EQ(read_to_end(asked.client), 0);
    EXPECT_EQ(read_to_end(carried.client), 0);
    port_search_answer(asked.of, 0, false);
    settle();
    EXPECT_TRUE(!has_hung_up(asked.program) && !has_hung_up(carried.program));
    EXPECT_EQ(search.count, 2);
    close(asked.program);
    close(carried.program);
    EXPECT_TRUE(wait_until_left(0));
    finish();
}
