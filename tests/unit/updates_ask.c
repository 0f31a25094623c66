// SPDX-License-Identifier: Apache-2.0
/*
 * Who asks a starter for another policy, when that is stopped, busy, ends, or is of another
 * version. meson.build puts this registry, and memory file, in the place of the program's.
 */
#include "lib/base/update.h"
#include "sandbox/memory_file.h"
#include "sandbox/socket_file.h"
#include "sandbox/updates.h"
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

static bool has_memory_files = true;
static const struct update wish = {.json = "{}", .size = 2};

int __wrap_registry_open(struct registry *r, struct sandbox_error *e);
int __real_memory_file_new(const char *name, const void *data, size_t size);
int __wrap_memory_file_new(const char *name, const void *data, size_t size);

int __wrap_registry_open(struct registry *r, struct sandbox_error *e _unused_)
{
    *r = REGISTRY_CLOSED;
    mkdir("sandboxes", 0700);
    r->sandboxes = open("sandboxes", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(r->name, sizeof(r->name), "one");
    return 0;
}

int __wrap_memory_file_new(const char *name, const void *data, size_t size)
{
    errno = EMFILE;
    return has_memory_files ? __real_memory_file_new(name, data, size) : -1;
}

static int new_listener(void)
{
    struct sandbox_error e;
    struct registry r;
    __wrap_registry_open(&r, &e);
    int fd = socket_file_listen(&r, UPDATES_CLIENTS_MAX);
    ASSERT_GE(fd, 0);
    registry_close(&r);
    return fd;
}

static void on_alarm(int sig _unused_)
{
}

/* One that signals come to without end, and none of them ends a wait. */
static int ask_among_signals(void)
{
    struct sandbox_error e;
    const struct sigaction a = {.sa_handler = on_alarm};
    const struct itimerval often = {{0, 20000}, {0, 20000}};
    sigaction(SIGALRM, &a, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    return updates_set_policy("one", &wish, NULL, &e);
}

/* There is no place in the queue for the last of them. */
TEST(a_stopped_starter_is_waited_for_so_long_and_no_longer)
{
    const struct timespec step = {.tv_nsec = 20 * NSEC_PER_MSEC};
    pid_t children[UPDATES_CLIENTS_MAX + 3];
    int listener = new_listener(), status, left = ARRAY_SIZE(children);
    for (size_t i = 0; i < ARRAY_SIZE(children); i++) {
        children[i] = fork();
        if (children[i] == 0)
            _exit(ask_among_signals() == -ETIMEDOUT ? 0 : 1);
    }
    for (int i = 0; i < 20 * 50 && left > 0; i++) {
        nanosleep(&step, NULL);
        while (left > 0 && waitpid(-1, &status, WNOHANG) > 0) {
            EXPECT_EQ(status, 0);
            left--;
        }
    }
    EXPECT_EQ(left, 0);
    for (size_t i = 0; left > 0 && i < ARRAY_SIZE(children); i++)
        kill(children[i], SIGKILL);
    close(listener);
}

/* A starter that hears whoever is first, says so many bytes and hangs up; NULL: hears nothing. */
static pid_t start(int listener, const void *answer, size_t size)
{
    struct update_packet p;
    struct pollfd asked = {.fd = listener, .events = POLLIN};
    pid_t pid = fork();
    if (pid)
        return pid;
    poll(&asked, 1, -1);
    int fd = accept(listener, NULL, NULL);
    if (answer && (recv(fd, &p, sizeof(p), 0) != sizeof(p) || send(fd, answer, size, 0) < 0))
        _exit(1);
    _exit(0);
}

static int ask(const void *answer, size_t size, struct sandbox_error *e)
{
    int listener = new_listener(), status;
    pid_t pid = start(listener, answer, size);
    int r = updates_set_policy("one", &wish, NULL, e);
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
    close(listener);
    return r;
}

TEST(who_hangs_up_is_not_stopped)
{
    struct sandbox_error e;
    EXPECT_EQ(ask(NULL, 0, &e), -ECONNRESET);
    EXPECT_TRUE(strstr(e.text, "hung up") != NULL);
    EXPECT_EQ(ask("x", 1, &e), -EPROTO);
    EXPECT_TRUE(strstr(e.text, "as this version does") != NULL);
}

TEST(nobody_has_to_know_the_generation)
{
    struct sandbox_error e;
    const struct update_packet done = {
        .version = UPDATE_VERSION, .type = UPDATE_DONE, .generation = 2};
    EXPECT_EQ(ask(&done, sizeof(done), &e), 0);
}

TEST(what_was_not_sent_is_told_as_that)
{
    struct sandbox_error e;
    int listener = new_listener();
    has_memory_files = false;
    EXPECT_EQ(updates_set_policy("one", &wish, NULL, &e), -EMFILE);
    EXPECT_TRUE(strstr(e.text, "could not be told") != NULL);
    close(listener);
}
