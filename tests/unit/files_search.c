// SPDX-License-Identifier: Apache-2.0
/*
 * The kernel is played here: one that answers, and one that was taken over.
 */
#include "sandbox/files_search.h"

#include "sandbox/files_ask.h"
#include "sandbox/secrets.h"
#include "sandbox/socket_file.h"
#include "tests/harness/harness.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define VALUE "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"

#define DOCUMENT                              \
    "{\"version\":1,\"secrets\":{"            \
    "\"A\":{\"source\":{\"literal\":\"" VALUE \
    "\"},\"env\":[\"A\"],\"allow\":{\"hosts\":[\"a.test\"]}}}}"

static struct sandbox_spec spec;
static struct scrubber *scrubber;
static struct sandbox sandbox;
static struct files_search search;
static int control; /* the kernel's end */

struct kernel {
    int socket;
    char *memory;
};

static void begin(void)
{
    struct sandbox_error e;
    int ends[2];
    spec.policy = strdup(DOCUMENT);
    ASSERT_EQ(sandbox_secrets_load(&spec, &e), 0);
    ASSERT_EQ(scrubber_new(&spec, &scrubber, &e), 0);
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    sandbox.control = ends[0];
    control = ends[1];
    files_search_init(&search);
    ASSERT_EQ(files_search_open(&search, &sandbox, scrubber), 0);
}

static void end(void)
{
    files_search_close(&search);
    EXPECT_EQ(search.count, 0u);
    scrubber_free(scrubber);
    sandbox_spec_done(&spec);
    close(sandbox.control);
    close(control);
}

/* What admits a client, and what the kernel gets of him. */
static struct kernel connect_both(struct files_connection *client)
{
    struct files_hello hello;
    struct control_packet packet;
    struct kernel k = {.socket = -1};
    int ends[2], memory;
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
    ASSERT_EQ(files_begin(ends[0], FILES_MEMORY_MAX_BYTES, client), 0);
    ASSERT_EQ(socket_file_receive(ends[1], &hello, sizeof(hello), &memory), (ssize_t)sizeof(hello));
    files_search_admit(&search, ends[1], memory);

    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } room;
    struct iovec part = {&packet, sizeof(packet)};
    struct msghdr m = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &room, .msg_controllen = sizeof(room)};
    ASSERT_EQ(recvmsg(control, &m, MSG_DONTWAIT), (ssize_t)sizeof(packet));
    ASSERT_EQ(packet.type, CONTROL_FILES);
    int fds[2];
    memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fds));
    k.socket = fds[0];
    k.memory = mmap(NULL, FILES_MEMORY_MAX_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fds[1], 0);
    ASSERT_TRUE(k.memory != MAP_FAILED);
    close(fds[1]);
    return k;
}

static void disconnect(struct files_connection *client, struct kernel *k)
{
    files_disconnect(client);
    munmap(k->memory, FILES_MEMORY_MAX_BYTES);
    if (k->socket >= 0)
        close(k->socket);
    files_search_step(&search);
}

static void step(void)
{
    for (unsigned i = 0; i < 4; i++)
        files_search_step(&search);
}

static void ask(struct files_connection *c, enum files_type type, const char *path, int64_t offset,
                size_t size)
{
    const struct files_call call = {.path = path,
                                    .question = {.type = type, .offset = offset, .size = size}};
    ASSERT_EQ(files_send(c, &call), 0);
    step();
}

/* What the kernel is asked next; false: nothing. */
static bool hear(const struct kernel *k, struct files_question *ret)
{
    char packet[65536];
    ssize_t n = recv(k->socket, packet, sizeof(packet), MSG_DONTWAIT);
    if (n < (ssize_t)sizeof(*ret))
        return false;
    memcpy(ret, packet, sizeof(*ret));
    return true;
}

static void say(const struct kernel *k, uint32_t type, int error, int64_t value, const void *text,
                size_t size)
{
    char packet[sizeof(struct files_answer) + 256];
    const struct files_answer head = {
        .type = type, .error = error, .value = value, .text_size = (uint32_t)size};
    memcpy(packet, &head, sizeof(head));
    if (size)
        memcpy(packet + sizeof(head), text, size);
    ASSERT_EQ(send(k->socket, packet, sizeof(head) + size, MSG_DONTWAIT | MSG_NOSIGNAL),
              (ssize_t)(sizeof(head) + size));
    step();
}

static int receive(struct files_connection *c, struct files_result *ret)
{
    step();
    return files_receive(c, ret);
}

TEST(a_value_across_the_ends_of_pieces)
{
    struct files_connection client;
    struct files_question q;
    struct files_result result;
    struct files_entry entry = {.mode = S_IFREG | 0600, .name_size = 2};
    char records[sizeof(entry) + 2];
    begin();
    struct kernel k = connect_both(&client);
    memcpy(records, &entry, sizeof(entry));
    memcpy(records + sizeof(entry), "/f", 2);
    ask(&client, FILES_READ_OPEN, "/f", 0, 100000);
    ASSERT_TRUE(hear(&k, &q));
    EXPECT_EQ(q.type, FILES_READ_OPEN);
    EXPECT_EQ(q.size, FILES_SEARCH_PIECE_BYTES);
    memset(k.memory, '.', FILES_SEARCH_PIECE_BYTES);
    memcpy(k.memory + FILES_SEARCH_PIECE_BYTES - 10, VALUE, 10);
    say(&k, FILES_READ_OPEN, 0, FILES_SEARCH_PIECE_BYTES, records, sizeof(records));
    ASSERT_TRUE(hear(&k, &q));
    EXPECT_EQ(q.type, FILES_READ);
    EXPECT_EQ(q.offset, FILES_SEARCH_PIECE_BYTES);
    EXPECT_EQ(q.size, 100000u - FILES_SEARCH_PIECE_BYTES);
    EXPECT_EQ(receive(&client, &result), -EAGAIN);
    memset(k.memory, '.', 1000);
    memcpy(k.memory, VALUE + 10, strlen(VALUE) - 10);
    say(&k, FILES_READ, 0, 1000, NULL, 0);
    /* It was not as long as asked for: that is all. */
    ASSERT_TRUE(!hear(&k, &q));
    ASSERT_EQ(receive(&client, &result), 0);
    EXPECT_EQ(result.error, 0);
    EXPECT_EQ(result.value, FILES_SEARCH_PIECE_BYTES + 1000);
    EXPECT_EQ(result.records.size, sizeof(records));
    EXPECT_TRUE(!memcmp(client.memory + FILES_SEARCH_PIECE_BYTES - 10, strv_env_get(&spec.env, "A"),
                        strlen(VALUE)));
    disconnect(&client, &k);
    end();
}

TEST(what_may_be_a_value_is_read_on_for)
{
    struct files_connection client;
    struct files_question q;
    struct files_result result;
    begin();
    struct kernel k = connect_both(&client);
    ask(&client, FILES_READ, NULL, 1000, 10);
    ASSERT_TRUE(hear(&k, &q));
    size_t before = scrubber_reach(scrubber);
    EXPECT_EQ(q.offset, 1000 - (int64_t)before);
    EXPECT_EQ(q.size, before + 10);
    memset(k.memory, '.', before + 10);
    memcpy(k.memory + before + 8, VALUE, 2);
    say(&k, FILES_READ, 0, (int64_t)before + 10, NULL, 0);
    ASSERT_TRUE(hear(&k, &q));
    EXPECT_EQ(q.offset, 1010);
    memset(k.memory, '.', before);
    say(&k, FILES_READ, 0, (int64_t)q.size, NULL, 0);
    ASSERT_TRUE(!hear(&k, &q));
    ASSERT_EQ(receive(&client, &result), 0);
    EXPECT_EQ(result.value, 10);
    EXPECT_TRUE(!memcmp(client.memory, "........gh", 10));
    ask(&client, FILES_READ, NULL, 0, 10);
    ASSERT_TRUE(hear(&k, &q));
    EXPECT_EQ(q.offset, 0);
    say(&k, FILES_READ, EIO, 3, NULL, 0);
    ASSERT_EQ(receive(&client, &result), 0);
    EXPECT_EQ(result.error, EIO);
    EXPECT_EQ(result.value, 0);
    disconnect(&client, &k);
    end();
}

/* After it the connection is of no use: what the client gets, or -EAGAIN if he may get nothing. */
static void expect_end(int expected, uint32_t type, int64_t value, const void *text, size_t size)
{
    struct files_connection client;
    struct files_question q;
    struct files_result result;
    struct kernel k = connect_both(&client);
    ask(&client, FILES_READ_OPEN, "/f", 0, 100);
    ASSERT_TRUE(hear(&k, &q));
    say(&k, type, 0, value, text, size);
    EXPECT_EQ(receive(&client, &result), expected);
    EXPECT_EQ(search.count, 0u);
    disconnect(&client, &k);
}

TEST(a_kernel_that_was_taken_over)
{
    const struct files_entry bad = {.mode = S_IFREG, .name_size = 100};
    begin();
    expect_end(-EPROTO, FILES_READ_OPEN, 101, NULL, 0);
    expect_end(-EPROTO, FILES_READ_OPEN, INT64_MAX, NULL, 0);
    expect_end(-EPROTO, FILES_READ_OPEN, -1, NULL, 0);
    expect_end(-EPROTO, FILES_READ, 10, NULL, 0);
    expect_end(-EPROTO, FILES_READ_OPEN, 10, &bad, sizeof(bad));
    expect_end(-EPROTO, FILES_READ_OPEN, 10, "x", 1);
    expect_end(-EPROTO, 0, 0, NULL, 0);
    end();
}

TEST(a_kernel_that_speaks_unasked)
{
    struct files_connection client;
    struct files_result result;
    const struct files_call call = {.path = "/", .question = {.type = FILES_STAT}};
    begin();
    struct kernel k = connect_both(&client);
    say(&k, FILES_READ, 0, 4096, NULL, 0);
    EXPECT_EQ(search.count, 0u);
    ASSERT_EQ(files_send(&client, &call), 0);
    ASSERT_EQ(receive(&client, &result), 0);
    EXPECT_EQ(result.error, EPROTO);
    disconnect(&client, &k);
    /* It takes none in. */
    k = connect_both(&client);
    say(&k, 0, EUSERS, 0, NULL, 0);
    ASSERT_EQ(files_send(&client, &call), 0);
    ASSERT_EQ(receive(&client, &result), 0);
    EXPECT_EQ(result.error, EUSERS);
    disconnect(&client, &k);
    end();
}

TEST(a_kernel_that_reads_nothing_or_goes)
{
    struct files_connection client;
    struct files_result result;
    begin();
    struct kernel k = connect_both(&client);
    /* It answers each question before it has read it, until there is no room for more. */
    for (unsigned i = 0; i < 100000 && search.count > 0; i++) {
        ask(&client, FILES_CLOSE, NULL, 0, 0);
        if (search.count > 0)
            say(&k, FILES_CLOSE, 0, 0, NULL, 0);
        if (receive(&client, &result) < 0)
            break;
    }
    EXPECT_EQ(search.count, 0u);
    disconnect(&client, &k);
    k = connect_both(&client);
    ask(&client, FILES_READ_OPEN, "/f", 0, 100);
    close(k.socket);
    k.socket = -1;
    EXPECT_EQ(receive(&client, &result), -ECONNRESET);
    EXPECT_EQ(search.count, 0u);
    disconnect(&client, &k);
    end();
}

TEST(clients_who_go)
{
    struct files_connection client;
    struct files_question q;
    begin();
    struct kernel k = connect_both(&client);
    ask(&client, FILES_READ_OPEN, "/f", 0, 100);
    ASSERT_TRUE(hear(&k, &q));
    disconnect(&client, &k);
    EXPECT_EQ(search.count, 0u);
    k = connect_both(&client);
    disconnect(&client, &k);
    EXPECT_EQ(search.count, 0u);
    end();
}
