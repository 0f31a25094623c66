// SPDX-License-Identifier: Apache-2.0
#include "kernel/boot/trace.h"

#include "kernel/boot/control.h"
#include "kernel/proc/process.h"
#include "kernel/sys/table.h"
#include "lib/base/buf.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>

/* The longest line, of two paths and four characters a byte, fits on top of that. */
#define FLUSH_BYTES    16384
#define PATIENCE_MS    1000
#define TEXT_SHOWN_MAX 64

static struct buf lines = {.max_bytes = 65000};
static uint64_t missing; /* calls that were not recorded */
static bool is_behind;   /* the starter did not read in time */

/*
 * How the arguments of a call are shown, a letter each: d descriptor or int, D directory
 * descriptor, u unsigned, x hexadecimal, o octal, p path, s buffer whose size is the next argument
 * (shown for calls that write), a address, O open flags, P protection, M mapping flags, S signal.
 * Calls that are not here are shown with hexadecimal words.
 */
static const struct {
    short nr;
    const char *format;
} formats[] = {
    {0, "dau"},     {1, "dsu"},     {2, "pOo"},    {3, "d"},        {4, "pa"},      {5, "da"},
    {6, "pa"},      {7, "aud"},     {8, "ddd"},    {9, "auPMdx"},   {13, "Saau"},   {14, "daau"},
    {15, "a"},      {16, "dxa"},    {17, "dauu"},  {18, "dsuu"},    {19, "dau"},    {20, "dau"},
    {21, "po"},     {22, "a"},      {23, "daaaa"}, {32, "d"},       {33, "dd"},     {34, ""},
    {37, "u"},      {39, ""},       {40, "ddau"},  {41, "ddd"},     {42, "dau"},    {43, "daa"},
    {44, "dsuxau"}, {45, "dauxaa"}, {46, "dax"},   {47, "dax"},     {48, "dd"},     {49, "dau"},
    {50, "dd"},     {53, "ddda"},   {54, "dddau"}, {55, "dddaa"},   {56, "xaaaa"},  {57, ""},
    {58, ""},       {59, "paa"},    {60, "d"},     {61, "daxa"},    {62, "dS"},     {72, "dda"},
    {73, "dx"},     {74, "d"},      {76, "pu"},    {77, "du"},      {79, "au"},     {80, "p"},
    {81, "d"},      {82, "pp"},     {83, "po"},    {84, "p"},       {85, "po"},     {86, "pp"},
    {87, "p"},      {88, "pp"},     {89, "pau"},   {90, "po"},      {92, "pdd"},    {95, "o"},
    {102, ""},      {104, ""},      {105, "d"},    {106, "d"},      {107, ""},      {108, ""},
    {109, "dd"},    {110, ""},      {111, ""},     {112, ""},       {137, "pa"},    {157, "daaaa"},
    {217, "dau"},   {231, "d"},     {232, "dadd"}, {233, "ddda"},   {234, "ddS"},   {247, "ddaxa"},
    {254, "dpx"},   {257, "DpOo"},  {258, "Dpo"},  {260, "Dpddx"},  {262, "Dpax"},  {263, "Dpx"},
    {264, "DpDp"},  {265, "DpDpx"}, {266, "pDp"},  {267, "Dpau"},   {268, "Dpo"},   {269, "Dpo"},
    {271, "auaau"}, {273, "au"},    {280, "Dpax"}, {281, "daddau"}, {283, "dx"},    {284, "u"},
    {288, "daax"},  {290, "ux"},    {291, "x"},    {292, "ddO"},    {293, "aO"},    {302, "ddaa"},
    {316, "DpDpx"}, {318, "aux"},   {319, "px"},   {322, "Dpaax"},  {332, "Dpxxa"}, {334, "aux"},
    {434, "dx"},    {436, "uux"},   {437, "Dpau"}, {439, "Dpox"},
};

struct flag {
    unsigned value;
    const char *name;
};

static const struct flag open_flags[] = {
    {O_CREAT, "O_CREAT"},         {O_EXCL, "O_EXCL"},         {O_NOCTTY, "O_NOCTTY"},
    {O_TRUNC, "O_TRUNC"},         {O_APPEND, "O_APPEND"},     {O_NONBLOCK, "O_NONBLOCK"},
    {O_CLOEXEC, "O_CLOEXEC"},     {O_NOFOLLOW, "O_NOFOLLOW"}, {O_TMPFILE, "O_TMPFILE"},
    {O_DIRECTORY, "O_DIRECTORY"}, {O_PATH, "O_PATH"},
};

static const struct flag protections[] = {
    {PROT_READ, "PROT_READ"}, {PROT_WRITE, "PROT_WRITE"}, {PROT_EXEC, "PROT_EXEC"}};

static const struct flag mapping_flags[] = {
    {MAP_SHARED, "MAP_SHARED"},       {MAP_PRIVATE, "MAP_PRIVATE"},
    {MAP_FIXED, "MAP_FIXED"},         {MAP_FIXED_NOREPLACE, "MAP_FIXED_NOREPLACE"},
    {MAP_ANONYMOUS, "MAP_ANONYMOUS"}, {MAP_DENYWRITE, "MAP_DENYWRITE"},
    {MAP_STACK, "MAP_STACK"},         {MAP_NORESERVE, "MAP_NORESERVE"},
};

static void show_flags(unsigned value, const struct flag *flags, size_t count, const char *first)
{
    const char *separator = first ? "|" : "";
    if (first)
        buf_append_str(&lines, first);
    for (size_t i = 0; i < count; i++) {
        if ((value & flags[i].value) != flags[i].value)
            continue;
        value &= ~flags[i].value;
        buf_printf(&lines, "%s%s", separator, flags[i].name);
        separator = "|";
    }
    if (value || !*separator)
        buf_printf(&lines, "%s%#x", separator, value);
}

static void show_open_flags(unsigned value)
{
    static const char *const modes[] = {"O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE"};
    show_flags(value & ~(unsigned)O_ACCMODE, open_flags, ARRAY_SIZE(open_flags),
               modes[value & O_ACCMODE]);
}

/* Bytes of a stranger: everything but printable ASCII is escaped. */
static void show_bytes(const char *data, size_t size, bool cut)
{
    buf_append_str(&lines, "\"");
    for (size_t i = 0; i < size; i++) {
        unsigned char ch = (unsigned char)data[i];
        if (ch == '\n')
            buf_append_str(&lines, "\\n");
        else if (ch == '"' || ch == '\\')
            buf_printf(&lines, "\\%c", ch);
        else if (isprint(ch))
            buf_printf(&lines, "%c", ch);
        else
            buf_printf(&lines, "\\x%02x", ch);
    }
    buf_append_str(&lines, cut ? "\"..." : "\"");
}

static void show_path(const struct call *c, int i)
{
    char path[GUEST_PATH_MAX];
    ssize_t n = guest_read_string(c->memory, path, call_addr(c, i), sizeof(path));
    if (n < 0)
        buf_printf(&lines, "%#lx", c->arg[i]);
    else
        show_bytes(path, (size_t)n, false);
}

static void show_buffer(const struct call *c, int i)
{
    char data[TEXT_SHOWN_MAX];
    size_t size = MIN(c->arg[i + 1], (uint64_t)sizeof(data));
    if (guest_read(c->memory, data, call_addr(c, i), size) < 0)
        buf_printf(&lines, "%#lx", c->arg[i]);
    else
        show_bytes(data, size, c->arg[i + 1] > size);
}

static void show_argument(const struct call *c, int i, char kind)
{
    switch (kind) {
    case 'd':
        buf_printf(&lines, "%d", call_int(c, i));
        break;
    case 'D':
        if (call_int(c, i) == AT_FDCWD)
            buf_append_str(&lines, "AT_FDCWD");
        else
            buf_printf(&lines, "%d", call_int(c, i));
        break;
    case 'u':
        buf_printf(&lines, "%lu", c->arg[i]);
        break;
    case 'o':
        buf_printf(&lines, "%#o", call_uint(c, i));
        break;
    case 'p':
        show_path(c, i);
        break;
    case 's':
        show_buffer(c, i);
        break;
    case 'O':
        show_open_flags(call_uint(c, i));
        break;
    case 'P':
        show_flags(call_uint(c, i), protections, ARRAY_SIZE(protections),
                   call_uint(c, i) ? NULL : "PROT_NONE");
        break;
    case 'M':
        show_flags(call_uint(c, i), mapping_flags, ARRAY_SIZE(mapping_flags), NULL);
        break;
    case 'S':
        if (call_int(c, i) > 0 && call_int(c, i) < 32)
            buf_printf(&lines, "SIG%s", sigabbrev_np(call_int(c, i)));
        else
            buf_printf(&lines, "%d", call_int(c, i));
        break;
    default:
        buf_printf(&lines, "%#lx", c->arg[i]);
    }
}

static const char *format_of(int nr)
{
    for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
        if (formats[i].nr == nr)
            return formats[i].format;
    return "xxxxxx";
}

static void show_result(long result)
{
    if (result == CALL_HOST)
        buf_append_str(&lines, "host");
    else if (result == CALL_DROP)
        buf_append_str(&lines, "dropped");
    else if (result == -ERESTARTSYS)
        buf_append_str(&lines, "restarts");
    else if (result < 0 && result >= -4095)
        buf_printf(&lines, "-1 %s (%s)",
                   strerrorname_np((int)-result) ? strerrorname_np((int)-result) : "?",
                   strerror((int)-result));
    else if (result > 0xffff)
        buf_printf(&lines, "%#lx", result);
    else
        buf_printf(&lines, "%ld", result);
}

void trace_call(const struct call *c, long result)
{
    const struct thread *t = c->thread;
    const char *format = format_of(c->nr);
    if (lines.size > FLUSH_BYTES)
        trace_flush();
    if (lines.size > FLUSH_BYTES) {
        missing++;
        return;
    }
    buf_printf(&lines, "%d %s(", t->tid, syscall_row(c->nr)->name);
    for (int i = 0; i < 6 && format[i]; i++) {
        if (i)
            buf_append_str(&lines, ", ");
        show_argument(c, i, format[i]);
    }
    buf_append_str(&lines, ") = ");
    show_result(result);
    buf_printf(&lines, " <%.6f>\n",
               (double)(clock_monotonic_ns() - c->started_ns) / (double)NSEC_PER_SEC);
}

static void show_missing(void)
{
    if (missing > 0)
        buf_printf(&lines, "(%" PRIu64 " calls are missing here: nobody read the trace)\n",
                   missing);
    missing = 0;
}

void trace_flush(void)
{
    if (lines.size == 0)
        return;
    is_behind = !control_offer_trace(lines.data, lines.size, is_behind ? 0 : PATIENCE_MS);
    if (is_behind)
        return;
    buf_reset(&lines);
    show_missing();
}

void trace_finish(void)
{
    show_missing();
    if (lines.size > 0)
        control_send(CONTROL_TRACE, 0, lines.data, lines.size);
    buf_reset(&lines);
}
