// SPDX-License-Identifier: Apache-2.0
/*
 * epoll without tasks: what the events are written to is our own memory.
 */
#include "kernel/event/epoll.h"
#include "kernel/core/kernel.h"
#include "kernel/event/eventfd.h"
#include "kernel/host/host.h"
#include "tests/unit/fs_support.h"

static size_t writable_bytes = SIZE_MAX;

static ssize_t write_here(pid_t host_tid, uint64_t dst, const void *src, size_t size)
{
    size = MIN(size, writable_bytes);
    memcpy((void *)(uintptr_t)dst, src, size);
    writable_bytes -= size;
    return size ? (ssize_t)size : -EFAULT;
}

static const struct host_ops here = {.write_memory = write_here};

static void start(void)
{
    fs_start();
    host = &here;
}

static struct file *make_epoll(void)
{
    struct file *f = NULL;
    EXPECT_EQ(epoll_create_file(&f), 0);
    return f;
}

static struct file *make_event(uint64_t count)
{
    struct file *f = NULL;
    EXPECT_EQ(eventfd_create_file(count, 0, &f), 0);
    return f;
}

static void raise_event(struct file *f)
{
    struct uio u;
    uint64_t one = 1;
    off_t pos = 0;
    uio_init_kernel(&u, &one, sizeof(one));
    ASSERT_EQ(f->ops->write(f, &u, &pos, 0), 8);
}

static int add(struct file *epoll, struct file *target, int fd, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.u64 = (uint64_t)fd};
    return epoll_control(epoll, EPOLL_CTL_ADD, target, fd, &event);
}

static long deliver(struct file *epoll, struct epoll_event *events, size_t max)
{
    return epoll_deliver(epoll, (struct guest_memory){1}, gaddr_at((uintptr_t)events), max);
}

TEST(items_are_limited)
{
    int r = 0, fd = 0;
    start();
    struct file *target = make_event(0);
    for (size_t i = 0; r == 0 && i <= LIMIT_EPOLL_ITEMS / 60000; i++) {
        struct file *epoll = make_epoll();
        for (fd = 0; r == 0 && fd < 60000; fd++)
            r = add(epoll, target, fd, EPOLLIN);
    }
    EXPECT_EQ(r, -ENOSPC);
    /* The last reference takes all of them along. */
    file_put(target);
    target = make_event(0);
    EXPECT_EQ(add(make_epoll(), target, 0, EPOLLIN), 0);
}

TEST(partly_written_batches_lose_nothing)
{
    enum { COUNT = 150 };
    static struct epoll_event events[COUNT];
    start();
    struct file *epoll = make_epoll(), *target = make_event(1);
    for (int fd = 0; fd < COUNT; fd++)
        ASSERT_EQ(add(epoll, target, fd, EPOLLIN | EPOLLET), 0);
    writable_bytes = 70 * sizeof(events[0]) + 5;
    EXPECT_EQ(deliver(epoll, events, COUNT), 70);
    writable_bytes = 0;
    EXPECT_EQ(deliver(epoll, events, COUNT), -EFAULT);
    writable_bytes = SIZE_MAX;
    EXPECT_EQ(deliver(epoll, events, COUNT), COUNT - 70);
    EXPECT_EQ(events[0].data.u64, 70);
    EXPECT_EQ(deliver(epoll, events, COUNT), 0);
    file_put(epoll);
    file_put(target);
}

/* A graph of four layers, each of `WIDTH` instances that watch all of the layer below. */
TEST(wake_up_of_a_wide_graph_is_quick)
{
    enum { WIDTH = 100, LAYERS = 4 };
    struct file *layers[LAYERS][WIDTH];
    struct epoll_event event;
    start();
    struct file *target = make_event(0);
    for (int layer = 0; layer < LAYERS; layer++) {
        for (int i = 0; i < WIDTH; i++) {
            layers[layer][i] = make_epoll();
            for (int j = 0; layer > 0 && j < WIDTH; j++)
                ASSERT_EQ(add(layers[layer][i], layers[layer - 1][j], j, EPOLLIN), 0);
            if (layer == 0)
                ASSERT_EQ(add(layers[0][i], target, i, EPOLLIN), 0);
        }
    }
    /* By paths it would be 100^4 steps. */
    for (int i = 0; i < 100; i++)
        raise_event(target);
    for (int i = 0; i < WIDTH; i++)
        EXPECT_EQ(deliver(layers[LAYERS - 1][i], &event, 1), 1);
    file_put(target);
    for (int i = 0; i < WIDTH; i++)
        EXPECT_EQ(deliver(layers[LAYERS - 1][i], &event, 1), 0);
    for (int layer = 0; layer < LAYERS; layer++)
        for (int i = 0; i < WIDTH; i++)
            file_put(layers[layer][i]);
}

TEST(every_new_event_reaches_outer_edges)
{
    struct epoll_event event;
    start();
    struct file *target = make_event(0), *inner = make_epoll(), *a = make_epoll(),
                *b = make_epoll();
    ASSERT_EQ(add(inner, target, 0, EPOLLIN), 0);
    ASSERT_EQ(add(a, inner, 0, EPOLLIN | EPOLLET), 0);
    ASSERT_EQ(add(b, inner, 0, EPOLLIN | EPOLLET), 0);
    raise_event(target);
    EXPECT_EQ(deliver(a, &event, 1), 1);
    EXPECT_EQ(deliver(a, &event, 1), 0);
    raise_event(target);
    EXPECT_EQ(deliver(a, &event, 1), 1);
    EXPECT_EQ(deliver(b, &event, 1), 1);
    EXPECT_EQ(deliver(b, &event, 1), 0);
}
