// SPDX-License-Identifier: Apache-2.0
#include "sandbox/run_parts.h"

#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* Before the clock and others have their turn: a kernel may have always something more to say. */
#define PACKETS_AT_ONCE 64

static void note_totals(struct run *r, const struct control_packet *p)
{
    r->has_totals = true;
    outcome_note_totals(r->outcome, p);
}

/* What its program was refused the gateway has told before the program was: that is the cause. */
static void note_exit(struct run *r, const struct control_packet *p)
{
    struct sandbox_outcome *o = r->outcome;
    struct end_facts facts = {.wait_status = p->value, .reason = (enum control_reason)p->reason};
    updates_hear(&r->updates);
    note_totals(r, p);
    if (r->is_ended_by_us) {
        outcome_note_program(o, p->value);
    } else {
        if (control_is_by_host(p->reason))
            facts.is_out_of_memory = place_ran_out_of_memory(&r->place, &facts.is_at_limit);
        outcome_note_exit(o, &facts);
    }
    run_start_leaving(r);
}

/* A sandbox without a main program has come to a limit of all of it. */
static void note_over(struct run *r, const struct control_packet *p)
{
    const struct end_facts facts = {.wait_status = SIGKILL,
                                    .reason = (enum control_reason)p->reason};
    updates_hear(&r->updates);
    note_totals(r, p);
    if (!r->is_ended_by_us)
        outcome_note_exit(r->outcome, &facts);
    run_start_leaving(r);
}

/* Another process than the main one: the sandbox lives on, and somebody may wonder. */
static void note_casualty(struct run *r, const struct control_packet *p, const char *name)
{
    char line[256];
    struct end_facts facts = {.reason = (enum control_reason)p->reason,
                              .is_at_limit = p->reason == CONTROL_BY_MEMORY};
    facts.is_out_of_memory =
        facts.is_at_limit ||
        (control_is_by_host(p->reason) && place_ran_out_of_memory(&r->place, &facts.is_at_limit));
    if (facts.is_at_limit) {
        r->outcome->memory_kills++;
        execs_note_memory(&r->execs, p->value);
    }
    outcome_describe_casualty(&r->spec->limits, &facts, p->value, line, sizeof(line));
    notices_say(&r->notices, line, name, p->text_size);
}

static void note_failure(struct run *r, const struct control_packet *p, const char *text)
{
    r->is_ended_by_us = false;
    outcome_note_failure(r->outcome, p->value, text, p->text_size);
    run_start_leaving(r);
}

/* Without a policy there is no gateway to tell it. */
static void note_denied(struct run *r, const struct control_packet *p, const char *text)
{
    if (r->spec->policy)
        return;
    if (p->text_size)
        decisions_add_denied(&r->decisions, p->reason, (uint16_t)p->value, text, p->text_size);
    else if (p->value > 0)
        decisions_add_folded(&r->decisions, (uint32_t)p->value);
}

static void note_ready(struct run *r)
{
    if (r->is_ready)
        return;
    r->is_ready = true;
    execs_ready(&r->execs);
    if (r->io->ready)
        r->io->ready(r->io->ready_userdata, r->place.registry.name);
}

static void on_packet(struct run *r, const struct control_packet *p, const char *text)
{
    switch (p->type) {
    case CONTROL_READY:
        note_ready(r);
        break;
    case CONTROL_EXITED:
        if (!r->has_outcome)
            note_exit(r, p);
        break;
    case CONTROL_TOTALS:
        note_totals(r, p);
        break;
    case CONTROL_SEALED:
        place_note_seal(&r->place, text, p->text_size);
        r->sandbox->seal = r->place.record.seal;
        break;
    case CONTROL_FAILED:
        if (!r->has_outcome)
            note_failure(r, p, text);
        break;
    case CONTROL_CASUALTY:
        note_casualty(r, p, text);
        break;
    case CONTROL_TRACE:
        notices_take_trace(&r->notices, text, p->text_size);
        break;
    case CONTROL_LOG:
        notices_say(&r->notices, "", text, p->text_size);
        break;
    case CONTROL_DENIED:
        note_denied(r, p, text);
        break;
    case CONTROL_COPIED:
        copies_take(&r->copies, p->value, text, p->text_size);
        break;
    case CONTROL_EXEC_STARTED:
    case CONTROL_EXEC_FAILED:
    case CONTROL_EXEC_ENDED:
        execs_take(&r->execs, p, text);
        break;
    case CONTROL_PORT_ANSWERED:
    case CONTROL_PORT_LISTED:
        ports_take(&r->ports, p, text);
        break;
    case CONTROL_USED:
        execs_take_usage(&r->execs, p, text);
        break;
    case CONTROL_OVER:
        if (!r->has_outcome && r->spec->waits)
            note_over(r, p);
        break;
    case CONTROL_STOPPED:
        /* What is to end does not keep us from ending it. */
        if (r->state == RUNNING && (r->spec->tty || (r->suspend_ns && p->value == SIGTSTP)))
            run_suspend(r);
        break;
    default:
        break;
    }
}

/* What is in it is no text; and who gets it looks for nothing in it but numbers and names. */
static bool is_binary(const struct control_packet *p)
{
    return p->type == CONTROL_COPIED || p->type == CONTROL_PORT_LISTED || p->type == CONTROL_USED;
}

/* Everything in a packet is checked: a guest may have taken over the kernel process. */
bool run_read_control(struct run *r)
{
    static union {
        struct control_packet packet;
        char bytes[sizeof(struct control_packet) + CONTROL_PACKET_MAX_BYTES];
    } u;
    for (int i = 0; i < PACKETS_AT_ONCE; i++) {
        if (notices_trace_is_full(&r->notices))
            return false;
        ssize_t n = recv(r->sandbox->control, &u, sizeof(u), MSG_DONTWAIT | MSG_TRUNC);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return false;
        /* Told once, before what is still to be read: we wrote to a kernel that was ending. */
        if (n < 0 && errno == ECONNRESET)
            continue;
        if (n <= 0) {
            r->is_control_open = false;
            return false;
        }
        if ((size_t)n < sizeof(u.packet) || (size_t)n > sizeof(u) ||
            u.packet.text_size != (size_t)n - sizeof(u.packet))
            continue;
        size_t size = u.packet.text_size;
        const char *text = u.bytes + sizeof(u.packet);
        if (!is_binary(&u.packet))
            text = scrubber_replace(r->scrubber, text, &size);
        u.packet.text_size = (uint32_t)size;
        on_packet(r, &u.packet, text);
    }
    return true;
}
