// SPDX-License-Identifier: Apache-2.0
#include "sandbox/store.h"
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

#define MANY 1000

static const char left[] = "parent/.glovebox-left";

static size_t count(const char *folder)
{
    size_t n = 0;
    DIR *dir = opendir(folder);
    const struct dirent *e;
    while (dir && (e = readdir(dir)))
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    if (dir)
        closedir(dir);
    return n;
}

static struct store make_store(void)
{
    struct sandbox_error e;
    struct store s = {.folder = -1};
    mkdir("parent", 0700);
    EXPECT_EQ(store_make(&s, "parent", &e), 0);
    return s;
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

static void make_old(const char *path)
{
    const struct timespec times[] = {{.tv_sec = 7}, {.tv_sec = 7}};
    EXPECT_EQ(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* A folder as a starter that was killed leaves one. */
static void leave(size_t files)
{
    char path[64];
    mkdir("parent", 0700);
    EXPECT_EQ(mkdir(left, 0700), 0);
    for (size_t i = 0; i < files; i++) {
        snprintf(path, sizeof(path), "%s/%zu", left, i);
        close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    }
    make_old(left);
}

TEST(a_step_removes_few)
{
    leave(MANY);
    struct store s = make_store();
    store_sweep_begin(&s);
    size_t before = count(left), steps = 0;
    EXPECT_EQ(before, (size_t)MANY);
    while (store_sweep_step(&s)) {
        size_t after = count(left);
        EXPECT_TRUE(before - after <= 64);
        before = after;
        steps++;
    }
    EXPECT_TRUE(steps >= MANY / 64);
    EXPECT_TRUE(!is_there(left) && is_there(s.path));
    EXPECT_TRUE(!store_sweep_step(&s));
    store_remove(&s);
    EXPECT_TRUE(!is_there(s.path));
}

TEST(what_is_left_is_for_the_next_one)
{
    struct stat st;
    leave(MANY);
    struct store first = make_store();
    store_sweep_begin(&first);
    while (count(left) == MANY)
        EXPECT_TRUE(store_sweep_step(&first));
    /* It is held meanwhile. */
    struct store second = make_store();
    store_sweep_begin(&second);
    while (store_sweep_step(&second))
        ;
    EXPECT_TRUE(count(left) > 0);
    store_remove(&first);
    /* And looks no younger than before. */
    EXPECT_EQ(stat(left, &st), 0);
    EXPECT_EQ(st.st_mtime, 7);
    store_sweep_begin(&second);
    while (store_sweep_step(&second))
        ;
    EXPECT_TRUE(!is_there(left));
    store_remove(&second);
    EXPECT_EQ(count("parent"), (size_t)0);
}

TEST(what_is_in_use_or_young_or_another_thing_stays)
{
    leave(1);
    int held = open(left, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    EXPECT_EQ(flock(held, LOCK_EX | LOCK_NB), 0);
    EXPECT_EQ(mkdir("parent/.glovebox-young", 0700), 0);
    EXPECT_EQ(mkdir("parent/other", 0700), 0);
    make_old("parent/other");
    EXPECT_EQ(symlink("other", "parent/.glovebox-link"), 0);
    struct store s = make_store();
    store_sweep_begin(&s);
    while (store_sweep_step(&s))
        ;
    EXPECT_TRUE(is_there("parent/.glovebox-left/0") && is_there("parent/.glovebox-young") &&
                is_there("parent/other") && is_there("parent/.glovebox-link"));
    close(held);
    store_remove(&s);
}

TEST(without_a_store_nothing_is_swept)
{
    struct store s = {.folder = -1};
    leave(1);
    store_sweep_begin(&s);
    EXPECT_TRUE(!store_sweep_step(&s));
    EXPECT_TRUE(is_there("parent/.glovebox-left/0"));
    store_remove(&s);
}
