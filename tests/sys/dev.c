// SPDX-License-Identifier: Apache-2.0
/*
 * The files of /dev: null(4), full(4), random(4), and the links beside them.
 */
#include "tests/harness/harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/random.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>

#define TRANSFER_MAX 0x7ffff000UL

static int open_device(const char *name)
{
    int fd = open(name, O_RDWR);
    ASSERT_GE(fd, 0);
    return fd;
}

static bool is_filled(const unsigned char *data, size_t size, unsigned char value)
{
    for (size_t i = 0; i < size; i++)
        if (data[i] != value)
            return false;
    return true;
}

static void *bad_address(void)
{
    void *volatile bad = (void *)8;
    return bad;
}

/* ---- what is there ---- */

TEST(devices_have_their_numbers_and_modes)
{
    static const struct {
        const char *name;
        unsigned major, minor;
    } devices[] = {
        {"/dev/null", 1, 3},    {"/dev/zero", 1, 5}, {"/dev/full", 1, 7}, {"/dev/random", 1, 8},
        {"/dev/urandom", 1, 9}, {"/dev/tty", 5, 0},  {"/dev/ptmx", 5, 2},
    };
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        struct stat st;
        ASSERT_EQ(stat(devices[i].name, &st), 0);
        EXPECT_TRUE(S_ISCHR(st.st_mode));
        EXPECT_EQ(st.st_mode & 07777, 0666);
        EXPECT_EQ(st.st_rdev, makedev(devices[i].major, devices[i].minor));
        EXPECT_EQ(st.st_size, 0);
    }
}

TEST(links_lead_to_the_descriptors)
{
    static const char *const links[][2] = {
        {"/dev/fd", "/proc/self/fd"},
        {"/dev/stdin", "/proc/self/fd/0"},
        {"/dev/stdout", "/proc/self/fd/1"},
        {"/dev/stderr", "/proc/self/fd/2"},
    };
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        char target[64] = "";
        EXPECT_GT(readlink(links[i][0], target, sizeof(target) - 1), 0);
        EXPECT_STR(target, links[i][1]);
    }
}

TEST(the_directory_lists_them)
{
    static const char *const names[] = {"null", "zero", "full", "random", "urandom", "tty",
                                        "ptmx", "fd",   "shm",  "pts",    "stdin"};
    size_t seen = 0;
    DIR *d = opendir("/dev");
    ASSERT_TRUE(d);
    for (struct dirent *e; (e = readdir(d));)
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
            seen += !strcmp(names[i], e->d_name);
    EXPECT_EQ(seen, sizeof(names) / sizeof(names[0]));
}

TEST(nothing_of_the_machine_is_there)
{
    if (!harness_is_inside())
        SKIP("this is the machine");
    static const char *const names[] = {"/dev/mem", "/dev/kmsg", "/dev/kvm",     "/dev/console",
                                        "/dev/vda", "/dev/fuse", "/dev/net/tun", "/dev/loop0"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        EXPECT_ERRNO(open(names[i], O_RDONLY), ENOENT);
}

TEST(users_change_nothing_in_it)
{
    if (geteuid() == 0)
        SKIP("root may");
    EXPECT_ERRNO(open("/dev/file", O_CREAT | O_RDWR, 0600), EACCES);
    EXPECT_ERRNO(mkdir("/dev/dir", 0700), EACCES);
    EXPECT_ERRNO(unlink("/dev/null"), EACCES);
    EXPECT_ERRNO(chmod("/dev/null", 0600), EPERM);
    EXPECT_ERRNO(mknod("device", S_IFCHR | 0600, makedev(1, 3)), EPERM);
}

TEST(shared_memory_has_a_place)
{
    struct stat st;
    char name[64];
    ASSERT_EQ(stat("/dev/shm", &st), 0);
    EXPECT_EQ(st.st_mode & 07777, 01777);
    snprintf(name, sizeof(name), "/glovebox-test-%d", getpid());
    int fd = shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(ftruncate(fd, 10000), 0);
    char *p = mmap(NULL, 10000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ASSERT_TRUE(p != MAP_FAILED);
    p[9999] = 'x';
    char c = 0;
    EXPECT_EQ(pread(fd, &c, 1, 9999), 1);
    EXPECT_EQ(c, 'x');
    EXPECT_EQ(shm_unlink(name), 0);
}

/* ---- null ---- */

TEST(null_is_empty_and_takes_everything)
{
    int fd = open_device("/dev/null");
    char c = 'c';
    EXPECT_EQ(read(fd, &c, 1), 0);
    EXPECT_EQ(write(fd, "abc", 3), 3);
    EXPECT_EQ(write(fd, bad_address(), 5), 5); /* does not look at it */
    EXPECT_EQ(write(fd, &c, 0), 0);
    struct iovec v[2] = {{&c, 1}, {&c, 1}};
    EXPECT_EQ(writev(fd, v, 2), 2);
    EXPECT_EQ(pwrite(fd, "abc", 3, 1000), 3);
    EXPECT_EQ(pread(fd, &c, 1, 1000), 0);
}

TEST(null_takes_as_much_as_a_call_can_carry)
{
    int fd = open_device("/dev/null");
    size_t size = 3UL << 30;
    void *p = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        SKIP("no address space");
    EXPECT_EQ(write(fd, p, size), TRANSFER_MAX);
}

TEST(null_can_be_opened_as_a_file_is)
{
    EXPECT_GE(open("/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0600), 0);
    EXPECT_GE(open("/dev/null", O_RDWR | O_APPEND), 0);
    EXPECT_ERRNO(open("/dev/null", O_RDONLY | O_DIRECTORY), ENOTDIR);
    EXPECT_ERRNO(open("/dev/null", O_CREAT | O_EXCL | O_RDWR, 0600), EEXIST);
    EXPECT_ERRNO(ftruncate(open_device("/dev/null"), 0), EINVAL);
    EXPECT_ERRNO(truncate("/dev/null", 0), EINVAL);
}

TEST(seeks_end_at_the_start)
{
    EXPECT_EQ(lseek(open_device("/dev/null"), 100, SEEK_SET), 0);
    EXPECT_EQ(lseek(open_device("/dev/zero"), 100, SEEK_CUR), 0);
    EXPECT_EQ(lseek(open_device("/dev/full"), 5, SEEK_END), 0);
    EXPECT_EQ(lseek(open_device("/dev/urandom"), 100, SEEK_SET), 0);
}

TEST(null_is_always_ready_and_not_for_epoll)
{
    int fd = open_device("/dev/null"), ep = epoll_create1(0);
    struct pollfd p = {fd, POLLIN | POLLOUT, 0};
    struct epoll_event e = {.events = EPOLLIN};
    EXPECT_EQ(poll(&p, 1, 0), 1);
    EXPECT_EQ(p.revents, POLLIN | POLLOUT);
    EXPECT_ERRNO(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e), EPERM);
}

TEST(devices_are_no_terminals)
{
    struct termios t;
    EXPECT_ERRNO(tcgetattr(open_device("/dev/null"), &t), ENOTTY);
    EXPECT_ERRNO(tcgetattr(open_device("/dev/zero"), &t), ENOTTY);
    EXPECT_EQ(isatty(open_device("/dev/full")), 0);
    EXPECT_EQ(isatty(open_device("/dev/urandom")), 0);
}

/* ---- zero and full ---- */

TEST(zero_gives_zeros)
{
    static unsigned char data[300000];
    int fd = open_device("/dev/zero");
    memset(data, 1, sizeof(data));
    EXPECT_EQ(read(fd, data, sizeof(data)), sizeof(data));
    EXPECT_TRUE(is_filled(data, sizeof(data), 0));
    EXPECT_EQ(write(fd, "abc", 3), 3);
    EXPECT_ERRNO(read(fd, bad_address(), 10), EFAULT);
}

TEST(zero_stops_at_a_bad_page)
{
    int fd = open_device("/dev/zero");
    char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_TRUE(p != MAP_FAILED);
    ASSERT_EQ(munmap(p + 4096, 4096), 0);
    memset(p, 1, 4096);
    EXPECT_EQ(read(fd, p + 4000, 1000), 96);
    EXPECT_TRUE(is_filled((unsigned char *)p + 4000, 96, 0));
}

TEST(zero_can_be_mapped_for_oneself)
{
    int fd = open_device("/dev/zero");
    unsigned char *p = mmap(NULL, 3 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    ASSERT_TRUE(p != MAP_FAILED);
    close(fd);
    EXPECT_TRUE(is_filled(p, 3 << 20, 0));
    p[12345] = 7;
    pid_t pid = fork();
    if (pid == 0) {
        p[12345]++;
        _exit(p[12345] == 8 ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(p[12345], 7);
}

TEST(zero_can_be_mapped_for_all)
{
    int fd = open_device("/dev/zero");
    unsigned char *p = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    unsigned char *other = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ASSERT_TRUE(p != MAP_FAILED);
    ASSERT_TRUE(other != MAP_FAILED);
    pid_t pid = fork();
    if (pid == 0) {
        p[100] = 9;
        _exit(0);
    }
    EXPECT_EQ(waitpid(pid, NULL, 0), pid);
    EXPECT_EQ(p[100], 9);
    EXPECT_EQ(other[100], 0); /* each mapping is memory of its own */
}

TEST(others_can_not_be_mapped)
{
    EXPECT_TRUE(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, open_device("/dev/null"), 0) ==
                MAP_FAILED);
    EXPECT_EQ(errno, ENODEV);
    EXPECT_TRUE(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, open_device("/dev/urandom"), 0) ==
                MAP_FAILED);
    EXPECT_EQ(errno, ENODEV);
}

TEST(full_has_no_room)
{
    unsigned char data[100];
    int fd = open_device("/dev/full");
    EXPECT_ERRNO(write(fd, "a", 1), ENOSPC);
    EXPECT_ERRNO(write(fd, data, 100000), ENOSPC);
    memset(data, 1, sizeof(data));
    EXPECT_EQ(read(fd, data, sizeof(data)), sizeof(data));
    EXPECT_TRUE(is_filled(data, sizeof(data), 0));
    FILE *f = fopen("/dev/full", "we");
    ASSERT_TRUE(f);
    fputs("text", f);
    EXPECT_ERRNO(fclose(f), ENOSPC);
}

/* ---- random ---- */

static void expect_random(const char *name)
{
    static unsigned char a[100000], b[100000];
    int fd = open_device(name);
    size_t counts[256] = {0};
    EXPECT_EQ(read(fd, a, sizeof(a)), sizeof(a));
    EXPECT_EQ(read(fd, b, sizeof(b)), sizeof(b));
    EXPECT_TRUE(memcmp(a, b, sizeof(a)) != 0);
    for (size_t i = 0; i < sizeof(a); i++)
        counts[a[i]]++;
    for (int i = 0; i < 256; i++) {
        EXPECT_GT(counts[i], 200); /* about 390 */
        EXPECT_LT(counts[i], 600);
    }
    EXPECT_ERRNO(read(fd, bad_address(), 10), EFAULT);
    EXPECT_EQ(read(fd, a, 0), 0);
}

TEST(random_bytes_are_random)
{
    expect_random("/dev/random");
    expect_random("/dev/urandom");
}

TEST(random_never_waits)
{
    char data[512];
    int fd = open("/dev/random", O_RDONLY | O_NONBLOCK);
    struct pollfd p = {fd, POLLIN, 0};
    EXPECT_EQ(poll(&p, 1, 0), 1);
    for (int i = 0; i < 100; i++)
        EXPECT_EQ(read(fd, data, sizeof(data)), sizeof(data));
}

TEST(random_takes_seeds)
{
    int fd = open_device("/dev/urandom"), bits = -1;
    EXPECT_EQ(write(fd, "seed", 4), 4);
    EXPECT_ERRNO(write(fd, bad_address(), 4), EFAULT);
    EXPECT_EQ(ioctl(fd, RNDGETENTCNT, &bits), 0);
    EXPECT_GT(bits, 0);
    if (geteuid() != 0)
        EXPECT_ERRNO(ioctl(fd, RNDADDTOENTCNT, &bits), EPERM);
    EXPECT_ERRNO(ioctl(fd, 0x52f0, &bits), EINVAL);
}

/* ---- descriptors by name ---- */

TEST(descriptors_can_be_opened_by_name)
{
    char name[32];
    int fds[2];
    ASSERT_EQ(pipe(fds), 0);
    snprintf(name, sizeof(name), "/dev/fd/%d", fds[1]);
    int again = open(name, O_WRONLY);
    ASSERT_GE(again, 0);
    EXPECT_EQ(write(again, "x", 1), 1);
    char c;
    EXPECT_EQ(read(fds[0], &c, 1), 1);
    EXPECT_ERRNO(open("/dev/fd/999", O_RDONLY), ENOENT);
}

TEST(stdout_can_be_opened_by_name)
{
    int fd = open("/dev/stdout", O_WRONLY);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(write(fd, "  (this line was written by name)\n", 34), 34);
    fd = open("/dev/stderr", O_WRONLY | O_APPEND);
    EXPECT_GE(fd, 0);
}

TEST(stdin_can_be_opened_by_name)
{
    int fds[2];
    char c = 0;
    ASSERT_EQ(pipe(fds), 0);
    ASSERT_EQ(dup2(fds[0], 0), 0);
    EXPECT_EQ(write(fds[1], "i", 1), 1);
    int fd = open("/dev/stdin", O_RDONLY);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(read(fd, &c, 1), 1);
    EXPECT_EQ(c, 'i');
}
