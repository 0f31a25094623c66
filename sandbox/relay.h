// SPDX-License-Identifier: Apache-2.0
/*
 * Carries bytes one way from one descriptor to another, or to a function: at most one buffer of
 * them lies here, and nothing is read while that is not empty, so that a slow reader slows the
 * writer down.
 *
 *            source readable                sink takes all
 *   EMPTY ------------------------> FULL ------------------> EMPTY
 *     | end of source                 | sink's reader is gone, or its error
 *     v                               v
 *   DONE                            DONE (error is set)
 *
 * A sink that people look at may get the bytes as text that is safe to show; what that holds back
 * comes at the end of the source.
 *
 * With secrets in the sandbox the bytes are searched for them first (sandbox/scrubber.h); what the
 * search has done with is in `scrubbed`, and nothing is read while that is not empty either.
 *
 * Owns nothing: whoever made the descriptors closes them, when `done`.
 */
#pragma once

#include "lib/text/shown.h"
#include "sandbox/outlet.h"
#include "sandbox/scrubber.h"

#include <poll.h>

#define RELAY_BUFFER_BYTES (64 * 1024)

typedef void (*relay_take_fn)(void *userdata, const char *data, size_t size);

struct relay {
    int source; /* -1: nothing is read any more */
    struct outlet sink;
    relay_take_fn take; /* instead of the sink */
    void *userdata;
    relay_take_fn see; /* beside it */
    void *see_userdata;
    char *data; /* RELAY_BUFFER_BYTES */
    size_t start, end;
    struct text_shown shown;   /* when style is set: what data is made of */
    bool is_shown_over;        /* its end is in data */
    struct scrubber *scrubber; /* NULL: nothing is searched for */
    struct scrub_stream scrub;
    struct buf scrubbed;
    bool is_source_over;  /* DONE when the sink has taken the rest */
    uint64_t total_bytes; /* that were read */
    bool done;
    int error; /* negative errno of the sink; 0 at the end of the source */
};

/* sink: a descriptor to write to; or -1, and take is called with everything. 0 or -ENOMEM. */
int relay_init(struct relay *r, int source, int sink, relay_take_fn take, void *userdata);

/* From now on the sink gets what comes as text in that style, which is borrowed; NULL: as it is. */
void relay_show(struct relay *r, const struct text_style *style);

/* From now on what comes is relieved of secrets, before it is shown. s is borrowed; NULL:
 * there are none. */
void relay_scrub(struct relay *r, struct scrubber *s);

/* From now on what comes, relieved of secrets and before it is made fit to be shown, is seen by see
 * too. */
void relay_let_see(struct relay *r, relay_take_fn see, void *userdata);

/* For a sink that is one of our own, non-blocking descriptors. */
int relay_init_own(struct relay *r, int source, int sink);

void relay_done(struct relay *r);

/* What to poll for; 0: nothing on that side. */
short relay_source_events(const struct relay *r);
short relay_sink_events(const struct relay *r);

/* Goes on after poll(2). */
void relay_step(struct relay *r, short source_revents, short sink_revents);
