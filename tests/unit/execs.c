// SPDX-License-Identifier: Apache-2.0
/* Who connects to a starter while there is no descriptor for him. */
#include "sandbox/execs.h"

#include "sandbox/exec.h"
#include "sandbox/socket_file.h"
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <poll.h>
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
