// SPDX-License-Identifier: Apache-2.0
/* Statements that are compiled once and used again. */
#include "lib/db/db.h"
#include "tests/harness/harness.h"

#include <stdio.h>

static struct db *db;

static void start(void)
{
    static const char *const steps[] = {"CREATE TABLE t (a INTEGER, b TEXT)"};
    char why[DB_WHY_MAX];
    ASSERT_EQ(db_open(":memory:", steps, 1, &db, why), 0);
}

static int64_t count_of(const char *sql)
{
    struct db_query q;
    int64_t n = -1;
    if (db_begin(db, &q, sql, "") == 0 && db_next(&q) == 1)
        n = db_number(&q, 0);
    db_end(&q);
    return n;
}

TEST(a_statement_may_be_used_while_it_is_used)
{
    static const char sql[] = "SELECT a FROM t ORDER BY a";
    struct db_query outer, inner;
    start();
    for (int64_t i = 0; i < 3; i++)
        EXPECT_EQ(db_run(db, "INSERT INTO t (a) VALUES (?)", "i", i), 0);
    for (int round = 0; round < 2; round++) {
        EXPECT_EQ(db_begin(db, &outer, sql, ""), 0);
        EXPECT_EQ(db_next(&outer), 1);
        EXPECT_EQ(db_begin(db, &inner, sql, ""), 0);
        for (int64_t i = 0; i < 3; i++) {
            EXPECT_EQ(db_next(&inner), 1);
            EXPECT_EQ(db_number(&inner, 0), i);
        }
        db_end(&inner);
        EXPECT_EQ(db_next(&outer), 1);
        EXPECT_EQ(db_number(&outer, 0), 1);
        db_end(&outer);
    }
    db_close(db);
}

TEST(what_a_statement_was_given_is_gone_with_it)
{
    static const char sql[] = "INSERT INTO t (a, b) VALUES (?, ?)";
    start();
    EXPECT_EQ(db_run(db, sql, "is", (int64_t)1, "secret"), 0);
    EXPECT_EQ(db_run(db, sql, "i", (int64_t)2), 0);
    EXPECT_EQ(count_of("SELECT count(*) FROM t WHERE b IS NULL"), 1);
    db_close(db);
}

TEST(one_that_failed_works_the_next_time)
{
    static const char sql[] = "INSERT INTO u (a) VALUES (?)";
    start();
    EXPECT_LT(db_run(db, sql, "i", (int64_t)1), 0);
    EXPECT_EQ(db_run(db, "CREATE TABLE u (a INTEGER UNIQUE)", ""), 0);
    EXPECT_EQ(db_run(db, sql, "i", (int64_t)1), 0);
    EXPECT_EQ(db_run(db, sql, "i", (int64_t)1), -EEXIST);
    EXPECT_EQ(db_run(db, sql, "i", (int64_t)2), 0);
    EXPECT_EQ(count_of("SELECT count(*) FROM u"), 2);
    db_close(db);
}

TEST(more_statements_than_are_kept)
{
    char sql[64];
    start();
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 200; i++) {
            snprintf(sql, sizeof(sql), "SELECT %d", i);
            EXPECT_EQ(count_of(sql), i);
        }
    db_close(db);
}

TEST(a_table_that_has_changed)
{
    start();
    EXPECT_EQ(count_of("SELECT count(*) FROM t"), 0);
    EXPECT_EQ(db_run(db, "ALTER TABLE t ADD COLUMN c TEXT", ""), 0);
    EXPECT_EQ(db_run(db, "INSERT INTO t (c) VALUES (?)", "s", "x"), 0);
    EXPECT_EQ(count_of("SELECT count(*) FROM t"), 1);
    db_close(db);
}

/* Whoever has to mend it is told what was wrong; and nothing of the step stays. */
TEST(a_step_that_fails_says_why)
{
    static const char *const steps[] = {"CREATE TABLE t (a)",
                                        "CREATE TABLE u (a); ALTER TABLE t ADD COLUMN a"};
    char why[DB_WHY_MAX];
    struct db *none = NULL;
    EXPECT_EQ(db_open("steps.db", steps, 2, &none, why), -EIO);
    EXPECT_TRUE(strstr(why, "duplicate column"));
    EXPECT_TRUE(!none);
    ASSERT_EQ(db_open("steps.db", steps, 1, &db, why), 0);
    EXPECT_EQ(count_of("PRAGMA user_version"), 1);
    EXPECT_EQ(count_of("SELECT count(*) FROM sqlite_schema WHERE name = 'u'"), 0);
    db_close(db);
}

TEST(what_is_done_together_is_done_or_not)
{
    start();
    EXPECT_EQ(db_together(db), 0);
    EXPECT_EQ(db_run(db, "INSERT INTO t (a) VALUES (1)", ""), 0);
    EXPECT_EQ(db_together_end(db, -EIO), -EIO);
    EXPECT_EQ(count_of("SELECT count(*) FROM t"), 0);
    EXPECT_EQ(db_together(db), 0);
    EXPECT_EQ(db_run(db, "INSERT INTO t (a) VALUES (1)", ""), 0);
    EXPECT_EQ(db_run(db, "INSERT INTO t (a) VALUES (2)", ""), 0);
    EXPECT_EQ(db_together_end(db, 0), 0);
    EXPECT_EQ(count_of("SELECT count(*) FROM t"), 2);
    db_close(db);
}

TEST(what_the_disk_has_no_room_for_is_taken_back)
{
    int r = 0;
    start();
    EXPECT_EQ(count_of("PRAGMA max_page_count = 4"), 4);
    EXPECT_EQ(db_together(db), 0);
    for (int64_t i = 0; r == 0; i++)
        r = db_run(db, "INSERT INTO t (a, b) VALUES (?, zeroblob(1000))", "i", i);
    EXPECT_EQ(r, -ENOSPC);
    EXPECT_EQ(db_together_end(db, r), -ENOSPC);
    EXPECT_EQ(count_of("SELECT count(*) FROM t"), 0);
    EXPECT_EQ(db_run(db, "INSERT INTO t (a) VALUES (1)", ""), 0);
    db_close(db);
}
