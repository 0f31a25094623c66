// SPDX-License-Identifier: Apache-2.0
#include "lib/base/control.h"
#include "sandbox/host.h"
#include "sandbox/jail.h"
#include "sandbox/notices.h"
#include "sandbox/relay.h"
#include "sandbox/run.h"
#include "sandbox/spec.h"
#include "tests/harness/harness.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>

static struct sandbox_error error;
static const struct sandbox_controls no_controls;

/* The records with ';' for NUL. */
static char *records(const struct sandbox_spec *s)
{
    struct buf b = BUF_INIT(CONTROL_SPEC_MAX_BYTES);
    ASSERT_EQ(sandbox_spec_write(s, &no_controls, &b, &error), 0);
    for (size_t i = 0; i < b.size; i++)
        if (!b.data[i])
            b.data[i] = ';';
    return b.data;
}

static int cpu_count(void)
{
    cpu_set_t set;
    EXPECT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
    return CPU_COUNT(&set);
}

TEST(records_of_a_full_specification)
{
    struct sandbox_spec s = {0};
    char here[4096], expected[8192];
    ASSERT_TRUE(getcwd(here, sizeof(here)) != NULL);
    EXPECT_EQ(mkdir("data", 0755), 0);
    EXPECT_EQ(strv_append(&s.args, "echo"), 0);
    EXPECT_EQ(strv_append(&s.args, "a=b"), 0);
    EXPECT_EQ(strv_env_set(&s.env, "A", "1"), 0);
    EXPECT_EQ(sandbox_spec_set_workdir(&s, "/srv//x/../y/.", &error), 0);
    EXPECT_EQ(sandbox_spec_set_user(&s, "1000:1000", &error), 0);
    EXPECT_EQ(sandbox_spec_set_hostname(&s, "box-1.lan", &error), 0);
    EXPECT_EQ(sandbox_spec_add_mount(&s, "./data", "/data/", true, &error), 0);
    EXPECT_EQ(sandbox_spec_add_tmpfs(&s, "/scratch", 4096, &error), 0);
    EXPECT_EQ(sandbox_spec_add_tmpfs(&s, "/scratch2", 0, &error), 0);
    s.tty = true;
    s.rows = 24;
    s.columns = 80;
    s.trace = true;
    snprintf(expected, sizeof(expected),
             "image=host;arg=echo;arg=a=b;env=A=1;workdir=/srv/y;user=1000:1000;hostname=box-1.lan;"
             "mount.guest=/data;mount.host=%s/data;mount.mode=ro;tmpfs=/scratch:4096;"
             "tmpfs=/"
             "scratch2;tty=1;rows=24;columns=80;trace=1;cpus=%d;memory_bytes=0;cpu_thousandths=0;"
             "pids=0;disk_bytes=0;inodes=0;"
             "idle_ns=0;cpu_budget_ns=0;write_budget_bytes=0;"
             "send_budget_bytes=0;output_rate=0;",
             here, cpu_count());
    EXPECT_STR(records(&s), expected);
    sandbox_spec_done(&s);
}

TEST(too_much_for_a_specification)
{
    struct sandbox_spec s = {0};
    struct buf b = BUF_INIT(CONTROL_SPEC_MAX_BYTES);
    char *huge = calloc(1, CONTROL_SPEC_MAX_BYTES);
    memset(huge, 'x', CONTROL_SPEC_MAX_BYTES - 1);
    EXPECT_EQ(strv_append(&s.args, huge), 0);
    EXPECT_EQ(sandbox_spec_write(&s, &no_controls, &b, &error), -E2BIG);
    buf_done(&b);
    sandbox_spec_done(&s);
    for (int i = 0; i <= SANDBOX_WORDS_MAX; i++)
        strv_append(&s.args, "x");
    EXPECT_EQ(sandbox_spec_write(&s, &no_controls, &b, &error), -E2BIG);
    sandbox_spec_done(&s);
    free(huge);
}

TEST(images)
{
    struct sandbox_spec s = {0};
    EXPECT_EQ(sandbox_spec_set_image(&s, "/usr", &error), 0);
    EXPECT_STR(s.image, "/usr");
    EXPECT_EQ(sandbox_spec_set_image(&s, "host", &error), 0);
    EXPECT_TRUE(s.image == NULL);
    EXPECT_EQ(sandbox_spec_set_image(&s, "absent", &error), -ENOENT);
    EXPECT_EQ(sandbox_spec_set_image(&s, "/dev/null", &error), -ENOTDIR);
    EXPECT_EQ(sandbox_spec_set_image(&s, "", &error), -ENOENT);
    sandbox_spec_done(&s);
}

TEST(mount_sources_must_be_files_or_directories)
{
    struct sandbox_spec s = {0};
    EXPECT_EQ(sandbox_spec_add_mount(&s, "absent", "/x", false, &error), -ENOENT);
    EXPECT_EQ(sandbox_spec_add_mount(&s, "", "/x", false, &error), -EINVAL);
    EXPECT_EQ(sandbox_spec_add_mount(&s, "/dev/null", "/x", false, &error), -EINVAL);
    EXPECT_EQ(mkfifo("fifo", 0600), 0);
    EXPECT_EQ(sandbox_spec_add_mount(&s, "fifo", "/x", false, &error), -EINVAL);
    EXPECT_EQ(sandbox_spec_add_mount(&s, "/etc/passwd", "/x", false, &error), 0);
    EXPECT_EQ(s.mount_count, 1);
    sandbox_spec_done(&s);
}

TEST(mount_points_that_are_refused)
{
    static const struct {
        const char *guest;
        int error;
    } cases[] = {
        {"/", -EBUSY},       {"//", -EBUSY},          {"/..", -EBUSY},      {"/proc", -EBUSY},
        {"/proc/1", -EBUSY}, {"/x/../proc/", -EBUSY}, {"/./proc", -EBUSY},  {"//proc", -EBUSY},
        {"/sys", -EBUSY},    {"/dev", -EBUSY},        {"/dev/shm", -EBUSY}, {"relative", -EINVAL},
        {"", -EINVAL},       {"/procx", 0},           {"/device", 0},       {"/home/proc", 0},
        {"/...", 0},
    };
    struct sandbox_spec s = {0};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int r = sandbox_spec_add_mount(&s, ".", cases[i].guest, false, &error);
        if (r != cases[i].error)
            harness_fail(__FILE__, __LINE__, "mount at '%s': %d", cases[i].guest, r);
    }
    EXPECT_EQ(sandbox_spec_add_tmpfs(&s, "/proc", 0, &error), -EBUSY);
    EXPECT_EQ(sandbox_spec_add_tmpfs(&s, "/a:b", 0, &error), -EINVAL);
    sandbox_spec_done(&s);
}

TEST(two_mounts_at_one_place)
{
    struct sandbox_spec s = {0};
    EXPECT_EQ(sandbox_spec_add_mount(&s, ".", "/x", false, &error), 0);
    EXPECT_EQ(sandbox_spec_add_mount(&s, "/", "/x/", false, &error), -EEXIST);
    EXPECT_EQ(sandbox_spec_add_tmpfs(&s, "//x", 0, &error), -EEXIST);
    EXPECT_EQ(sandbox_spec_add_tmpfs(&s, "/x/y", 0, &error), 0);
    sandbox_spec_done(&s);
}

TEST(mounts_have_a_limit)
{
    struct sandbox_spec s = {0};
    char guest[32];
    for (int i = 0; i < SANDBOX_MOUNTS_MAX; i++) {
        snprintf(guest, sizeof(guest), "/m%d", i);
        EXPECT_EQ(sandbox_spec_add_tmpfs(&s, guest, 0, &error), 0);
    }
    EXPECT_EQ(sandbox_spec_add_tmpfs(&s, "/more", 0, &error), -E2BIG);
    sandbox_spec_done(&s);
}

TEST(users)
{
    static const char *const good[] = {"root", "user",     "0",         "1000:1000",
                                       "_apt", "www-data", "user:1000", "4294967294"};
    static const char *const bad[] = {
        "",           "-1",         ":1",    "a b", "1000:", "1: ",        "root:-1",
        "4294967295", "4294967296", "1:2:3", "x/y", "-x",    "99999999999"};
    struct sandbox_spec s = {0};
    for (size_t i = 0; i < ARRAY_SIZE(good); i++)
        if (sandbox_spec_set_user(&s, good[i], &error) != 0)
            harness_fail(__FILE__, __LINE__, "user '%s' was refused", good[i]);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        if (sandbox_spec_set_user(&s, bad[i], &error) != -EINVAL)
            harness_fail(__FILE__, __LINE__, "user '%s' was taken", bad[i]);
    EXPECT_STR(s.user, "4294967294");
    sandbox_spec_done(&s);
}

TEST(names_and_host_names)
{
    struct sandbox_spec s = {0};
    char longest[SANDBOX_HOSTNAME_MAX_BYTES + 2];
    memset(longest, 'x', sizeof(longest));
    longest[SANDBOX_HOSTNAME_MAX_BYTES + 1] = '\0';
    EXPECT_EQ(sandbox_spec_set_hostname(&s, longest, &error), -EINVAL);
    longest[SANDBOX_HOSTNAME_MAX_BYTES] = '\0';
    EXPECT_EQ(sandbox_spec_set_hostname(&s, longest, &error), 0);
    EXPECT_EQ(sandbox_spec_set_hostname(&s, "", &error), -EINVAL);
    EXPECT_EQ(sandbox_spec_set_hostname(&s, "a_b", &error), -EINVAL);
    EXPECT_EQ(sandbox_spec_set_hostname(&s, "-a", &error), -EINVAL);
    EXPECT_EQ(sandbox_spec_set_hostname(&s, "a-", &error), -EINVAL);
    EXPECT_EQ(sandbox_spec_set_name(&s, "a_b.c-1", &error), 0);
    EXPECT_EQ(sandbox_spec_set_name(&s, "../x", &error), -EINVAL);
    EXPECT_EQ(sandbox_spec_set_name(&s, ".x", &error), -EINVAL);
    EXPECT_EQ(sandbox_spec_set_name(&s, "", &error), -EINVAL);
    sandbox_spec_done(&s);
}

TEST(releases)
{
    static const struct {
        const char *release;
        int result;
        bool slow;
    } cases[] = {
        {"6.18.44-fc-v782", 0, false}, {"6.6.0", 0, false},         {"6.6-rc1", 0, false},
        {"10.0.1", 0, false},          {"6.5.13", 0, true},         {"6.1.0-18-amd64", 0, true},
        {"5.19.0", 0, true},           {"5.18.19", -ENOSYS, false}, {"5.4.0", -ENOSYS, false},
        {"2.6.78", -ENOSYS, false},    {"4.99.1", -ENOSYS, false},  {"", -ENOSYS, false},
        {"linux", -ENOSYS, false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        bool slow = false;
        int r = sandbox_check_release(cases[i].release, &slow, &error);
        if (r != cases[i].result || (r == 0 && slow != cases[i].slow))
            harness_fail(__FILE__, __LINE__, "'%s': %d, slow %d", cases[i].release, r, slow);
    }
    bool slow;
    sandbox_check_release("5.10.0-28-amd64", &slow, &error);
    EXPECT_STR(error.text,
               "host: Linux 5.10 is too old; upgrade to 5.19 or newer (6.6 or newer for "
               "full speed)");
}

static char said[16][256];
static int said_count;

static void say(const char *line)
{
    if (said_count < 16)
        snprintf(said[said_count], sizeof(said[0]), "%s", line);
    said_count++;
}

TEST(log_lines_in_any_pieces)
{
    struct notices n;
    notices_init(&n, say, -1);
    notices_take_log(&n, "one\ntw", 6);
    notices_take_log(&n, "o\n\nthree\033", 9);
    EXPECT_EQ(said_count, 2);
    notices_end_log(&n);
    EXPECT_EQ(said_count, 3);
    EXPECT_STR(said[0], "kernel: one");
    EXPECT_STR(said[1], "kernel: two");
    EXPECT_STR(said[2], "kernel: three\\x1b");
    EXPECT_STR(n.last_line, "three\\x1b");
    notices_done(&n);
}

TEST(the_log_has_a_ceiling)
{
    struct notices n;
    char piece[4096];
    notices_init(&n, say, -1);
    memset(piece, 'x', sizeof(piece));
    piece[sizeof(piece) - 1] = '\n';
    for (int i = 0; i < 10000; i++)
        notices_take_log(&n, piece, sizeof(piece));
    EXPECT_LE(said_count, SANDBOX_LOG_MAX_BYTES / 1024 + 1);
    EXPECT_LE(n.line.capacity, 4096);
    notices_done(&n);
}

TEST(a_trace_waits_for_its_reader)
{
    struct notices n;
    int fds[2];
    char line[4096], back[4096];
    ASSERT_EQ(pipe(fds), 0);
    notices_init(&n, say, fds[1]);
    memset(line, 'x', sizeof(line));
    size_t in = 0, out = 0;
    while (!notices_trace_is_full(&n)) {
        notices_take_trace(&n, line, sizeof(line));
        in += sizeof(line);
        ASSERT_TRUE(in < (64u << 20));
    }
    while (out < in) {
        ssize_t size = read(fds[0], back, sizeof(back));
        ASSERT_GT(size, 0);
        out += (size_t)size;
        notices_write_trace(&n, true);
    }
    EXPECT_EQ(out, in);
    EXPECT_TRUE(!notices_trace_is_full(&n));
    EXPECT_EQ(fcntl(fds[1], F_GETFL) & O_NONBLOCK, 0);
    notices_done(&n);
}

TEST(a_trace_whose_reader_is_gone_is_given_up)
{
    struct notices n;
    int fds[2];
    signal(SIGPIPE, SIG_IGN);
    ASSERT_EQ(pipe(fds), 0);
    notices_init(&n, say, fds[1]);
    close(fds[0]);
    notices_take_trace(&n, "line\n", 5);
    EXPECT_TRUE(!notices_trace_is_full(&n));
    EXPECT_EQ(said_count, 1);
    notices_take_trace(&n, "line\n", 5);
    EXPECT_EQ(said_count, 1);
    notices_done(&n);
}

/* Steps a relay until it wants nothing that is there. */
static void step(struct relay *r)
{
    for (;;) {
        struct pollfd p[2] = {
            {.fd = relay_source_events(r) ? r->source : -1, .events = POLLIN},
            {.fd = relay_sink_events(r) ? r->sink.fd : -1, .events = POLLOUT},
        };
        if (poll(p, 2, 0) <= 0)
            return;
        relay_step(r, p[0].revents, p[1].revents);
    }
}

TEST(a_relay_keeps_no_more_than_one_buffer)
{
    int in[2], out[2];
    struct relay r;
    char piece[4096] = {0};
    ASSERT_EQ(pipe2(in, O_NONBLOCK), 0);
    ASSERT_EQ(pipe(out), 0);
    ASSERT_EQ(relay_init(&r, in[0], out[1], NULL, NULL), 0);
    size_t written = 0, stuck = 0;
    while (stuck < 3) {
        ssize_t n = write(in[1], piece, sizeof(piece));
        written += n > 0 ? (size_t)n : 0;
        stuck = n > 0 ? 0 : stuck + 1;
        step(&r);
    }
    /* Two pipes and the buffer. */
    EXPECT_LE(written, 3 * RELAY_BUFFER_BYTES);
    EXPECT_EQ(fcntl(out[1], F_GETFL) & O_NONBLOCK, 0);
    size_t back = 0;
    close(in[1]);
    while (!r.done || back < written) {
        ssize_t n = read(out[0], piece, sizeof(piece));
        ASSERT_GT(n, 0);
        back += (size_t)n;
        step(&r);
    }
    EXPECT_EQ(back, written);
    EXPECT_EQ(r.error, 0);
    EXPECT_EQ(r.total_bytes, written);
    relay_done(&r);
}

TEST(a_relay_to_a_socket_that_nobody_reads_does_not_block)
{
    int in[2], out[2];
    struct relay r;
    char piece[4096] = {0};
    ASSERT_EQ(pipe2(in, O_NONBLOCK), 0);
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, out), 0);
    ASSERT_EQ(relay_init(&r, in[0], out[1], NULL, NULL), 0);
    alarm(10);
    for (int i = 0; i < 1000; i++) {
        if (write(in[1], piece, sizeof(piece)) < 0)
            EXPECT_EQ(errno, EAGAIN);
        step(&r);
    }
    EXPECT_TRUE(relay_sink_events(&r) == POLLOUT);
    relay_done(&r);
}

TEST(a_relay_shows_what_comes)
{
    int in[2], out[2];
    struct relay r;
    char got[64] = "";
    ASSERT_EQ(pipe(in), 0);
    ASSERT_EQ(pipe(out), 0);
    ASSERT_EQ(relay_init(&r, in[0], out[1], NULL, NULL), 0);
    relay_show(&r, &text_style_terminal);
    EXPECT_EQ(write(in[1], "\x1b[31", 4), 4);
    step(&r);
    EXPECT_EQ(relay_sink_events(&r), 0); /* it may become a colour */
    EXPECT_EQ(write(in[1], "mx\x1b]0;t\a\x1b[3", 11), 11);
    step(&r);
    close(in[1]);
    step(&r);
    EXPECT_TRUE(r.done);
    EXPECT_EQ(r.error, 0);
    EXPECT_EQ(r.total_bytes, 15);
    ASSERT_GT(read(out[0], got, sizeof(got) - 1), 0);
    EXPECT_STR(got, "\x1b[31mx\\x1b]0;t\\x07\\x1b[3\x1b[0m");
    relay_done(&r);
}

TEST(a_relay_shows_the_end_to_a_slow_reader)
{
    int in[2], out[2];
    struct relay r;
    char piece[4096];
    size_t written = 0, back = 0, escapes = 0;
    memset(piece, '\b', sizeof(piece));
    ASSERT_EQ(pipe2(in, O_NONBLOCK), 0);
    ASSERT_EQ(pipe(out), 0);
    ASSERT_EQ(relay_init(&r, in[0], out[1], NULL, NULL), 0);
    relay_show(&r, &text_style_plain);
    for (ssize_t n; (n = write(in[1], piece, sizeof(piece))) > 0; written += (size_t)n)
        step(&r);
    close(in[1]);
    while (!r.done || back < 4 * written) {
        ssize_t n = read(out[0], piece, sizeof(piece));
        ASSERT_GT(n, 0);
        back += (size_t)n;
        for (ssize_t i = 0; i < n; i++)
            escapes += piece[i] == '\\';
        step(&r);
    }
    EXPECT_EQ(back, 4 * written);
    EXPECT_EQ(escapes, written);
    relay_done(&r);
}

TEST(a_relay_whose_reader_is_gone_is_done)
{
    int in[2], out[2];
    struct relay r;
    signal(SIGPIPE, SIG_IGN);
    ASSERT_EQ(pipe(in), 0);
    ASSERT_EQ(pipe(out), 0);
    ASSERT_EQ(relay_init(&r, in[0], out[1], NULL, NULL), 0);
    close(out[0]);
    EXPECT_EQ(write(in[1], "x", 1), 1);
    step(&r);
    EXPECT_TRUE(r.done);
    EXPECT_EQ(r.error, -EPIPE);
    relay_done(&r);
}

TEST(a_full_disk_is_an_error)
{
    int in[2], full = open("/dev/full", O_WRONLY);
    struct relay r;
    if (full < 0)
        SKIP("no /dev/full");
    ASSERT_EQ(pipe(in), 0);
    ASSERT_EQ(relay_init(&r, in[0], full, NULL, NULL), 0);
    EXPECT_EQ(write(in[1], "x", 1), 1);
    step(&r);
    EXPECT_TRUE(r.done);
    EXPECT_EQ(r.error, -ENOSPC);
    relay_done(&r);
}

TEST(what_may_be_missing_is_named)
{
    struct sandbox_spec s = {0};
    EXPECT_EQ(jail_allow_missing(&s.allow_missing, "landlock", &error), 0);
    EXPECT_EQ(jail_allow_missing(&s.allow_missing, "core-scheduling", &error), 0);
    EXPECT_EQ(jail_allow_missing(&s.allow_missing, "landlock", &error), 0);
    EXPECT_EQ(s.allow_missing, 1u << SEAL_LANDLOCK | 1u << SEAL_CORE_SCHEDULING);
    /* Without these nothing works. */
    EXPECT_EQ(jail_allow_missing(&s.allow_missing, "seccomp", &error), -EINVAL);
    EXPECT_EQ(jail_allow_missing(&s.allow_missing, "locks", &error), -EINVAL);
    EXPECT_TRUE(strstr(error.text, "'locks'") && strstr(error.text, "landlock, core-scheduling"));
    EXPECT_EQ(s.allow_missing, 1u << SEAL_LANDLOCK | 1u << SEAL_CORE_SCHEDULING);
    const char *text = records(&s);
    EXPECT_TRUE(strstr(text, ";allow_missing=landlock;allow_missing=core-scheduling;"));
}

TEST(namespaces_are_left_out_only_when_the_machine_has_none)
{
    struct seal_report r = {0};
    uint64_t all = jail_namespaces(0, &r);
    EXPECT_EQ(all, (uint64_t)(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC |
                              CLONE_NEWUTS | CLONE_NEWNET | CLONE_NEWCGROUP));
    EXPECT_EQ(r.facts[SEAL_NETWORK_NAMESPACE].state, SEAL_IN_FORCE);
    EXPECT_EQ(r.facts[SEAL_SECCOMP].state, SEAL_UNKNOWN);
    if (access("/proc/self/ns/net", F_OK) == 0)
        EXPECT_EQ(jail_namespaces(1u << SEAL_NETWORK_NAMESPACE, &r), all);
}

/* So many bytes that could be a certificate: all zeros in a SEQUENCE. */
static struct sandbox_ca authority(size_t size)
{
    struct sandbox_ca ca = {.size = 0};
    uint8_t der[SANDBOX_CA_MAX_BYTES] = {0x30, 0x82, (uint8_t)((size - 4) >> 8),
                                         (uint8_t)(size - 4)};
    EXPECT_EQ(sandbox_ca_set(&ca, der, size, 0x0a1b2c3d), 0);
    return ca;
}

TEST(an_authority_as_text)
{
    static const struct {
        size_t size;
        const char *last;
    } rows[] = {{260, "AAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"},
                {261, "AAAAAAAAAAAAAAAAAAAAAAAAAAAA\n"},
                {262, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==\n"},
                {288, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n"}};
    static const char end[] = "-----END CERTIFICATE-----\n";
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct buf b = BUF_INIT(4096);
        struct sandbox_ca ca = authority(rows[i].size);
        sandbox_ca_write_pem(&ca, &b);
        EXPECT_TRUE(!strncmp(b.data, "-----BEGIN CERTIFICATE-----\nMIIB", 32));
        EXPECT_EQ(strcspn(b.data + 28, "\n"), 64);
        char *last = b.data + b.size - strlen(end) - strlen(rows[i].last);
        EXPECT_STR(last + strlen(rows[i].last), end);
        EXPECT_EQ(last[-1], '\n');
        EXPECT_TRUE(!strncmp(last, rows[i].last, strlen(rows[i].last)));
        buf_done(&b);
    }
}

TEST(what_is_no_authority)
{
    struct sandbox_ca ca = authority(300);
    uint8_t der[SANDBOX_CA_MAX_BYTES + 4];
    memcpy(der, ca.der, SANDBOX_CA_MAX_BYTES);
    EXPECT_EQ(sandbox_ca_set(&ca, der, 299, 0), -EINVAL);
    EXPECT_EQ(sandbox_ca_set(&ca, der, 4, 0), -EINVAL);
    der[2] = SANDBOX_CA_MAX_BYTES >> 8;
    der[3] = 0;
    EXPECT_EQ(sandbox_ca_set(&ca, der, SANDBOX_CA_MAX_BYTES + 4, 0), -EINVAL);
    der[0] = 0x31;
    EXPECT_EQ(sandbox_ca_set(&ca, der, 300, 0), -EINVAL);
    EXPECT_EQ(ca.size, 300);
    EXPECT_EQ(ca.subject_hash, 0x0a1b2c3d);
    EXPECT_EQ(sandbox_ca_set(&ca, "", 0, 0), 0);
    EXPECT_EQ(ca.size, 0);
}

TEST(records_of_an_authority)
{
    struct sandbox_spec s = {0};
    struct sandbox_ca ca = authority(300);
    EXPECT_TRUE(!strstr(records(&s), "SSL_CERT_FILE") && !strstr(records(&s), ";ca"));
    s.ca = &ca;
    EXPECT_EQ(strv_env_set(&s.env, "PIP_CERT", "/mine.pem"), 0);
    EXPECT_EQ(strv_env_set(&s.env, "NPM_CONFIG_CAFILE", "/mine.pem"), 0);
    EXPECT_EQ(strv_env_set(&s.env, "CURL_CA_BUNDLE", ""), 0);
    const char *text = records(&s);
    EXPECT_TRUE(strstr(text, ";ca=-----BEGIN CERTIFICATE-----\nMII") != NULL);
    EXPECT_TRUE(strstr(text, "\n-----END CERTIFICATE-----\n;ca_subject_hash=169552957;") != NULL);
    EXPECT_TRUE(strstr(text, ";env=SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt;") != NULL);
    EXPECT_TRUE(strstr(text, ";env=NODE_EXTRA_CA_CERTS=/usr/local/share/ca-certificates/"
                             "glovebox-ca.crt;") != NULL);
    EXPECT_TRUE(strstr(text, "env=PIP_CERT=/mine.pem;") != NULL);
    EXPECT_TRUE(!strstr(text, "env=PIP_CERT=/etc"));
    EXPECT_TRUE(!strstr(text, "npm_config_cafile"));
    EXPECT_TRUE(!strstr(text, "env=CURL_CA_BUNDLE=/etc"));
    EXPECT_TRUE(!strstr(text, "SSL_CERT_DIR"));
    sandbox_spec_done(&s);
}
