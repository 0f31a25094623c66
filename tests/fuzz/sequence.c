// SPDX-License-Identifier: Apache-2.0
/*
 * A libFuzzer target: sequences of system calls, on a whole kernel (world.h), led by what of the
 * kernel they reach.
 *
 * An input is a byte of options, a byte that says what is there at the start (furnish()), and then
 * calls: a byte that chooses one of shapes.h, or, from CRUDE on, one of calls.h by the next byte,
 * or with 255 any number; then the arguments, as their letters say. Between them are whole reads
 * and writes of files. Whatever the bytes are, most arguments make sense: descriptors are mostly
 * open ones, names are mostly there.
 *
 * What must hold: whatever is called, nothing of it is left when its processes have ended; and no
 * call moves more bytes than it was asked to.
 */
#include "kernel/net/inet.h"
#include "tests/fuzz/allocations.h"
#include "tests/fuzz/calls.h"
#include "tests/fuzz/shapes.h"
#include "tests/fuzz/world.h"

#include <elf.h>
#include <sys/un.h>

#define CALLS_MAX       200
#define BYTES_MAX       64
#define ANSWER_BYTES    512
#define FIELDS_BYTES    512
#define ALLOCATIONS_MAX 1000
#define FAILURES_MAX    20
#define REPEAT_MAX      4
#define READS           4
#define READ_FILE       208
#define WRITE_FILE      216
#define CRUDE           224
#define ANY_NUMBER      255
_Static_assert(ARRAY_SIZE(shapes) <= READ_FILE, "a byte chooses");

/* The first byte. */
enum {
    AS_ROOT = 1,
    WITH_TRACE = 2,
    MANY_TASKS = 4, /* each call is led by the task that makes it */
    MAY_WAIT = 8,   /* what is opened at the start blocks */
    WITH_IMAGE = 16,
    WITH_TEXT = 32, /* the host's /proc says something */
    NO_MEMORY = 64, /* a word and a byte follow: which allocation fails, and how many with it */
};

static const char *const names[] = {
    "a",
    "b",
    "p",
    "s",
    "x",
    "i/f",
    "i/large",
    "i/d",
    "i/d/e",
    "i/l",
    "/m",
    "/m/a",
    "/m/b",
    "/m/d",
    "/m/d/a",
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

/* Below a process of /proc, and below /proc and /sys. */
static const char *const process_names[] = {
    "status",        "stat",        "statm",    "maps",    "smaps",    "smaps_rollup",
    "comm",          "cmdline",     "environ",  "auxv",    "limits",   "io",
    "exe",           "root",        "cwd",      "mem",     "fd",       "fdinfo",
    "fd/0",          "fdinfo/0",    "fdinfo/1", "task",    "children", "oom_score_adj",
    "oom_adj",       "mountinfo",   "mounts",   "net/tcp", "net/unix", "timerslack_ns",
    "wchan",         "schedstat",   "uid_map",  "cgroup",  "net/udp",  "coredump_filter",
    "task/2/status", "task/3/comm",
};
static const char *const system_names[] = {
    "/proc/stat",
    "/proc/uptime",
    "/proc/loadavg",
    "/proc/vmstat",
    "/proc/version",
    "/proc/locks",
    "/proc/swaps",
    "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/random/uuid",
    "/proc/sys/kernel/pid_max",
    "/proc/sys/kernel/shmmax",
    "/proc/sys/kernel/sem",
    "/proc/sys/fs/file-nr",
    "/proc/sys/net/ipv4/conf/lo",
    "/proc/sysvipc/sem",
    "/proc/sysvipc/msg",
    "/proc/sysvipc/shm",
    "/proc/net/dev",
    "/proc/net/route",
    "/proc/net/sockstat",
    "/proc/net/tcp6",
    "/proc/thread-self/status",
    "/sys/devices/system/cpu/online",
    "/sys/class/net/lo/address",
    "/sys/fs/cgroup/memory.current",
    "/sys/fs/cgroup/cpu.stat",
    "/sys/fs/cgroup/pids.max",
};

/* Of the call that is made now: what its last address leads to. */
static size_t last_size, last_count;
/* What calls have answered. */
static uint64_t answers[8];
static unsigned answer_count;

static void note(long answer)
{
    if (answer > 0)
        answers[answer_count++ % ARRAY_SIZE(answers)] = (uint64_t)answer;
}

static uint64_t put(const void *data, size_t size)
{
    last_size = size;
    return world_put(data, size);
}

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

/* Those below most often. */
static uint64_t number_below(struct input *in, uint64_t most)
{
    uint8_t b = input_byte(in);
    return b < 240 ? b % most : number(in);
}

static uint64_t path(struct input *in)
{
    uint8_t b = input_byte(in);
    if (b >= 250)
        return odd_word(in);
    if (b < 160)
        return world_put_string(names[b % ARRAY_SIZE(names)]);
    if (b < 200) {
        char name[64];
        snprintf(name, sizeof(name), "/proc/%d/%s", b < 192 ? 2 : 3,
                 process_names[(b < 192 ? b - 160 : input_byte(in)) % ARRAY_SIZE(process_names)]);
        return world_put_string(name);
    }
    if (b < 216)
        return world_put_string(system_names[input_byte(in) % ARRAY_SIZE(system_names)]);
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
    uint64_t at = put(NULL, ANSWER_BYTES);
    memset(world_at(at), 0, ANSWER_BYTES);
    memcpy(world_at(at), data, size);
    last_size = size;
    return at;
}

static uint64_t answer_buffer(struct input *in)
{
    uint64_t at = put(NULL, ANSWER_BYTES);
    return in->size && in->data[0] >= 250 ? odd_word(in) : at;
}

/* Two timespecs, mostly short: what is armed with them ends before the next call. */
static uint64_t times(struct input *in)
{
    uint64_t t[4] = {0};
    uint8_t b = input_byte(in);
    if (b < 128) {
        t[1] = b & 3;
        t[3] = b >> 2 & 3;
        t[2] = b >> 4 & 1;
        t[0] = b >> 5 & 1;
    } else {
        for (int i = 0; i < 4; i++)
            t[i] = number(in);
    }
    return put(t, sizeof(t));
}

static uint64_t vector(struct input *in)
{
    uint64_t v[6] = {0};
    for (int i = input_byte(in) % 4 * 2; i > 0; i -= 2) {
        v[i - 2] = buffer(in);
        v[i - 1] = number(in);
    }
    return put(v, sizeof(v));
}

static uint64_t strings(struct input *in)
{
    uint64_t v[4] = {0};
    for (uint8_t i = input_byte(in) % 4; i > 0; i--)
        v[i - 1] = path(in);
    return put(v, sizeof(v));
}

static size_t unix_address(struct input *in, uint8_t *address)
{
    uint8_t b = input_byte(in);
    struct sockaddr_un *un = (void *)address;
    un->sun_family = AF_UNIX;
    if (b < 64) /* a name in the tree, or the same one in the other space */
        return offsetof(struct sockaddr_un, sun_path) + 1 +
               (size_t)snprintf(un->sun_path + (b & 1), 90, "%s", names[b / 2]);
    return b < 96 ? sizeof(sa_family_t) : offsetof(struct sockaddr_un, sun_path) + b % 108;
}

/* Few, so that they meet. */
static size_t internet_address(struct input *in, uint8_t *address, bool is_6)
{
    static const uint32_t hosts[] = {INADDR_LOOPBACK,  INADDR_ANY, INADDR_LOOPBACK + 1, 0x0a000001,
                                     INADDR_BROADCAST, 0xe0000001, 0x7f000035};
    static const in_port_t ports[] = {8080, 8081, INET_RESOLVER_PORT, 0};
    uint8_t b = input_byte(in);
    uint32_t host = htonl(hosts[b % 8 % ARRAY_SIZE(hosts)]);
    in_port_t port = htons(ports[b >> 3 & 3]);
    struct sockaddr_in *four = (void *)address;
    struct sockaddr_in6 *six = (void *)address;
    if (!is_6) {
        *four = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = port};
        four->sin_addr.s_addr = host;
        return sizeof(*four);
    }
    *six = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = port};
    six->sin6_addr = b & 32 ? in6addr_loopback : in6addr_any;
    if (b & 64) {
        memset(six->sin6_addr.s6_addr + 10, 0xff, 2);
        memcpy(six->sin6_addr.s6_addr + 12, &host, sizeof(host));
    }
    return sizeof(*six);
}

static uint64_t socket_address(struct input *in)
{
    uint8_t address[128] = {0}, b = input_byte(in);
    size_t size = 2;
    if (b < 80) {
        size = unix_address(in, address);
    } else if (b < 200) {
        size = internet_address(in, address, b >= 140);
    } else {
        address[0] = b < 230 ? AF_NETLINK : b % 4;
        const uint8_t *data = input_bytes(in, b % BYTES_MAX, &size);
        memcpy(address + 2, data, size);
        size = b < 230 ? sizeof(struct sockaddr_nl) : size + 2;
    }
    uint64_t at = put(address, sizeof(address));
    last_size = size;
    return at;
}

/* Descriptors or credentials, or any bytes. */
static uint64_t control(struct input *in)
{
    uint8_t b = input_byte(in), count = b % REPEAT_MAX + 1;
    struct {
        uint64_t size;
        int level, type, word[REPEAT_MAX];
    } m = {CMSG_LEN(count * sizeof(int)), SOL_SOCKET, SCM_RIGHTS, {0}};
    if (b >= 192)
        return buffer(in);
    if (b >= 160) {
        m.type = SCM_CREDENTIALS;
        m.size = CMSG_LEN(sizeof(struct ucred));
    }
    for (uint8_t i = 0; i < count; i++)
        m.word[i] = (int)number_below(in, 32);
    return put(&m, sizeof(m));
}

static uint64_t message(struct input *in)
{
    uint8_t what = input_byte(in);
    struct {
        uint64_t name, name_size, vector, vector_count, control, control_size, flags, length;
    } m[2] = {0};
    for (int i = 0; i < 2; i++) {
        m[i].name = what & 1 ? socket_address(in) : 0;
        m[i].name_size = what & 1 ? last_size : 0;
        m[i].vector = vector(in);
        m[i].vector_count = what >> 6;
        m[i].control = what & 2 ? control(in) : what & 16 ? answer_buffer(in) : 0;
        m[i].control_size = what & 18 ? last_size : 0;
        if (what & 4)
            *(what & 32 ? &m[i].control_size : &m[i].name_size) = number(in);
        if (!(what & 8))
            break;
    }
    return put(m, sizeof(m));
}

static uint64_t crude_flags(struct input *in)
{
    uint8_t b = input_byte(in);
    return b < 128 ? b : b < 192 ? 1ULL << (b & 63) : input_word(in, 4);
}

/* A word of the pool, or flags together: the upper bit of the byte says that another one follows.
 */
static uint64_t pooled(struct input *in, const struct pool *p)
{
    uint64_t word = 0;
    uint8_t b;
    do {
        b = input_byte(in);
        if ((b & 127) >= 120)
            return word | number(in);
        if ((b & 127) < 100 || !p->are_flags)
            word |= p->words[(b & 127) % p->count];
    } while (p->are_flags && b >= 128);
    return word;
}

static const struct pool *pool_find(char letter)
{
    for (size_t i = 0; i < ARRAY_SIZE(pools); i++)
        if (pools[i].letter == letter)
            return &pools[i];
    return NULL;
}

/* Of those from the start, or that came last. */
static uint64_t descriptor(struct input *in)
{
    uint8_t b = input_byte(in);
    if (b < 160)
        return b % 28;
    if (b < 240)
        return answers[(answer_count - 1 - b % 4) % ARRAY_SIZE(answers)];
    return number(in);
}

static uint64_t directory(struct input *in)
{
    uint8_t b = input_byte(in);
    return b < 128 ? (uint64_t)AT_FDCWD : descriptor(in);
}

/* What both tables mean alike. See there for the letters. */
static uint64_t common(struct input *in, char letter)
{
    switch (letter) {
    case 'f':
        return descriptor(in);
    case 'd':
        return directory(in);
    case 'n':
    case 'k':
        return number_below(in, 12);
    case 's':
        return number_below(in, 66);
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
    case 'M':
        return input_word(in, 2) & 07777;
    case '0':
    case '-':
        return 0;
    default:
        return number(in);
    }
}

static uint64_t shaped(struct input *in, char letter)
{
    const struct pool *p = pool_find(letter);
    if (p)
        return pooled(in, p);
    switch (letter) {
    case '1':
    case '8':
        return (uint64_t)(letter - '0');
    case 'i':
        return answers[number_below(in, ARRAY_SIZE(answers)) % ARRAY_SIZE(answers)];
    case 'o':
        return answer_buffer(in);
    case 'w':
        return number_below(in, 84);
    case 'l':
        return last_size;
    case 'c':
        return last_count;
    default:
        return common(in, letter);
    }
}

static uint64_t crude(struct input *in, char letter)
{
    return letter == 'F' ? crude_flags(in) : common(in, letter);
}

/* *at is behind the opening bracket, and then behind the closing one. */
static uint64_t structure(struct input *in, const char **at)
{
    uint8_t fields[FIELDS_BYTES];
    size_t used = 0, repeat = 1;
    bool is_list = **at == '*';
    const char *first = *at + is_list, *field = first;
    if (is_list)
        repeat = 1 + input_byte(in) % REPEAT_MAX;
    for (size_t i = 0; i < repeat; i++) {
        for (field = first; *field != ')'; field += 2) {
            size_t size = (size_t)(field[0] - '0');
            uint64_t word = shaped(in, field[1]);
            memcpy(fields + used, &word, size);
            used += size;
        }
    }
    *at = field + 1;
    last_count = repeat;
    return put(fields, used);
}

static void shaped_arguments(struct input *in, const char *letters, uint64_t arg[6])
{
    for (int i = 0; i < 6 && *letters; i++) {
        if (*letters == '(') {
            letters++;
            arg[i] = structure(in, &letters);
        } else {
            arg[i] = shaped(in, *letters++);
        }
    }
}

static void crude_arguments(struct input *in, const char *letters, uint64_t arg[6])
{
    for (int i = 0; i < 6 && letters[i]; i++)
        arg[i] = crude(in, letters[i]);
}

/* No call moves more bytes than it was asked to. */
static uint64_t most_answer(int nr, const uint64_t arg[6])
{
    switch (nr) {
    case SYS_getcwd:
        return arg[1];
    case SYS_read:
    case SYS_write:
    case SYS_pread64:
    case SYS_pwrite64:
    case SYS_sendto:
    case SYS_readlink:
    case SYS_getdents:
    case SYS_getdents64:
    case SYS_tee:
        return arg[2];
    case SYS_readlinkat:
    case SYS_sendfile:
        return arg[3];
    case SYS_splice:
    case SYS_copy_file_range:
        return arg[4];
    default:
        return INT64_MAX;
    }
}

/* A file from opening to closing: what most of /proc and /dev is for. */
static void use_file(struct input *in, unsigned task, bool is_write)
{
    const uint64_t flags = (is_write ? O_WRONLY : O_RDONLY) | O_NONBLOCK;
    uint64_t name = path(in), data = is_write ? buffer(in) : put(NULL, ANSWER_BYTES);
    long fd = world_call_as(task, SYS_open, (const uint64_t[6]){name, flags});
    if (fd < 0)
        return;
    const uint64_t arg[6] = {(uint64_t)fd, data, is_write ? last_size : ANSWER_BYTES};
    for (int i = 0; i < READS; i++)
        if (world_call_as(task, is_write ? SYS_write : SYS_read, arg) <= 0)
            break;
    world_call_as(task, SYS_close, arg);
}

static void call(struct input *in, bool has_task)
{
    uint8_t which = input_byte(in);
    unsigned task = has_task ? input_byte(in) % WORLD_TASKS : 0;
    uint64_t arg[6] = {0};
    int nr;
    last_size = last_count = 0;
    if (which >= READ_FILE && which < CRUDE) {
        use_file(in, task, which >= WRITE_FILE);
        return;
    }
    if (which < READ_FILE) {
        nr = shapes[which % ARRAY_SIZE(shapes)].nr;
        shaped_arguments(in, shapes[which % ARRAY_SIZE(shapes)].arguments, arg);
    } else if (which < ANY_NUMBER) {
        const struct fuzz_call *c = &fuzz_calls[input_byte(in) % FUZZ_CALLS];
        nr = c->nr;
        crude_arguments(in, c->arguments, arg);
    } else {
        nr = (int)(input_word(in, 2) % 1010);
        crude_arguments(in, "xxxxxx", arg);
    }
    long r = world_call_as(task, nr, arg);
    CHECK(r < 0 || (uint64_t)r <= most_answer(nr, arg));
    note(r);
}

/* ---- what is there at the start ---- */

/* The smallest program: its headers are its text. */
static const struct {
    Elf64_Ehdr header;
    Elf64_Phdr segment;
} program = {
    .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
               .e_type = ET_EXEC,
               .e_machine = EM_X86_64,
               .e_version = EV_CURRENT,
               .e_entry = 0x400000,
               .e_phoff = sizeof(Elf64_Ehdr),
               .e_ehsize = sizeof(Elf64_Ehdr),
               .e_phentsize = sizeof(Elf64_Phdr),
               .e_phnum = 1},
    .segment = {.p_type = PT_LOAD,
                .p_flags = PF_R | PF_X,
                .p_vaddr = 0x400000,
                .p_paddr = 0x400000,
                .p_filesz = sizeof(program),
                .p_memsz = sizeof(program),
                .p_align = 0x1000},
};

static void furnish_files(uint64_t flags)
{
    uint64_t a = world_put_string("a"), d = world_put_string("d");
    world_file("x", 0755, &program, sizeof(program));
    world_file("b", 0755, "#!x y\n", 6);
    WORLD_CALL(SYS_mkdir, d, 0755);
    WORLD_CALL(SYS_symlink, a, world_put_string("l"));
    WORLD_CALL(SYS_mknod, world_put_string("p"), S_IFIFO | 0666);
    long fd = WORLD_CALL(SYS_open, a, O_RDWR | O_CREAT | flags, 0644);
    WORLD_CALL(SYS_write, (uint64_t)fd, a, 100);
    WORLD_CALL(SYS_open, d, O_RDONLY | O_DIRECTORY);
    WORLD_CALL(SYS_open, world_put_string("p"), O_RDWR | flags);
    WORLD_CALL(SYS_link, a, world_put_string("d/a"));
}

static void furnish_pipes(uint64_t flags)
{
    uint64_t fds = world_put(NULL, 8), name = world_put_string("m");
    WORLD_CALL(SYS_pipe2, fds, flags);
    WORLD_CALL(SYS_eventfd2, 1, flags);
    WORLD_CALL(SYS_timerfd_create, CLOCK_MONOTONIC, flags);
    WORLD_CALL(SYS_memfd_create, name, MFD_ALLOW_SEALING);
}

static void furnish_pairs(uint64_t flags)
{
    uint64_t fds = world_put(NULL, 8);
    WORLD_CALL(SYS_socketpair, AF_UNIX, SOCK_STREAM | flags, 0, fds);
    WORLD_CALL(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | flags, 0, fds);
    WORLD_CALL(SYS_socketpair, AF_UNIX, SOCK_DGRAM | flags, 0, fds);
}

static void furnish_internet(uint64_t flags)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(8080)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    uint64_t at = world_put(&address, sizeof(address)), size = sizeof(address);
    uint64_t listener = (uint64_t)WORLD_CALL(SYS_socket, AF_INET, SOCK_STREAM | flags, 0);
    WORLD_CALL(SYS_bind, listener, at, size);
    WORLD_CALL(SYS_listen, listener, 4);
    WORLD_CALL(SYS_connect, (uint64_t)WORLD_CALL(SYS_socket, AF_INET, SOCK_STREAM, 0), at, size);
    WORLD_CALL(SYS_accept4, listener, 0, 0, flags);
    WORLD_CALL(SYS_bind, (uint64_t)WORLD_CALL(SYS_socket, AF_INET, SOCK_DGRAM | flags, 0), at,
               size);
    WORLD_CALL(SYS_connect, (uint64_t)WORLD_CALL(SYS_socket, AF_INET, SOCK_DGRAM | flags, 0), at,
               size);
}

static void furnish_events(uint64_t flags)
{
    const uint64_t mask = ~0ULL;
    const struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    long queue = WORLD_CALL(SYS_epoll_create1, 0);
    long watch = WORLD_CALL(SYS_inotify_init1, flags);
    WORLD_CALL(SYS_inotify_add_watch, (uint64_t)watch, world_put_string("/w"), IN_ALL_EVENTS);
    WORLD_CALL(SYS_signalfd4, UINT64_MAX, world_put(&mask, 8), 8, flags);
    WORLD_CALL(SYS_epoll_ctl, (uint64_t)queue, EPOLL_CTL_ADD, (uint64_t)watch,
               world_put(&event, sizeof(event)));
}

static void furnish_terminal(uint64_t flags)
{
    uint32_t unlocked = 0;
    uint64_t word = world_put(&unlocked, sizeof(unlocked));
    uint64_t side = (uint64_t)WORLD_CALL(SYS_open, world_put_string("/dev/ptmx"), O_RDWR | flags);
    WORLD_CALL(SYS_ioctl, side, TIOCSPTLCK, word);
    WORLD_CALL(SYS_ioctl, side, TIOCGPTPEER, O_RDWR | flags);
    WORLD_CALL(SYS_ioctl, side + 1, TIOCSCTTY, 0);
}

static void furnish_tasks(uint64_t flags)
{
    WORLD_CALL(SYS_fork, 0);
    WORLD_CALL(SYS_clone, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD);
}

static void furnish_servers(uint64_t flags)
{
    const struct sockaddr_un address = {AF_UNIX, "s"};
    uint64_t fd = (uint64_t)WORLD_CALL(SYS_socket, AF_UNIX, SOCK_STREAM | flags, 0);
    WORLD_CALL(SYS_bind, fd, world_put(&address, sizeof(address)), 4);
    WORLD_CALL(SYS_listen, fd, 2);
    WORLD_CALL(SYS_socket, AF_NETLINK, SOCK_RAW | flags, NETLINK_ROUTE);
    note(WORLD_CALL(SYS_semget, 1, 3, IPC_CREAT | 0600));
    note(WORLD_CALL(SYS_msgget, 1, IPC_CREAT | 0600));
}

/* Of any file there. */
static const char proc_text[] =
    "VmRSS:\t  12 kB\nVmSize: 40 kB\nThreads:\t1\nvoluntary_ctxt_switches: 3\nMemTotal: 99 kB\n"
    "400000-401000 r-xp 00000000 08:01 123 /w/x\n7000-8000 r-xp 00000000 00:00 0\n"
    "Size: 4 kB\nRss: 4 kB\nPss: 4 kB\nVmFlags: rd ex mr\n";

/* A bit of the second byte each. */
static void furnish(uint8_t what, uint64_t flags)
{
    static void (*const kinds[])(uint64_t flags) = {
        furnish_files,  furnish_pipes,    furnish_pairs, furnish_internet,
        furnish_events, furnish_terminal, furnish_tasks, furnish_servers,
    };
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (what & (1 << i))
            kinds[i](flags);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    uint8_t options = input_byte(&in), what = input_byte(&in);
    world_begin(options & AS_ROOT ? 0 : 1000);
    kernel.config.trace = options & WITH_TRACE;
    world_proc_text = options & WITH_TEXT ? proc_text : NULL;
    answer_count = 0;
    memset(answers, 0, sizeof(answers));
    if (options & WITH_IMAGE)
        world_image();
    furnish(what, options & MAY_WAIT ? 0 : O_NONBLOCK);
    if (options & NO_MEMORY) {
        unsigned after = (unsigned)input_word(&in, 2) % ALLOCATIONS_MAX;
        allocations_fail(after, 1 + input_byte(&in) % FAILURES_MAX);
    }
    for (int i = 0; i < CALLS_MAX && in.size > 0; i++)
        call(&in, options & MANY_TASKS);
    world_end();
    return 0;
}
