// SPDX-License-Identifier: Apache-2.0
/*
 * Hostile ELF files: what comes of one is an errno or a process that ends; never more.
 */
#include "probes/canary.h"
#include "probes/support.h"

#include <elf.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>

#define MUTATIONS   1000
#define NAMES       16         /* files that are rewritten in turn */
#define IMAGE_BYTES (64 << 10) /* of a long program the end matters little */
#define HEAD_BYTES  4096       /* where headers lie */

static char image[IMAGE_BYTES];
static size_t image_size;

static Elf64_Ehdr *header(void)
{
    return (Elf64_Ehdr *)(void *)image;
}

static Elf64_Phdr *segment(unsigned i)
{
    return (Elf64_Phdr *)(void *)(image + header()->e_phoff) + i;
}

/* The first loadable segment. */
static Elf64_Phdr *first_load(void)
{
    for (unsigned i = 0; i < header()->e_phnum; i++)
        if (segment(i)->p_type == PT_LOAD)
            return segment(i);
    probe_unproved("the program has no segments");
}

static void load(const char *name)
{
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, image, sizeof(image));
    close(fd);
    image_size = n > 0 ? (size_t)n : 0;
    if (image_size < HEAD_BYTES ||
        header()->e_phoff + header()->e_phnum * sizeof(Elf64_Phdr) > HEAD_BYTES)
        probe_skip("%s: not a program whose headers can be rewritten", name);
}

/* Runs it for a fifth of a second at most: a mutant may well be a loop. */
static int run(const char *name)
{
    pid_t pid = probe_fork();
    if (pid == 0) {
        const struct itimerval t = {{0, 0}, {0, 200000}};
        setitimer(ITIMER_REAL, &t, NULL);
        execl(name, name, SELF_EXIT_TEXT, "7", (char *)NULL);
        _exit(errno);
    }
    return probe_wait(pid);
}

static int run_image(void)
{
    unlink("program");
    probe_write_file("program", image, image_size, 0755);
    return run("program");
}

/* An errno of a refusal, or a signal. */
static void check_ends(int status)
{
    if (status == 0 || status == 7)
        probe_escaped("it ran as if nothing were wrong");
}

static void prepare(void)
{
    load(probe_self());
    probe_become_user();
    probe_write_file("writable", "", 0, 0600);
}

static char saved[HEAD_BYTES];

static void begin(void)
{
    NEED(chmod(".", 0777) == 0);
    prepare();
    memcpy(saved, image, sizeof(saved));
}

static void put_back(void)
{
    memcpy(image, saved, sizeof(saved));
}

/* Runs the changed image, which must end badly. */
static void try_change(void)
{
    check_ends(run_image());
    put_back();
}

#define EACH_VALUE(field_, ...)                            \
    do {                                                   \
        static const uint64_t values_[] = {__VA_ARGS__};   \
        for (size_t i = 0; i < ARRAY_SIZE(values_); i++) { \
            field_ = (__typeof__(field_))values_[i];       \
            try_change();                                  \
        }                                                  \
    } while (0)

PROBE(execute_with_segments_that_overlap, EXEC,
      .expected = "ENOEXEC, ENOMEM, or a process that ends")
{
    begin();
    Elf64_Phdr *load = first_load();
    for (int shift = -1; shift <= 1; shift++) {
        load[1].p_vaddr = load[0].p_vaddr + (Elf64_Addr)(shift * 4096);
        load[1].p_offset = load[0].p_offset;
        load[1].p_memsz = load[1].p_filesz = 8192;
        load[2].p_vaddr = load[0].p_vaddr;
        run_image();
        put_back();
    }
    probe_check_kernel();
}

PROBE(execute_with_huge_segments, EXEC, .expected = "ENOEXEC or ENOMEM")
{
    begin();
    EACH_VALUE(first_load()->p_memsz, 1UL << 47, 1UL << 62, INT64_MAX, UINT64_MAX,
               UINT64_MAX - 4095);
    EACH_VALUE(first_load()->p_filesz, 1UL << 47, 1UL << 62, INT64_MAX, UINT64_MAX);
    probe_check_kernel();
}

PROBE(execute_with_segments_that_wrap_around, EXEC, .expected = "ENOEXEC, ENOMEM or EINVAL")
{
    begin();
    EACH_VALUE(first_load()->p_vaddr, UINT64_MAX - 4095, 0xffffffffffff0000, 0x7ffffffff000,
               0x8000000000000000);
    EACH_VALUE(first_load()->p_offset, UINT64_MAX - 4095, INT64_MAX & ~4095L, 1UL << 62);
    probe_check_kernel();
}

PROBE(execute_with_segments_in_the_kernels_half, EXEC, .expected = "ENOEXEC, ENOMEM or EINVAL")
{
    begin();
    header()->e_type = ET_EXEC;
    memcpy(saved, image, sizeof(saved));
    EACH_VALUE(first_load()->p_vaddr, 0xffffffffff600000, 0xffffffff81000000, 0xffff888000000000,
               1UL << 47);
    probe_check_kernel();
}

/* The stub maps at the addresses that are asked for: its own pages and the stack are there too. */
PROBE(execute_over_the_loader_and_its_stack, EXEC, .expected = "a process that ends")
{
    begin();
    header()->e_type = ET_EXEC;
    Elf64_Addr entry = header()->e_entry;
    for (uint64_t at = 0x10000; at < 0x7fffffff0000; at = at * 3 + 0x1000) {
        first_load()->p_vaddr = at & ~4095UL;
        first_load()->p_memsz = 64UL << 20;
        header()->e_entry = at + entry;
        run_image();
        put_back();
        header()->e_type = ET_EXEC;
    }
    probe_check_kernel();
}

PROBE(execute_with_misaligned_segments, EXEC, .expected = "ENOEXEC or EINVAL")
{
    begin();
    EACH_VALUE(first_load()->p_vaddr, 1, 4095, 0x400001);
    EACH_VALUE(first_load()->p_offset, 1, 7, 4095);
    probe_check_kernel();
}

PROBE(execute_with_more_in_the_file_than_in_memory, EXEC,
      .expected = "ENOEXEC, EINVAL, or a process that ends")
{
    begin();
    first_load()->p_memsz = 1;
    run_image();
    put_back();
    first_load()->p_memsz = 0;
    run_image();
    probe_check_kernel();
}

PROBE(execute_with_too_many_headers, EXEC, .expected = "ENOEXEC")
{
    begin();
    EACH_VALUE(header()->e_phnum, 65535, 40000, 1200, 0);
    EACH_VALUE(header()->e_phentsize, 0, 1, 55, 57, 65535);
    probe_check_kernel();
}

PROBE(execute_with_headers_outside_the_file, EXEC, .expected = "ENOEXEC")
{
    begin();
    EACH_VALUE(header()->e_phoff, 1UL << 40, INT64_MAX, UINT64_MAX, UINT64_MAX - 55,
               UINT64_MAX - 600, 1UL << 63);
    probe_check_kernel();
}

PROBE(execute_with_a_wild_entry_point, EXEC, .expected = "a process that ends by a signal")
{
    begin();
    EACH_VALUE(header()->e_entry, UINT64_MAX, 0x8000000000000000, 0xffffffffff600000,
               0xffffffff81000000);
    probe_check_kernel();
}

PROBE(execute_for_another_machine, EXEC, .expected = "ENOEXEC")
{
    begin();
    EACH_VALUE(header()->e_machine, EM_386, EM_AARCH64, EM_NONE, 0xffff);
    EACH_VALUE(header()->e_ident[EI_CLASS], ELFCLASS32, ELFCLASSNONE, 99);
    EACH_VALUE(header()->e_type, ET_CORE, ET_REL, ET_NONE, 0xffff);
    probe_check_kernel();
}

PROBE(execute_without_a_loadable_segment, EXEC, .expected = "ENOEXEC, or a process that ends")
{
    begin();
    for (unsigned i = 0; i < header()->e_phnum; i++)
        segment(i)->p_type = PT_NOTE;
    check_ends(run_image());
    probe_check_kernel();
}

/* A segment that names an interpreter which lies `offset` bytes into the file and is `size` long.
 */
static void set_interpreter(uint64_t offset, uint64_t size)
{
    Elf64_Phdr *last = segment(header()->e_phnum - 1u);
    *last =
        (Elf64_Phdr){.p_type = PT_INTERP, .p_offset = offset, .p_filesz = size, .p_memsz = size};
}

PROBE(execute_with_a_bad_interpreter_name, EXEC,
      .expected = "ENOEXEC, ENOENT, or a process that ends")
{
    begin();
    static const uint64_t places[][2] = {{0, 0},
                                         {0, 1},
                                         {0, 2},
                                         {0, 4096},
                                         {0, 4097},
                                         {0, 65536},
                                         {0, 1UL << 40},
                                         {0, UINT64_MAX},
                                         {UINT64_MAX, 8},
                                         {INT64_MAX, 8},
                                         {1UL << 40, 8},
                                         {UINT64_MAX - 4, 8},
                                         {IMAGE_BYTES - 4, 8}};
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        set_interpreter(places[i][0], places[i][1]);
        try_change();
    }
    probe_check_kernel();
}

PROBE(execute_with_an_interpreter_that_is_none, EXEC,
      .expected = "ENOENT, EACCES, ENOEXEC or ELIBBAD")
{
    begin();
    static const char *const names[] = {
        "/",        "/proc/self/mem",   "/dev/zero", "program", "/etc/passwd",
        "writable", "/proc/self/exe/x", "/dev/fd/0", "",        "/dev/tty"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        strcpy(image + HEAD_BYTES, names[i]);
        set_interpreter(HEAD_BYTES, strlen(names[i]) + 1);
        try_change();
    }
    probe_check_kernel();
}

PROBE(execute_with_the_hosts_interpreter, EXEC, .expected = "ENOENT")
{
    begin();
    const char *name = canary_path("program");
    strcpy(image + HEAD_BYTES, name);
    set_interpreter(HEAD_BYTES, strlen(name) + 1);
    int status = run_image();
    if (status != ENOENT)
        probe_escaped("status %d", status);
    probe_check_kernel();
}

PROBE(execute_truncated_programs, EXEC, .expected = "ENOEXEC, or a process that ends")
{
    begin();
    for (size_t size = 0; size < HEAD_BYTES; size += size < 130 ? 1 : 97) {
        image_size = size;
        int status = run_image();
        check_ends(status);
    }
    probe_check_kernel();
}

/* ---- at random ---- */

/* A few words of the headers that are wrong; the magic stays, else nearly all are dull. */
static void mutate(size_t size, uint32_t *state)
{
    static const uint64_t words[] = {0,         1,          7,          0xfff,
                                     0x1000,    0x7fffffff, 0xffffffff, 0x7ffffffff000,
                                     1UL << 63, UINT64_MAX, 0x400000,   0x10000000000};
    for (uint32_t i = 1 + probe_random(state) % 4; i > 0; i--) {
        size_t at = probe_random(state) % size;
        if (at < 4)
            at = 16;
        switch (probe_random(state) % 4) {
        case 0:
            image[at] = (char)probe_random(state);
            break;
        case 1:
            image[at] ^= (char)(1 << probe_random(state) % 8);
            break;
        default:
            memcpy(image + (at & ~7UL), &words[probe_random(state) % ARRAY_SIZE(words)], 8);
        }
    }
}

static void run_mutations(uint32_t seed)
{
    size_t tables = header()->e_phoff + header()->e_phnum * sizeof(Elf64_Phdr), size = image_size;
    memcpy(saved, image, sizeof(saved));
    for (int i = 0; i < MUTATIONS; i++) {
        char name[32];
        snprintf(name, sizeof(name), "m%d", i % NAMES);
        put_back();
        mutate(MIN(tables, (size_t)HEAD_BYTES), &seed);
        unlink(name);
        probe_write_file(name, image, i % 7 ? size : size / 3, 0755);
        run(name);
    }
    probe_check_kernel();
}

PROBE(execute_mutations_of_a_static_program, EXEC,
      .expected = "errors and crashes of the mutants alone", .seconds = 600)
{
    begin();
    run_mutations(5);
}

PROBE(execute_mutations_of_a_dynamic_program, EXEC,
      .expected = "errors and crashes of the mutants alone", .seconds = 600)
{
    if (access("/bin/true", X_OK) < 0)
        probe_skip("the image has no /bin/true");
    NEED(chmod(".", 0777) == 0);
    load("/bin/true");
    probe_become_user();
    run_mutations(6);
}
