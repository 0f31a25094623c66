// SPDX-License-Identifier: Apache-2.0
/*
 * A database in one file (SQLite), that one process has for itself: write-ahead log, exclusive
 * lock, so that there is no shared memory and no second reader. What was committed is there after
 * the process was killed at any moment; after the machine lost power the last commits may be
 * missing, the database as a whole is not damaged
 * (https://www.sqlite.org/pragma.html#pragma_synchronous).
 *
 * Errors are negative errno: -ENOSPC the disk is full, -EBUSY another process has it, -EUCLEAN the
 * file is damaged or none of ours, -ENOTSUP it is of a newer version, -ENOMEM, -EIO. Then nothing
 * of the statement was done.
 *
 *   struct db_query q;
 *   r = db_begin(db, &q, "SELECT name FROM keys WHERE id = ?", "i", id);
 *   while (r == 0 && db_next(&q) == 1)
 *       ... db_text(&q, 0)
 *   db_end(&q);
 */
#pragma once

#include "lib/base/base.h"

struct db;
struct sqlite3_stmt;

#define DB_WHY_MAX 256

/*
 * Opens the file, makes it when it isn't there (for this user alone), and brings it from the
 * version that it has (PRAGMA user_version) to `count`: steps[i] is the SQL that leads from version
 * i to i + 1, each in a transaction of its own. 0, or negative errno with a sentence in why.
 */
int db_open(const char *path, const char *const *steps, size_t count, struct db **ret,
            char why[static DB_WHY_MAX]);

/* Writes the log back into the file, and closes. NULL is nothing. */
void db_close(struct db *db);

struct db_query {
    struct sqlite3_stmt *statement; /* NULL: ended */
    struct db *db;
};

/*
 * A statement with its parameters: one letter in `kinds` for each "?": s a string or NULL, i an
 * int64_t, b a pointer and a size_t. They are copied. 0 or negative errno; db_end() in any case.
 */
int db_begin(struct db *db, struct db_query *q, const char *sql, const char *kinds, ...);

/* The next row: 1; 0: there is none any more. Or negative errno. */
int db_next(struct db_query *q);
void db_end(struct db_query *q);

/* Of the row: a column. A string is borrowed until the next call for q; "" for NULL. */
const char *db_text(struct db_query *q, int column);
int64_t db_number(struct db_query *q, int column);
/* Copies bytes of a column, at most size; how many it has. */
size_t db_bytes(struct db_query *q, int column, void *ret, size_t size);
bool db_is_null(struct db_query *q, int column);

/* A statement without rows. 0 or negative errno. */
int db_run(struct db *db, const char *sql, const char *kinds, ...);

/*
 * All that is run from db_together() to db_together_end() is done together. r: how it went; where
 * that is negative, or becomes so, nothing of it was done. 0 or negative errno.
 */
int db_together(struct db *db);
int db_together_end(struct db *db, int r);

/* The id of the row that was inserted last. */
int64_t db_last_id(struct db *db);

/* How many rows the last statement changed. */
size_t db_changed(struct db *db);
