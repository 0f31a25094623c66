// SPDX-License-Identifier: Apache-2.0
#include "server/upload_source.h"
#include "tests/harness/harness.h"

/* What comes of a body that is given in pieces of that size:
 * "[filename|content]..." or "!why". */
static const char *read_all(const char *type, const char *encoding, const void *body, size_t size,
                            size_t piece)
{
    static struct buf out = {.max_bytes = 1 << 22};
    struct upload_source s;
    const char *data;
    size_t got, at = 0;
    buf_reset(&out);
    if (upload_source_init(&s, type, encoding) < 0) {
        upload_source_done(&s);
        return "refused";
    }
    for (;;) {
        enum upload_event event = upload_source_next(&s, 7, &data, &got);
        if (event == UPLOAD_MORE && at == size) {
            upload_source_end(&s);
        } else if (event == UPLOAD_MORE) {
            size_t part = MIN(piece, size - at);
            char *copy = malloc(part); /* of its size, so that ASan sees its end */
            memcpy(copy, (const char *)body + at, part);
            EXPECT_EQ(upload_source_give(&s, copy, part), 0);
            free(copy);
            at += part;
        } else if (event == UPLOAD_BEGIN) {
            const char *name = upload_source_filename(&s);
            buf_printf(&out, "[%s|", name ? name : "-");
        } else if (event == UPLOAD_DATA) {
            EXPECT_TRUE(got >= 1 && got <= 7);
            buf_append(&out, data, got);
        } else if (event == UPLOAD_END) {
            buf_append_str(&out, "]");
        } else {
            if (event == UPLOAD_BAD)
                buf_printf(&out, "!%s", s.why);
            break;
        }
    }
    upload_source_done(&s);
    return out.data ? out.data : "";
}

#define FORM                  "multipart/form-data; boundary=xYz"
#define PART(head, body)      "--xYz\r\nContent-Disposition: form-data; " head "\r\n\r\n" body "\r\n"
#define FILE_PART(name, body) PART("name=\"file\"; filename=\"" name "\"", body)

/* The outcome must not depend on the pieces. */
static void expect(const char *type, const char *body, const char *wanted)
{
    for (size_t piece = 1; piece <= strlen(body) + 1; piece += 1 + piece / 3)
        EXPECT_STR(read_all(type, NULL, body, strlen(body), piece), wanted);
}

TEST(forms)
{
    expect(FORM, FILE_PART("a/b.txt", "one") "--xYz--\r\n", "[a/b.txt|one]");
    expect(FORM, FILE_PART("a", "") FILE_PART("\xc3\xa4", "two\r\n") "--xYz--",
           "[a|][\xc3\xa4|two\r\n]");
    expect(FORM, "preamble\r\n" PART("name=\"x\"", "no") PART("name=file", "y") "--xYz--epilogue",
           "[-|y]");
    expect("Multipart/Form-Data; charset=utf-8; boundary=\"xYz\"",
           FILE_PART("q\\\"\\\\", "1") "--xYz--", "[q\"\\|1]");
    expect(FORM, PART("name=\"file\"; filename*=UTF-8''%C3%A4%20b; filename=\"c\"", "") "--xYz--",
           "[\xc3\xa4 b|]");
}

TEST(what_looks_like_a_boundary)
{
    expect(FORM, FILE_PART("a", "\r\n--xY\r\n--xYa\r\r\n--x\n--xYz\r-") "--xYz--",
           "[a|\r\n--xY\r\n--xYa\r\r\n--x\n--xYz\r-]");
    expect(FORM, FILE_PART("a", "\r\r\n-") "--xYz--", "[a|\r\r\n-]");
    expect(FORM,
           FILE_PART("a", "x") "--xYz  \r\nContent-Disposition: form-data; "
                               "name=file\r\n\r\ny\r\n--xYz--",
           "[a|x][-|y]");
}

TEST(malformed_forms)
{
    static const char *const bad[] = {
        PART("filename=\"a\"", "") "--xYz--",
        PART("name=\"file\"; name=\"b\"", "") "--xYz--",
        "--xYz\r\nno field\r\n\r\nx\r\n--xYz--",
        "--xYz\r\n\r\nx\r\n--xYz--",
        "--xYzbad\r\n",
        PART("name=\"file", "") "--xYz--",
        "--xYz\r\nContent-Disposition: attachment; name=file\r\n\r\nx\r\n--xYz--",
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        expect(FORM, bad[i], "!the form is malformed");
    expect(FORM, "--xYz\r\nContent-Disposition: form-data; name=file\r\n\r\nhalf",
           "[-|half!the form is cut off");
    expect(FORM, "", "!the form is cut off");
    EXPECT_STR(read_all("multipart/form-data", NULL, "", 0, 1), "refused");
    EXPECT_STR(read_all("multipart/form-data; boundary=", NULL, "", 0, 1), "refused");
    EXPECT_STR(read_all("multipart/form-data; boundary=a; boundary=b", NULL, "", 0, 1), "refused");
    EXPECT_STR(read_all("multipart/mixed; boundary=a", NULL, "", 0, 1), "refused");
    EXPECT_STR(read_all("application/json", NULL, "", 0, 1), "refused");
    EXPECT_STR(read_all("", NULL, "", 0, 1), "refused");
}

TEST(plain_bodies)
{
    expect("application/octet-stream", "abc\r\n--xYz", "[-|abc\r\n--xYz]");
    expect("application/octet-stream; x=y", "", "[-|]");
    EXPECT_STR(read_all("application/octet-stream", "br", "", 0, 1), "refused");
}

static size_t compress_text(const char *text, size_t size, unsigned char *out, size_t room)
{
    z_stream z = {0};
    EXPECT_EQ(deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (unsigned char *)text;
    z.avail_in = (unsigned)size;
    z.next_out = out;
    z.avail_out = (unsigned)room;
    EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t made = room - z.avail_out;
    deflateEnd(&z);
    return made;
}

TEST(compressed_bodies)
{
    static char text[300001], wanted[300010];
    static unsigned char gz[400000];
    memset(text, 'x', sizeof(text) - 1);
    size_t size = compress_text(text, sizeof(text) - 1, gz, sizeof(gz));
    snprintf(wanted, sizeof(wanted), "[-|%s]", text);
    for (size_t piece = 1; piece < 2 * size; piece *= 3)
        EXPECT_STR(read_all("application/octet-stream", "gzip", gz, size, piece), wanted);
    static const char form[] = FILE_PART("a", "one") "--xYz--\r\n";
    size = compress_text(form, strlen(form), gz, sizeof(gz));
    EXPECT_STR(read_all(FORM, "GZIP", gz, size, 3), "[a|one]");
    EXPECT_STR(read_all(FORM, "gzip", gz, size - 5, 3) + strlen("[a|one]"), "!the body is cut off");
    gz[size] = 'x';
    EXPECT_STR(read_all(FORM, "gzip", gz, size + 1, 3) + strlen("[a|one]"),
               "!the body goes on behind its compressed content");
    EXPECT_STR(read_all("application/octet-stream", "gzip", "plain", 5, 3),
               "[-|!the body is no gzip");
}
