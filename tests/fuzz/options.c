// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target for the way of a command line: options (cli/options.c, run_options.c) to a
 * specification (sandbox/spec.c) to records to what the sandbox's kernel reads of them
 * (kernel/boot/spec.c). An input is words, each ended by a NUL.
 *
 * What must hold: what one side writes the other one reads, and means the same by it.
 */
#include "cli/run_options.h"
#include "kernel/boot/spec.h"
#include "lib/base/control.h"
#include "tests/fuzz/input.h"

#include <sys/mman.h>

#define WORDS_MAX 64

static void check_same(const struct sandbox_spec *written, const struct spec *read)
{
    CHECK(read->argc == written->args.count && read->envc == written->env.count);
    for (size_t i = 0; i < read->argc; i++)
        CHECK(!strcmp(read->argv[i], written->args.items[i]));
    for (size_t i = 0; i < read->envc; i++)
        CHECK(!strcmp(read->envp[i], written->env.items[i]));
    CHECK(read->mount_count + read->tmpfs_count == written->mount_count);
    for (size_t i = 0, mounts = 0; i < written->mount_count; i++) {
        const struct sandbox_mount *m = &written->mounts[i];
        if (!m->host)
            continue;
        const struct spec_mount *other = &read->mounts[mounts++];
        CHECK(!strcmp(other->host, m->host) && !strcmp(other->guest, m->guest));
        CHECK(other->read_only == m->read_only);
    }
    CHECK(!strcmp(read->image, written->image ? written->image : "host"));
    CHECK(!written->user || !strcmp(read->user, written->user));
    CHECK(!written->workdir || !strcmp(read->workdir, written->workdir));
    CHECK(!written->hostname || !strcmp(read->hostname, written->hostname));
    CHECK(read->limits.memory_bytes == written->limits.value[LIMIT_MEMORY]);
    CHECK(read->limits.pids == written->limits.value[LIMIT_PIDS]);
    CHECK(read->limits.disk_bytes == written->limits.value[LIMIT_DISK]);
    CHECK(read->limits.rlimit_count == written->limits.rlimit_count);
}

static void check_records(const struct sandbox_spec *spec)
{
    const struct sandbox_controls controls = {0};
    struct sandbox_error error = {""};
    struct buf records = BUF_INIT(CONTROL_SPEC_MAX_BYTES);
    struct spec read = {0};
    const char *bad;
    int r = sandbox_spec_write(spec, &controls, &records, &error);
    CHECK(r == 0 || error.text[0]);
    if (r == 0) {
        int fd = memfd_create("spec", 0);
        CHECK(fd >= 0 && pwrite(fd, records.data, records.size, 0) == (ssize_t)records.size);
        CHECK(spec_read(fd, &read, &bad) == 0);
        check_same(spec, &read);
        free(read.argv);
        free(read.envp);
        free(read.mounts);
        free(read.tmpfs);
        free(read.text);
        close(fd);
    }
    buf_done(&records);
}

static void parse(int count, char **words)
{
    static const struct cli_options grammar = {
        .options = cli_run_options,
        .foreign = cli_run_foreign,
        .help_command = "glovebox run --help",
    };
    struct run_options o = {0};
    struct sandbox_error error = {""};
    int used = 0;
    int r = cli_options_parse(&grammar, count, words, &o, &used, &error);
    CHECK(r <= 0);
    if (r == 0) {
        CHECK(used >= 0 && used <= count);
        r = strv_append(&o.spec.args, "true");
        for (int i = used; r == 0 && i < count; i++)
            r = strv_append(&o.spec.args, words[i]);
        CHECK(r == 0);
        o.spec.limits = o.limits.limits;
        check_records(&o.spec);
    } else {
        CHECK(error.text[0]);
    }
    run_options_done(&o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *words[WORDS_MAX + 1] = {NULL};
    int count = 0;
    struct input in = {data, size};
    while (in.size > 0 && count < WORDS_MAX) {
        const uint8_t *end = memchr(in.data, '\0', in.size);
        words[count++] = input_string(&in, end ? (size_t)(end - in.data) : in.size);
        input_byte(&in);
    }
    parse(count, words);
    while (count > 0)
        free(words[--count]);
    return 0;
}
