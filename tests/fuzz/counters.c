// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/counters.h"

#include "tests/fuzz/input.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNTERS_MAX   64
#define COUNTERS_LEAST 20 /* else the program has no symbols, or their names have changed */

struct counter {
    char name[32];
    const uint64_t *value;
    uint64_t noted;
};

static struct counter counters[COUNTERS_MAX];
static size_t counter_count;

static bool ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);
    return a >= b && !strcmp(text + a - b, end);
}

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(name, *names))
        names++;
    return *names;
}

static bool is_counter(const char *name)
{
    static const char *const others[] = {"files_in_flight", "message_total_bytes", "all_bytes",
                                         "listings_bytes",  "target_bytes",        NULL};
    /* They count what is kept for the next time. */
    static const char *const caches[] = {"dentry_total", "hashed_total", "fd_total", NULL};
    return is_one_of(name, others) || (ends_with(name, "_total") && !is_one_of(name, caches));
}

static void add(const char *name, uint64_t address)
{
    CHECK(counter_count < COUNTERS_MAX);
    struct counter *c = &counters[counter_count++];
    snprintf(c->name, sizeof(c->name), "%s", name);
    c->value = (const uint64_t *)(uintptr_t)address;
}

/* Where the program itself lies: the first of all objects. */
static int take_base(struct dl_phdr_info *info, size_t size, void *ret)
{
    *(uint64_t *)ret = info->dlpi_addr;
    return 1;
}

static void read_symbols(const uint8_t *file)
{
    const Elf64_Ehdr *header = (const void *)file;
    const Elf64_Shdr *sections = (const void *)(file + header->e_shoff);
    uint64_t base = 0;
    dl_iterate_phdr(take_base, &base);
    for (unsigned i = 0; i < header->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB)
            continue;
        const Elf64_Sym *symbols = (const void *)(file + sections[i].sh_offset);
        const char *names = (const char *)file + sections[sections[i].sh_link].sh_offset;
        for (size_t n = 0; n < sections[i].sh_size / sizeof(*symbols); n++) {
            const char *name = names + symbols[n].st_name;
            if (ELF64_ST_TYPE(symbols[n].st_info) == STT_OBJECT &&
                symbols[n].st_size >= sizeof(uint64_t) && is_counter(name))
                add(name, base + symbols[n].st_value);
        }
    }
}

static void find(void)
{
    struct stat st;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && fstat(fd, &st) == 0);
    void *file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    CHECK(file != MAP_FAILED);
    close(fd);
    read_symbols(file);
    munmap(file, (size_t)st.st_size);
    CHECK(counter_count >= COUNTERS_LEAST);
}

void counters_note(void)
{
    if (counter_count == 0)
        find();
    for (size_t i = 0; i < counter_count; i++)
        counters[i].noted = *counters[i].value;
}

void counters_check(void)
{
    for (size_t i = 0; i < counter_count; i++) {
        const struct counter *c = &counters[i];
        if (*c->value != c->noted)
            fprintf(stderr, "%s is %lu, was %lu\n", c->name, *c->value, c->noted);
        CHECK(*c->value == c->noted);
    }
}
