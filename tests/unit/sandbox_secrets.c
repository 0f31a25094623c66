// SPDX-License-Identifier: Apache-2.0
#include "lib/base/control.h"
#include "lib/secret/file.h"
#include "sandbox/secret_source.h"
#include "sandbox/secrets.h"
#include "tests/harness/harness.h"
#include "tests/unit/policy_support.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define VALUE "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"

static struct sandbox_error error;

static char *document_of(const char *secrets)
{
    char *text = NULL;
    ASSERT_GT(asprintf(&text, "{'version':1,'secrets':{%s}}", secrets), 0);
    for (char *c = text; *c; c++)
        if (*c == '\'')
            *c = '"';
    return text;
}

/* Loads the secrets of a document into a specification. */
static int load(const char *secrets, struct sandbox_spec *ret)
{
    error.text[0] = 0;
    ret->policy = document_of(secrets);
    int r = sandbox_secrets_load(ret, &error);
    EXPECT_EQ(r < 0, error.text[0] != 0);
    return r;
}

#define SECRET(source) \
    "'K':{'source':" source ",'env':['TOKEN','OTHER'],'allow':{'hosts':['a.test']}}"

/* The value that the gateway gets. */
static char *given(const struct sandbox_spec *s)
{
    struct policy_error e;
    struct secret_error wrong;
    struct secrets *secrets = NULL;
    struct buf out = BUF_INIT(SECRET_FIELD_MAX_BYTES);
    int fd = -1;
    ASSERT_EQ(sandbox_secrets_open(s, &fd, &error), 0);
    ASSERT_GE(fd, 0);
    struct policy *p = policy_parse(s->policy, strlen(s->policy), &e);
    ASSERT_TRUE(p != NULL);
    ASSERT_EQ(secret_file_read(fd, policy_get_document(p), &secrets, &wrong), 0);
    struct secrets_request request = {"a.test", 443, "GET", "/", true};
    struct secrets_exchange x;
    secrets_begin(&x, secrets, &request);
    const char *placeholder = strv_env_get(&s->env, "TOKEN");
    ASSERT_TRUE(placeholder != NULL);
    EXPECT_STR(placeholder, strv_env_get(&s->env, "OTHER"));
    ASSERT_EQ(secrets_fill_field(&x, "X", placeholder, &out), 1);
    secrets_end(&x);
    secrets_put(secrets);
    policy_free(p);
    close(fd);
    return out.data;
}

static void expect_given(const char *secrets, const char *value)
{
    struct sandbox_spec s = {0};
    ASSERT_EQ(load(secrets, &s), 0);
    char *got = given(&s);
    EXPECT_STR(got, value);
    free(got);
    sandbox_spec_done(&s);
}

static void expect_error(const char *secrets, const char *start, const char *reason)
{
    struct sandbox_spec s = {0};
    EXPECT_LT(load(secrets, &s), 0);
    if (strncmp(error.text, start, strlen(start)) || !strstr(error.text, reason) ||
        !strstr(error.text, "; ") || strchr(error.text, '\n') || strstr(error.text, VALUE))
        harness_fail(__FILE__, __LINE__, "%s: %s", secrets, error.text);
    EXPECT_TRUE(!s.secrets);
    sandbox_spec_done(&s);
}

static void put_file(const char *name, const char *text, size_t size)
{
    FILE *f = fopen(name, "w");
    ASSERT_TRUE(f && fwrite(text, 1, size, f) == size && fclose(f) == 0);
}

/* A document's secret with the source {KIND: "FOLDER/name"}. */
static const char *at(const char *format)
{
    static char text[8192];
    char folder[4096];
    ASSERT_TRUE(getcwd(folder, sizeof(folder)) != NULL);
    snprintf(text, sizeof(text), format, folder);
    return text;
}

TEST(values_come_from_their_sources)
{
    setenv("SOURCE", VALUE, 1);
    expect_given(SECRET("{'env':'SOURCE'}"), VALUE);
    expect_given(SECRET("{'literal':'" VALUE "'}"), VALUE);
    expect_given(SECRET("{'exec':['sh','-c','printf %s $SOURCE']}"), VALUE);
}

TEST(one_newline_at_the_end_is_left_out)
{
    put_file("value", VALUE "\n", strlen(VALUE) + 1);
    expect_given(at(SECRET("{'file':'%s/value'}")), VALUE);
    expect_given(SECRET("{'exec':['echo','" VALUE "']}"), VALUE);
    put_file("value", VALUE "\n\n", strlen(VALUE) + 2);
    expect_error(at(SECRET("{'file':'%s/value'}")), "secret K: file /", "one line");
    put_file("value", VALUE "\r\n", strlen(VALUE) + 2);
    expect_error(at(SECRET("{'file':'%s/value'}")), "secret K: file /", "one line");
    setenv("SOURCE", VALUE "\n", 1);
    expect_error(SECRET("{'env':'SOURCE'}"), "secret K: env SOURCE: ", "one line");
}

TEST(a_descriptor_is_one_that_we_were_started_with)
{
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    ASSERT_EQ(dup2(ends[0], 50), 50);
    ASSERT_EQ(write(ends[1], VALUE "\n", strlen(VALUE) + 1), (ssize_t)strlen(VALUE) + 1);
    close(ends[1]);
    expect_given(SECRET("{'fd':50}"), VALUE);
    expect_error(SECRET("{'fd':50}"), "secret K: fd 50: ", "empty");
    ASSERT_EQ(fcntl(50, F_SETFD, FD_CLOEXEC), 0);
    expect_error(SECRET("{'fd':50}"), "secret K: fd 50: ", "is not open");
    expect_error(SECRET("{'fd':51}"), "secret K: fd 51: ", "is not open");
}

TEST(a_fifo_waits_for_its_writer)
{
    ASSERT_EQ(mkfifo("fifo", 0600), 0);
    pid_t writer = fork();
    if (writer == 0) {
        int fd = open("fifo", O_WRONLY);
        _exit(write(fd, VALUE, strlen(VALUE)) == (ssize_t)strlen(VALUE) ? 0 : 1);
    }
    expect_given(at(SECRET("{'file':'%s/fifo'}")), VALUE);
}

TEST(a_source_that_is_missing_is_an_error)
{
    unsetenv("SOURCE");
    expect_error(SECRET("{'env':'SOURCE'}"), "secret K: env SOURCE: ", "is not set; export it");
    expect_error(at(SECRET("{'file':'%s/none'}")), "secret K: file /", "No such file");
    expect_error(SECRET("{'file':'/'}"), "secret K: file /: ", "neither a regular file nor a FIFO");
    expect_error(SECRET("{'file':'/dev/zero'}"), "secret K: file /dev/zero: ", "neither");
    expect_error(SECRET("{'exec':['/no/such/command']}"),
                 "secret K: command /no/such/command: ", "No such file");
    expect_error(SECRET("{'exec':['sh','-c','echo " VALUE "; exit 3']}"),
                 "secret K: command sh: ", "status 3");
    expect_error(SECRET("{'exec':['sh','-c','kill -9 $$']}"), "secret K: command sh: ", "signal 9");
    expect_error(SECRET("{'exec':['true']}"), "secret K: command true: ", "empty");
    expect_error(SECRET("{'exec':['cat']}"), "secret K: command cat: ", "empty");
}

TEST(a_value_has_a_greatest_size)
{
    static char big[SECRET_VALUE_MAX_BYTES + 2];
    memset(big, 'x', sizeof(big));
    put_file("value", big, SECRET_VALUE_MAX_BYTES);
    struct sandbox_spec s = {0};
    EXPECT_EQ(load(at(SECRET("{'file':'%s/value'}")), &s), 0);
    sandbox_spec_done(&s);
    put_file("value", big, SECRET_VALUE_MAX_BYTES + 1);
    expect_error(at(SECRET("{'file':'%s/value'}")), "secret K: file /", "more than 8192 bytes");
    put_file("value", big, SECRET_VALUE_MAX_BYTES + 2);
    expect_error(at(SECRET("{'file':'%s/value'}")), "secret K: file /", "more than 8192 bytes");
    expect_error(SECRET("{'exec':['yes']}"), "secret K: command yes: ", "more than 8192 bytes");
}

TEST(the_program_gets_a_placeholder_and_nothing_else)
{
    struct sandbox_spec s = {0};
    struct buf records = BUF_INIT(CONTROL_SPEC_MAX_BYTES);
    static const struct sandbox_controls no_controls;
    setenv("SOURCE", VALUE, 1);
    ASSERT_EQ(load(SECRET("{'env':'SOURCE'}"), &s), 0);
    const char *placeholder = strv_env_get(&s.env, "TOKEN");
    EXPECT_EQ(strlen(placeholder), strlen(VALUE));
    EXPECT_TRUE(!strncmp(placeholder, "ghp_", 4));
    ASSERT_EQ(sandbox_spec_write(&s, &no_controls, &records, &error), 0);
    EXPECT_TRUE(memmem(records.data, records.size, placeholder, strlen(placeholder)));
    EXPECT_TRUE(!memmem(records.data, records.size, VALUE, strlen(VALUE)));
    EXPECT_TRUE(!strstr(s.policy, VALUE));
    buf_done(&records);
    sandbox_spec_done(&s);
    EXPECT_TRUE(!s.secrets);
}

TEST(a_placeholder_may_be_chosen)
{
    struct sandbox_spec s = {0};
    setenv("SOURCE", VALUE, 1);
    ASSERT_EQ(load("'K':{'source':{'env':'SOURCE'},'env':['TOKEN'],'placeholder':'my-placeholder',"
                   "'allow':{'hosts':['a.test']}}",
                   &s),
              0);
    EXPECT_STR(strv_env_get(&s.env, "TOKEN"), "my-placeholder");
    sandbox_spec_done(&s);
}

TEST(a_variable_that_is_set_already_is_an_error)
{
    struct sandbox_spec s = {0};
    setenv("SOURCE", VALUE, 1);
    ASSERT_EQ(strv_env_set(&s.env, "OTHER", "x"), 0);
    EXPECT_EQ(load(SECRET("{'env':'SOURCE'}"), &s), -EEXIST);
    EXPECT_TRUE(strstr(error.text, "secret K: its variable OTHER is set already; "));
    sandbox_spec_done(&s);
}

TEST(the_memory_file_can_not_be_changed)
{
    struct sandbox_spec s = {0};
    int fd;
    setenv("SOURCE", VALUE, 1);
    ASSERT_EQ(sandbox_secrets_load(&s, &error), 0); /* no policy */
    ASSERT_EQ(sandbox_secrets_open(&s, &fd, &error), 0);
    EXPECT_EQ(fd, -1);
    ASSERT_EQ(load(SECRET("{'env':'SOURCE'}"), &s), 0);
    ASSERT_EQ(sandbox_secrets_open(&s, &fd, &error), 0);
    EXPECT_TRUE(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    EXPECT_ERRNO(write(fd, "x", 1), EPERM);
    EXPECT_ERRNO(ftruncate(fd, 0), EPERM);
    EXPECT_ERRNO((intptr_t)mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), EPERM);
    close(fd);
    sandbox_spec_done(&s);
}
