// SPDX-License-Identifier: Apache-2.0
/*
 * Both ends of TLS connections: what they carry to each other is cut, changed, made up, ended. What
 * comes out is what went in as far as it comes, a session that has failed says why and stays so,
 * and no more is held back than a session may hold.
 */
#include "lib/tls/session.h"
#include "tests/fuzz/input.h"

#include <openssl/pem.h>
#include <sys/mman.h>

#define NOW_S 1800000000LL
#define NAME  "a.test"

enum step { CARRY, CHANGE, MAKE_UP, WRITE, READ, CLOSE, END, ALERT, STEP_COUNT };

/* A session, and what it and the other end have said so far: bytes that count up. */
struct end {
    struct tls_session *session;
    uint8_t written, heard;
    bool is_lied_to; /* what it was given is not what the other end sent */
    enum tls_progress seen;
};

static struct tls_authority *authority;
static struct tls_roots *roots;

/* Roots come from a file; it is one without a name here. */
static void load_roots(void)
{
    uint8_t der[TLS_CERTIFICATE_MAX_BYTES];
    const uint8_t *at = der;
    const char *what;
    char path[50];
    int fd = memfd_create("roots", MFD_CLOEXEC);
    X509 *root = d2i_X509(NULL, &at, tls_authority_certificate(authority, der, sizeof(der)));
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    CHECK(f && root && PEM_write_X509(f, root) && fflush(f) == 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    CHECK(tls_roots_load(path, NULL, 0, &roots, &what) == 0);
    fclose(f);
    X509_free(root);
}

static void begin(struct end *ends)
{
    if (!authority) {
        authority = tls_authority_new("box", NOW_S);
        CHECK(authority);
        load_roots();
    }
    ends[0].session = tls_session_accept(authority, NAME, NOW_S);
    ends[1].session = tls_session_connect(roots, NAME, TLS_VERSION_1_2, NOW_S);
    CHECK(ends[0].session && ends[1].session);
}

static size_t pending(const struct tls_session *s, const uint8_t **ret)
{
    size_t size;
    tls_session_pending(s, ret, &size);
    return size;
}

static void check(struct end *e)
{
    const uint8_t *data;
    enum tls_progress progress = tls_session_progress(e->session);
    CHECK((progress == TLS_FAILED) == (*tls_session_error(e->session) != '\0'));
    CHECK(tls_session_room(e->session) <= TLS_SESSION_IN_MAX_BYTES);
    CHECK(pending(e->session, &data) <= 2 * TLS_SESSION_OUT_MAX_BYTES);
    /* Forwards only. */
    CHECK(progress >= e->seen);
    CHECK(e->seen <= TLS_OPEN || progress == e->seen || progress == TLS_FAILED);
    CHECK(!tls_session_is_untrusted(e->session) || (progress == TLS_FAILED && e->is_lied_to));
    e->seen = progress;
}

static void take(struct end *e, const uint8_t *data, size_t size)
{
    size_t taken, room = tls_session_room(e->session);
    enum tls_progress progress = tls_session_take(e->session, data, size, &taken);
    CHECK(progress == tls_session_progress(e->session) && taken == MIN(size, room));
}

/* Up to size bytes; with change, the first of them is another one. */
static void carry(struct end *from, struct end *to, size_t size, uint8_t change)
{
    static uint8_t copy[2 * TLS_SESSION_OUT_MAX_BYTES];
    const uint8_t *data;
    size_t n = MIN(pending(from->session, &data), size);
    n = MIN(n, tls_session_room(to->session));
    if (n == 0)
        return;
    memcpy(copy, data, n);
    copy[0] ^= change;
    to->is_lied_to |= change != 0;
    tls_session_sent(from->session, n);
    take(to, copy, n);
}

static void say(struct end *e, size_t size)
{
    char data[70000];
    size = MIN(size, sizeof(data));
    for (size_t i = 0; i < size; i++)
        data[i] = (char)(e->written + i);
    size_t taken = tls_session_write(e->session, data, size);
    CHECK(taken <= size);
    e->written = (uint8_t)(e->written + taken);
}

static void hear(struct end *e, size_t max)
{
    char data[70000];
    size_t n = tls_session_read(e->session, data, MIN(max, sizeof(data)));
    CHECK(n <= max);
    for (size_t i = 0; i < n; i++)
        CHECK((uint8_t)data[i] == e->heard++);
}

static void step(struct input *in, struct end *ends)
{
    uint8_t what = input_byte(in);
    struct end *e = &ends[what & 1], *other = &ends[!(what & 1)];
    size_t size = (size_t)input_word(in, 2), made_up_size;
    const uint8_t *made_up;
    switch ((enum step)((what >> 1) % STEP_COUNT)) {
    case CARRY:
        carry(other, e, size, 0);
        break;
    case CHANGE:
        carry(other, e, size, input_byte(in));
        break;
    case MAKE_UP:
        made_up = input_bytes(in, size % 2048, &made_up_size);
        e->is_lied_to |= made_up_size > 0;
        take(e, made_up, made_up_size);
        break;
    case WRITE:
        say(e, size);
        break;
    case READ:
        hear(e, size);
        break;
    case CLOSE:
        tls_session_close(e->session);
        break;
    case END:
        tls_session_end(e->session);
        break;
    case ALERT:
        tls_session_alert(e->session, size & 0xff);
        break;
    case STEP_COUNT:
        break;
    }
    check(e);
    check(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    struct end ends[2] = {0};
    begin(ends);
    /* Half of the inputs begin behind the handshake. */
    if (input_byte(&in) & 1)
        for (int i = 0; i < 3; i++) {
            carry(&ends[1], &ends[0], SIZE_MAX, 0);
            carry(&ends[0], &ends[1], SIZE_MAX, 0);
        }
    while (in.size > 0)
        step(&in, ends);
    tls_session_free(ends[0].session);
    tls_session_free(ends[1].session);
    return 0;
}
