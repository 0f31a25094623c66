// SPDX-License-Identifier: Apache-2.0
#include "tests/harness/harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

static int in;
static void *volatile bad_address = (void *)8;
static char buffer[65536] __attribute__((aligned(8)));

/* Events as lines "wd mask cookie? name", to compare all at once. */
static char log_text[65536];

struct event {
    int wd;
    uint32_t mask, cookie, len;
    char name[NAME_MAX + 1];
};
static struct event events[512];
static int event_count;

static void make(void)
{
    in = inotify_init1(IN_NONBLOCK);
    ASSERT_GE(in, 0);
}

static int watch(const char *path, uint32_t mask)
{
    int wd = inotify_add_watch(in, path, mask);
    ASSERT_GT(wd, 0);
    return wd;
}

/* Reads all that is there into events[] and, as text, into log_text. */
static const char *collect(void)
{
    size_t used = 0;
    ssize_t n;
    event_count = 0;
    log_text[0] = '\0';
    while ((n = read(in, buffer, sizeof(buffer))) > 0) {
        for (char *at = buffer; at < buffer + n && event_count < 512;) {
            const struct inotify_event *e = (void *)at;
            struct event *out = &events[event_count++];
            out->wd = e->wd;
            out->mask = e->mask;
            out->cookie = e->cookie;
            out->len = e->len;
            snprintf(out->name, sizeof(out->name), "%s", e->len ? e->name : "");
            used += (size_t)snprintf(log_text + used, sizeof(log_text) - used, "%d:%x:%s ", e->wd,
                                     e->mask, out->name);
            at += sizeof(*e) + e->len;
        }
    }
    EXPECT_EQ(errno, EAGAIN);
    return log_text;
}

static void create_file(const char *name)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
    ASSERT_GE(fd, 0);
    close(fd);
}

static const char *expected(const char *format, ...) __attribute__((format(printf, 1, 2)));
static const char *expected(const char *format, ...)
{
    static char text[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return text;
}

/* ---- descriptors and watches ---- */

TEST(init_checks_flags)
{
    EXPECT_ERRNO(inotify_init1(1), EINVAL);
    EXPECT_EQ(fcntl(inotify_init1(IN_CLOEXEC), F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(fcntl(inotify_init(), F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_RDONLY);
}

TEST(add_checks_its_arguments)
{
    make();
    create_file("f");
    EXPECT_ERRNO(inotify_add_watch(in, ".", 0), EINVAL);
    EXPECT_ERRNO(inotify_add_watch(in, ".", 0x00100000), EINVAL);
    EXPECT_ERRNO(inotify_add_watch(1000, ".", IN_CREATE), EBADF);
    EXPECT_ERRNO(inotify_add_watch(open(".", O_RDONLY), ".", IN_CREATE), EINVAL);
    EXPECT_ERRNO(inotify_add_watch(in, ".", IN_CREATE | IN_MASK_ADD | IN_MASK_CREATE), EINVAL);
    EXPECT_ERRNO(inotify_add_watch(in, "nothing", IN_CREATE), ENOENT);
    EXPECT_ERRNO(inotify_add_watch(in, "", IN_CREATE), ENOENT);
    EXPECT_ERRNO(inotify_add_watch(in, "f", IN_ONLYDIR | IN_CREATE), ENOTDIR);
    EXPECT_ERRNO(syscall(SYS_inotify_add_watch, in, bad_address, IN_CREATE), EFAULT);
}

TEST(reading_needs_permission)
{
    if (geteuid() == 0)
        SKIP("root may do all");
    make();
    create_file("f");
    ASSERT_EQ(chmod("f", 0200), 0);
    EXPECT_ERRNO(inotify_add_watch(in, "f", IN_MODIFY), EACCES);
}

TEST(descriptors_count_up_and_are_not_used_again)
{
    make();
    create_file("a");
    create_file("b");
    int first = watch("a", IN_MODIFY), second = watch("b", IN_MODIFY);
    EXPECT_GT(second, first);
    EXPECT_EQ(inotify_rm_watch(in, second), 0);
    EXPECT_GT(watch("b", IN_MODIFY), second);
}

TEST(same_inode_is_the_same_watch)
{
    make();
    create_file("a");
    ASSERT_EQ(link("a", "b"), 0);
    int wd = watch("a", IN_OPEN);
    EXPECT_EQ(watch("b", IN_ATTRIB), wd);
    close(open("a", O_RDONLY));
    EXPECT_STR(collect(), "");
    EXPECT_EQ(watch("a", IN_OPEN | IN_MASK_ADD), wd);
    close(open("a", O_RDONLY));
    chmod("a", 0644);
    EXPECT_STR(collect(), expected("%d:20: %d:4: ", wd, wd));
    EXPECT_ERRNO(inotify_add_watch(in, "a", IN_OPEN | IN_MASK_CREATE), EEXIST);
}

TEST(removing_a_watch_is_told)
{
    make();
    int wd = watch(".", IN_CREATE);
    EXPECT_EQ(inotify_rm_watch(in, wd), 0);
    create_file("f");
    EXPECT_STR(collect(), expected("%d:8000: ", wd));
    EXPECT_ERRNO(inotify_rm_watch(in, wd), EINVAL);
    EXPECT_ERRNO(inotify_rm_watch(in, -1), EINVAL);
    EXPECT_ERRNO(inotify_rm_watch(1000, wd), EBADF);
    EXPECT_ERRNO(inotify_rm_watch(open(".", O_RDONLY), wd), EINVAL);
}

TEST(links_are_followed_unless_told)
{
    make();
    create_file("f");
    ASSERT_EQ(symlink("f", "l"), 0);
    int target = watch("f", IN_OPEN);
    EXPECT_EQ(watch("l", IN_OPEN), target);
    EXPECT_NE(watch("l", IN_OPEN | IN_DONT_FOLLOW), target);
}

/* ---- what is told ---- */

TEST(directory_hears_of_a_file_life)
{
    make();
    int wd = watch(".", IN_ALL_EVENTS);
    int fd = open("f", O_RDWR | O_CREAT, 0600);
    ASSERT_EQ(write(fd, "abc", 3), 3);
    ASSERT_EQ(pread(fd, buffer, 3, 0), 3);
    close(fd);
    chmod("f", 0640);
    unlink("f");
    EXPECT_STR(collect(), expected("%d:100:f %d:20:f %d:2:f %d:1:f %d:8:f %d:4:f %d:200:f ", wd, wd,
                                   wd, wd, wd, wd, wd));
}

TEST(reading_only_is_told_apart)
{
    make();
    create_file("f");
    int wd = watch("f", IN_ALL_EVENTS);
    int fd = open("f", O_RDONLY);
    close(fd);
    EXPECT_STR(collect(), expected("%d:20: %d:10: ", wd, wd));
}

TEST(file_hears_of_its_own_end)
{
    make();
    create_file("f");
    int wd = watch("f", IN_ALL_EVENTS);
    unlink("f");
    EXPECT_STR(collect(), expected("%d:4: %d:400: %d:8000: ", wd, wd, wd));
    EXPECT_ERRNO(inotify_rm_watch(in, wd), EINVAL);
}

TEST(end_comes_with_the_last_descriptor)
{
    make();
    create_file("f");
    int wd = watch("f", IN_DELETE_SELF);
    int fd = open("f", O_RDONLY);
    unlink("f");
    EXPECT_STR(collect(), "");
    close(fd);
    EXPECT_STR(collect(), expected("%d:400: %d:8000: ", wd, wd));
}

TEST(end_does_not_come_while_there_is_another_name)
{
    make();
    create_file("f");
    link("f", "g");
    int wd = watch("f", IN_ATTRIB | IN_DELETE_SELF);
    unlink("f");
    EXPECT_STR(collect(), expected("%d:4: ", wd));
    unlink("g");
    EXPECT_STR(collect(), expected("%d:4: %d:400: %d:8000: ", wd, wd, wd));
}

TEST(directories_are_marked)
{
    make();
    int wd = watch(".", IN_CREATE | IN_DELETE | IN_OPEN | IN_CLOSE);
    mkdir("d", 0700);
    int fd = open("d", O_RDONLY | O_DIRECTORY);
    close(fd);
    rmdir("d");
    EXPECT_STR(collect(), expected("%d:40000100:d %d:40000020:d %d:40000010:d %d:40000200:d ", wd,
                                   wd, wd, wd));
}

TEST(directory_hears_of_its_own_end)
{
    make();
    mkdir("d", 0700);
    int wd = watch("d", IN_DELETE_SELF | IN_CREATE);
    rmdir("d");
    EXPECT_STR(collect(), expected("%d:400: %d:8000: ", wd, wd));
}

TEST(what_nobody_has_open_is_gone_before_its_directory_hears)
{
    make();
    mkdir("d", 0700);
    create_file("f");
    int dot = watch(".", IN_DELETE);
    int d = watch("d", IN_DELETE_SELF);
    int f = watch("f", IN_DELETE_SELF);
    rmdir("d");
    EXPECT_STR(collect(), expected("%d:400: %d:8000: %d:40000200:d ", d, d, dot));
    unlink("f");
    EXPECT_STR(collect(), expected("%d:400: %d:8000: %d:200:f ", f, f, dot));
}

TEST(a_program_that_is_executed_is_read)
{
    make();
    int fd = open("script", O_WRONLY | O_CREAT | O_EXCL, 0700);
    ASSERT_EQ(write(fd, "#!/bin/true\n", 12), 12);
    close(fd);
    int wd = watch("script", IN_OPEN | IN_ACCESS | IN_CLOSE);
    pid_t child = fork();
    if (child == 0) {
        execl("script", "script", NULL);
        _exit(1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_STR(collect(), expected("%d:20: %d:1: %d:10: ", wd, wd, wd));
}

TEST(links_of_all_kinds_are_created)
{
    make();
    create_file("f");
    int wd = watch(".", IN_CREATE);
    link("f", "g");
    symlink("f", "s");
    mkfifo("p", 0600);
    EXPECT_STR(collect(), expected("%d:100:g %d:100:s %d:100:p ", wd, wd, wd));
}

TEST(rename_pairs_two_events)
{
    make();
    create_file("a");
    int wd = watch(".", IN_MOVE);
    rename("a", "b");
    EXPECT_STR(collect(), expected("%d:40:a %d:80:b ", wd, wd));
    ASSERT_EQ(event_count, 2);
    EXPECT_NE(events[0].cookie, 0);
    EXPECT_EQ(events[0].cookie, events[1].cookie);
    uint32_t first = events[0].cookie;
    rename("b", "c");
    collect();
    EXPECT_NE(events[0].cookie, first);
}

TEST(rename_between_directories)
{
    make();
    mkdir("x", 0700);
    mkdir("y", 0700);
    create_file("x/f");
    int from = watch("x", IN_MOVE), to = watch("y", IN_MOVE), self = watch("x/f", IN_MOVE_SELF);
    rename("x/f", "y/g");
    EXPECT_STR(collect(), expected("%d:40:f %d:80:g %d:800: ", from, to, self));
    EXPECT_EQ(events[0].cookie, events[1].cookie);
    EXPECT_EQ(events[2].cookie, 0);
}

TEST(moved_directory_hears_it)
{
    make();
    mkdir("d", 0700);
    int wd = watch(".", IN_MOVE), self = watch("d", IN_MOVE_SELF);
    rename("d", "e");
    EXPECT_STR(collect(), expected("%d:40000040:d %d:40000080:e %d:800: ", wd, wd, self));
}

TEST(replaced_file_hears_its_end)
{
    make();
    create_file("a");
    create_file("b");
    int wd = watch("b", IN_ATTRIB | IN_DELETE_SELF);
    rename("a", "b");
    EXPECT_STR(collect(), expected("%d:4: %d:400: %d:8000: ", wd, wd, wd));
}

TEST(truncation_is_a_change)
{
    make();
    create_file("f");
    int fd = open("f", O_RDWR);
    ASSERT_EQ(write(fd, "abc", 3), 3);
    int wd = watch("f", IN_MODIFY);
    ASSERT_EQ(ftruncate(fd, 1), 0);
    EXPECT_STR(collect(), expected("%d:2: ", wd));
    ASSERT_EQ(truncate("f", 0), 0);
    EXPECT_STR(collect(), expected("%d:2: ", wd));
    ASSERT_EQ(write(fd, "abc", 3), 3);
    collect();
    close(open("f", O_WRONLY | O_TRUNC));
    EXPECT_STR(collect(), expected("%d:2: ", wd));
}

TEST(times_and_owners_are_attributes)
{
    make();
    create_file("f");
    int wd = watch("f", IN_ATTRIB);
    utimensat(AT_FDCWD, "f", NULL, 0);
    EXPECT_STR(collect(), expected("%d:4: ", wd));
    ASSERT_EQ(chown("f", getuid(), getgid()), 0);
    EXPECT_STR(collect(), expected("%d:4: ", wd));
    link("f", "g");
    EXPECT_STR(collect(), expected("%d:4: ", wd));
}

TEST(listing_a_directory_is_an_access)
{
    make();
    int wd = watch(".", IN_ACCESS);
    DIR *dir = opendir(".");
    while (readdir(dir))
        ;
    closedir(dir);
    EXPECT_STR(collect(), expected("%d:40000001: ", wd));
}

TEST(equal_neighbours_are_one_event)
{
    make();
    create_file("f");
    int wd = watch("f", IN_MODIFY | IN_ATTRIB);
    int fd = open("f", O_WRONLY);
    for (int i = 0; i < 5; i++)
        ASSERT_EQ(write(fd, "x", 1), 1);
    EXPECT_STR(collect(), expected("%d:2: ", wd));
    ASSERT_EQ(write(fd, "x", 1), 1);
    fchmod(fd, 0640);
    ASSERT_EQ(write(fd, "x", 1), 1);
    EXPECT_STR(collect(), expected("%d:2: %d:4: %d:2: ", wd, wd, wd));
}

TEST(oneshot_watch_tells_once)
{
    make();
    int wd = watch(".", IN_CREATE | IN_ONESHOT);
    create_file("a");
    create_file("b");
    EXPECT_STR(collect(), expected("%d:100:a %d:8000: ", wd, wd));
    EXPECT_ERRNO(inotify_rm_watch(in, wd), EINVAL);
}

TEST(unlinked_children_can_be_left_out)
{
    make();
    create_file("f");
    int wd = watch(".", IN_MODIFY | IN_EXCL_UNLINK);
    int fd = open("f", O_WRONLY);
    ASSERT_EQ(write(fd, "x", 1), 1);
    EXPECT_STR(collect(), expected("%d:2:f ", wd));
    unlink("f");
    ASSERT_EQ(write(fd, "x", 1), 1);
    EXPECT_STR(collect(), "");
}

TEST(unlinked_children_are_told_of_by_default)
{
    make();
    create_file("f");
    int wd = watch(".", IN_MODIFY);
    int fd = open("f", O_WRONLY);
    unlink("f");
    ASSERT_EQ(write(fd, "x", 1), 1);
    EXPECT_STR(collect(), expected("%d:2:f ", wd));
}

TEST(two_instances_hear_the_same)
{
    make();
    int first = in;
    watch(".", IN_CREATE);
    make();
    watch(".", IN_CREATE);
    create_file("f");
    EXPECT_STR(collect(), "1:100:f ");
    in = first;
    EXPECT_STR(collect(), "1:100:f ");
}

TEST(watch_ends_with_its_instance)
{
    make();
    watch(".", IN_ALL_EVENTS);
    close(in);
    create_file("f");
    unlink("f");
    make();
    EXPECT_STR(collect(), "");
}

/* ---- reading ---- */

TEST(names_are_padded_with_zeros)
{
    make();
    watch(".", IN_CREATE);
    create_file("abc");
    create_file("a-name-of-16-chr");
    memset(buffer, 0x55, sizeof(buffer));
    EXPECT_EQ(read(in, buffer, sizeof(buffer)), 16 + 16 + 16 + 32);
    const struct inotify_event *e = (void *)buffer;
    EXPECT_EQ(e->len, 16);
    for (int i = 3; i < 16; i++)
        EXPECT_EQ(e->name[i], 0);
}

TEST(buffer_takes_whole_events)
{
    make();
    watch(".", IN_CREATE);
    create_file("a");
    create_file("b");
    EXPECT_ERRNO(read(in, buffer, 31), EINVAL);
    EXPECT_EQ(read(in, buffer, 63), 32);
    EXPECT_EQ(read(in, buffer, 32), 32);
    EXPECT_ERRNO(read(in, buffer, 32), EAGAIN);
}

TEST(each_buffer_takes_whole_events)
{
    make();
    watch(".", IN_CREATE);
    create_file("a");
    create_file("b");
    create_file("c");
    struct iovec small_first[2] = {{buffer, 16}, {buffer + 16, 64}};
    struct iovec with_rest[2] = {{buffer, 40}, {buffer + 40, 40}};
    struct iovec full[3] = {{buffer, 32}, {buffer + 32, 32}, {buffer + 64, 32}};
    EXPECT_ERRNO(readv(in, small_first, 2), EINVAL);
    EXPECT_EQ(readv(in, with_rest, 2), 32);
    EXPECT_EQ(readv(in, full, 3), 64);
    EXPECT_ERRNO(readv(in, full, 3), EAGAIN);
}

TEST(second_buffer_waits_for_an_event)
{
    int status, unread = -1;
    struct iovec both[2] = {{buffer, 32}, {buffer + 32, 32}};
    make();
    ASSERT_EQ(fcntl(in, F_SETFL, 0), 0);
    watch(".", IN_CREATE);
    create_file("a");
    pid_t child = fork();
    if (child == 0)
        _exit(readv(in, both, 2) != 64);
    while (unread != 0)
        ASSERT_EQ(ioctl(in, FIONREAD, &unread), 0);
    create_file("b");
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(fionread_and_poll_tell_what_is_there)
{
    int bytes = -1;
    make();
    watch(".", IN_CREATE);
    struct pollfd p = {in, POLLIN, 0};
    EXPECT_EQ(poll(&p, 1, 0), 0);
    EXPECT_EQ(ioctl(in, FIONREAD, &bytes), 0);
    EXPECT_EQ(bytes, 0);
    create_file("a");
    create_file("b");
    EXPECT_EQ(poll(&p, 1, 0), 1);
    EXPECT_EQ(ioctl(in, FIONREAD, &bytes), 0);
    EXPECT_EQ(bytes, 64);
}

TEST(blocked_read_is_woken)
{
    in = inotify_init();
    watch(".", IN_CREATE);
    if (fork() == 0) {
        harness_wait_until_sleeps(getppid());
        create_file("f");
        _exit(0);
    }
    EXPECT_EQ(read(in, buffer, sizeof(buffer)), 32);
    wait(NULL);
}

TEST(full_queue_says_so)
{
    enum { LIMIT = 16384 };
    make();
    create_file("a");
    int wd = watch("a", IN_ATTRIB | IN_OPEN);
    int fd = open("a", O_RDONLY);
    for (int i = 0; i < LIMIT / 2 + 50; i++) {
        fchmod(fd, 0600);
        close(open("a", O_RDONLY));
    }
    long count = 0;
    ssize_t n;
    struct inotify_event last = {0};
    while ((n = read(in, buffer, sizeof(buffer))) > 0) {
        for (char *at = buffer; at < buffer + n; at += sizeof(last), count++)
            memcpy(&last, at, sizeof(last));
    }
    EXPECT_EQ(last.wd, -1);
    EXPECT_EQ(last.mask, IN_Q_OVERFLOW);
    EXPECT_GE(count, 1000);
    fchmod(fd, 0640);
    EXPECT_STR(collect(), expected("%d:4: ", wd));
}
