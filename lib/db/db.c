// SPDX-License-Identifier: Apache-2.0
#include "lib/db/db.h"

#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>

/* Compiled once: a statement of a few rows takes SQLite longer to compile than to run. */
#define KEPT_MAX 48

struct db {
    sqlite3 *handle;
    struct sqlite3_stmt *kept[KEPT_MAX]; /* at rest: those that were used last, last */
    size_t kept_count;
};

static int error_of(int code)
{
    switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return 0;
    case SQLITE_FULL:
        return -ENOSPC;
    case SQLITE_NOMEM:
        return -ENOMEM;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return -EBUSY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return -EUCLEAN;
    case SQLITE_CONSTRAINT:
        return -EEXIST;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
        return -EACCES;
    case SQLITE_TOOBIG:
        return -E2BIG;
    default:
        return -EIO;
    }
}

static int run_all(struct db *db, const char *sql)
{
    return error_of(sqlite3_exec(db->handle, sql, NULL, NULL, NULL));
}

static int get_version(struct db *db, int64_t *ret)
{
    struct db_query q;
    int r = db_begin(db, &q, "PRAGMA user_version", "");
    if (r == 0)
        r = db_next(&q);
    if (r == 1)
        *ret = db_number(&q, 0);
    db_end(&q);
    return r < 0 ? r : 0;
}

/* Who fails closes: that rolls back, and leaves the reason to be told. */
static int step_up(struct db *db, const char *step, size_t version)
{
    char set[64];
    snprintf(set, sizeof(set), "PRAGMA user_version = %zu", version);
    int r = run_all(db, "BEGIN IMMEDIATE");
    if (r < 0)
        return r;
    r = run_all(db, step);
    if (r == 0)
        r = run_all(db, set);
    if (r == 0)
        r = run_all(db, "COMMIT");
    return r;
}

/* Exclusive before the log is switched on: no shared memory is made then. */
static const char settings[] = "PRAGMA locking_mode = EXCLUSIVE;"
                               "PRAGMA journal_mode = WAL;"
                               "PRAGMA synchronous = NORMAL;"
                               "PRAGMA temp_store = MEMORY;"
                               "PRAGMA foreign_keys = ON;"
                               "PRAGMA trusted_schema = OFF;"
                               "PRAGMA cache_size = -1024;"
                               "PRAGMA journal_size_limit = 4194304;";

static int bring_up(struct db *db, const char *const *steps, size_t count)
{
    int64_t version = 0;
    int r = run_all(db, settings);
    if (r == 0)
        r = get_version(db, &version);
    if (r == 0 && (version < 0 || (uint64_t)version > count))
        return -ENOTSUP;
    for (size_t i = (size_t)version; i < count && r == 0; i++)
        r = step_up(db, steps[i], i + 1);
    return r;
}

static void explain(int r, struct db *db, char why[static DB_WHY_MAX])
{
    if (r == -ENOTSUP)
        snprintf(why, DB_WHY_MAX, "it is of a newer version of this program");
    else if (r == -EBUSY)
        snprintf(why, DB_WHY_MAX, "another server is using it");
    else
        snprintf(why, DB_WHY_MAX, "%s", db->handle ? sqlite3_errmsg(db->handle) : strerror(-r));
}

int db_open(const char *path, const char *const *steps, size_t count, struct db **ret,
            char why[static DB_WHY_MAX])
{
    struct db *db = calloc(1, sizeof(*db));
    if (!db) {
        snprintf(why, DB_WHY_MAX, "out of memory");
        return -ENOMEM;
    }
    int flags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW;
    int r = error_of(sqlite3_open_v2(path, &db->handle, flags, NULL));
    if (r == 0)
        r = bring_up(db, steps, count);
    if (r < 0) {
        explain(r, db, why);
        db_close(db);
        return r;
    }
    *ret = db;
    return 0;
}

void db_close(struct db *db)
{
    if (!db)
        return;
    while (db->kept_count > 0)
        sqlite3_finalize(db->kept[--db->kept_count]);
    sqlite3_close(db->handle);
    free(db);
}

static int bind(struct sqlite3_stmt *s, const char *kinds, va_list args)
{
    int code = SQLITE_OK;
    for (int i = 1; *kinds && code == SQLITE_OK; i++, kinds++) {
        const void *bytes;
        switch (*kinds) {
        case 's':
            code = sqlite3_bind_text(s, i, va_arg(args, const char *), -1, SQLITE_TRANSIENT);
            break;
        case 'i':
            code = sqlite3_bind_int64(s, i, va_arg(args, int64_t));
            break;
        default:
            bytes = va_arg(args, const void *);
            code = sqlite3_bind_blob64(s, i, bytes, va_arg(args, size_t), SQLITE_TRANSIENT);
        }
    }
    return error_of(code);
}

static struct sqlite3_stmt *take_out(struct db *db, size_t i)
{
    struct sqlite3_stmt *s = db->kept[i];
    memmove(&db->kept[i], &db->kept[i + 1], (--db->kept_count - i) * sizeof(db->kept[0]));
    return s;
}

static int compile(struct db *db, const char *sql, struct sqlite3_stmt **ret)
{
    for (size_t i = db->kept_count; i-- > 0;) {
        if (strcmp(sqlite3_sql(db->kept[i]), sql) != 0)
            continue;
        *ret = take_out(db, i);
        return 0;
    }
    return error_of(sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL));
}

/* Without what it was given: nobody knows when it is used again. */
static void keep(struct db *db, struct sqlite3_stmt *s)
{
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    if (db->kept_count == KEPT_MAX)
        sqlite3_finalize(take_out(db, 0));
    db->kept[db->kept_count++] = s;
}

static int begin(struct db *db, struct db_query *q, const char *sql, const char *kinds,
                 va_list args)
{
    *q = (struct db_query){.db = db};
    int r = compile(db, sql, &q->statement);
    return r < 0 ? r : bind(q->statement, kinds, args);
}

int db_begin(struct db *db, struct db_query *q, const char *sql, const char *kinds, ...)
{
    va_list args;
    va_start(args, kinds);
    int r = begin(db, q, sql, kinds, args);
    va_end(args);
    return r;
}

int db_next(struct db_query *q)
{
    int code = sqlite3_step(q->statement);
    return code == SQLITE_ROW ? 1 : error_of(code);
}

void db_end(struct db_query *q)
{
    if (q->statement)
        keep(q->db, q->statement);
    q->statement = NULL;
}

const char *db_text(struct db_query *q, int column)
{
    const unsigned char *text = sqlite3_column_text(q->statement, column);
    return text ? (const char *)text : "";
}

int64_t db_number(struct db_query *q, int column)
{
    return sqlite3_column_int64(q->statement, column);
}

size_t db_bytes(struct db_query *q, int column, void *ret, size_t size)
{
    const void *data = sqlite3_column_blob(q->statement, column);
    size_t has = (size_t)sqlite3_column_bytes(q->statement, column);
    if (data)
        memcpy(ret, data, MIN(size, has));
    return has;
}

bool db_is_null(struct db_query *q, int column)
{
    return sqlite3_column_type(q->statement, column) == SQLITE_NULL;
}

int db_run(struct db *db, const char *sql, const char *kinds, ...)
{
    struct db_query q;
    va_list args;
    va_start(args, kinds);
    int r = begin(db, &q, sql, kinds, args);
    va_end(args);
    if (r == 0)
        r = db_next(&q);
    db_end(&q);
    return r < 0 ? r : 0;
}

int db_together(struct db *db)
{
    return db_run(db, "BEGIN IMMEDIATE", "");
}

int db_together_end(struct db *db, int r)
{
    if (r == 0)
        r = db_run(db, "COMMIT", "");
    /* SQLite may have done so by itself: where the disk is full, for one. */
    if (r < 0 && !sqlite3_get_autocommit(db->handle))
        db_run(db, "ROLLBACK", "");
    return r;
}

int64_t db_last_id(struct db *db)
{
    return sqlite3_last_insert_rowid(db->handle);
}

size_t db_changed(struct db *db)
{
    return (size_t)sqlite3_changes64(db->handle);
}
