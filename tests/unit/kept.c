// SPDX-License-Identifier: Apache-2.0
/* A folder that can't be read to its end. */
#include "sandbox/kept.h"
#include "tests/harness/harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

static int reads_left = 1000;

struct dirent64 *__real_readdir64(DIR *dir);
struct dirent64 *__wrap_readdir64(DIR *dir);
struct dirent *__wrap_readdir(DIR *dir);

struct dirent64 *__wrap_readdir64(DIR *dir)
{
    if (reads_left-- > 0)
        return __real_readdir64(dir);
    errno = EIO;
    return NULL;
}

/* The same struct, on this machine. */
struct dirent *__wrap_readdir(DIR *dir)
{
    return (struct dirent *)(void *)__wrap_readdir64(dir);
}

TEST(what_can_not_be_listed_is_not_empty)
{
    struct kept_entries all;
    char name[KEPT_FILE_NAME_MAX + 1];
    ASSERT_EQ(mkdir("kept", 0700), 0);
    int folder = open("kept", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 3; i++)
        close(kept_create(folder, "one", name));
    ASSERT_EQ(kept_list(folder, "one", &all), 0);
    EXPECT_EQ(all.count, 3);
    free(all.items);
    for (int i = 0; i < 5; i++) {
        reads_left = i;
        EXPECT_EQ(kept_list(folder, "one", &all), -EIO);
    }
    close(folder);
}
