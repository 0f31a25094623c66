// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target for what the starter gets from the kernel process, which a guest may have
 * taken over (sandbox/run_packets.c): an input is packets, each with its size in two bytes before
 * it.
 *
 * What must hold: an outcome is one of those there are, with a status as programs have it and words
 * that fit on one line and are safe to show.
 */
#include "sandbox/run_parts.h"
#include "tests/fuzz/input.h"

#include <sys/socket.h>

static void check_line(const char *line)
{
    for (; *line; line++)
        CHECK((unsigned char)*line >= ' ' && *line != 0x7f);
}

static void check_outcome(const struct run *r)
{
    const struct sandbox_outcome *o = r->outcome;
    CHECK(sandbox_cause_name(o->cause));
    CHECK(o->exit_status >= 0 && o->exit_status <= 255);
    CHECK(o->exit_code >= -1 && o->exit_code <= 255);
    CHECK(memchr(o->message.text, '\0', sizeof(o->message.text)));
    check_line(o->message.text);
    check_line(r->notices.last_line);
}

/* As a kernel process may send them: of any size, and at any time. */
static void packets(struct run *r, struct input *in, int kernel_end)
{
    static char rest[4096];
    while (in->size > 0 && r->is_control_open) {
        size_t size;
        const uint8_t *data = input_bytes(in, input_word(in, 2), &size);
        CHECK(send(kernel_end, data, size, 0) == (ssize_t)size);
        run_read_control(r);
        while (recv(kernel_end, rest, sizeof(rest), MSG_DONTWAIT) > 0)
            ;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    struct sandbox sandbox = {.control = ends[0], .pidfd = -1};
    struct sandbox_spec spec = {0};
    struct sandbox_io io = {.input = -1, .output = -1, .errors = -1, .trace = -1};
    struct sandbox_outcome outcome = {.exit_code = -1};
    sandbox_limits_set_standard(&spec.limits);
    uint8_t what = input_byte(&in);
    spec.waits = what & 2;
    struct run r = {
        .spec = &spec,
        .io = &io,
        .sandbox = &sandbox,
        .outcome = &outcome,
        .is_control_open = true,
        .is_ended_by_us = what & 1,
        .decisions = DECISIONS_CLOSED,
    };
    updates_init(&r.updates, NULL, NULL, NULL);
    copies_init(&r.copies);
    execs_init(&r.execs);
    r.execs.sandbox = &sandbox;
    ports_init(&r.ports);
    notices_init(&r.notices, check_line, -1);
    packets(&r, &in, ends[1]);
    check_outcome(&r);
    notices_done(&r.notices);
    close(ends[0]);
    close(ends[1]);
    return 0;
}
