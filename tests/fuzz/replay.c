// SPDX-License-Identifier: Apache-2.0
/*
 * Gives a libFuzzer target the inputs that are kept in the repository (a folder of CORPORA), as an
 * ordinary test that needs neither libFuzzer nor clang. Compiled once for all of them: which one it
 * is says the program's name.
 */
#include "tests/harness/harness.h"

#include <dirent.h>
#include <signal.h>

#define INPUT_MAX_BYTES 65536
#define PROGRAM_PREFIX  "unit-fuzz-"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[4096];

static void say_path(int sig)
{
    char line[sizeof(path) + 8];
    int size = snprintf(line, sizeof(line), "  with %s\n", path);
    if (write(STDOUT_FILENO, line, (size_t)size) < 0)
        _exit(1);
    signal(sig, SIG_DFL);
    raise(sig);
}

static void replay(void)
{
    static uint8_t data[INPUT_MAX_BYTES];
    FILE *f = fopen(path, "rb");
    ASSERT_TRUE(f != NULL);
    size_t size = fread(data, 1, sizeof(data), f);
    fclose(f);
    /* Of its exact size, so that ASan sees what is read behind it. */
    uint8_t *copy = malloc(size ? size : 1);
    ASSERT_TRUE(copy != NULL);
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

TEST(kept_inputs)
{
    int count = 0;
    char corpus[1024];
    const char *program = program_invocation_short_name;
    ASSERT_EQ(strncmp(program, PROGRAM_PREFIX, strlen(PROGRAM_PREFIX)), 0);
    snprintf(corpus, sizeof(corpus), CORPORA "/%s", program + strlen(PROGRAM_PREFIX));
    DIR *folder = opendir(corpus);
    ASSERT_TRUE(folder != NULL);
    signal(SIGABRT, say_path);
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", corpus, entry->d_name);
        replay();
        count++;
    }
    closedir(folder);
    EXPECT_GT(count, 0);
}
