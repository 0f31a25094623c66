// SPDX-License-Identifier: Apache-2.0
/*
 * Keeps the values of a sandbox's secrets out of what comes back from it. The gateway takes them
 * out of answers already; a server can hand one over in a form that it does not know, and a program
 * put it together. So output is searched once more, in the forms of lib/secret/secrets.h: each is
 * replaced by the placeholder in the same form. Values whose "scrub" is "off" are left alone.
 *
 * However the bytes of a stream are cut, no value comes out whole. What may be the beginning of one
 * is kept back until the next bytes or the end decide; but where somebody may wait for it, the
 * first SCRUB_EARLY_BYTES of it come out at once: a prompt does not wait for a key that begins as
 * it ends. There is no time after which more comes, but on connections to ports: who writes slowly
 * enough would get all of it out.
 *
 * A program that knows a value can always say it in another way: no boundary, but a net.
 */
#pragma once

#include "lib/secret/secrets.h"
#include "sandbox/spec.h"

#define SCRUB_EARLY_BYTES     3
#define SCRUB_NAME_MAX_BYTES  8192
#define SCRUB_GENERATIONS_MAX 4 /* of values: those that are in force, and replaced ones */
#define SCRUB_STAGES_MAX      (SCRUB_GENERATIONS_MAX + 2) /* one to be settled, one going */

struct scrubber;

/* For the secrets of s, loaded (sandbox/secrets.h). 0 and *ret, NULL when it has no policy, and so
 * can't get secrets either; negative errno and the sentence. */
int scrubber_new(const struct sandbox_spec *s, struct scrubber **ret, struct sandbox_error *e);

/* Whether there was no value to search for yet, nor is one about to come. NULL: so it stays. */
bool scrubber_is_idle(const struct scrubber *s);

/*
 * What the gateway is about to be asked for; from now on its values are searched for too, and
 * streams follow. scrubber_settle() says what became of it; only then comes the next. What was in
 * force before is searched for still, until there are SCRUB_GENERATIONS_MAX sets of values of which
 * none has all of another one's: then the oldest one goes.
 */

/*
 * Another value for a secret: fd is a sealed memory file (lib/secret/file.h), which stays the
 * caller's. 0; negative errno and the sentence.
 */
int scrubber_renew(struct scrubber *s, int fd, struct sandbox_error *e);

/*
 * Another document of size bytes, and values of value_bytes (lib/secret/file.h) for secrets that
 * are new in it. 1; 0: its secrets are those in force, there is nothing to settle; -EINVAL: it is
 * none, or they don't go with it; -ENOMEM; and the sentence.
 */
int scrubber_change(struct scrubber *s, const char *document, size_t size, const void *values,
                    size_t value_bytes, struct sandbox_error *e);

void scrubber_settle(struct scrubber *s, bool is_in_force);

/* Those in force, or those that are to be settled. Borrowed until one comes; NULL: none. */
const struct secrets *scrubber_secrets(const struct scrubber *s, bool is_unsettled);

/* No stream is used any more. NULL is fine. */
void scrubber_free(struct scrubber *s);

struct scrub_generation;

struct scrub_stream {
    struct scrubber *scrubber;
    uint64_t newest; /* number of the last stage's generation */
    size_t count;    /* of stages, the oldest first */
    struct scrub_generation *generations[SCRUB_STAGES_MAX];
    struct secrets_exchange exchanges[SCRUB_STAGES_MAX];
    struct secrets_scrub scrubs[SCRUB_STAGES_MAX];
    bool keeps_size;
    size_t early_max;
    size_t early; /* bytes that are kept back, but have come out */
};

/* scrubber: borrowed to the end. is_awaited: nobody minds how late the last bytes are, if false. */
void scrub_stream_begin(struct scrub_stream *s, struct scrubber *scrubber, bool is_awaited);

/* Likewise for the content of a file, of which no byte changes its place (finder.h, keeps_size). */
void scrub_stream_begin_file(struct scrub_stream *s, struct scrubber *scrubber);

/*
 * Likewise for what a program says over a connection, where somebody waits for each byte: no byte
 * changes its place, the first bytes of what is kept back come out at once, as where is_awaited,
 * and the rest with scrub_stream_let_out().
 */
void scrub_stream_begin_connection(struct scrub_stream *s, struct scrubber *scrubber);

void scrub_stream_done(struct scrub_stream *s);

/* Appends to out what may come out now. 0; -ENOMEM, -E2BIG: the stream can't go on. */
int scrub_stream_take(struct scrub_stream *s, const void *data, size_t size, struct buf *out);
int scrub_stream_end(struct scrub_stream *s, struct buf *out);

/*
 * Nobody is to wait any longer for what is kept back: it comes out, but is still known to be the
 * beginning of a value. If that becomes whole, the rest of it is replaced.
 */
int scrub_stream_let_out(struct scrub_stream *s, struct buf *out);

/*
 * One text at once, whole: what becomes of it, and *size. Borrowed until the next one; text itself
 * when s is NULL, nothing when memory runs out.
 */
const char *scrubber_replace(struct scrubber *s, const char *text, size_t *size);

/* Likewise, in its place: text keeps its size. 0 or -ENOMEM; text is not to be used then. */
int scrubber_replace_in_place(struct scrubber *s, char *text, size_t size);

/*
 * Likewise for the name of a file or a path of at most SCRUB_NAME_MAX_BYTES, which stays one: it
 * keeps its slashes and gets no others, and no component becomes "." or "..".
 */
int scrubber_replace_name(struct scrubber *s, char *name, size_t size);

/*
 * How many bytes before and behind a part of a file have a say in what becomes of it: read so many
 * more at both ends, no value that touches it is missed. Changes with scrubber_renew().
 */
size_t scrubber_reach(const struct scrubber *s);
