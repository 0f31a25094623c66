// SPDX-License-Identifier: Apache-2.0
/*
 * A small test harness: cases register themselves, each runs in a process of its own with a time
 * limit, assertions print both values.
 *
 *   TEST(lseek_past_the_end)
 *   {
 *       EXPECT_EQ(lseek(fd, 10, SEEK_SET), 10);
 *       EXPECT_ERRNO(lseek(fd, -1, SEEK_SET), EINVAL);
 *   }
 *
 * The program runs all cases, or those named on its command line; `--list` lists them. One line a
 * case: "ok NAME", "FAIL NAME", "skip NAME: REASON"; the exit status is 1 when one failed. EXPECT_*
 * go on after a failure, ASSERT_* end the case. Each case starts in a fresh empty working
 * directory, which is removed afterwards.
 */
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

struct harness_case {
    const char *name;
    void (*run)(void);
    struct harness_case *next;
};

void harness_register(struct harness_case *c);
void harness_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void harness_skip(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void harness_end_case(void) __attribute__((noreturn));

/* True when the program runs inside a sandbox (the environment has GLOVEBOX_TEST_INSIDE=1). */
bool harness_is_inside(void);

/*
 * Waits until a task of this process, or else a process, sleeps in a call: state S of proc(5). The
 * case fails when it does not within 20 s. It is to make no other call that may sleep meanwhile: a
 * task that does has to tell first, in shared memory, that it is past that.
 */
void harness_wait_until_sleeps(pid_t task);

#define TEST(name)                                                       \
    static void test_##name(void);                                       \
    static struct harness_case case_##name = {#name, test_##name, NULL}; \
    __attribute__((constructor)) static void register_##name(void)       \
    {                                                                    \
        harness_register(&case_##name);                                  \
    }                                                                    \
    static void test_##name(void)

#define SKIP(...) harness_skip(__VA_ARGS__)

#define HARNESS_COMPARE(a, op, b, after)                                                           \
    do {                                                                                           \
        long long harness_a_ = (long long)(a), harness_b_ = (long long)(b);                        \
        int harness_errno_ = errno;                                                                \
        if (!(harness_a_ op harness_b_)) {                                                         \
            harness_fail(__FILE__, __LINE__, "%s %s %s: %lld and %lld (errno %d %s)", #a, #op, #b, \
                         harness_a_, harness_b_, harness_errno_, strerror(harness_errno_));        \
            after;                                                                                 \
        }                                                                                          \
    } while (0)

#define EXPECT_EQ(a, b) HARNESS_COMPARE(a, ==, b, )
#define EXPECT_NE(a, b) HARNESS_COMPARE(a, !=, b, )
#define EXPECT_LT(a, b) HARNESS_COMPARE(a, <, b, )
#define EXPECT_LE(a, b) HARNESS_COMPARE(a, <=, b, )
#define EXPECT_GT(a, b) HARNESS_COMPARE(a, >, b, )
#define EXPECT_GE(a, b) HARNESS_COMPARE(a, >=, b, )
#define ASSERT_EQ(a, b) HARNESS_COMPARE(a, ==, b, harness_end_case())
#define ASSERT_NE(a, b) HARNESS_COMPARE(a, !=, b, harness_end_case())
#define ASSERT_GE(a, b) HARNESS_COMPARE(a, >=, b, harness_end_case())
#define ASSERT_GT(a, b) HARNESS_COMPARE(a, >, b, harness_end_case())

#define EXPECT_TRUE(x)                                            \
    do {                                                          \
        if (!(x))                                                 \
            harness_fail(__FILE__, __LINE__, "not true: %s", #x); \
    } while (0)
#define ASSERT_TRUE(x)                                            \
    do {                                                          \
        if (!(x)) {                                               \
            harness_fail(__FILE__, __LINE__, "not true: %s", #x); \
            harness_end_case();                                   \
        }                                                         \
    } while (0)

/* The call fails with -1 and this errno. */
#define EXPECT_ERRNO(call, expected)                                                              \
    do {                                                                                          \
        errno = 0;                                                                                \
        long long harness_r_ = (long long)(call);                                                 \
        int harness_e_ = errno;                                                                   \
        if (harness_r_ != -1 || harness_e_ != (expected))                                         \
            harness_fail(__FILE__, __LINE__, "%s: %lld, errno %d %s, expected -1 with %s", #call, \
                         harness_r_, harness_e_, strerror(harness_e_), #expected);                \
    } while (0)

#define EXPECT_STR(a, b)                                                                        \
    do {                                                                                        \
        const char *harness_a_ = (a), *harness_b_ = (b);                                        \
        if (strcmp(harness_a_, harness_b_))                                                     \
            harness_fail(__FILE__, __LINE__, "%s == %s: \"%s\" and \"%s\"", #a, #b, harness_a_, \
                         harness_b_);                                                           \
    } while (0)
