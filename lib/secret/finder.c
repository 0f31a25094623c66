// SPDX-License-Identifier: Apache-2.0
/*
 * A trie of the needles whose nodes are numbered breadth first, so that the children of a node are
 * neighbours, in the order of their bytes. A node's fail is the longest other node that is an end
 * of it.
 *
 * The window of a stream is what its node spells: the last `depth` bytes. All before it is decided.
 * A step to a node that is less deep than it could be moves the window on, and what falls out at
 * its front is put out: the needle has those bytes.
 */
#include "lib/secret/finder.h"

#include "lib/secret/pages.h"

#define ROOT 0u

struct node {
    uint32_t children; /* the first one */
    uint32_t fail;
    uint32_t needle; /* one that begins with what the node spells */
    uint32_t found;  /* 1 + the longest needle that ends here; 0: none */
    uint16_t child_count, depth;
    unsigned char byte; /* the last of what it spells */
};

struct needle {
    uint64_t tag;  /* its own, as a bit */
    uint64_t tags; /* those of all needles that end with it */
    uint32_t offset, size;
};

/* One piece of memory: the nodes, needles and bytes are behind it. */
struct finder {
    size_t memory_bytes;
    uint32_t node_count, needle_count;
    uint32_t longest; /* needle, bytes */
    struct node *nodes;
    struct needle *needles;
    unsigned char *bytes;
    uint32_t roots[256];            /* the root's children by byte; ROOT: none */
    uint32_t pairs[256 * 256 / 32]; /* bits: two bytes that a needle begins with, or the first
                                     * of them is one */
};

/* The needles sorted, and of each node to come those that begin with what it spells. */
struct plan {
    const struct finder_needle *given;
    uint32_t *order;
    struct span {
        uint32_t first, end;
    } * spans;
};

static int compare(const void *a, const void *b, void *context)
{
    const struct plan *plan = context;
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    const struct finder_bytes *x = &plan->given[i].bytes, *y = &plan->given[k].bytes;
    int order = memcmp(x->data, y->data, MIN(x->size, y->size));
    if (order == 0)
        order = (x->size > y->size) - (x->size < y->size);
    return order ? order : (i > k) - (i < k);
}

static size_t common_bytes(const struct finder_bytes *a, const struct finder_bytes *b)
{
    const unsigned char *x = a->data, *y = b->data;
    size_t n = 0;
    while (n < a->size && n < b->size && x[n] == y[n])
        n++;
    return n;
}

static size_t count_nodes(const struct plan *plan, size_t count)
{
    size_t nodes = 1;
    for (size_t i = 0; i < count; i++) {
        const struct finder_bytes *bytes = &plan->given[plan->order[i]].bytes;
        nodes +=
            bytes->size - (i ? common_bytes(bytes, &plan->given[plan->order[i - 1]].bytes) : 0);
    }
    return nodes;
}

static const unsigned char *spelled(const struct finder *f, const struct node *n)
{
    return f->bytes + f->needles[n->needle].offset;
}

static uint32_t find_child(const struct finder *f, const struct node *n, unsigned char byte)
{
    uint32_t low = n->children, high = low + n->child_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (f->nodes[middle].byte == byte)
            return middle;
        if (f->nodes[middle].byte < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return ROOT;
}

static uint32_t step(const struct finder *f, uint32_t node, unsigned char byte)
{
    while (node != ROOT) {
        uint32_t child = find_child(f, &f->nodes[node], byte);
        if (child != ROOT)
            return child;
        node = f->nodes[node].fail;
    }
    return f->roots[byte];
}

/* Links a node that its parent has made; all that are less deep are linked. */
static void link_node(struct finder *f, struct plan *plan, uint32_t number, uint32_t parent)
{
    struct node *n = &f->nodes[number];
    n->fail = parent == ROOT ? ROOT : step(f, f->nodes[parent].fail, n->byte);
    n->found = f->nodes[n->fail].found;
    struct span *span = &plan->spans[number];
    if (f->needles[n->needle].size != n->depth)
        return;
    struct needle *own = &f->needles[n->needle];
    own->tags = n->found ? f->needles[n->found - 1].tags : 0;
    n->found = n->needle + 1;
    /* Its equals stand beside it, in the order in which they were given. */
    for (; span->first < span->end; span->first++) {
        struct needle *equal = &f->needles[plan->order[span->first]];
        if (equal->size != n->depth)
            break;
        own->tags |= equal->tag;
    }
}

static void note_pair(struct finder *f, unsigned char first, unsigned char second)
{
    unsigned pair = (unsigned)first << 8 | second;
    f->pairs[pair / 32] |= 1u << pair % 32;
}

static bool has_pair(const struct finder *f, unsigned char first, unsigned char second)
{
    unsigned pair = (unsigned)first << 8 | second;
    return f->pairs[pair / 32] >> pair % 32 & 1;
}

static void make_pairs(struct finder *f)
{
    for (uint32_t i = 0; i < f->needle_count; i++) {
        const unsigned char *bytes = f->bytes + f->needles[i].offset;
        if (f->needles[i].size > 1)
            note_pair(f, bytes[0], bytes[1]);
        for (unsigned c = 0; f->needles[i].size == 1 && c < 256; c++)
            note_pair(f, bytes[0], (unsigned char)c);
    }
}

static void make_children(struct finder *f, struct plan *plan, uint32_t number)
{
    struct node *n = &f->nodes[number];
    struct span span = plan->spans[number];
    n->children = f->node_count;
    while (span.first < span.end) {
        uint32_t needle = plan->order[span.first];
        unsigned char byte = f->bytes[f->needles[needle].offset + n->depth];
        uint32_t child = f->node_count++, end = span.first;
        while (end < span.end && f->bytes[f->needles[plan->order[end]].offset + n->depth] == byte)
            end++;
        f->nodes[child] =
            (struct node){.needle = needle, .depth = (uint16_t)(n->depth + 1), .byte = byte};
        plan->spans[child] = (struct span){span.first, end};
        span.first = end;
        n->child_count++;
        if (number == ROOT)
            f->roots[byte] = child;
    }
}

static void build(struct finder *f, struct plan *plan)
{
    f->node_count = 1;
    plan->spans[ROOT] = (struct span){0, f->needle_count};
    /* A node's fail is less deep than itself, so it has its children before they are asked for. */
    for (uint32_t i = 0; i < f->node_count; i++) {
        struct node *n = &f->nodes[i];
        make_children(f, plan, i);
        for (uint32_t k = 0; k < n->child_count; k++)
            link_node(f, plan, n->children + k, i);
    }
}

/*
 * Lays it out and copies the needles; there is an empty one behind them, since the root names a
 * needle even where there is none. NULL: no memory.
 */
static struct finder *allocate(const struct plan *plan, size_t count, size_t total, size_t nodes)
{
    size_t needles_at = sizeof(struct finder),
           nodes_at = needles_at + (count + 1) * sizeof(struct needle);
    size_t bytes_at = nodes_at + nodes * sizeof(struct node);
    struct finder *f = secret_memory_new(bytes_at + total);
    if (!f)
        return NULL;
    f->memory_bytes = bytes_at + total;
    f->needles = (struct needle *)((char *)f + needles_at);
    f->nodes = (struct node *)((char *)f + nodes_at);
    f->bytes = (unsigned char *)f + bytes_at;
    f->needle_count = (uint32_t)count;
    uint32_t offset = 0;
    for (size_t i = 0; i < count; i++) {
        const struct finder_needle *given = &plan->given[i];
        f->needles[i] = (struct needle){.tag = UINT64_C(1) << given->tag,
                                        .offset = offset,
                                        .size = (uint32_t)given->bytes.size};
        memcpy(f->bytes + offset, given->bytes.data, given->bytes.size);
        offset += (uint32_t)given->bytes.size;
        f->longest = MAX(f->longest, f->needles[i].size);
    }
    return f;
}

int finder_new(const struct finder_needle *needles, size_t count, struct finder **ret)
{
    size_t total = 0;
    if (count > FINDER_NEEDLES_MAX)
        return -EINVAL;
    for (size_t i = 0; i < count; i++) {
        size_t size = needles[i].bytes.size;
        if (size == 0 || size > FINDER_NEEDLE_MAX_BYTES || needles[i].tag >= FINDER_TAGS)
            return -EINVAL;
        total += size;
    }
    if (total > FINDER_TOTAL_MAX_BYTES)
        return -EINVAL;
    _cleanup_free_ uint32_t *order = calloc(count + 1, sizeof(*order));
    if (!order)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    struct plan plan = {.given = needles, .order = order};
    qsort_r(order, count, sizeof(*order), compare, &plan);
    size_t nodes = count_nodes(&plan, count);
    _cleanup_free_ struct span *spans = calloc(nodes, sizeof(*spans));
    struct finder *f = spans ? allocate(&plan, count, total, nodes) : NULL;
    if (!f)
        return -ENOMEM;
    plan.spans = spans;
    build(f, &plan);
    make_pairs(f);
    *ret = f;
    return 0;
}

void finder_free(struct finder *f)
{
    if (f)
        secret_memory_free(f, f->memory_bytes);
}

void finder_begin(struct finder_stream *s, const struct finder *f,
                  const struct finder_bytes *replacements, uint64_t active)
{
    *s = (struct finder_stream){.finder = f, .replacements = replacements, .active = active};
}

/* A needle ends at the last byte taken. */
static void note(struct finder_stream *s, uint32_t number)
{
    const struct needle *needle = &s->finder->needles[number];
    s->seen |= needle->tags;
    if (!s->replacements || !(needle->tag & s->active))
        return;
    struct finder_place place = {s->taken - needle->size, s->taken, number};
    while (s->place_count > 0) {
        const struct finder_place *last = &s->places[s->place_count - 1];
        if (last->to <= place.from && s->place_count < FINDER_PLACES_MAX)
            break;
        if (last->from < place.from) {
            place.from = last->from;
            place.needle = last->needle;
        }
        s->place_count--;
    }
    s->places[s->place_count++] = place;
}

/* The window, and the byte behind it. */
struct window {
    const unsigned char *bytes;
    uint64_t from, end;
    unsigned char next;
};

static int put_bytes(const struct window *w, uint64_t from, uint64_t to, struct buf *out)
{
    int r = 0;
    if (from < MIN(to, w->end))
        r = buf_append(out, w->bytes + (from - w->from), (size_t)(MIN(to, w->end) - from));
    if (r == 0 && from < to && to > w->end)
        r = buf_append(out, &w->next, 1);
    return r;
}

static int put_replacement(const struct finder_stream *s, const struct finder_place *p,
                           struct buf *out)
{
    const struct finder_bytes *b = &s->replacements[p->needle];
    size_t room = s->keeps_size ? (size_t)(p->to - p->from) : b->size;
    int r = buf_append(out, b->data, MIN(b->size, room));
    for (size_t size = b->size; size < room && r == 0; size++)
        r = buf_append_str(out, FINDER_FILLER);
    return r;
}

/* Puts out what is before `to`, where the window will begin. */
static int put(struct finder_stream *s, const struct window *w, uint64_t to, struct buf *out)
{
    uint64_t at = w->from;
    unsigned done = 0;
    int r = 0;
    for (; done < s->place_count && r == 0; done++) {
        const struct finder_place *p = &s->places[done];
        r = put_bytes(w, at, MIN(MAX(p->from, at), to), out);
        at = MAX(at, MIN(p->to, to));
        if (p->to > to || r < 0)
            break;
        r = put_replacement(s, p, out);
    }
    s->place_count -= done;
    memmove(s->places, s->places + done, s->place_count * sizeof(s->places[0]));
    return r < 0 ? r : put_bytes(w, at, to, out);
}

/* How many bytes at the front are no beginning of a needle, as far as two bytes tell. */
static size_t count_plain(const struct finder *f, const unsigned char *bytes, size_t size)
{
    size_t n = 0;
    while (n + 1 < size && !has_pair(f, bytes[n], bytes[n + 1]))
        n++;
    return n + 1 == size && f->roots[bytes[n]] == ROOT ? size : n;
}

/*
 * Takes bytes in which no needle ends, as long as the window lies in them, so that what falls out
 * of it can be put out in one piece. *ret_taken: how many, also when it fails.
 */
static int take_plain(struct finder_stream *s, const unsigned char *bytes, size_t size,
                      struct buf *out, size_t *ret_taken)
{
    const struct finder *f = s->finder;
    uint32_t node = ROOT, next;
    size_t n = 0;
    for (;; n++) {
        if (node == ROOT)
            n += count_plain(f, bytes + n, size - n);
        if (n == size)
            break;
        next = step(f, node, bytes[n]);
        if (f->nodes[next].found)
            break;
        node = next;
    }
    s->node = node;
    s->taken += n;
    *ret_taken = n;
    return out ? buf_append(out, bytes, n - f->nodes[node].depth) : 0;
}

static int take_byte(struct finder_stream *s, unsigned char byte, struct buf *out)
{
    const struct finder *f = s->finder;
    const struct node *before = &f->nodes[s->node];
    struct window w = {spelled(f, before), s->taken - before->depth, s->taken, byte};
    s->node = step(f, s->node, byte);
    s->taken++;
    if (f->nodes[s->node].found)
        note(s, f->nodes[s->node].found - 1);
    /* Where nothing goes on, only an end of it may. */
    while (s->node != ROOT && f->nodes[s->node].child_count == 0)
        s->node = f->nodes[s->node].fail;
    unsigned depth = f->nodes[s->node].depth;
    return out && depth <= before->depth ? put(s, &w, s->taken - depth, out) : 0;
}

size_t finder_longest(const struct finder *f)
{
    return f->longest;
}

int finder_take(struct finder_stream *s, const void *data, size_t size, struct buf *out)
{
    const unsigned char *bytes = data;
    int r = 0;
    while (size > 0 && r == 0) {
        size_t used = 0;
        if (s->node == ROOT && s->place_count == 0)
            r = take_plain(s, bytes, size, out, &used);
        if (used == 0 && r == 0) {
            used = 1;
            r = take_byte(s, *bytes, out);
        }
        bytes += used;
        size -= used;
    }
    return r;
}

int finder_end(struct finder_stream *s, struct buf *out)
{
    const struct node *n = &s->finder->nodes[s->node];
    struct window w = {spelled(s->finder, n), s->taken - n->depth, s->taken, 0};
    s->node = ROOT;
    return out ? put(s, &w, s->taken, out) : 0;
}
