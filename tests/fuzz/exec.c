// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target for what is executed: #! lines (kernel/proc/exec.c) and ELF headers
 * (kernel/proc/elf.c). An input is the size of the file a, in two bytes, that file, and the file b;
 * a is executed.
 *
 * What must hold: a plan that the loader stub gets lies in the room of programs, its parts wrap
 * and overlap nowhere, and its strings are as many as it says.
 */
#include "kernel/arch/x86_64/arch.h"
#include "tests/fuzz/world.h"

#include <sys/syscall.h>

static void check_segment(const struct stub_segment *s)
{
    const uint64_t in_page = GUEST_PAGE_SIZE - 1;
    uint64_t end;
    CHECK(s->size > 0 && !((s->address | s->size | s->offset) & in_page));
    CHECK(!__builtin_add_overflow(s->address, s->size, &end) && end <= ARCH_USER_END);
    CHECK(s->protection <= 7);
    CHECK(s->fd == STUB_FD_PROGRAM || s->fd == STUB_FD_INTERPRETER || s->fd == STUB_ANONYMOUS);
    CHECK(s->offset <= INT64_MAX && s->offset + s->size <= INT64_MAX);
    CHECK(s->zero_size < GUEST_PAGE_SIZE);
    if (s->zero_size > 0)
        CHECK(s->zero_from >= s->address && s->zero_from + s->zero_size == end);
}

static void check_plan(const struct stub_plan *p)
{
    bool is_interpreter = false;
    CHECK(!p->is_init && p->segment_count > 0 && p->segment_count <= STUB_SEGMENT_MAX);
    for (uint64_t i = 0; i < p->segment_count; i++) {
        const struct stub_segment *s = &p->segments[i];
        check_segment(s);
        /* Each of the two files is in ascending order. */
        bool is_next_file = s->fd == STUB_FD_INTERPRETER && !is_interpreter;
        is_interpreter |= is_next_file;
        if (i > 0 && !is_next_file && s->address < s[-1].address + s[-1].size)
            CHECK(s->fd == STUB_ANONYMOUS && !is_interpreter);
    }
    uint64_t strings = 0;
    CHECK(p->argument_bytes <= STUB_ARGUMENT_MAX);
    for (uint64_t i = 0; i < p->argument_bytes; i++)
        strings += p->arguments[i] == '\0';
    CHECK(strings == p->argument_count);
    CHECK(!p->argument_bytes || p->arguments[p->argument_bytes - 1] == '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    size_t a_size;
    const uint8_t *a = input_bytes(&in, input_word(&in, 2), &a_size);
    world_begin(1000);
    world_file("a", 0755, a, a_size);
    world_file("b", 0755, in.data, in.size);
    const uint64_t argv[] = {world_put_string("a"), world_put_string("argument"), 0};
    long r = WORLD_CALL(SYS_execve, argv[0], world_put(argv, sizeof(argv)));
    CHECK(r <= 0 && r > -4096);
    CHECK((r == 0) == (world_plan != NULL));
    if (world_plan)
        check_plan(world_plan);
    world_end();
    return 0;
}
