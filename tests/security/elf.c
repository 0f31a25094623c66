// SPDX-License-Identifier: Apache-2.0
/*
 * Hostile programs: ELF files whose headers are broken in a thousand ways, scripts, names that
 * change while they are executed. What comes of it is an errno or a process that ends; never more.
 */
#include "tests/security/hostile.h"

#include <elf.h>
#include <pthread.h>
#include <sys/time.h>

#define MUTATIONS  600
#define PARTS      16         /* names */
#define LENGTH_MAX (96 << 10) /* a static program is long; its end matters little */

static char image[4 << 20]; /* the original, the first page replaced */
static size_t image_size;

static bool load(const char *name)
{
    int fd = open(name, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, image, sizeof(image));
    close(fd);
    image_size = n > 0 ? (size_t)n : 0;
    return n > (ssize_t)sizeof(Elf64_Ehdr);
}

/* Headers of a copy with a few words that are wrong. */
static void mutate(char *header, size_t size, uint32_t *state)
{
    static const uint64_t words[] = {0,
                                     1,
                                     7,
                                     0xfff,
                                     0x1000,
                                     0x7fffffff,
                                     0xffffffff,
                                     0x7ffffffff000,
                                     0x8000000000000000,
                                     UINT64_MAX,
                                     0x400000,
                                     0x10000000000};
    for (uint32_t i = 1 + hostile_random(state) % 4; i > 0; i--) {
        size_t at = hostile_random(state) % size;
        /* Not the magic, else nearly all are dull. */
        if (at < 4)
            at = 16;
        switch (hostile_random(state) % 4) {
        case 0:
            header[at] = (char)hostile_random(state);
            break;
        case 1:
            header[at] ^= (char)(1 << hostile_random(state) % 8);
            break;
        default:
            at &= ~(size_t)7;
            memcpy(header + at, &words[hostile_random(state) % 12], 8);
        }
    }
}

static bool write_program(const char *name, const char *data, size_t size)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0755);
    bool ok = fd >= 0 && write(fd, data, size) == (ssize_t)size;
    close(fd);
    return ok;
}

/* A mutant may well be a loop. */
static void end_soon(void)
{
    const struct itimerval t = {{0, 0}, {0, 200000}};
    setitimer(ITIMER_REAL, &t, NULL);
}

static void run_mutations(const char *original)
{
    uint32_t state = 5;
    static char header[4096], copy[4096];
    ASSERT_TRUE(load(original));
    if (image_size > LENGTH_MAX)
        image_size = LENGTH_MAX;
    size_t head = image_size < sizeof(header) ? image_size : sizeof(header);
    memcpy(header, image, head);
    size_t tables =
        sizeof(Elf64_Ehdr) + ((Elf64_Ehdr *)(void *)header)->e_phnum * sizeof(Elf64_Phdr);
    for (int i = 0; i < MUTATIONS; i++) {
        char name[32];
        snprintf(name, sizeof(name), "m%d", i % PARTS);
        memcpy(copy, header, head);
        mutate(copy, tables < head ? tables : head, &state);
        memcpy(image, copy, head);
        unlink(name);
        ASSERT_TRUE(write_program(name, image, i % 7 ? image_size : image_size / 3));
        pid_t pid = fork();
        if (pid == 0) {
            end_soon();
            hostile_become_user();
            int null = open("/dev/null", O_RDWR);
            for (int fd = 0; fd < 3; fd++)
                dup2(null, fd);
            execl(name, name, (char *)NULL);
            _exit(126);
        }
        hostile_wait(pid);
    }
    EXPECT_TRUE(hostile_kernel_serves());
}

static void prepare(void)
{
    alarm(240);
    ASSERT_EQ(chmod(".", 0777), 0);
}

TEST(mutations_of_a_static_program)
{
    prepare();
    run_mutations("/proc/self/exe");
}

TEST(mutations_of_a_dynamic_program)
{
    prepare();
    run_mutations("/bin/true");
}

static int exec_status(const char *name)
{
    pid_t pid = fork();
    if (pid == 0) {
        execl(name, name, (char *)NULL);
        _exit(errno);
    }
    return hostile_wait(pid);
}

TEST(rubbish_that_is_no_program)
{
    static const char *const texts[] = {"",
                                        "#",
                                        "#!",
                                        "#!\n",
                                        "#! \t \n",
                                        "\x7f",
                                        "\x7f"
                                        "ELF",
                                        "#!/nowhere",
                                        "MZ",
                                        "#!/tmp\n"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        ASSERT_TRUE(write_program("rubbish", texts[i], strlen(texts[i])));
        int status = exec_status("./rubbish");
        EXPECT_TRUE(status == ENOEXEC || status == ENOENT || status == EACCES);
    }
}

TEST(scripts_of_scripts)
{
    char name[16], text[64];
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof(name), "s%d", i);
        snprintf(text, sizeof(text), i ? "#!s%d\n" : "#!/bin/true\n", i - 1);
        ASSERT_TRUE(write_program(name, text, strlen(text)));
    }
    EXPECT_EQ(exec_status("s0"), 0);
    EXPECT_EQ(exec_status("s3"), 0);
    EXPECT_EQ(exec_status("s7"), ELOOP);
    ASSERT_TRUE(write_program("own", "#!own\n", 6));
    EXPECT_EQ(exec_status("own"), ELOOP);
}

TEST(an_interpreter_without_an_end)
{
    static char text[5000] = "#!/";
    memset(text + 3, 'x', sizeof(text) - 3);
    ASSERT_TRUE(write_program("long", text, sizeof(text)));
    EXPECT_EQ(exec_status("./long"), ENOEXEC);
    for (size_t size = 250; size < 260; size++) {
        ASSERT_TRUE(write_program("long", text, size));
        int status = exec_status("./long");
        EXPECT_TRUE(status == ENOEXEC || status == ENOENT);
    }
}

TEST(what_can_not_be_executed)
{
    static const char *const names[] = {
        "/",           "/etc/passwd",    "/dev/null", "/proc/self/status", "/proc/self/fd",
        "/proc/1/exe", "/proc/self/mem", ""};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        int status = exec_status(names[i]);
        EXPECT_TRUE(status == EACCES || status == ENOENT);
    }
}

/* ---- a name that flips while it is executed ---- */

static char flipping[64];
static volatile int stop;

static void set_name(const char *name)
{
    strcpy(flipping, name);
    __asm__ volatile("" : : : "memory"); /* the compiler would keep the last one only */
    for (volatile int i = 0; i < 400; i++)
        ;
}

static void *flip(void *unused)
{
    while (!stop) {
        set_name("/bin/true");
        set_name("/bin/false");
        set_name("../../../../../../stub");
        set_name("/proc/self/exe");
        set_name("/etc/passwd");
        set_name("one");
        set_name("two");
    }
    return NULL;
}

TEST(exec_of_a_name_that_flips)
{
    alarm(240);
    for (int i = 0; i < 60; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            pthread_t thread;
            char *const argv[] = {(char *)"true", (char *)"--list", NULL};
            strcpy(flipping, "/bin/true");
            pthread_create(&thread, NULL, flip, NULL);
            int null = open("/dev/null", O_RDWR);
            dup2(null, 1);
            while (i % 8) {
                execv(flipping, argv);
                if (errno != ENOENT && errno != EACCES && errno != EISDIR && errno != ENOEXEC &&
                    errno != ENOTDIR)
                    _exit(40 + errno % 80);
            }
            _exit(0);
        }
        int status = hostile_wait(pid);
        EXPECT_TRUE(status == 0 || status == 1);
    }
    EXPECT_TRUE(hostile_kernel_serves());
}

TEST(open_of_a_name_that_flips)
{
    struct stat a, b, st;
    pthread_t thread;
    ASSERT_TRUE(write_program("one", "1", 1) && write_program("two", "22", 2));
    ASSERT_EQ(stat("one", &a), 0);
    ASSERT_EQ(stat("two", &b), 0);
    strcpy(flipping, "one");
    pthread_create(&thread, NULL, flip, NULL);
    for (int i = 0; i < 20000; i++) {
        int fd = open(flipping, O_RDONLY | O_NONBLOCK);
        if (fd < 0)
            continue;
        EXPECT_EQ(fstat(fd, &st), 0);
        if (st.st_ino == a.st_ino || st.st_ino == b.st_ino)
            EXPECT_EQ(st.st_size, st.st_ino == a.st_ino ? 1 : 2);
        close(fd);
    }
    stop = 1;
    pthread_join(thread, NULL);
    EXPECT_TRUE(hostile_kernel_serves());
}

/* ---- storms ---- */

static void *execute(void *unused)
{
    char *const argv[] = {(char *)"true", NULL}, *const envp[] = {NULL};
    for (;;)
        execve("/bin/true", argv, envp);
}

TEST(many_threads_that_execute)
{
    for (int i = 0; i < 60; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            pthread_t thread;
            for (int n = 0; n < 16; n++)
                pthread_create(&thread, NULL, execute, NULL);
            if (i % 2)
                execute(NULL);
            pthread_exit(NULL);
        }
        EXPECT_EQ(hostile_wait(pid), 0);
    }
    EXPECT_TRUE(hostile_kernel_serves());
}
