// SPDX-License-Identifier: Apache-2.0
/* Who connects to a starter while there is no descriptor for him, and what it hears of programs. */
#include "sandbox/execs.h"

#include "sandbox/exec.h"
#include "sandbox/socket_file.h"
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

static struct registry registry = REGISTRY_CLOSED;
static struct sandbox sandbox;
static struct sandbox_spec spec;

/* No more than are open. */
static struct rlimit take_descriptors(void)
{
    struct rlimit before, none;
    int free_one = dup(STDIN_FILENO);
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    close(free_one);
    none = (struct rlimit){.rlim_cur = (rlim_t)free_one, .rlim_max = before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    return before;
}

TEST(who_was_not_let_in_is_when_others_let_go)
{
    struct sandbox_error e;
    struct execs x;
    mkdir("sandboxes", 0700);
    registry.sandboxes = open("sandboxes", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(registry.name, sizeof(registry.name), "one");
    execs_init(&x);
    ASSERT_EQ(execs_open(&x, &registry, &sandbox, &spec, &e), 0);
    int fd = socket_file_connect_as(&registry, "one", SOCKET_FILE_EXECS);
    ASSERT_GE(fd, 0);
    struct rlimit before = take_descriptors();
    execs_step(&x);
    EXPECT_EQ(x.client_count, 0U);
    EXPECT_TRUE(x.is_deaf);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    /* None of its own is closed: it comes back by itself. */
    ASSERT_GT(execs_deadline(&x), 0);
    while (execs_now_ns() < execs_deadline(&x))
        poll(NULL, 0, 1);
    execs_step(&x);
    EXPECT_EQ(execs_deadline(&x), 0);
    execs_step(&x);
    EXPECT_EQ(x.client_count, 1U);
    execs_close(&x, 0, NULL, NULL);
    close(fd);
    close(registry.sandboxes);
}

/* The reason of the end that a starter notes when it hears of it. */
static uint32_t reason_of(int32_t status, uint32_t reason, void (*prepare)(struct execs *x))
{
    struct sandbox_error e;
    struct execs x;
    struct exec program = {.number = 1, .state = EXEC_RUNNING, .input = {.fd = -1}};
    const struct control_packet p = {
        .type = CONTROL_EXEC_ENDED, .value = 1, .status = status, .reason = reason};
    mkdir("sandboxes", 0700);
    registry.sandboxes = open("sandboxes", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(registry.name, sizeof(registry.name), "one");
    execs_init(&x);
    ASSERT_EQ(execs_open(&x, &registry, &sandbox, &spec, &e), 0);
    x.is_ready = true;
    if (prepare)
        prepare(&x);
    program.execs = &x;
    for (size_t i = 0; i < ARRAY_SIZE(program.streams); i++)
        program.streams[i].source.fd = -1;
    list_append(&x.programs, &program.link);
    x.running = 1;
    execs_take(&x, &p, NULL);
    EXPECT_TRUE(program.state == EXEC_OVER_WITH);
    EXPECT_EQ(program.status, status);
    list_remove(&program.link);
    execs_close(&x, 0, NULL, NULL);
    close(registry.sandboxes);
    return program.reason;
}

/* The kernel may live just long enough to tell what the end of the sandbox did to the program. */
TEST(who_is_killed_while_the_sandbox_ends_is_so_with_it)
{
    EXPECT_EQ(reason_of(SIGKILL, CONTROL_BY_ITSELF, execs_expect_end),
              CONTROL_BY_ITSELF | EXEC_WITH_SANDBOX);
    /* By the starter, where the kernel was late. */
    EXPECT_EQ(reason_of(SIGKILL, CONTROL_BY_HOST, execs_expect_end),
              CONTROL_BY_ITSELF | EXEC_WITH_SANDBOX);
    EXPECT_EQ(reason_of(SIGKILL, CONTROL_BY_HOST, NULL), CONTROL_BY_HOST);
    EXPECT_EQ(reason_of(SIGKILL, CONTROL_BY_MEMORY, execs_expect_end), CONTROL_BY_MEMORY);
    /* In the grace: the sandbox lives on for a while. */
    EXPECT_EQ(reason_of(SIGKILL, CONTROL_BY_ITSELF, execs_refuse), CONTROL_BY_ITSELF);
    EXPECT_EQ(reason_of(SIGKILL, CONTROL_BY_ITSELF, NULL), CONTROL_BY_ITSELF);
    EXPECT_EQ(reason_of(SIGTERM, CONTROL_BY_ITSELF, execs_expect_end), CONTROL_BY_ITSELF);
    EXPECT_EQ(reason_of(0, CONTROL_BY_ITSELF, execs_expect_end), CONTROL_BY_ITSELF);
}
