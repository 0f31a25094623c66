// SPDX-License-Identifier: Apache-2.0
/*
 * The starter's part in a first secret for a running sandbox, when its kernel or its gateway has
 * been taken over. meson.build puts this clock in the place of the program's.
 */
#include "sandbox/updates.h"

#include "lib/secret/file.h"
#include "sandbox/memory_file.h"
#include "sandbox/scrubber.h"
#include "sandbox/secrets.h"
#include "sandbox/socket_file.h"
#include "tests/harness/harness.h"

#include <sys/socket.h>
#include <time.h>

#define VALUE "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
#define DOCUMENT                                                                     \
    "{\"version\":1,\"secrets\":{\"A\":{\"source\":{\"env\":\"A\"},\"env\":[\"A\"]," \
    "\"allow\":{\"hosts\":[\"a.test\"]}}}}"

static struct sandbox_spec spec;
static struct updates updates;
static bool has_begun, is_searched;
static int client, gateway; /* their ends */
static int64_t later_s;

int __real_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);

int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
    int r = __real_clock_gettime(id, ts);
    ts->tv_sec += later_s;
    return r;
}

static void note_begin(void *userdata _unused_)
{
    has_begun = true;
}

static bool tell_searched(void *userdata _unused_)
{
    return is_searched;
}

static void connect_client(void)
{
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    client = ends[0];
    updates.clients[0] = (struct update_client){.fd = ends[1]};
}

static void begin(void)
{
    struct sandbox_error e;
    int ends[2];
    spec.policy = strdup("{\"version\":1}");
    ASSERT_EQ(sandbox_secrets_load(&spec, &e), 0);
    updates_init(&updates, NULL, NULL, NULL);
    ASSERT_EQ(scrubber_new(&spec, &updates.scrubber, &e), 0);
    updates.policy = spec.policy;
    updates.begin_search = note_begin;
    updates.is_searched = tell_searched;
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    gateway = ends[0];
    updates.gateway = ends[1];
    connect_client();
}

static void finish(void)
{
    int theirs = updates.gateway;
    updates_close(&updates);
    close(theirs);
    close(gateway);
    close(client);
    scrubber_free(updates.scrubber);
    sandbox_spec_done(&spec);
}

static void step(void)
{
    struct pollfd p[UPDATES_POLL_MAX];
    updates_fill_poll(&updates, p);
    ASSERT_GE(poll(p, ARRAY_SIZE(p), 0), 0);
    updates_step(&updates, p, ARRAY_SIZE(p));
}

static void ask(const char *document, bool has_secret)
{
    const struct secret_value v = {"A", "placeholder-of-A", VALUE, strlen(VALUE)};
    struct update_packet p = {
        .version = UPDATE_VERSION, .type = UPDATE_SET, .document_size = strlen(document)};
    char file[4096];
    size_t size = strlen(document), more = has_secret ? secret_file_size(&v, 1) : 0;
    ASSERT_TRUE(size + more <= sizeof(file));
    memcpy(file, document, size);
    if (has_secret)
        secret_file_write(&v, 1, file + size);
    int fd = memory_file_new("wish", file, size + more);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(socket_file_send(client, &p, sizeof(p), fd), 0);
    close(fd);
    step();
}

/* What the gateway is told: its number, or 0. */
static uint64_t told(void)
{
    struct update_packet p;
    int fd = -1;
    if (socket_file_receive(gateway, &p, sizeof(p), &fd) != sizeof(p))
        return 0;
    base_closep(&fd);
    return p.number;
}

static void answer(uint64_t number, int error)
{
    const struct update_packet p = {.version = UPDATE_VERSION,
                                    .type = UPDATE_DONE,
                                    .number = number,
                                    .generation = 2,
                                    .error = error};
    ASSERT_EQ(send(gateway, &p, sizeof(p), 0), sizeof(p));
    step();
}

/* What the client is told: -1: nothing; 0, or an errno with words. */
static int answered(const char *words)
{
    static struct update_message m;
    ssize_t n = recv(client, &m, sizeof(m), MSG_DONTWAIT);
    if (n < 0)
        return -1;
    EXPECT_TRUE(n >= (ssize_t)sizeof(m.packet) && update_is_valid(&m, (size_t)n));
    EXPECT_TRUE(memmem(m.text, m.packet.text_size, words, strlen(words)) != NULL);
    return m.packet.error;
}

static bool is_found(void)
{
    size_t size = strlen(VALUE);
    const char *said = scrubber_replace(updates.scrubber, VALUE, &size);
    return !memmem(said, size, VALUE, strlen(VALUE));
}

TEST(a_kernel_that_says_nothing)
{
    begin();
    ask(DOCUMENT, true);
    EXPECT_TRUE(has_begun && is_found());
    EXPECT_TRUE(updates_deadline(&updates) > 0);
    later_s += 4;
    step();
    EXPECT_EQ(answered(""), -1);
    later_s += 2;
    step();
    EXPECT_EQ(answered("kernel"), EAGAIN);
    EXPECT_EQ(told(), 0);
    EXPECT_EQ(updates_deadline(&updates), 0);
    EXPECT_TRUE(!strv_env_get(updates_env(&updates), "A"));
    EXPECT_TRUE(!is_found());

    /* Others have their turn, and the secret when the kernel has said it. */
    close(client);
    connect_client();
    ask("{\"version\":1}", false);
    answer(told(), 0);
    EXPECT_EQ(answered(""), 0);
    close(client);
    connect_client();
    ask(DOCUMENT, true);
    step();
    EXPECT_EQ(told(), 0);
    is_searched = true;
    step();
    answer(told(), 0);
    EXPECT_EQ(answered(""), 0);
    EXPECT_STR(strv_env_get(updates_env(&updates), "A"), "placeholder-of-A");
    EXPECT_TRUE(is_found());
    finish();
}

TEST(a_gateway_that_answers_before_it_is_asked)
{
    begin();
    ask(DOCUMENT, true);
    EXPECT_EQ(told(), 0);
    for (int error = 0; error < 2; error++)
        for (uint64_t number = 0; number < 4; number++)
            answer(number, error);
    EXPECT_EQ(answered(""), -1);
    EXPECT_TRUE(is_found() && !strv_env_get(updates_env(&updates), "A"));
    is_searched = true;
    step();
    uint64_t number = told();
    EXPECT_NE(number, 0);
    answer(number, EINVAL);
    EXPECT_EQ(answered(""), EINVAL);
    EXPECT_TRUE(!is_found());
    finish();
}

TEST(a_gateway_that_has_no_time)
{
    struct update_packet p = {.version = UPDATE_VERSION};
    begin();
    ask(DOCUMENT, true);
    while (send(updates.gateway, &p, sizeof(p), MSG_DONTWAIT) > 0)
        ;
    is_searched = true;
    step();
    EXPECT_EQ(answered("gateway"), EAGAIN);
    EXPECT_TRUE(!is_found());
    finish();
}
