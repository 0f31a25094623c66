// SPDX-License-Identifier: Apache-2.0
/*
 * /proc/PID/{maps,smaps,smaps_rollup}: the host's text, parsed line by line, and written anew with
 * the guest's names. What the loader stub occupies is left out; a mapping that reaches over its
 * edge (the host merges neighbours without a file) is cut there.
 *
 * maps and smaps may have tens of thousands of mappings, so they are made a part at a time, from
 * the host's file, which stays open from part to part. A limited number is open at once. Who finds
 * none free waits until a listing ends or has rested for a while; of one that rests the file is
 * closed, and it goes on behind the last address that it gave, which costs reading all that is
 * before.
 *
 * host calls: read
 */
#include "kernel/fs/proc/proc.h"

#include "kernel/host/host.h"
#include "kernel/proc/space.h"
#include "lib/base/map.h"

#include <stdio.h>
#include <sys/sysmacros.h>

#define ROLLUP_MAX_BYTES 16384u
/*
 * A part of the host's text. It hands out whole records as far as the room is larger than its own
 * memory, which has grown with the longest path: a mounted folder's may be deep. A record of more
 * than ROOM_MAX_BYTES ends the listing with EIO.
 */
#define PART_BYTES     32768
#define ROOM_BYTES     24576
#define ROOM_MAX_BYTES (1u << 20)
#define OPEN_MAX       64
#define REST_NS        (200 * NSEC_PER_MSEC)

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

/* ---- reading in parts ---- */

struct maps_state {
    struct hostfd fd;
    struct list open_link; /* open_states, longest unused first */
    int64_t used_ns;       /* when the last part was read */
    uint64_t used, asked;  /* by `looks`: that part; a look for a file in vain, or 0 */
    uint64_t next;         /* mappings that begin below have been given */
};

static struct list open_states = {&open_states, &open_states};
static unsigned open_count;
static uint64_t looks;

static void close_state(struct maps_state *s)
{
    if (!hostfd_is_open(s->fd))
        return;
    hostfd_close(&s->fd);
    list_remove(&s->open_link);
    open_count--;
}

/*
 * Makes room for s. A listing that a call is about, and that has a file, is looked at in every
 * round of the main loop, so one that was not between two of s is in no call: only such a one may
 * lose its file, else many calls could keep each other from their end. That it rested for a moment
 * is only for its cost. Who can't wait takes the newest. 0 or READ_WAITS.
 */
static int close_one(struct maps_state *s, bool can_wait)
{
    struct maps_state *eldest = list_first(&open_states, struct maps_state, open_link);
    if (!can_wait)
        eldest = container_of(open_states.prev, struct maps_state, open_link);
    else if (s->asked == 0 || eldest->used >= s->asked ||
             eldest->used_ns > clock_monotonic_ns() - REST_NS) {
        s->asked = looks;
        return READ_WAITS;
    }
    close_state(eldest);
    return 0;
}

void proc_forget_maps(void *state)
{
    close_state(state);
    free(state);
}

static struct maps_state *state_of(void **state)
{
    struct maps_state *s = *state;
    if (s)
        return s;
    s = malloc(sizeof(*s));
    if (!s)
        return NULL;
    s->fd = HOSTFD_NONE;
    s->next = s->asked = 0;
    list_init(&s->open_link);
    return *state = s;
}

static int open_state(const struct pseudo_node *n, const char *file, struct maps_state *s,
                      bool can_wait)
{
    char name[64];
    looks++;
    if (hostfd_is_open(s->fd))
        return 0;
    int r = proc_host_name(n, file, name);
    if (r < 0)
        return r;
    if (open_count == OPEN_MAX && (r = close_one(s, can_wait)) < 0)
        return r;
    while ((r = host->open_proc(name, &s->fd)) == -EMFILE && open_count > 0)
        if ((r = close_one(s, can_wait)) < 0)
            return r;
    if (r < 0)
        return r == -ENOENT ? -ESRCH : r;
    s->asked = 0;
    list_append(&open_states, &s->open_link);
    open_count++;
    return 0;
}

/* Into part: fewer than PART_BYTES at the end of the host's text. 0 or -errno. */
static int read_part(struct maps_state *s, struct buf *part)
{
    size_t room = ROOM_BYTES;
    s->used_ns = clock_monotonic_ns();
    s->used = looks;
    list_remove(&s->open_link);
    list_append(&open_states, &s->open_link);
    for (bool is_cut = false; part->size < PART_BYTES || is_cut;) {
        char *at = buf_room(part, room);
        if (!at)
            return room > ROOM_BYTES ? -EIO : -ENOMEM;
        ssize_t n = read(s->fd.n, at, room);
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        buf_extend(part, (size_t)n);
        /* A full room may end within a record; its end is in the next, the larger the likelier. */
        is_cut = (size_t)n == room;
        if (is_cut)
            room *= 2;
    }
    return 0;
}

static int copy_smaps_lines(const char **at, const char *end, struct buf *b);

/* Writes what the guest is shown of part. 0 or -EIO. */
static int write_part(const struct address_space *space, struct maps_state *s,
                      const struct buf *part, bool is_smaps, struct buf *b)
{
    struct shown shown = {.name = BUF_INIT(GUEST_PATH_MAX)};
    struct host_map m, parts[2];
    const char *at = part->data, *end = at + part->size;
    int r;
    while ((r = host_map_next(&at, end, &m)) > 0) {
        size_t count = m.start < s->next ? 0 : cut_stub(space, &m, parts);
        s->next = MAX(s->next, m.end);
        /* Of one that the stub cuts in two, the numbers stand behind the first half. */
        for (size_t i = 0; i < (is_smaps ? MIN(count, (size_t)1) : count); i++)
            append_map_line(b, space, &parts[i], &shown);
        if (is_smaps && (r = copy_smaps_lines(&at, end, count > 0 ? b : NULL)) < 0)
            break;
    }
    buf_done(&shown.name);
    return r < 0 ? -EIO : 0;
}

static int more_of_part(const struct address_space *space, struct maps_state *s, bool is_smaps,
                        struct buf *part, struct buf *b)
{
    int r = read_part(s, part);
    if (r == 0 && part->size > 0)
        r = write_part(space, s, part, is_smaps, b);
    if (r < 0 || part->size >= PART_BYTES)
        return r < 0 ? r : 1;
    close_state(s);
    return 0;
}

static int more(const struct pseudo_node *n, const char *file, void **state, bool can_wait,
                struct buf *b)
{
    struct buf part = BUF_INIT(PART_BYTES + 2 * ROOM_MAX_BYTES);
    int r = proc_check_access(n);
    if (r < 0)
        return r;
    const struct address_space *space = proc_space(n);
    if (!space) /* of a zombie there are none */
        return 0;
    struct maps_state *s = state_of(state);
    if (!s)
        return -ENOMEM;
    r = open_state(n, file, s, can_wait);
    if (r == 0)
        r = more_of_part(space, s, file[0] == 's', &part, b);
    buf_done(&part);
    return r;
}

int proc_more_maps(const struct pseudo_node *n, void **state, bool can_wait, struct buf *b)
{
    return more(n, "maps", state, can_wait, b);
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

int proc_more_smaps(const struct pseudo_node *n, void **state, bool can_wait, struct buf *b)
{
    return more(n, "smaps", state, can_wait, b);
}

int proc_show_smaps_rollup(const struct pseudo_node *n, struct buf *b)
{
    _cleanup_free_ char *text = NULL;
    int r = proc_check_access(n);
    if (r < 0 || !proc_space(n))
        return r;
    ssize_t size = proc_read_host(n, "smaps_rollup", ROLLUP_MAX_BYTES, &text);
    if (size <= 0)
        return (int)size;
    const struct address_space *space = proc_space(n);
    const char *at = text, *end = text + size;
    struct shown shown = {.name = BUF_INIT(GUEST_PATH_MAX)};
    struct host_map m;
    /* It begins with the first and ends with the last address: never the stub's. */
    while ((r = host_map_next(&at, end, &m)) > 0) {
        append_map_line(b, space, &m, &shown);
        r = copy_smaps_lines(&at, end, b);
        if (r < 0)
            break;
    }
    buf_done(&shown.name);
    return r < 0 ? -EIO : 0;
}
