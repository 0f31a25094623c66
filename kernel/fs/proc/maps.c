// SPDX-License-Identifier: Apache-2.0
/*
 * /proc/PID/{maps,smaps,smaps_rollup}: the host's text, parsed line by line, and written anew with
 * the guest's names. What the loader stub occupies is left out; a mapping that reaches over its
 * edge (the host merges neighbours without a file) is cut there.
 */
#include "kernel/fs/proc/proc.h"

#include "kernel/proc/space.h"
#include "lib/base/map.h"

#include <stdio.h>
#include <sys/sysmacros.h>

#define HOST_MAPS_MAX_BYTES (16u * 1024 * 1024)

/* Linux pads names to this column. */
#define NAME_COLUMN 73

/* A number in place of the host's: the same for the same object, and of no use for anything else.
 */
static uint64_t stand_in_ino(uint64_t host_ino)
{
    return map_hash_bytes(&host_ino, sizeof(host_ino)) & 0xffffff;
}

static const char *fixed_name(enum host_map_kind kind)
{
    switch (kind) {
    case HOST_MAP_HEAP:
        return "[heap]";
    case HOST_MAP_STACK:
        return "[stack]";
    case HOST_MAP_VDSO:
        return "[vdso]";
    case HOST_MAP_VVAR:
        return "[vvar]";
    case HOST_MAP_VVAR_VCLOCK:
        return "[vvar_vclock]";
    case HOST_MAP_VSYSCALL:
        return "[vsyscall]";
    case HOST_MAP_ROLLUP:
        return "[rollup]";
    case HOST_MAP_ZERO:
        return "/dev/zero (deleted)";
    default:
        return "";
    }
}

/* What a guest is shown of the object behind a mapping. */
struct shown {
    uint64_t offset, ino;
    unsigned major, minor;
    struct buf name; /* its memory is used again from line to line */
};

static void describe(const struct address_space *space, const struct host_map *m, struct shown *s)
{
    const struct mapped_file *file =
        m->kind == HOST_MAP_FILE ? map_get(&space->mapped_files, m->inode) : NULL;
    buf_reset(&s->name);
    s->offset = s->ino = s->major = s->minor = 0;
    if (file) {
        s->offset = m->offset;
        s->ino = file->inode->ino;
        s->major = major(file->inode->super->dev);
        s->minor = minor(file->inode->super->dev);
        if (file->path.dentry)
            proc_append_path(&s->name, file->path);
        return;
    }
    if (m->kind == HOST_MAP_SYSV || m->kind == HOST_MAP_ZERO) {
        s->offset = m->offset;
        s->ino = stand_in_ino(m->inode);
        s->minor = 1;
    }
    if (m->kind == HOST_MAP_SYSV)
        buf_printf(&s->name, "/SYSV%08x (deleted)", m->sysv_key);
    else
        buf_append_str(&s->name, fixed_name(m->kind));
}

static void append_map_line(struct buf *b, const struct address_space *space,
                            const struct host_map *m, struct shown *s)
{
    char line[160];
    describe(space, m, s);
    int length = snprintf(line, sizeof(line), "%08lx-%08lx %s %08lx %02x:%02x %lu ", m->start,
                          m->end, m->permissions, s->offset, s->major, s->minor, s->ino);
    if (s->name.size && length < NAME_COLUMN) {
        memset(line + length, ' ', (size_t)(NAME_COLUMN - length));
        length = NAME_COLUMN;
    }
    buf_append(b, line, (size_t)length);
    const char *name = s->name.size ? s->name.data : "";
    for (size_t plain; *name; name += plain) {
        plain = strcspn(name, "\n");
        buf_append(b, name, plain);
        if (name[plain]) {
            buf_append_str(b, "\\012");
            plain++;
        }
    }
    buf_append(b, "\n", 1);
}

/* The parts of m outside of the stub's range: up to two, fewer if it lies inside. */
static size_t cut_stub(const struct address_space *space, const struct host_map *m,
                       struct host_map ret[2])
{
    size_t count = 0;
    if (m->end <= space->stub_start || m->start >= space->stub_end) {
        ret[count++] = *m;
        return count;
    }
    if (m->start < space->stub_start) {
        ret[count] = *m;
        ret[count++].end = space->stub_start;
    }
    if (m->end > space->stub_end) {
        ret[count] = *m;
        ret[count].offset += m->kind == HOST_MAP_FILE ? space->stub_end - m->start : 0;
        ret[count++].start = space->stub_end;
    }
    return count;
}

/* The host's text of file; 0 and an empty text for a zombie. */
static ssize_t read_host_maps(const struct pseudo_node *n, const char *file, char **ret_text)
{
    int r = proc_check_access(n);
    if (r < 0)
        return r;
    return proc_space(n) ? proc_read_host(n, file, HOST_MAPS_MAX_BYTES, ret_text) : 0;
}

int proc_show_maps(const struct pseudo_node *n, struct buf *b)
{
    _cleanup_free_ char *text = NULL;
    ssize_t size = read_host_maps(n, "maps", &text);
    if (size <= 0)
        return (int)size;
    const struct address_space *space = proc_space(n);
    const char *at = text, *end = text + size;
    struct shown shown = {.name = BUF_INIT(GUEST_PATH_MAX)};
    struct host_map m, parts[2];
    int r;
    while ((r = host_map_next(&at, end, &m)) > 0) {
        size_t count = cut_stub(space, &m, parts);
        for (size_t i = 0; i < count; i++)
            append_map_line(b, space, &parts[i], &shown);
    }
    buf_done(&shown.name);
    return r < 0 ? -EIO : 0;
}

/* Takes the lines behind a mapping; writes them if they are to be shown. */
static int copy_smaps_lines(const char **at, const char *end, struct buf *b)
{
    struct host_smaps_line l;
    int r;
    while ((r = host_smaps_next(at, end, &l)) > 0) {
        if (!b || !l.key)
            continue;
        size_t line_start = b->size;
        buf_printf(b, "%s:", l.key);
        if (*l.flags)
            buf_printf(b, " %s\n", l.flags);
        else if (l.is_kib)
            buf_printf(b, "%*lu kB\n", (int)(24 - (b->size - line_start)), l.value);
        else
            buf_printf(b, "%*lu\n", (int)(24 - (b->size - line_start)), l.value);
    }
    return r == -ENOENT ? 0 : r;
}

static int show_smaps_of(const struct pseudo_node *n, const char *file, struct buf *b)
{
    _cleanup_free_ char *text = NULL;
    ssize_t size = read_host_maps(n, file, &text);
    if (size <= 0)
        return (int)size;
    const struct address_space *space = proc_space(n);
    const char *at = text, *end = text + size;
    struct shown shown = {.name = BUF_INIT(GUEST_PATH_MAX)};
    struct host_map m, parts[2];
    int r;
    while ((r = host_map_next(&at, end, &m)) > 0) {
        /* The sum over all begins with the first and ends with the last address: never the stub's.
         */
        bool is_shown = m.kind == HOST_MAP_ROLLUP || cut_stub(space, &m, parts) > 0;
        if (is_shown)
            append_map_line(b, space, m.kind == HOST_MAP_ROLLUP ? &m : &parts[0], &shown);
        r = copy_smaps_lines(&at, end, is_shown ? b : NULL);
        if (r < 0)
            break;
    }
    buf_done(&shown.name);
    return r < 0 ? -EIO : 0;
}

int proc_show_smaps(const struct pseudo_node *n, struct buf *b)
{
    return show_smaps_of(n, "smaps", b);
}

int proc_show_smaps_rollup(const struct pseudo_node *n, struct buf *b)
{
    return show_smaps_of(n, "smaps_rollup", b);
}
