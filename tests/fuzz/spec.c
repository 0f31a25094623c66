// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target for the specification that the kernel process is started with
 * (kernel/boot/spec.c): an input is the records. What must hold: of what is accepted every string
 * lies in the text, and every number is in its bounds.
 */
#include "kernel/boot/spec.h"
#include "lib/base/trust.h"
#include "tests/fuzz/input.h"

#include <sys/mman.h>

static void check_string(const struct spec *s, size_t size, const char *text, bool is_absolute)
{
    CHECK(text >= s->text && text < s->text + size && strlen(text) < size);
    CHECK(!is_absolute || text[0] == '/');
}

static void check(const struct spec *s, size_t size)
{
    CHECK(s->argc > 0 && !s->argv[s->argc] && !s->envp[s->envc]);
    for (size_t i = 0; i < s->argc; i++)
        check_string(s, size, s->argv[i], false);
    for (size_t i = 0; i < s->envc; i++)
        check_string(s, size, s->envp[i], false);
    for (size_t i = 0; i < s->mount_count; i++) {
        check_string(s, size, s->mounts[i].guest, true);
        check_string(s, size, s->mounts[i].host, true);
    }
    for (size_t i = 0; i < s->tmpfs_count; i++)
        check_string(s, size, s->tmpfs[i].guest, true);
    if (s->ca) {
        check_string(s, size, s->ca, false);
        CHECK(strlen(s->ca) <= TRUST_PEM_MAX_BYTES);
    }
    CHECK(s->rows <= UINT16_MAX && s->columns <= UINT16_MAX && s->cpus <= UINT16_MAX);
    CHECK(s->limits.rlimit_count <= RLIM_NLIMITS);
    for (size_t i = 0; i < s->limits.rlimit_count; i++) {
        const struct spec_rlimit *l = &s->limits.rlimits[i];
        CHECK(l->resource >= 0 && l->resource < RLIM_NLIMITS);
        CHECK(l->value.rlim_cur <= l->value.rlim_max);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct spec s;
    const char *bad = NULL;
    int fd = memfd_create("spec", 0);
    CHECK(fd >= 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
    int r = spec_read(fd, &s, &bad);
    CHECK(r <= 0 && bad);
    if (r == 0) {
        check(&s, size);
        free(s.argv);
        free(s.envp);
        free(s.mounts);
        free(s.tmpfs);
        free(s.text);
    }
    close(fd);
    return 0;
}
