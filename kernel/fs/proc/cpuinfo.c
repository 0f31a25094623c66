// SPDX-License-Identifier: Apache-2.0
/*
 * /proc/cpuinfo: as many processors as the sandbox has, of the host's model. Model and flags are
 * what the CPUID instruction tells any program anyway; numbers, topology and speed are the
 * sandbox's own.
 *
 * host calls: read
 */
#include "kernel/fs/proc/proc.h"

#include "kernel/core/kernel.h"

#define HOST_CPUINFO_MAX_BYTES (4u * 1024 * 1024)

/* One processor's lines. */
static struct {
    bool known;
    char vendor_id[32], model_name[128], flags[4096], bugs[512], address_sizes[64];
    uint64_t family, model, stepping, cpuid_level, clflush_size, cache_alignment, cache_kib;
    char bogomips[32], mhz[32];
} cpu;

static struct hostfd source = {-1};

void proc_set_host_cpuinfo(struct hostfd file)
{
    source = file;
}

/* Keeps a decimal fraction; anything else becomes "0.000". */
static void check_fraction(char *text)
{
    size_t digits = strspn(text, "0123456789.");
    if (!digits || text[digits])
        strcpy(text, "0.000");
}

static void parse(const char *text, size_t size)
{
    /* The first processor's block only. */
    const char *block_end = memmem(text, size, "\n\n", 2);
    if (block_end)
        size = (size_t)(block_end - text) + 1;
    memset(&cpu, 0, sizeof(cpu));
    host_key_text(text, size, "vendor_id", cpu.vendor_id, sizeof(cpu.vendor_id));
    host_key_text(text, size, "model name", cpu.model_name, sizeof(cpu.model_name));
    host_key_text(text, size, "flags", cpu.flags, sizeof(cpu.flags));
    host_key_text(text, size, "bugs", cpu.bugs, sizeof(cpu.bugs));
    host_key_text(text, size, "address sizes", cpu.address_sizes, sizeof(cpu.address_sizes));
    host_key_text(text, size, "bogomips", cpu.bogomips, sizeof(cpu.bogomips));
    host_key_text(text, size, "cpu MHz", cpu.mhz, sizeof(cpu.mhz));
    host_key_number(text, size, "cpu family", &cpu.family);
    host_key_number(text, size, "model", &cpu.model);
    host_key_number(text, size, "stepping", &cpu.stepping);
    host_key_number(text, size, "cpuid level", &cpu.cpuid_level);
    host_key_number(text, size, "clflush size", &cpu.clflush_size);
    host_key_number(text, size, "cache_alignment", &cpu.cache_alignment);
    char cache[32] = "";
    host_key_text(text, size, "cache size", cache, sizeof(cache));
    cpu.cache_kib = strtoull(cache, NULL, 10);
    check_fraction(cpu.bogomips);
    check_fraction(cpu.mhz);
    cpu.known = true;
}

static size_t read_source(char *text, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = read(source.n, text + done, size - done);
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    return done;
}

static void learn(void)
{
    _cleanup_free_ char *text = malloc(HOST_CPUINFO_MAX_BYTES);
    size_t size = text && hostfd_is_open(source) ? read_source(text, HOST_CPUINFO_MAX_BYTES) : 0;
    parse(size > 0 ? text : "", size);
    hostfd_close(&source);
}

int proc_show_cpuinfo(const struct pseudo_node *n, struct buf *b)
{
    int count = MAX(kernel.config.cpu_count, 1);
    if (!cpu.known)
        learn();
    for (int i = 0; i < count; i++) {
        buf_printf(b,
                   "processor\t: %d\nvendor_id\t: %s\ncpu family\t: %lu\nmodel\t\t: %lu\n"
                   "model name\t: %s\nstepping\t: %lu\ncpu MHz\t\t: %s\n"
                   "cache size\t: %lu KB\nphysical id\t: 0\nsiblings\t: %d\ncore id\t\t: %d\n"
                   "cpu cores\t: %d\napicid\t\t: %d\ninitial apicid\t: %d\n",
                   i, cpu.vendor_id, cpu.family, cpu.model, cpu.model_name, cpu.stepping, cpu.mhz,
                   cpu.cache_kib, count, i, count, i, i);
        buf_printf(b,
                   "fpu\t\t: yes\nfpu_exception\t: yes\ncpuid level\t: %lu\nwp\t\t: yes\n"
                   "flags\t\t: %s\nbugs\t\t: %s\nbogomips\t: %s\nclflush size\t: %lu\n"
                   "cache_alignment\t: %lu\naddress sizes\t: %s\npower management:\n\n",
                   cpu.cpuid_level, cpu.flags, cpu.bugs, cpu.bogomips, cpu.clflush_size,
                   cpu.cache_alignment, cpu.address_sizes);
    }
    return 0;
}
