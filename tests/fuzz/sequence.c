// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target: sequences of system calls, on a whole kernel (world.h), led by what of the
 * kernel they reach. An input is a byte (bit 0: the user is root; bit 1: with --trace; bit 2: each
 * number is followed by the task that calls) and then calls: a byte that chooses one of calls.h, or
 * 255 and any number; then the arguments, as their letters say.
 *
 * What must hold: whatever is called, nothing of it is left when its processes have ended.
 */
#include "tests/fuzz/calls.h"
#include "tests/fuzz/world.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define CALLS_MAX  200
#define BYTES_MAX  64
#define ANY_NUMBER 255

static const char *const names[] = {
    "a",
    "b",
    "d",
    "d/a",
    "l",
    "/w",
    "/",
    ".",
    "..",
    "",
    "/proc",
    "/proc/self",
    "/proc/1",
    "fd",
    "/dev/ptmx",
    "/dev/tty",
    "/dev/pts/0",
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/pts",
    "/proc/self/fd",
    "/proc/self/fd/0",
    "/proc/self/exe",
    "/proc/self/maps",
    "/proc/self/status",
    "/proc/self/mem",
    "/proc/self/root/w/a",
    "/proc/self/task",
    "/proc/self/comm",
    "/proc/mounts",
    "/proc/locks",
    "/proc/net/unix",
    "/proc/net/tcp",
    "/proc/meminfo",
    "/proc/self/limits",
    "/proc/self/fdinfo",
    "/proc/sys/kernel",
    "/proc/self/mountinfo",
    "/proc/self/stat",
    "/proc/self/oom_score_adj",
    "/proc/cpuinfo",
    "/sys",
    "/sys/fs/cgroup",
    "/sys/fs/cgroup/memory.max",
    "/dev/fd/3",
    "/dev/stdin",
    "user.x",
    "security.capability",
};

static uint64_t odd_word(struct input *in)
{
    static const uint64_t words[] = {
        0x7f,       0x80,        0xff,      0x100,      4095,           4096,
        4097,       65535,       65536,     0x7fffffff, 0x80000000,     0xffffffff,
        0x7ffff000, 0x100000000, INT64_MAX, 1ULL << 63, UINT64_MAX - 1, UINT64_MAX,
    };
    uint8_t b = input_byte(in);
    if (b < ARRAY_SIZE(words))
        return words[b];
    return b < 64 ? 1ULL << b : input_word(in, 8);
}

/* Small numbers in one byte, all others in up to nine. */
static uint64_t number(struct input *in)
{
    uint8_t b = input_byte(in);
    return b < 240 ? b : b == 255 ? UINT64_MAX : b >= 248 ? odd_word(in) : input_word(in, 2);
}

static uint64_t path(struct input *in)
{
    uint8_t b = input_byte(in);
    if (b < ARRAY_SIZE(names))
        return world_put_string(names[b]);
    if (b >= 250)
        return odd_word(in);
    char *text = input_string(in, b % BYTES_MAX);
    uint64_t at = world_put_string(text);
    free(text);
    return at;
}

/* Of some size that a call may want, with bytes at its front. */
static uint64_t buffer(struct input *in)
{
    uint8_t b = input_byte(in);
    size_t size;
    if (b >= 250)
        return odd_word(in);
    const uint8_t *data = input_bytes(in, b % BYTES_MAX, &size);
    uint64_t at = world_put(NULL, 512);
    memset(world_at(at), 0, 512);
    memcpy(world_at(at), data, size);
    return at;
}

static uint64_t times(struct input *in)
{
    uint64_t t[4];
    for (int i = 0; i < 4; i++)
        t[i] = number(in);
    return world_put(t, sizeof(t));
}

static uint64_t vector(struct input *in)
{
    uint64_t v[6];
    for (int i = 0; i < 6; i += 2) {
        v[i] = buffer(in);
        v[i + 1] = number(in);
    }
    return world_put(v, sizeof(v));
}

static uint64_t strings(struct input *in)
{
    uint64_t v[4] = {0};
    for (uint8_t i = input_byte(in) % 4; i > 0; i--)
        v[i - 1] = path(in);
    return world_put(v, sizeof(v));
}

static uint64_t socket_address(struct input *in)
{
    static const uint8_t families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_UNSPEC};
    uint8_t address[128] = {families[input_byte(in) % ARRAY_SIZE(families)]}, b = input_byte(in);
    size_t size;
    const uint8_t *data = input_bytes(in, b % BYTES_MAX, &size);
    memcpy(address + 2, data, size);
    return world_put(address, sizeof(address));
}

static uint64_t message(struct input *in)
{
    uint8_t what = input_byte(in);
    struct {
        uint64_t name, name_size, vector, vector_count, control, control_size, flags, length;
    } m[2] = {0};
    for (int i = 0; i < 2; i++) {
        m[i].name = what & 1 ? socket_address(in) : 0;
        m[i].name_size = what & 1 ? number(in) : 0;
        m[i].vector = vector(in);
        m[i].vector_count = what >> 6;
        m[i].control = what & 2 ? buffer(in) : 0;
        m[i].control_size = what & 2 ? number(in) : 0;
        m[i].flags = what & 4 ? number(in) : 0;
        if (!(what & 8))
            break;
    }
    return world_put(m, sizeof(m));
}

static uint64_t flags(struct input *in)
{
    uint8_t b = input_byte(in);
    return b < 128 ? b : b < 192 ? 1ULL << (b & 63) : input_word(in, 4);
}

/* See calls.h for the letters. */
static uint64_t argument(struct input *in, char letter)
{
    switch (letter) {
    case 'd':
        return in->size && in->data[0] >= 128 ? (input_byte(in), (uint64_t)AT_FDCWD) : number(in);
    case 'p':
        return path(in);
    case 'b':
        return buffer(in);
    case 't':
        return times(in);
    case 'v':
        return vector(in);
    case 'S':
        return strings(in);
    case 'a':
        return socket_address(in);
    case 'm':
        return message(in);
    case 'F':
        return flags(in);
    case 'M':
        return input_word(in, 2) & 07777;
    case '0':
        return 0;
    default:
        return number(in);
    }
}

static void call(struct input *in, bool has_task)
{
    uint8_t which = input_byte(in);
    unsigned task = has_task ? input_byte(in) % WORLD_TASKS : 0;
    struct fuzz_call any = {0, 0, "xxxxxx"};
    const struct fuzz_call *c = &fuzz_calls[which % FUZZ_CALLS];
    uint64_t arg[6] = {0};
    if (which == ANY_NUMBER) {
        any.nr = (short)(input_word(in, 2) % 1010);
        c = &any;
    }
    for (int i = 0; i < 6 && c->arguments[i]; i++)
        arg[i] = argument(in, c->arguments[i]);
    world_call_as(task, c->nr, arg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    uint8_t first = input_byte(&in);
    world_begin(first & 1 ? 0 : 1000);
    kernel.config.trace = first & 2;
    for (int i = 0; i < CALLS_MAX && in.size > 0; i++)
        call(&in, first & 4);
    world_end();
    return 0;
}
