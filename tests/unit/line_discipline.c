// SPDX-License-Identifier: Apache-2.0
/*
 * The line discipline fed directly: what is echoed, what is read, what is signalled. Every step
 * checks the invariants of kernel/fs/tty/discipline.h.
 */
#include "kernel/fs/tty/discipline.h"
#include "tests/harness/harness.h"

#include <signal.h>

struct terminal {
    struct discipline d;
    char signals[64];
    size_t signal_count;
    uint32_t events;
};

static void on_signal(struct discipline *d, int sig)
{
    struct terminal *t = container_of(d, struct terminal, d);
    if (t->signal_count < sizeof(t->signals))
        t->signals[t->signal_count++] = (char)sig;
}

static void on_event(struct discipline *d, uint32_t events)
{
    container_of(d, struct terminal, d)->events |= events;
}

static const struct discipline_ops ops = {on_signal, on_event};

static struct terminal *terminal_new(void)
{
    struct terminal *t = calloc(1, sizeof(*t));
    ASSERT_TRUE(t);
    discipline_init(&t->d, &ops);
    return t;
}

static void change(struct terminal *t, uint32_t iflag, uint32_t oflag, uint32_t lflag)
{
    struct abi_termios2 s = t->d.termios;
    s.iflag = iflag;
    s.oflag = oflag;
    s.lflag = lflag;
    discipline_set_termios(&t->d, &s);
    ASSERT_EQ(discipline_check(&t->d), 0);
}

#define COOKED_IFLAG (ICRNL | IXON)
#define COOKED_OFLAG (OPOST | ONLCR)
#define COOKED_LFLAG (ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN)

static size_t type_bytes(struct terminal *t, const void *data, size_t size)
{
    size_t taken = discipline_receive(&t->d, data, size);
    ASSERT_EQ(discipline_check(&t->d), 0);
    return taken;
}

static void type(struct terminal *t, const char *text)
{
    ASSERT_EQ(type_bytes(t, text, strlen(text)), strlen(text));
}

/* One read of a program, as text; "(none)" when it would have to wait. */
static const char *read_text(struct terminal *t, size_t size)
{
    static char text[DISCIPLINE_INPUT_BYTES + 1];
    size_t consume;
    if (discipline_readable(&t->d) == 0)
        return "(none)";
    size_t n = discipline_peek(&t->d, text, size, &consume);
    discipline_consume(&t->d, consume);
    ASSERT_EQ(discipline_check(&t->d), 0);
    text[n] = '\0';
    return text;
}

/* What the terminal got since the last look, as text. */
static const char *shown(struct terminal *t)
{
    static char text[sizeof(t->d.output_data) + 1];
    const uint8_t *data;
    size_t n = 0, part;
    while ((part = ring_front(&t->d.output, &data)) > 0) {
        memcpy(text + n, data, part);
        ring_drop(&t->d.output, part);
        n += part;
    }
    text[n] = '\0';
    return text;
}

static void write_text(struct terminal *t, const char *text)
{
    discipline_write(&t->d, (const uint8_t *)text, strlen(text));
    ASSERT_EQ(discipline_check(&t->d), 0);
}

/* ---- lines ---- */

TEST(a_line_is_read_once_it_is_complete)
{
    struct terminal *t = terminal_new();
    type(t, "ab");
    EXPECT_STR(read_text(t, 10), "(none)");
    type(t, "c\r");
    EXPECT_STR(shown(t), "abc\r\n");
    EXPECT_STR(read_text(t, 10), "abc\n");
    EXPECT_STR(read_text(t, 10), "(none)");
    EXPECT_TRUE(t->events & DISCIPLINE_READABLE);
}

TEST(a_read_ends_with_its_line)
{
    struct terminal *t = terminal_new();
    type(t, "one\ntwo\n");
    EXPECT_EQ(discipline_readable_bytes(&t->d), 8);
    EXPECT_STR(read_text(t, 100), "one\n");
    EXPECT_STR(read_text(t, 2), "tw");
    EXPECT_STR(read_text(t, 2), "o\n");
}

TEST(eof_ends_a_line_without_a_byte)
{
    struct terminal *t = terminal_new();
    type(t, "abc\004");
    EXPECT_EQ(discipline_readable(&t->d), 4);
    EXPECT_EQ(discipline_readable_bytes(&t->d), 3);
    EXPECT_STR(read_text(t, 3), "abc"); /* takes the EOF with it */
    EXPECT_STR(read_text(t, 3), "(none)");
    type(t, "\004");
    EXPECT_STR(read_text(t, 3), "");
    EXPECT_STR(read_text(t, 3), "(none)");
    EXPECT_STR(shown(t), "abc");
}

TEST(eol_and_eol2_end_lines)
{
    struct terminal *t = terminal_new();
    struct abi_termios2 s = t->d.termios;
    s.cc[VEOL] = ';';
    s.cc[VEOL2] = '!';
    discipline_set_termios(&t->d, &s);
    type(t, "a;b!");
    EXPECT_STR(read_text(t, 9), "a;");
    EXPECT_STR(read_text(t, 9), "b!");
    EXPECT_STR(shown(t), "a;b!");
}

TEST(the_longest_line_has_4095_bytes_and_its_end)
{
    struct terminal *t = terminal_new();
    char line[5000];
    memset(line, 'x', sizeof(line));
    EXPECT_EQ(type_bytes(t, line, sizeof(line)), sizeof(line));
    type(t, "\n");
    const char *text = read_text(t, 5000);
    EXPECT_EQ(strlen(text), DISCIPLINE_INPUT_BYTES);
    EXPECT_EQ(text[DISCIPLINE_INPUT_BYTES - 1], '\n');
}

TEST(complete_lines_wait_for_their_reader)
{
    struct terminal *t = terminal_new();
    char lines[5000];
    for (size_t i = 0; i < sizeof(lines); i++)
        lines[i] = i % 10 == 9 ? '\n' : 'x';
    size_t taken = type_bytes(t, lines, sizeof(lines));
    EXPECT_EQ(taken, DISCIPLINE_INPUT_BYTES - 1);
    EXPECT_EQ(strlen(read_text(t, 100)), 10);
    EXPECT_GT(type_bytes(t, lines + taken, sizeof(lines) - taken), 0);
}

/* ---- editing ---- */

TEST(erase_takes_one_character_back)
{
    struct terminal *t = terminal_new();
    type(t, "ab\177c\n");
    EXPECT_STR(shown(t), "ab\b \bc\r\n");
    EXPECT_STR(read_text(t, 9), "ac\n");
    type(t, "\177\177x\n");
    EXPECT_STR(shown(t), "x\r\n");
}

TEST(erase_takes_a_whole_utf8_character)
{
    struct terminal *t = terminal_new();
    change(t, COOKED_IFLAG | IUTF8, COOKED_OFLAG, COOKED_LFLAG);
    type(t, "a\303\251\177b\n");
    EXPECT_STR(shown(t), "a\303\251\b \bb\r\n");
    EXPECT_STR(read_text(t, 9), "ab\n");
}

TEST(erase_of_a_control_character_takes_two_columns)
{
    struct terminal *t = terminal_new();
    type(t, "a\026\001\177\n");
    EXPECT_STR(shown(t), "a^\b^A\b \b\b \b\r\n");
    EXPECT_STR(read_text(t, 9), "a\n");
}

TEST(erase_of_a_tab_goes_back_to_where_it_began)
{
    struct terminal *t = terminal_new();
    write_text(t, "$ ");
    type(t, "ab\t\177c\n");
    EXPECT_STR(shown(t), "$ ab\t\b\b\b\bc\r\n");
    EXPECT_STR(read_text(t, 9), "abc\n");
    type(t, "x\ty\tz\177\177\n"); /* after another tab */
    EXPECT_STR(shown(t), "x\ty\tz\b \b\b\b\b\b\b\b\b\r\n");
}

TEST(word_erase_takes_blanks_and_a_word)
{
    struct terminal *t = terminal_new();
    type(t, "one two_2  \027x\n");
    EXPECT_STR(read_text(t, 20), "one x\n");
    type(t, "a.b\027\n");
    EXPECT_STR(read_text(t, 20), "a.\n");
}

TEST(kill_wipes_the_line_out)
{
    struct terminal *t = terminal_new();
    type(t, "abc\025d\n");
    EXPECT_STR(shown(t), "abc\b \b\b \b\b \bd\r\n");
    EXPECT_STR(read_text(t, 9), "d\n");
}

TEST(kill_without_echoke_goes_to_the_next_line)
{
    struct terminal *t = terminal_new();
    change(t, COOKED_IFLAG, COOKED_OFLAG, COOKED_LFLAG & ~ECHOKE);
    type(t, "abc\025d\n");
    EXPECT_STR(shown(t), "abc^U\r\nd\r\n");
    EXPECT_STR(read_text(t, 9), "d\n");
}

TEST(without_echoe_the_erase_character_is_shown)
{
    struct terminal *t = terminal_new();
    change(t, COOKED_IFLAG, COOKED_OFLAG, COOKED_LFLAG & ~ECHOE);
    type(t, "ab\177\n");
    EXPECT_STR(shown(t), "ab^?\r\n");
    EXPECT_STR(read_text(t, 9), "a\n");
}

TEST(echoprt_shows_what_was_erased)
{
    struct terminal *t = terminal_new();
    change(t, COOKED_IFLAG, COOKED_OFLAG, COOKED_LFLAG | ECHOPRT);
    type(t, "abc\177\177x\n");
    EXPECT_STR(shown(t), "abc\\cb/x\r\n");
    EXPECT_STR(read_text(t, 9), "ax\n");
    type(t, "a\177\n"); /* the line is empty again: '/' at once */
    EXPECT_STR(shown(t), "a\\a/\r\n");
}

TEST(erase_stops_at_the_end_of_the_line_before)
{
    struct terminal *t = terminal_new();
    type(t, "one\n\177\027\025two\n");
    EXPECT_STR(read_text(t, 9), "one\n");
    EXPECT_STR(read_text(t, 9), "two\n");
}

TEST(literal_next_takes_the_meaning_from_a_character)
{
    struct terminal *t = terminal_new();
    type(t, "\026\003\026\177\026\004\n");
    EXPECT_EQ(t->signal_count, 0);
    EXPECT_STR(shown(t), "^\b^C^\b^?^\b^D\r\n");
    EXPECT_STR(read_text(t, 9), "\003\177\004\n");
}

TEST(a_literal_newline_does_not_end_the_line)
{
    struct terminal *t = terminal_new();
    type(t, "a\026\nb");
    EXPECT_STR(read_text(t, 9), "(none)");
    type(t, "\n");
    EXPECT_STR(read_text(t, 9), "a\nb\n");
}

TEST(reprint_shows_the_line_again)
{
    struct terminal *t = terminal_new();
    type(t, "abc\022");
    EXPECT_STR(shown(t), "abc^R\r\nabc");
    EXPECT_STR(read_text(t, 9), "(none)");
}

TEST(characters_that_are_off_are_characters)
{
    struct terminal *t = terminal_new();
    struct abi_termios2 s = t->d.termios;
    memset(s.cc, 0, sizeof(s.cc));
    discipline_set_termios(&t->d, &s);
    type(t, "\003\004\177\021\n");
    EXPECT_EQ(t->signal_count, 0);
    EXPECT_STR(read_text(t, 9), "\003\004\177\021\n");
    EXPECT_EQ(type_bytes(t, "\0\n", 2), 2); /* NUL is not EOF then */
    EXPECT_EQ(discipline_readable_bytes(&t->d), 2);
}

/* ---- signals ---- */

TEST(characters_make_signals)
{
    struct terminal *t = terminal_new();
    type(t, "\003\034\032");
    ASSERT_EQ(t->signal_count, 3);
    EXPECT_EQ(t->signals[0], SIGINT);
    EXPECT_EQ(t->signals[1], SIGQUIT);
    EXPECT_EQ(t->signals[2], SIGTSTP);
}

TEST(a_signal_flushes_both_ways)
{
    struct terminal *t = terminal_new();
    type(t, "abc");
    EXPECT_STR(shown(t), "abc");
    t->events = 0;
    type(t, "\003d\n");
    EXPECT_STR(shown(t), "^Cd\r\n");
    EXPECT_STR(read_text(t, 9), "d\n");
    EXPECT_TRUE(t->events & DISCIPLINE_INPUT_FLUSHED);
    EXPECT_TRUE(t->events & DISCIPLINE_OUTPUT_FLUSHED);
}

TEST(noflsh_keeps_what_was_typed)
{
    struct terminal *t = terminal_new();
    change(t, COOKED_IFLAG, COOKED_OFLAG, COOKED_LFLAG | NOFLSH);
    type(t, "abc\003d\n");
    EXPECT_EQ(t->signal_count, 1);
    EXPECT_STR(shown(t), "abc^Cd\r\n");
    EXPECT_STR(read_text(t, 9), "abcd\n");
}

TEST(without_isig_they_are_characters)
{
    struct terminal *t = terminal_new();
    change(t, COOKED_IFLAG, COOKED_OFLAG, COOKED_LFLAG & ~ISIG);
    type(t, "\003\n");
    EXPECT_EQ(t->signal_count, 0);
    EXPECT_STR(shown(t), "^C\r\n");
    EXPECT_STR(read_text(t, 9), "\003\n");
}

/* ---- input and echo flags ---- */

TEST(returns_and_newlines_are_mapped)
{
    struct terminal *t = terminal_new();
    change(t, 0, 0, ICANON);
    type(t, "a\rb\n");
    EXPECT_STR(read_text(t, 9), "a\rb\n");
    change(t, IGNCR | ICRNL, 0, ICANON);
    type(t, "a\rb\n");
    EXPECT_STR(read_text(t, 9), "ab\n");
    change(t, INLCR, 0, 0);
    type(t, "a\nb");
    EXPECT_STR(read_text(t, 9), "a\rb");
}

TEST(istrip_and_iuclc_change_bytes)
{
    struct terminal *t = terminal_new();
    change(t, ISTRIP | IUCLC, 0, IEXTEN);
    type(t, "A\341Z[");
    EXPECT_STR(read_text(t, 9), "aaz[");
    change(t, IUCLC, 0, 0); /* IUCLC is an extension */
    type(t, "A");
    EXPECT_STR(read_text(t, 9), "A");
}

TEST(parmrk_doubles_the_mark)
{
    struct terminal *t = terminal_new();
    change(t, PARMRK, 0, 0);
    type(t, "a\377b");
    EXPECT_STR(read_text(t, 9), "a\377\377b");
}

TEST(echoctl_decides_how_control_characters_look)
{
    struct terminal *t = terminal_new();
    type(t, "\001\t\177");
    EXPECT_STR(shown(t), "^A\t\b\b\b\b\b\b");
    change(t, COOKED_IFLAG, COOKED_OFLAG, COOKED_LFLAG & ~ECHOCTL);
    type(t, "\001");
    EXPECT_STR(shown(t), "\001");
}

TEST(echonl_shows_newlines_alone)
{
    struct terminal *t = terminal_new();
    change(t, COOKED_IFLAG, COOKED_OFLAG, ICANON | ECHONL);
    type(t, "secret\n");
    EXPECT_STR(shown(t), "\r\n");
}

TEST(extproc_leaves_all_editing_to_the_other_side)
{
    struct terminal *t = terminal_new();
    change(t, COOKED_IFLAG, COOKED_OFLAG, COOKED_LFLAG | EXTPROC);
    type(t, "a\177\003\r");
    EXPECT_EQ(t->signal_count, 0);
    EXPECT_STR(shown(t), "");
    EXPECT_STR(read_text(t, 9), "a\177\003\r");
}

/* ---- changes of mode ---- */

TEST(bytes_become_a_line_when_canonical_mode_begins)
{
    struct terminal *t = terminal_new();
    change(t, 0, 0, 0);
    type(t, "abc");
    change(t, 0, 0, ICANON);
    type(t, "d\n");
    EXPECT_STR(read_text(t, 9), "abc");
    EXPECT_STR(read_text(t, 9), "d\n");
}

TEST(half_a_line_becomes_readable_when_canonical_mode_ends)
{
    struct terminal *t = terminal_new();
    type(t, "abc");
    EXPECT_STR(read_text(t, 9), "(none)");
    change(t, 0, 0, 0);
    EXPECT_STR(read_text(t, 9), "abc");
}

TEST(raw_input_stops_at_the_size_of_the_buffer)
{
    struct terminal *t = terminal_new();
    uint8_t data[5000];
    memset(data, 'r', sizeof(data));
    change(t, 0, 0, 0);
    EXPECT_EQ(type_bytes(t, data, sizeof(data)), 4095);
    EXPECT_EQ(type_bytes(t, data, sizeof(data)), 0);
    discipline_consume(&t->d, 5);
    EXPECT_EQ(type_bytes(t, data, sizeof(data)), 5);
}

/* ---- output ---- */

TEST(output_flags_change_line_ends)
{
    struct terminal *t = terminal_new();
    change(t, 0, OPOST | ONLCR, 0);
    write_text(t, "a\nb");
    EXPECT_STR(shown(t), "a\r\nb");
    change(t, 0, OPOST | OCRNL, 0);
    write_text(t, "a\rb");
    EXPECT_STR(shown(t), "a\nb");
    change(t, 0, OPOST | ONOCR, 0);
    write_text(t, "\n\rx\r\ry");
    EXPECT_STR(shown(t), "\n\rx\ry"); /* none at column 0 */
    change(t, 0, ONLCR, 0);           /* nothing without OPOST */
    write_text(t, "a\n");
    EXPECT_STR(shown(t), "a\n");
}

TEST(tab3_expands_tabs_by_the_column)
{
    struct terminal *t = terminal_new();
    change(t, 0, OPOST | TAB3, 0);
    write_text(t, "ab\tc\b\t\r\tx");
    EXPECT_STR(shown(t), "ab      c\b        \r        x");
}

TEST(olcuc_writes_capitals)
{
    struct terminal *t = terminal_new();
    change(t, 0, OPOST | OLCUC, 0);
    write_text(t, "aZ{z");
    EXPECT_STR(shown(t), "AZ{Z");
}

TEST(utf8_takes_one_column_a_character)
{
    struct terminal *t = terminal_new();
    change(t, IUTF8, OPOST | TAB3, 0);
    write_text(t, "\303\251\342\202\254\tx");
    EXPECT_STR(shown(t), "\303\251\342\202\254      x");
}

TEST(output_is_bounded)
{
    struct terminal *t = terminal_new();
    uint8_t tabs[DISCIPLINE_CHUNK];
    memset(tabs, '\t', sizeof(tabs));
    change(t, 0, OPOST | TAB3, 0);
    size_t chunks = 0;
    for (; discipline_room(&t->d) > 0; chunks++) {
        discipline_write(&t->d, tabs, sizeof(tabs));
        ASSERT_EQ(discipline_check(&t->d), 0);
    }
    EXPECT_EQ(t->d.output.count, chunks * sizeof(tabs) * 8); /* none was lost */
}

/* ---- flow ---- */

TEST(stop_holds_output_and_echoes_until_start)
{
    struct terminal *t = terminal_new();
    type(t, "\023ab");
    EXPECT_EQ(discipline_room(&t->d), 0);
    EXPECT_STR(shown(t), "");
    EXPECT_TRUE(t->events & DISCIPLINE_STOPPED);
    type(t, "\021");
    EXPECT_STR(shown(t), "ab");
    EXPECT_TRUE(t->events & DISCIPLINE_STARTED);
    EXPECT_GT(discipline_room(&t->d), 0);
}

TEST(ixany_starts_with_any_character)
{
    struct terminal *t = terminal_new();
    change(t, COOKED_IFLAG | IXANY, COOKED_OFLAG, COOKED_LFLAG);
    type(t, "\023");
    EXPECT_EQ(discipline_room(&t->d), 0);
    type(t, "x");
    EXPECT_STR(shown(t), "x");
}

TEST(an_interrupt_starts_output_again)
{
    struct terminal *t = terminal_new();
    type(t, "\023\003");
    EXPECT_STR(shown(t), "^C");
    EXPECT_GT(discipline_room(&t->d), 0);
}

TEST(start_does_not_undo_a_stop_by_the_program)
{
    struct terminal *t = terminal_new();
    t->d.stopped_by_program = true;
    discipline_stop(&t->d);
    type(t, "\021");
    EXPECT_EQ(discipline_room(&t->d), 0);
}

TEST(turning_ixon_off_starts_output)
{
    struct terminal *t = terminal_new();
    type(t, "\023x");
    change(t, ICRNL, COOKED_OFLAG, COOKED_LFLAG);
    EXPECT_STR(shown(t), "x");
}

TEST(without_ixon_stop_is_a_character)
{
    struct terminal *t = terminal_new();
    change(t, ICRNL, COOKED_OFLAG, COOKED_LFLAG);
    type(t, "\023\n");
    EXPECT_STR(shown(t), "^S\r\n");
    EXPECT_STR(read_text(t, 9), "\023\n");
}

TEST(echoes_wait_for_room_and_the_oldest_go_first)
{
    struct terminal *t = terminal_new();
    uint8_t data[3 * DISCIPLINE_ECHO_COUNT];
    memset(data, 'e', sizeof(data));
    type(t, "\023");
    type_bytes(t, data, sizeof(data));
    type(t, "Z");
    EXPECT_EQ(t->d.echo_count, DISCIPLINE_ECHO_COUNT);
    type(t, "\021");
    const char *text = shown(t);
    EXPECT_EQ(strlen(text), DISCIPLINE_ECHO_COUNT);
    EXPECT_EQ(text[DISCIPLINE_ECHO_COUNT - 1], 'Z');
}

/* ---- random bytes ---- */

static uint64_t random_state;

static uint32_t random_number(uint32_t below)
{
    random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)(random_state >> 33) % below;
}

/* Mostly bytes that mean something. */
static uint8_t random_byte(const struct terminal *t)
{
    static const char favourites[] = "\r\n\t\b \021\023\026\003ab_\303\251\377";
    switch (random_number(3)) {
    case 0:
        return (uint8_t)favourites[random_number(sizeof(favourites))];
    case 1:
        return t->d.termios.cc[random_number(ABI_TERMIOS_CC_COUNT)];
    default:
        return (uint8_t)random_number(256);
    }
}

static void random_settings(struct terminal *t)
{
    struct abi_termios2 s = t->d.termios;
    uint32_t *flags[] = {&s.iflag, &s.oflag, &s.lflag};
    *flags[random_number(3)] ^= 1u << random_number(17);
    if (random_number(4) == 0)
        s.cc[random_number(ABI_TERMIOS_CC_COUNT)] = (uint8_t)random_number(256);
    discipline_set_termios(&t->d, &s);
}

static void random_bytes(struct terminal *t, uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        data[i] = random_byte(t);
}

static void random_step(struct terminal *t)
{
    static uint8_t data[2 * DISCIPLINE_INPUT_BYTES];
    size_t size = random_number(random_number(20) ? 40 : sizeof(data)) + 1, consume;
    switch (random_number(8)) {
    case 0:
        random_settings(t);
        break;
    case 1:
    case 2:
        if (discipline_readable(&t->d) == 0)
            break;
        EXPECT_LE(discipline_peek(&t->d, data, size, &consume), size);
        discipline_consume(&t->d,
                           random_number(5) ? consume : random_number((uint32_t)consume + 1));
        break;
    case 3:
        shown(t);
        discipline_flush_echoes(&t->d);
        break;
    case 4:
        size = MIN(size, (size_t)DISCIPLINE_CHUNK);
        random_bytes(t, data, size);
        if (discipline_room(&t->d) > 0)
            discipline_write(&t->d, data, size);
        break;
    case 5:
        if (random_number(10) == 0)
            discipline_flush_input(&t->d);
        if (random_number(10) == 0)
            discipline_flush_output(&t->d);
        break;
    default:
        random_bytes(t, data, size);
        EXPECT_LE(discipline_receive(&t->d, data, size), size);
        break;
    }
}

TEST(random_bytes_and_settings_break_nothing)
{
    for (unsigned seed = 1; seed <= 40; seed++) {
        struct terminal *t = terminal_new();
        random_state = seed;
        for (int step = 0; step < 2000; step++) {
            random_step(t);
            int broken = discipline_check(&t->d);
            if (broken) {
                printf("  seed %u step %d\n", seed, step);
                ASSERT_EQ(broken, 0);
            }
        }
        free(t);
    }
}
