// SPDX-License-Identifier: Apache-2.0
/*
 * A reader of the record for whose line there is no memory. meson.build puts this realloc, and
 * record, in the place of others.
 */
#include "include/glovebox.h"
#include "sandbox/decisions.h"
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

static bool has_memory = true;
static int runtime;

void *__real_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size);
int __wrap_decisions_reader_open(struct decisions_reader *r, const char *name,
                                 struct sandbox_error *e);

void *__wrap_realloc(void *p, size_t size)
{
    return has_memory ? __real_realloc(p, size) : NULL;
}

int __wrap_decisions_reader_open(struct decisions_reader *r, const char *name,
                                 struct sandbox_error *e)
{
    return decisions_reader_open_in(r, runtime, name, e);
}

/* Of so many bytes without its newline. */
static void add(struct decisions *d, size_t size)
{
    char line[DECISIONS_LINE_MAX_BYTES];
    memset(line, ' ', size);
    line[0] = '{';
    line[size - 1] = '}';
    ASSERT_TRUE(decisions_add(d, line, size));
}

/* Two of them need more than the buffer has by then. */
TEST(no_decision_is_left_out)
{
    static const size_t sizes[] = {10, 8000, 20, 3000};
    struct sandbox_error error;
    struct glovebox_error e;
    struct registry r = REGISTRY_CLOSED;
    struct decisions d;
    struct glovebox_egress *x;
    const char *line;
    mkdir("runtime", 0700);
    runtime = r.folder = open("runtime", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(r.name, sizeof(r.name), "one");
    ASSERT_EQ(decisions_open(&d, &r, &error), 0);
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
        add(&d, sizes[i]);
    ASSERT_EQ(glovebox_egress_open("one", 0, &x, &e), 0);
    size_t failed = 0;
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        has_memory = false;
        int got = glovebox_egress_next(x, 0, &line, &e);
        has_memory = true;
        if (got < 0) {
            EXPECT_EQ(got, -ENOMEM);
            failed++;
            ASSERT_EQ(glovebox_egress_next(x, 0, &line, &e), 0);
        }
        EXPECT_EQ(strlen(line), sizes[i]);
    }
    EXPECT_EQ(failed, 2U);
    EXPECT_EQ(glovebox_egress_next(x, 0, &line, &e), -EPIPE);
    glovebox_egress_free(x);
    decisions_close(&d);
    close(runtime);
}
