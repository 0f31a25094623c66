// SPDX-License-Identifier: Apache-2.0
#include "sandbox/outcome.h"
#include "tests/harness/harness.h"

#include <signal.h>

#define EXITED(status) ((status) << 8)

static struct sandbox_outcome limited(void)
{
    struct sandbox_outcome o = {.exit_code = -1};
    sandbox_limits_set_standard(&o.limits);
    o.limits.value[LIMIT_MEMORY] = 256 << 20;
    o.limits.value[LIMIT_CPU_BUDGET] = 90 * NSEC_PER_SEC;
    o.limits.value[LIMIT_WRITE_BUDGET] = 1 << 20;
    o.limits.value[LIMIT_SEND_BUDGET] = 2 << 20;
    o.limits.value[LIMIT_IDLE] = 5 * NSEC_PER_SEC;
    o.limits.value[LIMIT_TIMEOUT] = NSEC_PER_SEC;
    o.limits.value[LIMIT_LIFETIME] = 3600 * NSEC_PER_SEC;
    return o;
}

TEST(causes_of_the_main_program)
{
    static const struct {
        struct end_facts facts;
        enum sandbox_cause cause;
        int status;
        const char *words;
    } cases[] = {
        {{EXITED(3), CONTROL_BY_ITSELF, false, false}, SANDBOX_EXITED, 3, "exited with status 3"},
        {{SIGSEGV, CONTROL_BY_ITSELF, false, false},
         SANDBOX_SIGNALED,
         139,
         "ended by SIGSEGV (Segmentation fault)"},
        {{SIGKILL, CONTROL_BY_ITSELF, true, true},
         SANDBOX_SIGNALED,
         137,
         "ended by SIGKILL (Killed)"},
        {{40, CONTROL_BY_ITSELF, false, false}, SANDBOX_SIGNALED, 168, "ended by signal 40"},
        {{SIGKILL, CONTROL_BY_HOST, true, true},
         SANDBOX_MEMORY,
         137,
         "memory limit of 256 MiB reached"},
        {{SIGKILL, CONTROL_BY_HOST, true, false},
         SANDBOX_HOST_FAILURE,
         125,
         "the machine, or a cgroup around the sandbox, ran out of memory"},
        {{SIGKILL, CONTROL_BY_HOST, false, false},
         SANDBOX_SIGNALED,
         137,
         "ended by SIGKILL from outside of the sandbox"},
        {{SIGKILL, CONTROL_BY_HOST_UNTOLD, false, false},
         SANDBOX_SIGNALED,
         137,
         "ended by SIGKILL, or otherwise, as when a stack overflows: Linux before 6.15 does not "
         "tell which"},
        {{SIGKILL, CONTROL_BY_HOST_LATE, false, false},
         SANDBOX_SIGNALED,
         137,
         "ended by SIGKILL, or otherwise, as when a stack overflows: the host did not tell which "
         "in time"},
        {{SIGKILL, CONTROL_BY_HOST_UNTOLD, true, true},
         SANDBOX_MEMORY,
         137,
         "memory limit of 256 MiB reached"},
        {{SIGKILL, CONTROL_BY_MEMORY, false, false},
         SANDBOX_MEMORY,
         137,
         "memory limit of 256 MiB reached"},
        {{SIGKILL, CONTROL_BY_DISK, false, false},
         SANDBOX_DISK,
         137,
         "the disk with the sandbox's private files is full"},
        {{SIGKILL, CONTROL_BY_CPU_BUDGET, false, false},
         SANDBOX_BUDGET,
         137,
         "processor time budget of 90 s reached"},
        {{SIGKILL, CONTROL_BY_WRITE_BUDGET, false, false},
         SANDBOX_BUDGET,
         137,
         "write budget of 1 MiB reached"},
        {{SIGKILL, CONTROL_BY_SEND_BUDGET, false, false},
         SANDBOX_BUDGET,
         137,
         "send budget of 2 MiB reached"},
        {{SIGKILL, CONTROL_BY_IDLE, false, false},
         SANDBOX_IDLE,
         124,
         "idle time limit of 5 s reached"},
        /* Of the kernel's words, those that make no sense are none. */
        {{EXITED(0), CONTROL_BY_MEMORY, false, false}, SANDBOX_EXITED, 0, "exited with status 0"},
        {{SIGKILL, (enum control_reason)99, true, true},
         SANDBOX_SIGNALED,
         137,
         "ended by SIGKILL (Killed)"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct sandbox_outcome o = limited();
        outcome_note_exit(&o, &cases[i].facts);
        outcome_finish(&o);
        if (o.cause != cases[i].cause || o.exit_status != cases[i].status ||
            strcmp(o.words, cases[i].words))
            harness_fail(__FILE__, __LINE__, "case %zu: %s, %d, %s", i, sandbox_cause_name(o.cause),
                         o.exit_status, o.words);
    }
}

TEST(causes_of_another_process)
{
    const struct {
        struct end_facts facts;
        const char *words;
    } cases[] = {
        {{SIGKILL, CONTROL_BY_HOST, false, false},
         "process 7 was killed from outside of the sandbox: "},
        {{SIGKILL, CONTROL_BY_HOST_UNTOLD, false, false},
         "process 7 was ended by SIGKILL, or otherwise, as when a stack overflows: Linux before "
         "6.15 does not tell which: "},
        {{SIGKILL, CONTROL_BY_HOST_LATE, false, false},
         "process 7 was ended by SIGKILL, or otherwise, as when a stack overflows: the host did "
         "not tell which in time: "},
        {{SIGKILL, CONTROL_BY_HOST_UNTOLD, true, false},
         "process 7 was killed since the machine ran out of memory: "},
        {{SIGKILL, CONTROL_BY_HOST_UNTOLD, true, true},
         "memory limit of 256 MiB reached, killed process 7: "},
        {{SIGBUS, CONTROL_BY_DISK, false, false},
         "process 7 was killed since the disk with its private files is full: "},
    };
    const struct sandbox_outcome o = limited();
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char words[256];
        outcome_describe_casualty(&o.limits, &cases[i].facts, 7, words, sizeof(words));
        EXPECT_STR(words, cases[i].words);
    }
}

TEST(a_limit_says_how_to_raise_it)
{
    struct sandbox_outcome o = limited();
    const struct end_facts facts = {SIGKILL, CONTROL_BY_HOST, true, true};
    outcome_note_exit(&o, &facts);
    EXPECT_STR(o.message.text, "memory limit of 256 MiB reached; raise it with --memory");
    EXPECT_EQ(o.memory_kills, 1);
    EXPECT_EQ(o.signal, SIGKILL);
}

TEST(a_limit_that_is_not_there_ends_nothing)
{
    struct sandbox_outcome o = limited();
    const struct end_facts facts = {SIGKILL, CONTROL_BY_IDLE, false, false};
    o.limits.value[LIMIT_IDLE] = 0;
    outcome_note_exit(&o, &facts);
    EXPECT_EQ(o.cause, SANDBOX_SIGNALED);
    EXPECT_STR(o.message.text, "");
}

TEST(limits_of_time)
{
    struct sandbox_outcome o = limited();
    outcome_note_limit(&o, LIMIT_TIMEOUT);
    outcome_finish(&o);
    EXPECT_EQ(o.cause, SANDBOX_TIMED_OUT);
    EXPECT_EQ(o.exit_status, 124);
    EXPECT_STR(o.message.text, "time limit of 1 s reached; raise it with --timeout");
    o = limited();
    outcome_note_limit(&o, LIMIT_LIFETIME);
    outcome_finish(&o);
    EXPECT_EQ(o.cause, SANDBOX_LIFETIME);
    EXPECT_EQ(o.exit_status, 124);
    EXPECT_STR(o.words, "lifetime of 1 h reached");
}

TEST(a_signal_names_its_sender)
{
    struct sandbox_outcome o = limited();
    outcome_note_signal(&o, SIGTERM, "process 12 (make) of user 1000");
    outcome_finish(&o);
    EXPECT_EQ(o.cause, SANDBOX_KILLED);
    EXPECT_EQ(o.exit_status, 143);
    EXPECT_STR(o.words, "ended by SIGTERM (Terminated) from process 12 (make) of user 1000");
    EXPECT_STR(o.message.text, "");
    o = limited();
    outcome_note_signal(&o, SIGINT, "");
    EXPECT_STR(o.words, "ended by SIGINT (Interrupt)");
}

TEST(a_policy_names_what_for)
{
    struct sandbox_outcome o = limited();
    outcome_note_policy(&o, "K\x1b[2J", 5);
    outcome_finish(&o);
    EXPECT_EQ(o.cause, SANDBOX_POLICY);
    EXPECT_EQ(o.exit_status, 137);
    EXPECT_STR(o.words, "secret K\\x1b[2J was to go where it may not");
}

TEST(ends_of_the_kernel)
{
    struct sandbox_outcome o = limited();
    struct end_facts facts = {.wait_status = EXITED(1)};
    snprintf(o.report, sizeof(o.report), "123");
    outcome_note_kernel(&o, &facts, "kernel failure at x.c:1: y");
    outcome_finish(&o);
    EXPECT_EQ(o.cause, SANDBOX_KERNEL_FAILURE);
    EXPECT_EQ(o.exit_status, 125);
    EXPECT_STR(o.message.text,
               "the sandbox's kernel ended unexpectedly: status 1: kernel failure at x.c:1: y; "
               "report 123; this is a bug of Glovebox, please report it");
    o = limited();
    facts =
        (struct end_facts){.wait_status = SIGKILL, .is_out_of_memory = true, .is_at_limit = true};
    outcome_note_kernel(&o, &facts, "");
    outcome_finish(&o);
    EXPECT_EQ(o.cause, SANDBOX_MEMORY);
    EXPECT_EQ(o.exit_status, 137);
    o = limited();
    facts = (struct end_facts){.wait_status = SIGKILL};
    outcome_note_kernel(&o, &facts, "");
    outcome_finish(&o);
    EXPECT_EQ(o.cause, SANDBOX_HOST_FAILURE);
    EXPECT_STR(o.message.text, "the sandbox's kernel was killed from outside; start it again");
    o = limited();
    facts = (struct end_facts){.wait_status = SIGSYS};
    outcome_note_kernel(&o, &facts, "");
    EXPECT_EQ(o.cause, SANDBOX_KERNEL_FAILURE);
}
