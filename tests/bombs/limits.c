// SPDX-License-Identifier: Apache-2.0
/*
 * A guest that makes everything grow that the kernel keeps for it, as far as kernel/core/limits.h
 * lets it: the errno is that of Linux, the kernel serves on, and what is given back can be had
 * again.
 */
#include "kernel/core/limits.h"
#include "tests/harness/harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>

#define PAGE ((size_t)4096)

/* For cases that make hundreds of thousands of calls. */
#define LONG_CASE_SECONDS 150

/* The kernel still makes processes, runs programs, moves bytes. */
static bool kernel_serves(void)
{
    int two[2], status;
    char c = 0;
    pid_t pid;
    if (pipe(two) < 0 || (pid = fork()) < 0)
        return false;
    if (pid == 0) {
        dup2(two[1], 1);
        execl("/bin/echo", "echo", (char *)NULL);
        _exit(127);
    }
    close(two[1]);
    bool ok = read(two[0], &c, 1) == 1 && c == '\n';
    close(two[0]);
    return waitpid(pid, &status, 0) == pid && ok && status == 0;
}

#define EXPECT_SERVES() EXPECT_TRUE(kernel_serves())

static void raise_descriptors(void)
{
    const struct rlimit most = {LIMIT_DESCRIPTORS, LIMIT_DESCRIPTORS};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &most), 0);
}

/*
 * Children that each do as much as they can and keep it: work() returns how much, with errno. They
 * go when the test ends their pipe.
 */
struct crowd {
    long total;
    int last_errno; /* of the one that got least */
    int hold;
};

static struct crowd crowd_start(int count, long (*work)(void))
{
    struct crowd crowd = {0};
    int hold[2], told[2];
    long least = LONG_MAX;
    ASSERT_EQ(pipe(hold), 0);
    ASSERT_EQ(pipe(told), 0);
    for (int i = 0; i < count; i++) {
        long said[2];
        pid_t pid = fork();
        if (pid == 0) {
            char c;
            close(hold[1]);
            said[0] = work();
            said[1] = errno;
            if (write(told[1], said, sizeof(said)) == sizeof(said))
                read(hold[0], &c, 1);
            _exit(0);
        }
        ASSERT_GT(pid, 0);
        ASSERT_EQ(read(told[0], said, sizeof(said)), sizeof(said));
        crowd.total += said[0];
        if (said[0] < least) {
            least = said[0];
            crowd.last_errno = (int)said[1];
        }
    }
    close(hold[0]);
    close(told[0]);
    close(told[1]);
    crowd.hold = hold[1];
    return crowd;
}

static void crowd_end(struct crowd *crowd)
{
    close(crowd->hold);
    while (wait(NULL) > 0)
        ;
}

/* ---- processes ---- */

TEST(processes)
{
    alarm(LONG_CASE_SECONDS);
    int count = 0, hold[2];
    ASSERT_EQ(pipe(hold), 0);
    for (;; count++) {
        pid_t pid = fork();
        if (pid < 0)
            break;
        if (pid == 0) {
            char c;
            close(hold[1]);
            read(hold[0], &c, 1);
            _exit(0);
        }
    }
    EXPECT_EQ(errno, EAGAIN);
    EXPECT_GT(count, 10);
    EXPECT_LT(count, LIMIT_THREADS);
    close(hold[1]);
    while (wait(NULL) > 0)
        ;
    EXPECT_SERVES();
}

static long queue_signals(void)
{
    sigset_t set;
    long count = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    while (sigqueue(getpid(), SIGRTMIN + 1, (union sigval){0}) == 0)
        count++;
    return count;
}

TEST(queued_signals)
{
    struct crowd crowd = crowd_start(1, queue_signals);
    EXPECT_EQ(crowd.total, LIMIT_SIGNALS_OF_PROCESS);
    EXPECT_EQ(crowd.last_errno, EAGAIN);
    crowd_end(&crowd);
    crowd = crowd_start(LIMIT_SIGNALS / LIMIT_SIGNALS_OF_PROCESS + 4, queue_signals);
    EXPECT_LE(crowd.total, LIMIT_SIGNALS);
    EXPECT_GT(crowd.total, LIMIT_SIGNALS / 2);
    EXPECT_EQ(crowd.last_errno, EAGAIN);
    EXPECT_SERVES();
    crowd_end(&crowd);
}

TEST(timers)
{
    struct sigevent none = {.sigev_notify = SIGEV_NONE};
    timer_t timer;
    int count = 0;
    while (count <= LIMIT_TIMERS_OF_PROCESS && timer_create(CLOCK_MONOTONIC, &none, &timer) == 0)
        count++;
    EXPECT_EQ(errno, EAGAIN);
    EXPECT_EQ(count, LIMIT_TIMERS_OF_PROCESS);
    EXPECT_EQ(timer_delete(timer), 0);
    EXPECT_EQ(timer_create(CLOCK_MONOTONIC, &none, &timer), 0);
}

TEST(shared_memories)
{
    static void *all[LIMIT_SHARED_MEMORIES + 1];
    alarm(LONG_CASE_SECONDS);
    for (int round = 0; round < 2; round++) {
        int count = 0;
        while (count <= LIMIT_SHARED_MEMORIES &&
               (all[count] = mmap(NULL, PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) !=
                   MAP_FAILED)
            count++;
        EXPECT_EQ(errno, ENOMEM);
        EXPECT_GT(count, LIMIT_SHARED_MEMORIES / 2);
        EXPECT_LE(count, LIMIT_SHARED_MEMORIES);
        EXPECT_SERVES();
        while (count > 0)
            munmap(all[--count], PAGE);
    }
}

TEST(one_argument)
{
    static char word[LIMIT_ARGUMENT_BYTES + 1];
    memset(word, 'x', LIMIT_ARGUMENT_BYTES);
    EXPECT_ERRNO(execl("/bin/true", "true", word, (char *)NULL), E2BIG);
}

/* ---- files ---- */

TEST(descriptors)
{
    raise_descriptors();
    int last = 0, fd;
    while ((fd = dup(0)) >= 0)
        last = fd;
    EXPECT_EQ(errno, EMFILE);
    EXPECT_EQ(last, LIMIT_DESCRIPTORS - 1);
    close(last);
    EXPECT_EQ(dup(0), last);
}

static long open_files(void)
{
    long count = 0;
    raise_descriptors();
    while (open("/dev/null", O_RDONLY) >= 0)
        count++;
    return count;
}

TEST(open_files_of_all)
{
    alarm(LONG_CASE_SECONDS);
    struct crowd crowd = crowd_start(LIMIT_FILES / LIMIT_DESCRIPTORS + 1, open_files);
    EXPECT_EQ(crowd.last_errno, ENFILE);
    EXPECT_LE(crowd.total, LIMIT_FILES);
    EXPECT_GT(crowd.total, LIMIT_FILES - 1000);
    crowd_end(&crowd);
    EXPECT_SERVES();
}

TEST(texts_of_symbolic_links)
{
    char text[PAGE], name[32];
    long bytes = 0;
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    for (int i = 0;; i++, bytes += sizeof(text)) {
        snprintf(name, sizeof(name), "%d", i);
        if (symlink(text, name) < 0)
            break;
    }
    EXPECT_EQ(errno, ENOSPC);
    EXPECT_LE(bytes, (long)LIMIT_SYMLINK_BYTES);
    EXPECT_GT(bytes, (long)LIMIT_SYMLINK_BYTES / 2);
    EXPECT_EQ(unlink("0"), 0);
    EXPECT_EQ(symlink(text, "0"), 0);
    EXPECT_SERVES();
}

TEST(components_of_a_name_and_its_links)
{
    enum { LINKS = 20, COMPONENTS = 2 * (PAGE - 64) / (int)sizeof("a/..") };
    char text[PAGE], name[32];
    struct stat st;
    ASSERT_GT(LINKS * COMPONENTS, LIMIT_WALK_STEPS);
    ASSERT_TRUE(4 * COMPONENTS < LIMIT_WALK_STEPS);
    ASSERT_EQ(mkdir("a", 0700), 0);
    for (int i = 0; i < LINKS; i++) {
        char *end = text;
        while (end < text + sizeof(text) - 64)
            end = stpcpy(end, "a/../");
        snprintf(end, 32, i == 0 ? "a" : "%d", i - 1);
        snprintf(name, sizeof(name), "%d", i);
        ASSERT_EQ(symlink(text, name), 0);
    }
    EXPECT_EQ(stat("0", &st), 0);
    EXPECT_EQ(stat("3", &st), 0);
    EXPECT_EQ(stat(name, &st), -1);
    EXPECT_EQ(errno, ELOOP);
    EXPECT_SERVES();
}

TEST(extended_attributes)
{
    static char value[60000];
    char name[32];
    long bytes = 0;
    for (int i = 0;; i++, bytes += sizeof(value)) {
        snprintf(name, sizeof(name), "%d", i);
        close(open(name, O_CREAT | O_WRONLY, 0600));
        if (setxattr(name, "user.x", value, sizeof(value), 0) < 0)
            break;
    }
    EXPECT_EQ(errno, ENOSPC);
    EXPECT_LE(bytes, (long)LIMIT_XATTR_BYTES);
    EXPECT_GT(bytes, (long)LIMIT_XATTR_BYTES / 2);
    EXPECT_EQ(removexattr("0", "user.x"), 0);
    EXPECT_EQ(setxattr(name, "user.x", value, sizeof(value), 0), 0);
}

/* More of it than is kept: what was dropped is made again when it is read on. */
TEST(texts_of_proc)
{
    static char text[4 << 20];
    char *map = mmap(NULL, 8192 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), c;
    int fds[64];
    ASSERT_TRUE(map != MAP_FAILED);
    for (int i = 0; i < 8192; i += 2)
        mprotect(map + i * PAGE, PAGE, PROT_NONE);
    for (int i = 0; i < 64; i++) {
        fds[i] = open("/proc/self/maps", O_RDONLY);
        ASSERT_EQ(read(fds[i], &c, 1), 1);
    }
    for (int i = 0; i < 64; i += 32) {
        size_t size = 0;
        ssize_t n;
        while ((n = read(fds[i], text + size, sizeof(text) - size)) > 0)
            size += (size_t)n;
        EXPECT_GT(64 * size, LIMIT_PSEUDO_BYTES);
        EXPECT_TRUE(memmem(text, size, "[stack]", 7) != NULL);
    }
    EXPECT_SERVES();
}

TEST(what_root_makes_in_dev)
{
    char name[32], data[PAGE] = "";
    int count = 0;
    int fd = open("/dev/hostile", O_CREAT | O_WRONLY, 0600);
    ASSERT_GE(fd, 0);
    while (write(fd, data, sizeof(data)) == sizeof(data))
        ASSERT_GT(LIMIT_DEV_BYTES, lseek(fd, 0, SEEK_CUR) - 1);
    EXPECT_EQ(errno, ENOSPC);
    close(fd);
    for (;; count++) {
        snprintf(name, sizeof(name), "/dev/hostile%d", count);
        if (mknod(name, S_IFIFO | 0600, 0) < 0)
            break;
    }
    EXPECT_EQ(errno, ENOSPC);
    EXPECT_LT(count, LIMIT_DEV_INODES);
    while (count-- > 0) {
        snprintf(name, sizeof(name), "/dev/hostile%d", count);
        EXPECT_EQ(unlink(name), 0);
    }
    EXPECT_EQ(unlink("/dev/hostile"), 0);
}

TEST(terminals)
{
    int count = 0;
    raise_descriptors();
    while (open("/dev/ptmx", O_RDWR | O_NOCTTY) >= 0)
        count++;
    EXPECT_EQ(errno, ENOSPC);
    EXPECT_LE(count, LIMIT_PTYS);
    EXPECT_SERVES();
}

/*
 * One byte here and there: each is a lock of its own. From the end, so that none is searched for.
 * False with errno when there are no more.
 */
static bool lock_bytes(const char *name, int count)
{
    int fd = open(name, O_CREAT | O_RDWR, 0600);
    for (int i = count; i > 0; i--) {
        struct flock l = {.l_type = F_WRLCK, .l_start = i * 2, .l_len = 1};
        if (fcntl(fd, F_SETLK, &l) < 0)
            return false;
    }
    return true;
}

TEST(locks)
{
    char name[32];
    alarm(LONG_CASE_SECONDS);
    EXPECT_TRUE(!lock_bytes("f", LIMIT_LOCKS_OF_FILE + 1));
    EXPECT_EQ(errno, ENOLCK);
    errno = 0;
    for (int i = 0; i <= LIMIT_LOCKS / LIMIT_LOCKS_OF_FILE; i++) {
        snprintf(name, sizeof(name), "%d", i);
        if (!lock_bytes(name, LIMIT_LOCKS_OF_FILE))
            break;
    }
    EXPECT_EQ(errno, ENOLCK);
    EXPECT_SERVES();
}

/* Mappings of more files than the kernel keeps names of. */
TEST(names_of_mapped_files)
{
    enum { FILES = LIMIT_MAPPED_FILES + 100 };
    char name[64], folder[64], line[512];
    int named = 0, fd;
    ASSERT_TRUE(getcwd(folder, sizeof(folder)) != NULL);
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof(name), "mapped%d", i);
        ASSERT_GE(fd = open(name, O_CREAT | O_RDWR, 0600), 0);
        ASSERT_EQ(write(fd, "x", 1), 1);
        const char *p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
        ASSERT_TRUE(p != MAP_FAILED);
        EXPECT_EQ(*p, 'x');
        close(fd);
    }
    FILE *maps = fopen("/proc/self/maps", "r");
    ASSERT_TRUE(maps != NULL);
    while (fgets(line, sizeof(line), maps))
        named += strstr(line, "/mapped") != NULL;
    fclose(maps);
    EXPECT_LE(named, LIMIT_MAPPED_FILES);
    EXPECT_GT(named, LIMIT_MAPPED_FILES / 2);
    EXPECT_SERVES();
}

/* A mounted folder is listed into memory, whole, when it is read for the first time. */
#define LISTED_NAMES 5000

static int list_mounted(void)
{
    static char some[PAGE];
    int fd = open(getenv("LIMITS_FOLDER"), O_RDONLY | O_DIRECTORY);
    ASSERT_GE(fd, 0);
    if (getdents64(fd, some, sizeof(some)) > 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

TEST(listings_of_mounted_folders)
{
    char name[PAGE], filler[200];
    const char *folder = getenv("LIMITS_FOLDER");
    int fd, last = -1, count = 0;
    if (!folder)
        SKIP("no folder is mounted");
    raise_descriptors();
    memset(filler, 'x', sizeof(filler) - 1);
    filler[sizeof(filler) - 1] = '\0';
    for (int i = 0; i < LISTED_NAMES; i++) {
        snprintf(name, sizeof(name), "%s/%s%d", folder, filler, i);
        ASSERT_GE(fd = open(name, O_CREAT | O_WRONLY, 0600), 0);
        close(fd);
    }
    const long least = LISTED_NAMES * (long)sizeof(filler);
    for (; (fd = list_mounted()) >= 0; count++)
        last = fd;
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_LE(count * least, (long)LIMIT_LISTING_BYTES);
    EXPECT_GT(count * least, (long)LIMIT_LISTING_BYTES / 2);
    EXPECT_SERVES();
    close(last);
    EXPECT_GE(list_mounted(), 0);
}

/* ---- pipes ---- */

TEST(pages_of_pipes)
{
    int ends[2], pages = 0;
    bool shrank = false;
    raise_descriptors();
    ASSERT_EQ(setgid(1000), 0);
    ASSERT_EQ(setuid(1000), 0);
    while (pipe(ends) == 0) {
        int size = fcntl(ends[1], F_GETPIPE_SZ);
        shrank |= size < 65536;
        pages += size / (int)PAGE;
    }
    EXPECT_EQ(errno, ENFILE);
    EXPECT_TRUE(shrank);
    EXPECT_LE(pages, LIMIT_PIPE_PAGES);
    EXPECT_GT(pages, LIMIT_PIPE_PAGES_SOFT);
    close(ends[0]);
    close(ends[1]);
    close(ends[0] - 2);
    close(ends[1] - 2);
    EXPECT_EQ(pipe(ends), 0);
    EXPECT_ERRNO(fcntl(ends[1], F_SETPIPE_SZ, LIMIT_PIPE_BYTES * 2), EPERM);
}

/* ---- events ---- */

TEST(epoll_in_epoll)
{
    int inner = epoll_create1(0), depth = 0;
    for (;; depth++) {
        int outer = epoll_create1(0);
        struct epoll_event e = {.events = EPOLLIN};
        if (epoll_ctl(outer, EPOLL_CTL_ADD, inner, &e) < 0)
            break;
        inner = outer;
    }
    EXPECT_EQ(errno, ELOOP);
    EXPECT_LE(depth, LIMIT_EPOLL_DEPTH);
}

/* Of a pipe's reading end. Files that are mapped need a number that the machine's limit allows. */
#define MANY 12000

static int many_descriptors(int *ret_writer)
{
    int ends[2];
    raise_descriptors();
    ASSERT_EQ(pipe(ends), 0);
    int first = dup(ends[0]);
    for (int i = 1; i < MANY; i++)
        ASSERT_EQ(dup(ends[0]), first + i);
    if (ret_writer)
        *ret_writer = ends[1];
    return first;
}

TEST(members_of_epoll)
{
    struct epoll_event e = {.events = EPOLLIN};
    int r = 0, first = many_descriptors(NULL);
    long count = 0;
    alarm(LONG_CASE_SECONDS);
    while (r == 0) {
        int set = epoll_create1(0);
        ASSERT_GE(set, 0);
        for (int i = 0; i < MANY && r == 0; i++, count++)
            r = epoll_ctl(set, EPOLL_CTL_ADD, first + i, &e);
    }
    EXPECT_EQ(errno, ENOSPC);
    EXPECT_GT(count, LIMIT_EPOLL_ITEMS / 2);
    EXPECT_LE(count, LIMIT_EPOLL_ITEMS + 1);
    EXPECT_SERVES();
}

static int polled_fd;

/* Until a byte comes: 1; or the errno, negative. */
static void *poll_many(void *unused)
{
    struct pollfd *fds = calloc(MANY, sizeof(*fds));
    for (int i = 0; i < MANY; i++)
        fds[i] = (struct pollfd){.fd = polled_fd + i, .events = POLLIN};
    long r = poll(fds, MANY, -1);
    return (void *)(r < 0 ? -(long)errno : 1L);
}

TEST(files_that_poll_waits_for)
{
    pthread_t threads[LIMIT_POLL_WAITS / MANY + 2];
    int writer, refused = 0;
    alarm(LONG_CASE_SECONDS);
    polled_fd = many_descriptors(&writer);
    for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
        ASSERT_EQ(pthread_create(&threads[i], NULL, poll_many, NULL), 0);
    usleep(1000000);
    EXPECT_SERVES();
    ASSERT_EQ(write(writer, "x", 1), 1);
    for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
        void *r;
        pthread_join(threads[i], &r);
        refused += (long)r == -ENOMEM;
        EXPECT_TRUE((long)r == -ENOMEM || (long)r == 1);
    }
    EXPECT_GT(refused, 0);
}

TEST(instances_of_inotify)
{
    int count = 0;
    while (inotify_init1(0) >= 0)
        count++;
    EXPECT_EQ(errno, EMFILE);
    EXPECT_LE(count, LIMIT_INOTIFY_INSTANCES);
}

TEST(watches_of_inotify)
{
    char name[32];
    int in = inotify_init1(0), count = 0;
    alarm(LONG_CASE_SECONDS);
    for (;; count++) {
        snprintf(name, sizeof(name), "%d", count);
        close(open(name, O_CREAT | O_WRONLY, 0600));
        if (inotify_add_watch(in, name, IN_MODIFY) < 0)
            break;
    }
    EXPECT_EQ(errno, ENOSPC);
    EXPECT_LE(count, LIMIT_INOTIFY_WATCHES);
    EXPECT_GT(count, LIMIT_INOTIFY_WATCHES / 2);
    EXPECT_EQ(inotify_rm_watch(in, 1), 0);
    EXPECT_GT(inotify_add_watch(in, name, IN_MODIFY), 0);
    EXPECT_SERVES();
}

/* ---- sockets ---- */

TEST(bytes_in_sockets)
{
    static char data[65536];
    const int most = LIMIT_SOCKET_BUFFER;
    int two[2];
    long bytes = 0, before = -1;
    raise_descriptors();
    while (bytes != before && bytes <= LIMIT_SOCKET_BYTES) {
        ssize_t n;
        before = bytes;
        ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, two), 0);
        setsockopt(two[0], SOL_SOCKET, SO_SNDBUF, &most, sizeof(most));
        while ((n = write(two[0], data, sizeof(data))) > 0)
            bytes += n;
        EXPECT_TRUE(errno == EAGAIN || errno == ENOBUFS);
    }
    EXPECT_LE(bytes, LIMIT_SOCKET_BYTES);
    EXPECT_GT(bytes, LIMIT_SOCKET_BYTES / 2);
    EXPECT_SERVES();
}

static bool send_files(int socket, int fd, int count)
{
    char control[CMSG_SPACE(253 * sizeof(int))] = "", byte = 0;
    struct iovec data = {&byte, 1};
    struct msghdr m = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control};
    m.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int));
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
    for (int i = 0; i < count; i++)
        memcpy(CMSG_DATA(c) + i * (int)sizeof(int), &fd, sizeof(fd));
    return sendmsg(socket, &m, MSG_DONTWAIT) == 1;
}

TEST(files_in_flight)
{
    long sent = 0;
    int two[2] = {-1, -1};
    raise_descriptors();
    errno = 0;
    while (errno != ETOOMANYREFS && sent <= LIMIT_FILES_IN_FLIGHT) {
        ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, two), 0);
        while (send_files(two[0], 0, 253))
            sent += 253;
    }
    EXPECT_EQ(errno, ETOOMANYREFS);
    EXPECT_LE(sent, LIMIT_FILES_IN_FLIGHT);
    EXPECT_SERVES();
}

static bool connect_to(const struct sockaddr_un *name, socklen_t size)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    if (connect(fd, (const struct sockaddr *)name, size) == 0)
        return true;
    int error = errno;
    close(fd);
    errno = error;
    return false;
}

/* Connections that nobody accepts: to one listener, all that it takes. */
static long connect_to_a_listener(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    socklen_t size = sizeof(sa_family_t);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    long count = 0;
    if (listener < 0 || bind(listener, (struct sockaddr *)&name, size) < 0)
        return 0;
    size = sizeof(name);
    if (getsockname(listener, (struct sockaddr *)&name, &size) < 0 || listen(listener, 1 << 20) < 0)
        return 0;
    while (connect_to(&name, size))
        count++;
    return count;
}

TEST(connections_of_a_listener)
{
    raise_descriptors();
    EXPECT_EQ(connect_to_a_listener(), LIMIT_SOCKET_BACKLOG + 1);
    EXPECT_EQ(errno, EAGAIN);
}

/* Each is two sockets, of which only one has a descriptor. */
static long connect_to_many_listeners(void)
{
    long total = 0, count;
    raise_descriptors();
    do {
        errno = 0;
        count = connect_to_a_listener();
        total += 2 * count;
    } while (errno == EAGAIN);
    return total;
}

TEST(sockets)
{
    alarm(LONG_CASE_SECONDS);
    struct crowd crowd =
        crowd_start(LIMIT_SOCKETS / LIMIT_DESCRIPTORS + 1, connect_to_many_listeners);
    EXPECT_EQ(crowd.last_errno, ENFILE);
    EXPECT_LE(crowd.total, LIMIT_SOCKETS);
    EXPECT_GT(crowd.total, LIMIT_SOCKETS - 1000);
    EXPECT_ERRNO(socket(AF_INET, SOCK_STREAM, 0), ENFILE);
    EXPECT_SERVES();
    crowd_end(&crowd);
    EXPECT_GE(socket(AF_INET, SOCK_STREAM, 0), 0);
}

/* ---- System V IPC ---- */

static void remove_all(int *ids, int count, int (*control)(int id))
{
    for (int i = 0; i < count; i++)
        EXPECT_EQ(control(ids[i]), 0);
}

static int remove_semaphores(int id)
{
    return semctl(id, 0, IPC_RMID);
}

static int remove_queue(int id)
{
    return msgctl(id, IPC_RMID, NULL);
}

static int remove_segment(int id)
{
    return shmctl(id, IPC_RMID, NULL);
}

static int ids[LIMIT_SEM_SETS + 1];

TEST(semaphores)
{
    int count = 0;
    alarm(LONG_CASE_SECONDS);
    while ((ids[count] = semget(IPC_PRIVATE, 1, 0600)) >= 0)
        count++;
    EXPECT_EQ(errno, ENOSPC);
    EXPECT_EQ(count, LIMIT_SEM_SETS);
    remove_all(ids, count, remove_semaphores);
    EXPECT_ERRNO(semget(IPC_PRIVATE, LIMIT_SEM_PER_SET + 1, 0600), EINVAL);
    for (count = 0; (ids[count] = semget(IPC_PRIVATE, LIMIT_SEM_PER_SET, 0600)) >= 0;)
        count++;
    EXPECT_EQ(errno, ENOSPC);
    EXPECT_EQ(count, LIMIT_SEM_TOTAL / LIMIT_SEM_PER_SET);
    remove_all(ids, count, remove_semaphores);
    EXPECT_SERVES();
}

TEST(operations_on_semaphores)
{
    static struct sembuf up[LIMIT_SEM_OPS + 1];
    int id = semget(IPC_PRIVATE, 1, 0600);
    for (int i = 0; i <= LIMIT_SEM_OPS; i++)
        up[i].sem_op = 1;
    EXPECT_ERRNO(semop(id, up, LIMIT_SEM_OPS + 1), E2BIG);
    EXPECT_EQ(semop(id, up, LIMIT_SEM_OPS), 0);
    EXPECT_EQ(semctl(id, 0, GETVAL), LIMIT_SEM_OPS);
    EXPECT_EQ(remove_semaphores(id), 0);
}

static int undo_set;

static long undo(void)
{
    struct sembuf up = {0, 1, SEM_UNDO};
    return semop(undo_set, &up, 1) == 0;
}

TEST(values_to_undo)
{
    undo_set = semget(IPC_PRIVATE, LIMIT_SEM_PER_SET, 0600);
    ASSERT_GE(undo_set, 0);
    struct crowd crowd = crowd_start(LIMIT_SEM_UNDOS / LIMIT_SEM_PER_SET + 3, undo);
    EXPECT_EQ(crowd.last_errno, ENOSPC);
    EXPECT_LE(crowd.total, LIMIT_SEM_UNDOS / LIMIT_SEM_PER_SET);
    EXPECT_GT(crowd.total, 1);
    crowd_end(&crowd);
    EXPECT_EQ(undo(), 1);
    EXPECT_EQ(remove_semaphores(undo_set), 0);
}

TEST(messages_of_a_queue_that_root_made_large)
{
    struct msqid_ds ds;
    struct {
        long type;
    } message = {.type = 1};
    int id = msgget(IPC_PRIVATE, 0600), count = 0;
    ASSERT_EQ(msgctl(id, IPC_STAT, &ds), 0);
    ds.msg_qbytes = 1 << 30;
    ASSERT_EQ(msgctl(id, IPC_SET, &ds), 0);
    while (count <= LIMIT_MSG_QUEUE_MESSAGES && msgsnd(id, &message, 0, IPC_NOWAIT) == 0)
        count++;
    EXPECT_EQ(errno, EAGAIN);
    EXPECT_EQ(count, LIMIT_MSG_QUEUE_MESSAGES);
    EXPECT_EQ(msgrcv(id, &message, 0, 0, IPC_NOWAIT), 0);
    EXPECT_EQ(msgsnd(id, &message, 0, IPC_NOWAIT), 0);
    EXPECT_EQ(msgctl(id, IPC_RMID, NULL), 0);
    EXPECT_SERVES();
}

TEST(message_queues)
{
    static struct {
        long type;
        char text[LIMIT_MSG_BYTES];
    } message = {.type = 1};
    int count = 0, full = 0;
    alarm(LONG_CASE_SECONDS);
    while ((ids[count] = msgget(IPC_PRIVATE, 0600)) >= 0)
        count++;
    EXPECT_EQ(errno, ENOSPC);
    EXPECT_EQ(count, LIMIT_MSG_QUEUES);
    EXPECT_ERRNO(msgsnd(ids[0], &message, LIMIT_MSG_BYTES + 1, IPC_NOWAIT), EINVAL);
    do {
        while (msgsnd(ids[full], &message, LIMIT_MSG_BYTES, IPC_NOWAIT) == 0)
            ;
    } while (errno == EAGAIN && ++full < count);
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_LE(full, LIMIT_MSG_TOTAL_BYTES / LIMIT_MSG_QUEUE_BYTES);
    EXPECT_GT(full, 100);
    EXPECT_SERVES();
    remove_all(ids, count, remove_queue);
}

TEST(shared_segments)
{
    int count = 0;
    while ((ids[count] = shmget(IPC_PRIVATE, PAGE, 0600)) >= 0)
        count++;
    EXPECT_EQ(errno, ENOSPC);
    EXPECT_LE(count, LIMIT_SHM_SEGMENTS);
    EXPECT_GT(count, LIMIT_SHM_SEGMENTS / 2);
    remove_all(ids, count, remove_segment);
    EXPECT_ERRNO(shmget(IPC_PRIVATE, LIMIT_SHM_BYTES + 1, 0600), EINVAL);
    for (count = 0; (ids[count] = shmget(IPC_PRIVATE, LIMIT_SHM_BYTES / 4, 0600)) >= 0;)
        count++;
    EXPECT_EQ(errno, ENOSPC);
    EXPECT_LE(count, 4);
    remove_all(ids, count, remove_segment);
    EXPECT_SERVES();
}
