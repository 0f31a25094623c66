// SPDX-License-Identifier: Apache-2.0
/* Contents: in memory, in the store, with holes, mapped; and what they are charged. */
#include "tests/unit/fs_support.h"

#include "kernel/core/kernel.h"
#include "kernel/fs/layer/pageset.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>

#define PAGE 4096LL

static struct content_account account;

static struct content *start(void)
{
    fs_start();
    account = (struct content_account){.budget = &fs_budget, .max_bytes = UINT64_MAX};
    struct content *c = content_new(&account);
    ASSERT_TRUE(c);
    return c;
}

static ssize_t put(struct content *c, const void *data, size_t size, off_t pos)
{
    struct uio u;
    uio_init_kernel(&u, (void *)(uintptr_t)data, size);
    return content_write(c, &u, pos);
}

static ssize_t get(struct content *c, void *data, size_t size, off_t pos)
{
    struct uio u;
    uio_init_kernel(&u, data, size);
    return content_read(c, &u, pos);
}

static ssize_t fill(struct content *c, char byte, size_t size, off_t pos)
{
    _cleanup_free_ char *data = malloc(size);
    memset(data, byte, size);
    return put(c, data, size, pos);
}

static int byte_at(struct content *c, off_t pos)
{
    char byte = '?';
    return get(c, &byte, 1, pos) == 1 ? byte : -1;
}

/* All files with a name in the store: those of its one folder, which is there once one is needed.
 */
static int files_below(const char *path)
{
    int count = 0;
    const struct dirent *e;
    DIR *d = opendir(path);
    while ((e = readdir(d))) {
        char name[600];
        snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
        if (e->d_type == DT_DIR && strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            count += files_below(name);
        else if (e->d_type == DT_REG)
            count++;
    }
    closedir(d);
    return count;
}

static int store_files(void)
{
    return files_below("store");
}

TEST(small_ones_stay_in_memory)
{
    struct content *c = start();
    EXPECT_EQ(put(c, "hello", 5, 0), 5);
    EXPECT_TRUE(!c->in_store);
    EXPECT_EQ(c->size, 5);
    EXPECT_EQ(content_blocks(c), 8);
    EXPECT_EQ(account.used_bytes, PAGE);
    char text[8] = "";
    EXPECT_EQ(get(c, text, 8, 0), 5);
    EXPECT_STR(text, "hello");
    EXPECT_EQ(get(c, text, 8, 5), 0);
    EXPECT_EQ(get(c, text, 8, 1000), 0);
    content_free(c);
    EXPECT_EQ(account.used_bytes, 0);
    EXPECT_EQ(fs_budget.used_bytes, 0);
}

TEST(at_the_edge_of_memory)
{
    struct content *c = start();
    EXPECT_EQ(fill(c, 'a', CONTENT_MEMORY_FILE, 0), CONTENT_MEMORY_FILE);
    EXPECT_TRUE(!c->in_store);
    EXPECT_EQ(put(c, "b", 1, CONTENT_MEMORY_FILE), 1);
    EXPECT_TRUE(c->in_store);
    EXPECT_EQ(byte_at(c, CONTENT_MEMORY_FILE - 1), 'a');
    EXPECT_EQ(byte_at(c, CONTENT_MEMORY_FILE), 'b');
    EXPECT_EQ(account.used_bytes, CONTENT_MEMORY_FILE + PAGE);
    content_free(c);
    EXPECT_EQ(account.used_bytes, 0);
}

TEST(store_files_have_no_name)
{
    struct content *c = start();
    EXPECT_EQ(fill(c, 'a', 100000, 0), 100000);
    EXPECT_EQ(store_files(), 0);
    content_free(c);
}

TEST(holes_read_as_zeros_and_cost_nothing)
{
    struct content *c = start();
    EXPECT_EQ(put(c, "x", 1, 3 * PAGE + 7), 1);
    EXPECT_EQ(account.used_bytes, PAGE);
    EXPECT_EQ(byte_at(c, 0), 0);
    EXPECT_EQ(byte_at(c, 3 * PAGE + 6), 0);
    EXPECT_EQ(put(c, "y", 1, 1 << 30), 1);
    EXPECT_TRUE(c->in_store);
    EXPECT_EQ(account.used_bytes, 2 * PAGE);
    EXPECT_EQ(content_blocks(c), 16);
    EXPECT_EQ(byte_at(c, 1 << 29), 0);
    EXPECT_EQ(byte_at(c, 3 * PAGE + 7), 'x');
    EXPECT_EQ(byte_at(c, 1 << 30), 'y');
    content_free(c);
}

TEST(seek_to_data_and_holes)
{
    for (int in_store = 0; in_store < 2; in_store++) {
        struct content *c = start();
        if (in_store) {
            struct hostfd fd;
            ASSERT_EQ(content_map(c, false, &fd), 0);
            content_unmap(c, false);
        }
        EXPECT_EQ(put(c, "x", 1, 2 * PAGE), 1);
        EXPECT_EQ(content_truncate(c, 5 * PAGE), 0);
        EXPECT_EQ(c->in_store, in_store);
        EXPECT_EQ(content_seek(c, 0, SEEK_DATA), 2 * PAGE);
        EXPECT_EQ(content_seek(c, 0, SEEK_HOLE), 0);
        EXPECT_EQ(content_seek(c, 2 * PAGE + 5, SEEK_DATA), 2 * PAGE + 5);
        EXPECT_EQ(content_seek(c, 2 * PAGE, SEEK_HOLE), 3 * PAGE);
        EXPECT_EQ(content_seek(c, 3 * PAGE, SEEK_DATA), -ENXIO);
        EXPECT_EQ(content_seek(c, 5 * PAGE, SEEK_HOLE), -ENXIO);
        EXPECT_EQ(content_seek(c, 5 * PAGE - 1, SEEK_HOLE), 5 * PAGE - 1);
        content_free(c);
    }
}

TEST(truncating_clears_what_is_cut_off)
{
    for (int in_store = 0; in_store < 2; in_store++) {
        struct content *c = start();
        size_t size = in_store ? 100000 : 10000;
        EXPECT_EQ(fill(c, 'a', size, 0), size);
        EXPECT_EQ(c->in_store, in_store);
        EXPECT_EQ(content_truncate(c, 5000), 0);
        EXPECT_EQ(account.used_bytes, 2 * PAGE);
        EXPECT_EQ(content_truncate(c, 9000), 0);
        EXPECT_EQ(byte_at(c, 4999), 'a');
        EXPECT_EQ(byte_at(c, 5000), 0);
        EXPECT_EQ(byte_at(c, 8999), 0);
        EXPECT_EQ(account.used_bytes, 2 * PAGE);
        EXPECT_EQ(content_truncate(c, 0), 0);
        EXPECT_EQ(account.used_bytes, 0);
        content_free(c);
    }
}

TEST(growing_by_truncate_needs_no_space)
{
    struct content *c = start();
    EXPECT_EQ(put(c, "x", 1, 0), 1);
    EXPECT_EQ(content_truncate(c, 1LL << 40), 0);
    EXPECT_TRUE(!c->in_store);
    EXPECT_EQ(account.used_bytes, PAGE);
    EXPECT_EQ(byte_at(c, 1LL << 39), 0);
    EXPECT_EQ(content_truncate(c, CONTENT_SIZE_MAX), 0);
    EXPECT_EQ(content_truncate(c, CONTENT_SIZE_MAX + 1), -EFBIG);
    EXPECT_EQ(put(c, "x", 1, CONTENT_SIZE_MAX), -EFBIG);
    EXPECT_EQ(content_truncate(c, 0), 0);
    content_free(c);
}

TEST(a_read_over_data_and_hole)
{
    char data[8192];
    struct content *c = start();
    EXPECT_EQ(put(c, "abc", 3, 0), 3);
    EXPECT_EQ(content_truncate(c, 6000), 0);
    memset(data, 'z', sizeof(data));
    EXPECT_EQ(get(c, data, sizeof(data), 1), 5999);
    EXPECT_EQ(data[0], 'b');
    EXPECT_EQ(data[2], 0);
    EXPECT_EQ(data[5998], 0);
    EXPECT_EQ(data[5999], 'z');
    content_free(c);
}

TEST(the_budget_ends_writes)
{
    struct content *c = start();
    fs_budget.max_bytes = fs_budget.used_bytes + 3 * PAGE;
    EXPECT_EQ(fill(c, 'a', 3 * PAGE, 0), 3 * PAGE);
    EXPECT_EQ(put(c, "x", 1, 3 * PAGE), -ENOSPC);
    EXPECT_EQ(put(c, "x", 1, 0), 1);
    EXPECT_EQ(c->size, 3 * PAGE);
    EXPECT_EQ(content_truncate(c, PAGE), 0);
    EXPECT_EQ(put(c, "x", 1, 9 * PAGE), 1);
    content_free(c);
    EXPECT_EQ(fs_budget.used_bytes, 0);
}

TEST(a_long_write_past_the_budget_is_partial)
{
    struct content *c = start();
    fs_budget.max_bytes = 100 * 1024;
    EXPECT_EQ(fill(c, 'a', 200 * 1024, 0), 64 * 1024);
    EXPECT_EQ(c->size, 64 * 1024);
    EXPECT_EQ(fill(c, 'a', 200 * 1024, 64 * 1024), -ENOSPC);
    content_free(c);
}

TEST(the_file_systems_own_limit)
{
    struct content *c = start();
    account.max_bytes = PAGE;
    EXPECT_EQ(fill(c, 'a', PAGE, 0), PAGE);
    EXPECT_EQ(fill(c, 'a', 1, PAGE), -ENOSPC);
    content_free(c);
}

TEST(punching_holes)
{
    for (int in_store = 0; in_store < 2; in_store++) {
        struct content *c = start();
        size_t size = in_store ? 25 * PAGE : 5 * PAGE;
        int punch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
        EXPECT_EQ(fill(c, 'a', size, 0), size);
        EXPECT_EQ(content_fallocate(c, punch, 100, 2 * PAGE), 0);
        EXPECT_EQ(account.used_bytes, size - PAGE);
        EXPECT_EQ(byte_at(c, 99), 'a');
        EXPECT_EQ(byte_at(c, 100), 0);
        EXPECT_EQ(byte_at(c, 99 + 2 * PAGE), 0);
        EXPECT_EQ(byte_at(c, 100 + 2 * PAGE), 'a');
        EXPECT_EQ(content_fallocate(c, punch, 0, 1LL << 40), 0);
        EXPECT_EQ(c->size, size);
        EXPECT_EQ(account.used_bytes, 0);
        EXPECT_EQ(byte_at(c, (off_t)size - 1), 0);
        content_free(c);
    }
}

TEST(fallocate_reserves)
{
    struct content *c = start();
    fs_budget.max_bytes = fs_budget.used_bytes + 10 * PAGE;
    EXPECT_EQ(content_fallocate(c, 0, 0, 2 * PAGE), 0);
    EXPECT_EQ(c->size, 2 * PAGE);
    EXPECT_EQ(account.used_bytes, 2 * PAGE);
    EXPECT_EQ(content_fallocate(c, FALLOC_FL_KEEP_SIZE, 0, 5 * PAGE), 0);
    EXPECT_EQ(c->size, 2 * PAGE);
    EXPECT_EQ(content_blocks(c), 40);
    EXPECT_EQ(content_fallocate(c, 0, 0, 11 * PAGE), -ENOSPC);
    EXPECT_EQ(content_fallocate(c, 0, 0, 1LL << 42), -ENOSPC);
    EXPECT_EQ(fill(c, 'a', 5 * PAGE, 0), 5 * PAGE);
    EXPECT_EQ(account.used_bytes, 5 * PAGE);
    content_free(c);
    EXPECT_EQ(fs_budget.used_bytes, 0);
}

TEST(fallocate_checks_its_arguments)
{
    struct content *c = start();
    EXPECT_EQ(content_fallocate(c, 0, -1, 1), -EINVAL);
    EXPECT_EQ(content_fallocate(c, 0, 0, 0), -EINVAL);
    EXPECT_EQ(content_fallocate(c, 0, 0, INT64_MAX), -EFBIG);
    EXPECT_EQ(content_fallocate(c, 0, INT64_MAX, INT64_MAX), -EFBIG);
    EXPECT_EQ(content_fallocate(c, FALLOC_FL_PUNCH_HOLE, 0, 1), -EOPNOTSUPP);
    EXPECT_EQ(content_fallocate(c, FALLOC_FL_COLLAPSE_RANGE, 0, PAGE), -EOPNOTSUPP);
    content_free(c);
}

TEST(zero_range)
{
    for (int in_store = 0; in_store < 2; in_store++) {
        struct content *c = start();
        size_t size = in_store ? 25 * PAGE : 5 * PAGE;
        EXPECT_EQ(fill(c, 'a', size, 0), size);
        EXPECT_EQ(content_fallocate(c, FALLOC_FL_ZERO_RANGE, 10, 20), 0);
        EXPECT_EQ(byte_at(c, 9), 'a');
        EXPECT_EQ(byte_at(c, 10), 0);
        EXPECT_EQ(byte_at(c, 29), 0);
        EXPECT_EQ(byte_at(c, 30), 'a');
        EXPECT_EQ(content_fallocate(c, FALLOC_FL_ZERO_RANGE, (off_t)size - 1, PAGE + 1), 0);
        EXPECT_EQ(c->size, (off_t)size + PAGE);
        EXPECT_EQ(account.used_bytes, size + PAGE);
        EXPECT_EQ(byte_at(c, (off_t)size - 1), 0);
        content_free(c);
    }
}

TEST(maps_and_reads_see_the_same)
{
    struct hostfd writer, reader;
    struct content *c = start();
    EXPECT_EQ(fill(c, 'a', 6000, 0), 6000);
    ASSERT_EQ(content_map(c, true, &writer), 0);
    ASSERT_EQ(content_map(c, false, &reader), 0);
    EXPECT_EQ(fcntl(writer.n, F_GETFL) & O_ACCMODE, O_RDWR);
    EXPECT_EQ(fcntl(reader.n, F_GETFL) & O_ACCMODE, O_RDONLY);
    EXPECT_TRUE(mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, reader.n, 0) == MAP_FAILED);
    char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, writer.n, 0);
    ASSERT_TRUE(p != MAP_FAILED);
    EXPECT_EQ(p[5999], 'a');
    EXPECT_EQ(p[6000], 0);
    p[10] = 'm';
    EXPECT_EQ(byte_at(c, 10), 'm');
    EXPECT_EQ(put(c, "w", 1, 11), 1);
    EXPECT_EQ(p[11], 'w');
    content_unmap(c, true);
    content_unmap(c, false);
    content_free(c);
}

TEST(shared_writable_maps_are_charged_for_the_whole_size)
{
    struct hostfd fd;
    struct content *c = start();
    fs_budget.max_bytes = fs_budget.used_bytes + 100 * PAGE;
    EXPECT_EQ(content_truncate(c, 101 * PAGE), 0);
    EXPECT_EQ(content_map(c, true, &fd), -ENOMEM);
    EXPECT_EQ(content_truncate(c, 80 * PAGE), 0);
    ASSERT_EQ(content_map(c, true, &fd), 0);
    EXPECT_EQ(account.used_bytes, 80 * PAGE);
    EXPECT_EQ(content_truncate(c, 200 * PAGE), -ENOSPC);
    EXPECT_EQ(fill(c, 'a', PAGE, 100 * PAGE), -ENOSPC);
    EXPECT_EQ(fill(c, 'a', PAGE, 99 * PAGE), PAGE);
    EXPECT_EQ(account.used_bytes, 100 * PAGE);
    EXPECT_EQ(content_truncate(c, PAGE), 0);
    EXPECT_EQ(account.used_bytes, PAGE);
    content_unmap(c, true);
    content_free(c);
    EXPECT_EQ(fs_budget.used_bytes, 0);
}

/* What is charged for its size has no pages to note, so that nothing grows by a reservation. */
TEST(shared_writable_maps_reserve_nothing_past_the_size)
{
    struct hostfd fd;
    struct content *c = start();
    fs_budget.max_bytes = fs_budget.used_bytes + 100 * PAGE;
    EXPECT_EQ(fill(c, 'a', PAGE, 0), PAGE);
    ASSERT_EQ(content_map(c, true, &fd), 0);
    EXPECT_EQ(content_fallocate(c, FALLOC_FL_KEEP_SIZE, 0, CONTENT_SIZE_MAX), 0);
    EXPECT_LE(c->pages.count, 1);
    EXPECT_EQ(content_fallocate(c, 0, 0, CONTENT_SIZE_MAX), -ENOSPC);
    EXPECT_LE(c->pages.count, 1);
    EXPECT_EQ(account.used_bytes, PAGE);
    EXPECT_EQ(content_fallocate(c, 0, 0, 100 * PAGE), 0);
    EXPECT_EQ(account.used_bytes, 100 * PAGE);
    content_unmap(c, true);
    content_free(c);
    EXPECT_EQ(fs_budget.used_bytes, 0);
}

TEST(few_descriptors_are_enough_for_many_contents)
{
    enum { COUNT = 100 };
    struct content *all[COUNT];
    all[0] = start();
    fdcache_set_limit(16);
    for (int i = 0; i < COUNT; i++) {
        if (i > 0)
            all[i] = content_new(&account);
        ASSERT_EQ(fill(all[i], (char)i, 70000, 0), 70000);
    }
    EXPECT_LE(fdcache_open_count(), 16);
    EXPECT_GT(store_files(), COUNT - 20);
    for (int i = 0; i < COUNT; i++) {
        EXPECT_EQ(byte_at(all[i], 69999), (char)i);
        EXPECT_EQ(put(all[i], "z", 1, 5), 1);
        content_free(all[i]);
    }
    EXPECT_EQ(store_files(), 0);
    EXPECT_EQ(fs_budget.used_bytes, 0);
}

TEST(pinned_descriptors_are_not_closed)
{
    struct hostfd fd;
    struct content *c = start();
    fdcache_set_limit(16);
    ASSERT_EQ(fill(c, 'a', 70000, 0), 70000);
    ASSERT_EQ(content_map(c, false, &fd), 0);
    fdcache_trim();
    EXPECT_GE(fcntl(fd.n, F_GETFD), 0);
    EXPECT_EQ(byte_at(c, 0), 'a');
    content_unmap(c, false);
    fdcache_trim();
    EXPECT_EQ(fdcache_open_count(), 0);
    content_free(c);
}

TEST(all_memory_together_is_bounded)
{
    enum { COUNT = LIMIT_CONTENT_BYTES / CONTENT_MEMORY_FILE + 10 };
    struct content *c = start();
    int in_store = 0;
    for (int i = 0; i < COUNT; i++) {
        ASSERT_EQ(fill(c, 'a', CONTENT_MEMORY_FILE, 0), CONTENT_MEMORY_FILE);
        in_store += c->in_store;
        c = content_new(&account);
    }
    EXPECT_EQ(in_store, 10);
}

TEST(without_a_store_large_files_have_no_space)
{
    struct content *c = start();
    kernel.store_dir = HOSTFD_NONE;
    EXPECT_EQ(fill(c, 'a', 70000, 0), -ENOSPC);
    EXPECT_EQ(fill(c, 'a', 100, 0), 100);
    content_free(c);
}

TEST(copies_keep_holes)
{
    struct content *c = start();
    int fd = open("source", O_RDWR | O_CREAT, 0600);
    ASSERT_EQ(pwrite(fd, "x", 1, 1 << 20), 1);
    ASSERT_EQ(ftruncate(fd, 2 << 20), 0);
    EXPECT_EQ(content_copy_from(c, fd, 2 << 20), 0);
    EXPECT_EQ(c->size, 2 << 20);
    EXPECT_EQ(byte_at(c, 1 << 20), 'x');
    EXPECT_EQ(byte_at(c, (1 << 20) + 1), 0);
    EXPECT_LE(account.used_bytes, 16 * PAGE);
    content_free(c);
}

/* Few pages, far from one another, against a plain list of what is in the set. */
TEST(pages_that_are_far_apart)
{
    static const uint64_t pages[] = {
        0, 63, 64, 511, 512, 1000, 1 << 20, 1 << 21, (1 << 21) + 1, 1ULL << 31, 1ULL << 32};
    const size_t count = ARRAY_SIZE(pages);
    bool is_in[ARRAY_SIZE(pages)] = {0};
    struct pageset s = {0};
    srand(7);
    for (int i = 0; i < 3000; i++) {
        size_t at = (size_t)rand() % count, end = at + (size_t)rand() % (count - at);
        uint64_t from = pages[at], to = pages[end] + 1, present = 0;
        if (rand() % 4) {
            EXPECT_EQ(pageset_add(&s, from, from + 1), 0);
            is_in[at] = true;
        } else {
            pageset_remove(&s, from, to);
            memset(is_in + at, 0, (end - at + 1) * sizeof(*is_in));
        }
        at = (size_t)rand() % count;
        for (size_t n = at; n < count; n++)
            present += is_in[n];
        EXPECT_EQ(pageset_count_missing(&s, pages[at], pages[count - 1] + 1),
                  pages[count - 1] + 1 - pages[at] - present);
    }
    pageset_remove(&s, 0, UINT64_MAX);
    EXPECT_EQ(s.count, 0u);
    EXPECT_EQ(s.high.count, 0u);
    pageset_done(&s);
}

TEST(page_sets)
{
    struct pageset s = {0};
    EXPECT_EQ(pageset_add(&s, 10, 20), 0);
    EXPECT_EQ(s.count, 10);
    EXPECT_EQ(pageset_add(&s, 15, 2000), 0);
    EXPECT_EQ(s.count, 1990);
    EXPECT_EQ(pageset_count_missing(&s, 0, 3000), 1010);
    pageset_remove(&s, 60, 70);
    EXPECT_EQ(s.count, 1980);
    EXPECT_TRUE(!pageset_has(&s, 60) && !pageset_has(&s, 69) && pageset_has(&s, 70));
    pageset_remove(&s, 600, 601);
    EXPECT_EQ(s.count, 1979);
    EXPECT_EQ(pageset_add(&s, 600, 601), 0);
    EXPECT_EQ(s.count, 1980);
    EXPECT_EQ(pageset_add(&s, 1ULL << 32, (1ULL << 32) + 1), 0);
    pageset_remove(&s, 512, UINT64_MAX);
    EXPECT_EQ(s.count, 512 - 10 - 10);
    pageset_remove(&s, 0, UINT64_MAX);
    EXPECT_EQ(s.count, 0);
    EXPECT_EQ(s.high.count, 0);
    pageset_done(&s);
}

/* Against a plain array, with a small generator of its own so that a failure can be seen again. */
TEST(page_sets_at_random)
{
    enum { PAGES = 4096 };
    static bool model[PAGES];
    struct pageset s = {0};
    uint32_t state = 12345;
    for (int round = 0; round < 3000; round++) {
        state = state * 1664525 + 1013904223;
        uint64_t from = state >> 20;
        state = state * 1664525 + 1013904223;
        uint64_t to = MIN(from + (state >> 22), (uint64_t)PAGES);
        bool adds = state & 0x10000;
        uint64_t missing = 0, count = 0;
        for (uint64_t i = from; i < to; i++)
            missing += !model[i];
        ASSERT_EQ(pageset_count_missing(&s, from, to), missing);
        for (uint64_t i = from; i < to; i++)
            model[i] = adds;
        if (adds)
            ASSERT_EQ(pageset_add(&s, from, to), 0);
        else
            pageset_remove(&s, from, to);
        for (int i = 0; i < PAGES; i++)
            count += model[i];
        ASSERT_EQ(s.count, count);
    }
    pageset_done(&s);
}

TEST(stretches_that_are_partly_filled_are_bounded)
{
    struct pageset s = {0};
    uint64_t count = 0;
    while (count <= LIMIT_PAGESET_CHUNKS &&
           pageset_add(&s, 64 + count * 512, 65 + count * 512) == 0)
        count++;
    EXPECT_EQ(count, LIMIT_PAGESET_CHUNKS);
    EXPECT_EQ(pageset_add(&s, 0, 64), 0);
    pageset_remove(&s, 64, 65);
    EXPECT_EQ(pageset_add(&s, 64 + count * 512, 65 + count * 512), 0);
    pageset_done(&s);
}
