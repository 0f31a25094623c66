// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target for questions about files to the kernel (kernel/boot/files): an input is
 * questions over two connections, with calls of a program in between.
 *
 * What must hold: each question has one answer, or one that is still to come; who asks can read it
 * (sandbox/files_reader.h); and nothing is left of it.
 */
#include "sandbox/files_reader.h"
#include "tests/fuzz/world.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "kernel/boot/files/clients.c"

#define MEMORY_BYTES  16384
#define QUESTIONS_MAX 64

static struct {
    int socket;
    struct files_client *client;
    uint32_t asked; /* 0: nothing */
} ends[2];

static void connect_end(size_t i)
{
    int pair[2], memory = memfd_create("files", 0);
    CHECK(memory >= 0 && ftruncate(memory, MEMORY_BYTES) == 0);
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0);
    files_admit((struct hostfd){pair[0]}, (struct hostfd){memory});
    ends[i].socket = pair[1];
    ends[i].asked = 0;
    ends[i].client = list_entry(clients.prev, struct files_client, link);
}

static void check_records(uint32_t type, struct files_records records)
{
    static struct files_info info;
    static struct files_change change;
    int r;
    if (type == FILES_EVENTS)
        while ((r = files_read_change(&records, &change)) > 0)
            ;
    else
        while ((r = files_read_info(&records, &info)) > 0)
            ;
    CHECK(r == 0);
}

static void take_answer(size_t i)
{
    static struct {
        struct files_answer head;
        char text[FILES_ANSWER_MAX_BYTES];
    } m;
    ssize_t n = recv(ends[i].socket, &m, sizeof(m), MSG_DONTWAIT);
    if (n <= 0)
        return;
    CHECK((size_t)n == sizeof(m.head) + m.head.text_size && m.head.type == ends[i].asked);
    CHECK(m.head.error >= 0 && m.head.error <= EHWPOISON);
    check_records(m.head.type, (struct files_records){m.text, m.head.text_size});
    ends[i].asked = 0;
}

static void work(size_t i)
{
    struct files_client *c = ends[i].client;
    for (int turns = 0; c->work && turns < 1000; turns++) {
        timer_disarm(&c->timer);
        run_work(&c->timer);
    }
    take_answer(i);
}

static void ask(struct input *in, size_t i)
{
    static const char *const users[] = {"", "root", "1000", "nobody-of-this-name"};
    static const char *const words[] = {"/w", "/w/a", "/w/a/b", "/w/l", "/m/x", "/proc/self/stat",
                                        "~",  "../w"};
    struct files_question q = {.type = input_byte(in) % (FILES_CLOSE + 1)};
    uint8_t what = input_byte(in);
    q.flags = input_byte(in);
    q.mode = (uint32_t)input_word(in, 2);
    q.depth = input_byte(in);
    q.offset = (int64_t)input_word(in, what & 1 ? 8 : 2);
    q.size = input_word(in, what & 2 ? 4 : 1);
    const char *user = users[what >> 2 & 3];
    char *path = what & 0x10 ? strdup(words[input_byte(in) % ARRAY_SIZE(words)])
                             : input_string(in, input_byte(in));
    char *more = what & 0x20 ? strdup(words[input_byte(in) % ARRAY_SIZE(words)])
                             : input_string(in, input_byte(in) & 0x3f);
    q.user_size = (uint32_t)strlen(user);
    q.path_size = (uint32_t)strlen(path);
    q.more_size = (uint32_t)strlen(more) + (what >> 7);
    struct iovec parts[] = {
        {&q, sizeof(q)}, {(void *)user, q.user_size}, {path, q.path_size}, {more, q.more_size}};
    const struct msghdr m = {.msg_iov = parts, .msg_iovlen = ARRAY_SIZE(parts)};
    bool is_question = q.type > 0 && q.offset >= 0;
    CHECK(sendmsg(ends[i].socket, &m, 0) > 0);
    ends[i].asked = q.type;
    on_ready(&ends[i].client->watch, EPOLLIN);
    free(path);
    free(more);
    if (is_question) {
        work(i);
        return;
    }
    close(ends[i].socket); /* it was hung up on */
    connect_end(i);
}

/* A program does something in the same directory. */
static void call(struct input *in)
{
    static const char *const names[] = {"a", "b", "l", "a/b"};
    uint64_t one = world_put_string(names[input_byte(in) & 3]);
    uint64_t other = world_put_string(names[input_byte(in) & 3]);
    switch (input_byte(in) % 6) {
    case 0:
        WORLD_CALL(SYS_mkdir, one, 0755);
        break;
    case 1:
        WORLD_CALL(SYS_rename, one, other);
        break;
    case 2:
        WORLD_CALL(SYS_symlink, one, other);
        break;
    case 3:
        WORLD_CALL(SYS_unlink, one);
        break;
    case 4:
        WORLD_CALL(SYS_close, (uint64_t)WORLD_CALL(SYS_creat, one, 0644));
        break;
    default:
        WORLD_CALL(SYS_rmdir, one);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    world_begin(1000);
    connect_end(0);
    connect_end(1);
    for (int n = 0; n < QUESTIONS_MAX && in.size > 0; n++) {
        uint8_t what = input_byte(&in);
        size_t i = what & 1;
        if (what & 2) {
            call(&in);
            work(0);
            work(1);
        } else if (!ends[i].asked) {
            ask(&in, i);
        }
    }
    files_end_all();
    close(ends[0].socket);
    close(ends[1].socket);
    world_end();
    return 0;
}
