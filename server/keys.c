// SPDX-License-Identifier: Apache-2.0
#include "server/keys.h"

#include "lib/db/db.h"
#include "server/server.h"

#define KEY_SHOWN 8 /* characters of a key that lists show */

static int add(const char *text)
{
    uint8_t digest[DIGEST_SIZE];
    char shown[KEY_SHOWN + 1];
    int r = text_digest(text, strlen(text), digest);
    if (r < 0)
        return r;
    memcpy(shown, text, KEY_SHOWN);
    shown[KEY_SHOWN] = '\0';
    return db_run(server.db,
                  "INSERT OR IGNORE INTO keys (digest, shown, created_ms) VALUES (?, ?, ?)", "bsi",
                  digest, sizeof(digest), shown, server_wall_ms());
}

static int count(int64_t *ret)
{
    struct db_query q;
    int r = db_begin(server.db, &q, "SELECT count(*) FROM keys", "");
    if (r == 0)
        r = db_next(&q);
    if (r == 1)
        *ret = db_number(&q, 0);
    db_end(&q);
    return r < 0 ? r : 0;
}

int keys_start(const char *given, char out[API_KEY_SIZE + 1])
{
    int64_t keys = 0;
    out[0] = '\0';
    if (given[0])
        return text_is_api_key(given) ? add(given) : -EINVAL;
    int r = count(&keys);
    if (r == 0 && keys == 0) {
        r = text_make_api_key(out);
        if (r == 0)
            r = add(out);
    }
    return r;
}

int keys_find(const char *text, int64_t *ret)
{
    uint8_t digest[DIGEST_SIZE];
    struct db_query q;
    if (!text_is_api_key(text))
        return 0;
    int r = text_digest(text, strlen(text), digest);
    if (r < 0)
        return r;
    r = db_begin(server.db, &q, "SELECT id FROM keys WHERE digest = ?", "b", digest,
                 sizeof(digest));
    if (r == 0)
        r = db_next(&q);
    if (r == 1)
        *ret = db_number(&q, 0);
    db_end(&q);
    return r;
}
