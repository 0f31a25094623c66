// SPDX-License-Identifier: Apache-2.0
/*
 * ELF programs: from the headers of a file to the stub's plan. The file is a stranger's: every
 * number is checked before it is used, and what passes can at worst make its own process fault.
 */
#include "kernel/arch/x86_64/arch.h"
#include "kernel/core/kernel.h"
#include "kernel/proc/exec.h"

#include <elf.h>
#include <stdbool.h>
#include <sys/mman.h>

#define PROGRAM_HEADERS_MAX 128
#define ALIGN_MAX           (1ULL << 30)
#define INTERPRETER_BASE    0x7d0000000000ULL
#define PROGRAM_BASE        0x500000000000ULL

struct elf_file {
    struct file *file;
    Elf64_Ehdr header;
    Elf64_Phdr *program; /* header.e_phnum of them */
    uint64_t low, high;  /* what the PT_LOADs span, before the bias */
    uint64_t align;
};

static uint64_t page_down(uint64_t a)
{
    return a & ~(GUEST_PAGE_SIZE - 1);
}

static uint64_t page_up(uint64_t a)
{
    return page_down(a + GUEST_PAGE_SIZE - 1);
}

static bool is_loadable(const Elf64_Ehdr *h)
{
    return !memcmp(h->e_ident, ELFMAG, SELFMAG) && h->e_ident[EI_CLASS] == ELFCLASS64 &&
           h->e_ident[EI_DATA] == ELFDATA2LSB && (h->e_type == ET_EXEC || h->e_type == ET_DYN) &&
           h->e_machine == ARCH_ELF && h->e_phentsize == sizeof(Elf64_Phdr) && h->e_phnum > 0 &&
           h->e_phnum <= PROGRAM_HEADERS_MAX;
}

static bool is_segment_sane(const Elf64_Phdr *p)
{
    uint64_t end, file_end;
    return p->p_filesz <= p->p_memsz && !__builtin_add_overflow(p->p_vaddr, p->p_memsz, &end) &&
           end < ARCH_USER_END && !__builtin_add_overflow(p->p_offset, p->p_filesz, &file_end) &&
           file_end <= INT64_MAX - GUEST_PAGE_SIZE &&
           ((p->p_vaddr - p->p_offset) & (GUEST_PAGE_SIZE - 1)) == 0;
}

/* Bounds and alignment over all PT_LOADs; -ENOEXEC unless they are sane and in ascending order. */
static int measure(struct elf_file *e)
{
    bool any = false;
    e->align = GUEST_PAGE_SIZE;
    for (unsigned i = 0; i < e->header.e_phnum; i++) {
        const Elf64_Phdr *p = &e->program[i];
        if (p->p_type != PT_LOAD || p->p_memsz == 0)
            continue;
        if (!is_segment_sane(p) || (any && page_down(p->p_vaddr) < e->high))
            return -ENOEXEC;
        if (!any)
            e->low = page_down(p->p_vaddr);
        any = true;
        e->high = page_up(p->p_vaddr + p->p_memsz);
        if (p->p_align > e->align && p->p_align <= ALIGN_MAX && !(p->p_align & (p->p_align - 1)))
            e->align = p->p_align;
    }
    return any ? 0 : -ENOEXEC;
}

/* header: the first bytes of the file, at least a whole ELF header. Free e->program afterwards. */
static int elf_read(struct elf_file *e, struct file *f, const char *header)
{
    e->file = f;
    memcpy(&e->header, header, sizeof(e->header));
    if (!is_loadable(&e->header) || e->header.e_phoff > INT64_MAX - 65536)
        return -ENOEXEC;
    size_t size = e->header.e_phnum * sizeof(Elf64_Phdr);
    e->program = malloc(size);
    if (!e->program)
        return -ENOMEM;
    if (file_read_kernel(f, e->program, size, (off_t)e->header.e_phoff) != (ssize_t)size)
        return -ENOEXEC;
    return measure(e);
}

static uint64_t random_base(uint64_t base, uint64_t align)
{
    uint32_t r;
    kernel_random(&r, sizeof(r));
    /* 28 bits of pages, as the host randomises mappings. */
    return (base + ((uint64_t)(r & 0xfffffff) << 12)) & ~(align - 1);
}

static int add_segment(struct stub_plan *plan, struct stub_segment s)
{
    if (plan->segment_count >= STUB_SEGMENT_MAX)
        return -ENOEXEC;
    plan->segments[plan->segment_count++] = s;
    return 0;
}

static uint64_t protection_of(const Elf64_Phdr *p)
{
    return (p->p_flags & PF_R ? PROT_READ : 0u) | (p->p_flags & PF_W ? PROT_WRITE : 0u) |
           (p->p_flags & PF_X ? PROT_EXEC : 0u);
}

/* The part from the file, whose last page's tail is cleared, and the zeros behind it. */
static int plan_segment(struct stub_plan *plan, const Elf64_Phdr *p, uint64_t bias, uint64_t fd)
{
    uint64_t start = bias + p->p_vaddr, file_end = start + p->p_filesz, end = start + p->p_memsz;
    uint64_t mapped_end = page_down(start);
    if (p->p_filesz > 0) {
        struct stub_segment s = {.address = page_down(start),
                                 .size = page_up(file_end) - page_down(start),
                                 .protection = protection_of(p),
                                 .fd = fd,
                                 .offset = page_down(p->p_offset)};
        if (end > file_end && (p->p_flags & PF_W)) {
            s.zero_from = file_end;
            s.zero_size = page_up(file_end) - file_end;
        }
        int r = add_segment(plan, s);
        if (r < 0)
            return r;
        mapped_end = page_up(file_end);
    }
    if (page_up(end) <= mapped_end)
        return 0;
    return add_segment(plan, (struct stub_segment){.address = mapped_end,
                                                   .size = page_up(end) - mapped_end,
                                                   .protection = protection_of(p),
                                                   .fd = STUB_ANONYMOUS});
}

/* *ret_bias is what is added to each address of the file. */
static int plan_file(struct stub_plan *plan, const struct elf_file *e, uint64_t base, uint64_t fd,
                     uint64_t *ret_bias)
{
    uint64_t bias = 0;
    if (e->header.e_type == ET_DYN)
        bias = random_base(base, e->align) - (e->low & ~(e->align - 1));
    if (bias + e->high > ARCH_USER_END || bias + e->high < bias)
        return -ENOEXEC;
    for (unsigned i = 0; i < e->header.e_phnum; i++) {
        if (e->program[i].p_type != PT_LOAD || e->program[i].p_memsz == 0)
            continue;
        int r = plan_segment(plan, &e->program[i], bias, fd);
        if (r < 0)
            return r;
    }
    *ret_bias = bias;
    return 0;
}

/* Where the program headers lie in memory: by PT_PHDR, else within the segment that holds them. */
static uint64_t headers_address(const struct elf_file *e, uint64_t bias)
{
    for (unsigned i = 0; i < e->header.e_phnum; i++)
        if (e->program[i].p_type == PT_PHDR)
            return bias + e->program[i].p_vaddr;
    for (unsigned i = 0; i < e->header.e_phnum; i++) {
        const Elf64_Phdr *p = &e->program[i];
        if (p->p_type == PT_LOAD && p->p_offset <= e->header.e_phoff &&
            e->header.e_phoff - p->p_offset < p->p_filesz)
            return bias + p->p_vaddr + (e->header.e_phoff - p->p_offset);
    }
    return 0;
}

static bool wants_executable_stack(const struct elf_file *e)
{
    for (unsigned i = 0; i < e->header.e_phnum; i++)
        if (e->program[i].p_type == PT_GNU_STACK)
            return e->program[i].p_flags & PF_X;
    return false;
}

/* The interpreter's path of a dynamic program into buffer; 0 when there is none, 1 when there is.
 */
static int interpreter_path(const struct elf_file *e, char *buffer, size_t size)
{
    for (unsigned i = 0; i < e->header.e_phnum; i++) {
        const Elf64_Phdr *p = &e->program[i];
        if (p->p_type != PT_INTERP)
            continue;
        if (p->p_filesz < 2 || p->p_filesz > size || p->p_offset > INT64_MAX - p->p_filesz)
            return -ENOEXEC;
        if (file_read_kernel(e->file, buffer, p->p_filesz, (off_t)p->p_offset) !=
            (ssize_t)p->p_filesz)
            return -EIO;
        return buffer[p->p_filesz - 1] == '\0' ? 1 : -ENOEXEC;
    }
    return 0;
}

static int open_interpreter(struct thread *t, const char *name, struct file **ret)
{
    struct walk_base base;
    struct path path;
    int r = thread_walk_base(t, AT_FDCWD, &base);
    if (r == 0)
        r = walk_path(&base, name, WALK_FOLLOW, &path, NULL);
    if (r < 0)
        return r;
    if (!S_ISREG(path.dentry->inode->mode))
        r = -EACCES;
    else
        r = inode_permission(path.dentry->inode, t->cred, MAY_EXEC);
    if (r == 0)
        r = vfs_open_path(path, &cred_kernel, O_RDONLY, ret);
    path_put(&path);
    return r;
}

static int load_interpreter(struct exec_image *image, struct thread *t, const char *name)
{
    char header[sizeof(Elf64_Ehdr)];
    struct elf_file e = {0};
    uint64_t bias;
    int r = open_interpreter(t, name, &image->interpreter);
    if (r < 0)
        return r;
    if (file_read_kernel(image->interpreter, header, sizeof(header), 0) != sizeof(header))
        return -ELIBBAD;
    r = elf_read(&e, image->interpreter, header);
    if (r == 0)
        r = plan_file(&image->plan, &e, INTERPRETER_BASE, STUB_FD_INTERPRETER, &bias);
    free(e.program);
    if (r < 0)
        return r == -ENOMEM ? r : -ELIBBAD;
    image->plan.base = bias + e.low;
    image->plan.entry = bias + e.header.e_entry;
    return 0;
}

int exec_load_elf(struct exec_image *image, struct thread *t, const char *header, size_t size)
{
    char name[GUEST_PATH_MAX];
    struct elf_file e = {0};
    uint64_t bias;
    if (size < sizeof(Elf64_Ehdr))
        return -ENOEXEC;
    int r = elf_read(&e, image->program, header);
    if (r == 0)
        r = plan_file(&image->plan, &e, PROGRAM_BASE, STUB_FD_PROGRAM, &bias);
    if (r == 0)
        r = interpreter_path(&e, name, sizeof(name));
    if (r >= 0) {
        image->plan.phdr = headers_address(&e, bias);
        image->plan.phnum = e.header.e_phnum;
        image->plan.entry = image->plan.program_entry = bias + e.header.e_entry;
        image->plan.executable_stack = wants_executable_stack(&e);
    }
    free(e.program);
    return r == 1 ? load_interpreter(image, t, name) : r;
}
