// SPDX-License-Identifier: Apache-2.0
/*
 * Command lines as people know them: --name VALUE, --name=VALUE, -x VALUE, -xVALUE, flags in one
 * word
 * (-it), -- as the end, and the first word that is no option ends them too. Each verb has one table
 * from which both the parsing and the help are made.
 */
#pragma once

#include "sandbox/error.h"

#include <stdio.h>

struct cli_option {
    const char *name;  /* without the dashes */
    char letter;       /* 0: none */
    const char *value; /* what the help calls its value; NULL: a flag */
    const char *help;  /* lines apart by \n; NULL: another name of the one above, not in the help */
    /*
     * Takes the value (NULL for a flag) to what is place bytes into the target. 0, or negative
     * errno and "REASON; NEXT STEP" in e. cli/takers.h has those for one member of the target;
     * where place is 0, it is the target as a whole.
     */
    int (*take)(void *to, const char *value, struct sandbox_error *e);
    size_t place;
};

/* An option of a neighbouring program that we don't have, and what to do instead. */
struct cli_foreign_option {
    const char *name;
    const char *advice;
};

struct cli_options {
    const struct cli_option *options;         /* ended by an empty row */
    const struct cli_foreign_option *foreign; /* likewise */
    const char *help_command;                 /* for "see ..." */
    bool are_anywhere; /* also behind words that are none, which then stand behind all of them */
};

/*
 * Gives each option in words to its function, in order. 0 and *ret_used, the number of words that
 * are options (with the --), or negative errno with the whole sentence in e. words may be put into
 * another order, by are_anywhere.
 */
int cli_options_parse(const struct cli_options *o, int count, char **words, void *target,
                      int *ret_used, struct sandbox_error *e);

/* The table as part of a help text. */
void cli_options_print(const struct cli_option *options, FILE *out);

/*
 * The word among count names that was most likely meant by a mistyped one, or NULL. get(names, i)
 * is the i-th.
 */
const char *cli_suggest(const char *word, size_t count, const char *(*get)(const void *, size_t),
                        const void *names);
