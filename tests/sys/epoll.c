// SPDX-License-Identifier: Apache-2.0
#include "tests/sys/waiting.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

static int ends[2];
static struct epoll_event got[16];
static void *volatile bad_address = (void *)8;

static int make(void)
{
    int ep = epoll_create1(0);
    ASSERT_GE(ep, 0);
    return ep;
}

static int control(int ep, int operation, int fd, uint32_t events, uint64_t data)
{
    struct epoll_event event = {.events = events, .data.u64 = data};
    return epoll_ctl(ep, operation, fd, &event);
}

static void add(int ep, int fd, uint32_t events)
{
    ASSERT_EQ(control(ep, EPOLL_CTL_ADD, fd, events, (uint64_t)fd), 0);
}

static int look(int ep)
{
    return epoll_wait(ep, got, 16, 0);
}

static void put(int fd)
{
    ASSERT_EQ(write(fd, "x", 1), 1);
}

static void drain(int fd)
{
    char buffer[64];
    ASSERT_GT(read(fd, buffer, sizeof(buffer)), 0);
}

/* ---- creating and controlling ---- */

TEST(create_checks_its_arguments)
{
    EXPECT_ERRNO(epoll_create(0), EINVAL);
    EXPECT_ERRNO(epoll_create(-1), EINVAL);
    EXPECT_ERRNO(epoll_create1(1), EINVAL);
    EXPECT_EQ(fcntl(epoll_create1(EPOLL_CLOEXEC), F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(fcntl(epoll_create(1), F_GETFD), 0);
}

TEST(event_is_twelve_bytes)
{
    EXPECT_EQ(sizeof(struct epoll_event), 12);
    int ep = make();
    struct epoll_event two[2];
    memset(two, 0x55, sizeof(two));
    ASSERT_EQ(pipe(ends), 0);
    ASSERT_EQ(control(ep, EPOLL_CTL_ADD, ends[1], EPOLLOUT, 0x1122334455667788), 0);
    EXPECT_EQ(epoll_wait(ep, two, 2, 0), 1);
    EXPECT_EQ(two[0].data.u64, 0x1122334455667788);
    EXPECT_EQ(two[1].events, 0x55555555);
}

TEST(control_checks_descriptors)
{
    int ep = make();
    ASSERT_EQ(pipe(ends), 0);
    EXPECT_ERRNO(control(1000, EPOLL_CTL_ADD, ends[0], EPOLLIN, 0), EBADF);
    EXPECT_ERRNO(control(ep, EPOLL_CTL_ADD, 1000, EPOLLIN, 0), EBADF);
    EXPECT_ERRNO(control(ends[0], EPOLL_CTL_ADD, ends[1], EPOLLIN, 0), EINVAL);
    EXPECT_ERRNO(control(ep, EPOLL_CTL_ADD, ep, EPOLLIN, 0), EINVAL);
    EXPECT_ERRNO(control(ep, 77, ends[0], EPOLLIN, 0), EINVAL);
    EXPECT_ERRNO(epoll_ctl(ep, EPOLL_CTL_ADD, ends[0], bad_address), EFAULT);
}

TEST(files_that_are_always_ready_are_eperm)
{
    int ep = make();
    EXPECT_ERRNO(control(ep, EPOLL_CTL_ADD, open("f", O_RDWR | O_CREAT, 0600), EPOLLIN, 0), EPERM);
    EXPECT_ERRNO(control(ep, EPOLL_CTL_ADD, open(".", O_RDONLY), EPOLLIN, 0), EPERM);
}

TEST(items_exist_or_not)
{
    int ep = make();
    ASSERT_EQ(pipe(ends), 0);
    EXPECT_ERRNO(control(ep, EPOLL_CTL_MOD, ends[0], EPOLLIN, 0), ENOENT);
    EXPECT_ERRNO(control(ep, EPOLL_CTL_DEL, ends[0], 0, 0), ENOENT);
    add(ep, ends[0], EPOLLIN);
    EXPECT_ERRNO(control(ep, EPOLL_CTL_ADD, ends[0], EPOLLIN, 0), EEXIST);
    EXPECT_EQ(control(ep, EPOLL_CTL_MOD, ends[0], EPOLLIN, 0), 0);
    EXPECT_EQ(epoll_ctl(ep, EPOLL_CTL_DEL, ends[0], NULL), 0);
    EXPECT_ERRNO(epoll_ctl(ep, EPOLL_CTL_DEL, ends[0], NULL), ENOENT);
}

TEST(wait_checks_its_arguments)
{
    int ep = make();
    ASSERT_EQ(pipe(ends), 0);
    EXPECT_ERRNO(epoll_wait(ep, got, 0, 0), EINVAL);
    EXPECT_ERRNO(syscall(SYS_epoll_wait, ep, got, -1, 0), EINVAL);
    EXPECT_ERRNO(syscall(SYS_epoll_wait, ep, got, 0x7fffffff, 0), EINVAL);
    EXPECT_ERRNO(epoll_wait(ends[0], got, 1, 0), EINVAL);
    EXPECT_ERRNO(epoll_wait(1000, got, 1, 0), EBADF);
    EXPECT_EQ(epoll_wait(ep, bad_address, 1, 0), 0);
}

TEST(bad_buffer_loses_nothing)
{
    int ep = make();
    ASSERT_EQ(pipe(ends), 0);
    ASSERT_EQ(control(ep, EPOLL_CTL_ADD, ends[1], EPOLLOUT | EPOLLONESHOT | EPOLLET, 9), 0);
    EXPECT_ERRNO(epoll_wait(ep, bad_address, 1, 0), EFAULT);
    EXPECT_EQ(look(ep), 1);
    EXPECT_EQ(got[0].data.u64, 9);
}

TEST(buffer_that_ends_early_takes_what_fits)
{
    char *two = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_EQ(munmap(two + 4096, 4096), 0);
    int ep = make();
    ASSERT_EQ(pipe(ends), 0);
    for (int i = 0; i < 3; i++)
        add(ep, dup(ends[1]), EPOLLOUT | EPOLLET);
    EXPECT_EQ(epoll_wait(ep, (void *)(two + 4096 - 24), 3, 0), 2);
    EXPECT_EQ(look(ep), 1);
}

/* ---- level and edge ---- */

TEST(level_tells_as_long_as_it_is_true)
{
    int ep = make();
    ASSERT_EQ(pipe(ends), 0);
    add(ep, ends[0], EPOLLIN);
    EXPECT_EQ(look(ep), 0);
    put(ends[1]);
    EXPECT_EQ(look(ep), 1);
    EXPECT_EQ(got[0].events, EPOLLIN);
    EXPECT_EQ(look(ep), 1);
    drain(ends[0]);
    EXPECT_EQ(look(ep), 0);
}

TEST(edge_tells_once)
{
    int ep = make();
    ASSERT_EQ(pipe(ends), 0);
    add(ep, ends[0], EPOLLIN | EPOLLET);
    put(ends[1]);
    EXPECT_EQ(look(ep), 1);
    EXPECT_EQ(look(ep), 0);
}

TEST(edge_tells_of_each_write_to_a_pipe)
{
    int ep = make();
    ASSERT_EQ(pipe(ends), 0);
    add(ep, ends[0], EPOLLIN | EPOLLET);
    for (int i = 0; i < 3; i++) {
        put(ends[1]);
        EXPECT_EQ(look(ep), 1);
    }
    EXPECT_EQ(look(ep), 0);
}

TEST(edge_tells_of_each_write_to_a_socket)
{
    int ep = make();
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    add(ep, ends[0], EPOLLIN | EPOLLET);
    for (int i = 0; i < 3; i++) {
        put(ends[1]);
        EXPECT_EQ(look(ep), 1);
    }
    EXPECT_EQ(look(ep), 0);
}

TEST(edge_tells_of_each_eventfd_write)
{
    int ep = make(), event = eventfd(0, 0);
    add(ep, event, EPOLLIN | EPOLLET);
    for (int i = 0; i < 3; i++) {
        ASSERT_EQ(eventfd_write(event, 1), 0);
        EXPECT_EQ(look(ep), 1);
    }
    EXPECT_EQ(look(ep), 0);
}

TEST(edge_that_is_gone_before_the_look_is_not_told)
{
    int ep = make();
    ASSERT_EQ(pipe(ends), 0);
    add(ep, ends[0], EPOLLIN | EPOLLET);
    put(ends[1]);
    drain(ends[0]);
    EXPECT_EQ(look(ep), 0);
}

TEST(edge_for_writing_comes_when_a_full_pipe_is_read)
{
    static char big[65536];
    int ep = make();
    ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
    add(ep, ends[1], EPOLLOUT | EPOLLET);
    EXPECT_EQ(look(ep), 1);
    ASSERT_EQ(write(ends[1], big, sizeof(big)), (long)sizeof(big));
    EXPECT_EQ(look(ep), 0);
    ASSERT_EQ(read(ends[0], big, 4096), 4096);
    EXPECT_EQ(look(ep), 1);
    ASSERT_EQ(read(ends[0], big, 4096), 4096);
    EXPECT_EQ(look(ep), 0);
}

TEST(changing_an_item_looks_again)
{
    int ep = make();
    ASSERT_EQ(pipe(ends), 0);
    add(ep, ends[0], EPOLLIN | EPOLLET);
    put(ends[1]);
    EXPECT_EQ(look(ep), 1);
    EXPECT_EQ(look(ep), 0);
    EXPECT_EQ(control(ep, EPOLL_CTL_MOD, ends[0], EPOLLIN | EPOLLET, 5), 0);
    EXPECT_EQ(look(ep), 1);
    EXPECT_EQ(got[0].data.u64, 5);
}

TEST(changing_an_item_changes_what_is_told)
{
    int ep = make();
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    add(ep, ends[0], EPOLLOUT);
    put(ends[1]);
    EXPECT_EQ(look(ep), 1);
    EXPECT_EQ(got[0].events, EPOLLOUT);
    EXPECT_EQ(control(ep, EPOLL_CTL_MOD, ends[0], EPOLLIN, 0), 0);
    EXPECT_EQ(look(ep), 1);
    EXPECT_EQ(got[0].events, EPOLLIN);
    EXPECT_EQ(control(ep, EPOLL_CTL_MOD, ends[0], 0, 0), 0);
    EXPECT_EQ(look(ep), 0);
}

TEST(oneshot_is_silent_until_changed)
{
    int ep = make();
    ASSERT_EQ(pipe(ends), 0);
    add(ep, ends[0], EPOLLIN | EPOLLONESHOT);
    put(ends[1]);
    EXPECT_EQ(look(ep), 1);
    put(ends[1]);
    EXPECT_EQ(look(ep), 0);
    /* Not even a hang-up comes through. */
    close(ends[1]);
    EXPECT_EQ(look(ep), 0);
    EXPECT_ERRNO(control(ep, EPOLL_CTL_ADD, ends[0], EPOLLIN, 0), EEXIST);
    EXPECT_EQ(control(ep, EPOLL_CTL_MOD, ends[0], EPOLLIN | EPOLLONESHOT, 0), 0);
    EXPECT_EQ(look(ep), 1);
    EXPECT_EQ(got[0].events, EPOLLIN | EPOLLHUP);
}

TEST(hang_up_and_error_come_unasked)
{
    int ep = make(), others[2];
    ASSERT_EQ(pipe(ends), 0);
    ASSERT_EQ(pipe(others), 0);
    add(ep, ends[0], 0);
    add(ep, others[1], 0);
    close(ends[1]);
    EXPECT_EQ(look(ep), 1);
    EXPECT_EQ(got[0].events, EPOLLHUP);
    close(others[0]);
    EXPECT_EQ(look(ep), 2);
    EXPECT_EQ(got[0].events | got[1].events, EPOLLHUP | EPOLLERR);
}

TEST(peer_shutdown_comes_only_on_request)
{
    int ep = make(), second = make();
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    add(ep, ends[0], EPOLLRDHUP);
    add(second, ends[0], EPOLLPRI);
    ASSERT_EQ(shutdown(ends[1], SHUT_WR), 0);
    EXPECT_EQ(look(ep), 1);
    EXPECT_EQ(got[0].events, EPOLLRDHUP);
    EXPECT_EQ(look(second), 0);
}

TEST(small_buffers_serve_all_in_turn)
{
    enum { COUNT = 5 };
    int ep = make(), seen[COUNT] = {0};
    for (int i = 0; i < COUNT; i++) {
        int event = eventfd(1, 0);
        ASSERT_EQ(control(ep, EPOLL_CTL_ADD, event, EPOLLIN, (uint64_t)i), 0);
    }
    for (int round = 0; round < 2 * COUNT; round++) {
        ASSERT_EQ(epoll_wait(ep, got, 1, 0), 1);
        seen[got[0].data.u64]++;
    }
    for (int i = 0; i < COUNT; i++)
        EXPECT_EQ(seen[i], 2);
}

/* ---- life of items ---- */

TEST(each_number_of_a_description_is_an_item)
{
    int ep = make();
    ASSERT_EQ(pipe(ends), 0);
    int second = dup(ends[0]);
    add(ep, ends[0], EPOLLIN);
    add(ep, second, EPOLLIN);
    put(ends[1]);
    EXPECT_EQ(look(ep), 2);
    EXPECT_EQ(epoll_ctl(ep, EPOLL_CTL_DEL, second, NULL), 0);
    EXPECT_EQ(look(ep), 1);
}

TEST(item_goes_with_the_last_descriptor)
{
    int ep = make();
    ASSERT_EQ(pipe(ends), 0);
    add(ep, ends[0], EPOLLIN);
    put(ends[1]);
    close(ends[0]);
    EXPECT_EQ(look(ep), 0);
}

TEST(item_outlives_its_number)
{
    int ep = make();
    ASSERT_EQ(pipe(ends), 0);
    int second = dup(ends[0]);
    add(ep, ends[0], EPOLLIN);
    int number = ends[0];
    close(ends[0]);
    put(ends[1]);
    EXPECT_EQ(look(ep), 1);
    EXPECT_EQ(got[0].data.fd, number);
    EXPECT_ERRNO(epoll_ctl(ep, EPOLL_CTL_DEL, number, NULL), EBADF);
    /* Another file at the same number is another item. */
    int event = eventfd(0, 0);
    ASSERT_EQ(event, number);
    EXPECT_ERRNO(epoll_ctl(ep, EPOLL_CTL_DEL, number, NULL), ENOENT);
    EXPECT_EQ(control(ep, EPOLL_CTL_ADD, number, EPOLLOUT, 77), 0);
    EXPECT_EQ(look(ep), 2);
    close(second);
    EXPECT_EQ(look(ep), 1);
    EXPECT_EQ(got[0].data.u64, 77);
}

TEST(many_items)
{
    enum { COUNT = 500 };
    static int events[COUNT];
    static struct epoll_event all[COUNT];
    int ep = make();
    for (int i = 0; i < COUNT; i++) {
        events[i] = eventfd(0, 0);
        add(ep, events[i], EPOLLIN);
    }
    for (int i = 0; i < COUNT; i += 2)
        eventfd_write(events[i], 1);
    EXPECT_EQ(epoll_wait(ep, all, COUNT, 0), COUNT / 2);
    for (int i = 0; i < COUNT; i += 2)
        close(events[i]);
    EXPECT_EQ(epoll_wait(ep, all, COUNT, 0), 0);
}

/* ---- waiting ---- */

TEST(wakes_up_for_an_event)
{
    int ep = make();
    ASSERT_EQ(pipe(ends), 0);
    add(ep, ends[0], EPOLLIN);
    if (fork() == 0) {
        harness_wait_until_sleeps(getppid());
        _exit(write(ends[1], "x", 1) != 1);
    }
    EXPECT_EQ(epoll_wait(ep, got, 1, 5000), 1);
    wait(NULL);
}

TEST(timeout_passes)
{
    int ep = make();
    long start = now_ms();
    EXPECT_EQ(epoll_wait(ep, got, 1, 70), 0);
    EXPECT_GE(now_ms() - start, 70);
}

TEST(pwait2_takes_nanoseconds)
{
    int ep = make();
    struct timespec t = {0, 60000000}, bad = {0, -1};
    long start = now_ms();
    EXPECT_EQ(syscall(SYS_epoll_pwait2, ep, got, 1, &t, NULL, 0), 0);
    EXPECT_GE(now_ms() - start, 60);
    EXPECT_ERRNO(syscall(SYS_epoll_pwait2, ep, got, 1, &bad, NULL, 0), EINVAL);
    EXPECT_ERRNO(syscall(SYS_epoll_pwait2, ep, got, 1, bad_address, NULL, 0), EFAULT);
}

TEST(handler_interrupts_even_if_it_restarts)
{
    int ep = make();
    handle(SIGALRM, SA_RESTART);
    alarm(1);
    EXPECT_ERRNO(epoll_wait(ep, got, 1, -1), EINTR);
    EXPECT_EQ(signals_seen, 1);
}

TEST(mask_and_wait_are_one_step)
{
    sigset_t set, none;
    int ep = make();
    handle(SIGUSR1, 0);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    raise(SIGUSR1);
    sigemptyset(&none);
    EXPECT_ERRNO(epoll_pwait(ep, got, 1, 5000, &none), EINTR);
    EXPECT_EQ(signals_seen, 1);
    sigprocmask(SIG_BLOCK, NULL, &set);
    EXPECT_TRUE(sigismember(&set, SIGUSR1));
    EXPECT_ERRNO(syscall(SYS_epoll_pwait, ep, got, 1, 0, &none, 4), EINVAL);
}

static volatile pid_t waiter;
static volatile int patience_ms = 10000;

static void *wait_in_thread(void *ep)
{
    struct epoll_event event;
    waiter = gettid();
    return (void *)(long)epoll_wait((int)(long)ep, &event, 1, patience_ms);
}

/* One that waits for ep, and already does. */
static pthread_t start_waiter(int ep)
{
    pthread_t thread;
    waiter = 0;
    ASSERT_EQ(pthread_create(&thread, NULL, wait_in_thread, (void *)(long)ep), 0);
    while (!waiter)
        usleep(100);
    harness_wait_until_sleeps(waiter);
    return thread;
}

TEST(level_event_is_for_all_who_wait)
{
    pthread_t threads[3];
    int ep = make(), event = eventfd(0, 0);
    void *result;
    long sum = 0;
    add(ep, event, EPOLLIN);
    for (int i = 0; i < 3; i++)
        threads[i] = start_waiter(ep);
    eventfd_write(event, 1);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], &result);
        sum += (long)result;
    }
    EXPECT_EQ(sum, 3);
}

TEST(edge_event_is_for_one_who_waits)
{
    pthread_t threads[3];
    int ep = make(), event = eventfd(0, 0);
    void *result;
    long sum = 0;
    add(ep, event, EPOLLIN | EPOLLET);
    patience_ms = 1000;
    for (int i = 0; i < 3; i++)
        threads[i] = start_waiter(ep);
    eventfd_write(event, 1);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], &result);
        sum += (long)result;
    }
    EXPECT_EQ(sum, 1);
}

TEST(item_added_while_waiting_wakes)
{
    int ep = make(), event = eventfd(1, 0);
    void *result;
    pthread_t thread = start_waiter(ep);
    add(ep, event, EPOLLIN);
    pthread_join(thread, &result);
    EXPECT_EQ((long)result, 1);
}

TEST(closing_the_instance_does_not_wake)
{
    int ep = make();
    void *result;
    long start = now_ms();
    patience_ms = 400;
    pthread_t thread = start_waiter(ep);
    close(ep);
    pthread_join(thread, &result);
    EXPECT_EQ((long)result, 0);
    EXPECT_GE(now_ms() - start, 400);
}

/* ---- exclusive ---- */

TEST(exclusive_comes_with_few_others)
{
    int ep = make();
    ASSERT_EQ(pipe(ends), 0);
    EXPECT_ERRNO(control(ep, EPOLL_CTL_ADD, ends[0], EPOLLEXCLUSIVE | EPOLLONESHOT, 0), EINVAL);
    EXPECT_ERRNO(control(ep, EPOLL_CTL_ADD, ends[0], EPOLLEXCLUSIVE | EPOLLRDHUP, 0), EINVAL);
    EXPECT_ERRNO(control(ep, EPOLL_CTL_ADD, make(), EPOLLEXCLUSIVE | EPOLLIN, 0), EINVAL);
    add(ep, ends[0], EPOLLEXCLUSIVE | EPOLLIN | EPOLLET);
    EXPECT_ERRNO(control(ep, EPOLL_CTL_MOD, ends[0], EPOLLIN, 0), EINVAL);
    EXPECT_ERRNO(control(ep, EPOLL_CTL_MOD, ends[0], EPOLLIN | EPOLLEXCLUSIVE, 0), EINVAL);
    EXPECT_EQ(epoll_ctl(ep, EPOLL_CTL_DEL, ends[0], NULL), 0);
}

TEST(exclusive_wakes_one_of_those_who_wait)
{
    pthread_t threads[3];
    int event = eventfd(0, EFD_NONBLOCK);
    void *result;
    long sum = 0;
    for (int i = 0; i < 3; i++) {
        int ep = make();
        add(ep, event, EPOLLIN | EPOLLEXCLUSIVE);
        patience_ms = 1000;
        threads[i] = start_waiter(ep);
    }
    eventfd_write(event, 1);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], &result);
        sum += (long)result;
    }
    EXPECT_GE(sum, 1);
    EXPECT_LT(sum, 3);
}

TEST(exclusive_passes_by_those_who_do_not_wait)
{
    int event = eventfd(0, EFD_NONBLOCK), idle = make(), ep = make();
    void *result;
    add(idle, event, EPOLLIN | EPOLLEXCLUSIVE);
    add(ep, event, EPOLLIN | EPOLLEXCLUSIVE);
    pthread_t thread = start_waiter(ep);
    eventfd_write(event, 1);
    pthread_join(thread, &result);
    EXPECT_EQ((long)result, 1);
    EXPECT_EQ(look(idle), 1);
}

/* ---- nesting ---- */

TEST(inner_instance_is_readable_when_it_has_events)
{
    int inner = make(), outer = make();
    ASSERT_EQ(pipe(ends), 0);
    add(inner, ends[0], EPOLLIN);
    add(outer, inner, EPOLLIN);
    struct pollfd p = {inner, POLLIN, 0};
    EXPECT_EQ(poll(&p, 1, 0), 0);
    EXPECT_EQ(look(outer), 0);
    put(ends[1]);
    EXPECT_EQ(poll(&p, 1, 0), 1);
    EXPECT_EQ(look(outer), 1);
    EXPECT_EQ(got[0].data.fd, inner);
    EXPECT_EQ(look(inner), 1);
    drain(ends[0]);
    EXPECT_EQ(look(outer), 0);
    EXPECT_EQ(poll(&p, 1, 0), 0);
}

TEST(outer_edge_follows_inner_wake_ups)
{
    int inner = make(), outer = make();
    ASSERT_EQ(pipe(ends), 0);
    add(inner, ends[0], EPOLLIN);
    add(outer, inner, EPOLLIN | EPOLLET);
    put(ends[1]);
    EXPECT_EQ(look(outer), 1);
    EXPECT_EQ(look(outer), 0);
    put(ends[1]);
    EXPECT_EQ(look(outer), 1);
    EXPECT_EQ(look(outer), 0);
}

TEST(wake_up_goes_through_three_levels)
{
    int a = make(), b = make(), c = make(), event = eventfd(0, 0);
    void *result;
    add(a, event, EPOLLIN);
    add(b, a, EPOLLIN);
    add(c, b, EPOLLIN);
    for (int round = 0; round < 3; round++) {
        pthread_t thread = start_waiter(c);
        eventfd_write(event, 1);
        pthread_join(thread, &result);
        EXPECT_EQ((long)result, 1);
        eventfd_t value;
        eventfd_read(event, &value);
    }
}

TEST(poll_waits_for_an_instance)
{
    int ep = make(), event = eventfd(0, 0);
    add(ep, event, EPOLLIN);
    if (fork() == 0) {
        harness_wait_until_sleeps(getppid());
        _exit(eventfd_write(event, 1) != 0);
    }
    struct pollfd p = {ep, POLLIN, 0};
    EXPECT_EQ(poll(&p, 1, 5000), 1);
    EXPECT_EQ(p.revents, POLLIN);
    wait(NULL);
}

TEST(circles_are_refused)
{
    int a = make(), b = make(), c = make();
    add(a, b, EPOLLIN);
    EXPECT_ERRNO(control(b, EPOLL_CTL_ADD, a, EPOLLIN, 0), ELOOP);
    add(b, c, EPOLLIN);
    EXPECT_ERRNO(control(c, EPOLL_CTL_ADD, a, EPOLLIN, 0), ELOOP);
    EXPECT_EQ(epoll_ctl(a, EPOLL_CTL_DEL, b, NULL), 0);
    EXPECT_EQ(control(c, EPOLL_CTL_ADD, a, EPOLLIN, 0), 0);
}

TEST(five_levels_are_the_most)
{
    int chain[7];
    for (int i = 0; i < 7; i++)
        chain[i] = make();
    for (int i = 0; i < 4; i++)
        EXPECT_EQ(control(chain[i + 1], EPOLL_CTL_ADD, chain[i], EPOLLIN, 0), 0);
    EXPECT_EQ(control(chain[5], EPOLL_CTL_ADD, chain[4], EPOLLIN, 0), -1);
    EXPECT_TRUE(errno == ELOOP || errno == EINVAL);
}

TEST(closing_in_any_order_is_safe)
{
    for (int order = 0; order < 6; order++) {
        int inner = make(), outer = make(), event = eventfd(1, 0);
        int all[3] = {inner, outer, event};
        add(inner, event, EPOLLIN);
        add(outer, inner, EPOLLIN);
        EXPECT_EQ(look(outer), 1);
        int first = order % 3, second = (first + 1 + order / 3) % 3;
        close(all[first]);
        close(all[second]);
        close(all[3 - first - second]);
    }
}

TEST(proc_names_it)
{
    char name[64], text[64] = "";
    int ep = make();
    snprintf(name, sizeof(name), "/proc/self/fd/%d", ep);
    EXPECT_GT(readlink(name, text, sizeof(text) - 1), 0);
    EXPECT_STR(text, "anon_inode:[eventpoll]");
}
