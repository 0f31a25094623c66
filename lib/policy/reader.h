// SPDX-License-Identifier: Apache-2.0
/*
 * From JSON to structs, strictly: what an object may hold is a table of fields, and everything else
 * is refused with the place where it stands. Not for other rooms.
 */
#pragma once

#include "lib/policy/arena.h"
#include "lib/policy/document.h"

#include <jansson.h>

#define READER_LIST_MAX 65536 /* elements of any list; the size of a document bounds it before */

struct reader {
    struct arena *arena;
    struct policy_error *e;
    char pointer[sizeof(((struct policy_error *)0)->pointer)]; /* where we are */
    size_t pointer_size;
};

struct reader_field;

/* Reads value into field. 0, or what reader_fail() returns. */
typedef int reader_function(struct reader *r, json_t *value, const struct reader_field *f,
                            void *field);

struct reader_field {
    const char *name;
    reader_function *read;
    size_t offset;    /* of the field in the struct that is read into */
    const void *more; /* for read */
    bool is_required;
};

/* The row of a table for one member of a struct. */
#define READER_FIELD(of, member, reads, with)                                                   \
    {                                                                                           \
        .name = #member, .read = (reads), .offset = offsetof(struct of, member), .more = (with) \
    }

/* Sets the error: "POINTER: " and the text. Returns -EINVAL. */
int reader_fail(struct reader *r, const char *format, ...) _printf_(2, 3);

/* Memory ran out. Returns -ENOMEM. */
int reader_no_memory(struct reader *r);

/* Goes down to a key (or an element), and back up to what reader_enter() returned. */
size_t reader_enter(struct reader *r, const char *key);
size_t reader_enter_index(struct reader *r, size_t index);
void reader_leave(struct reader *r, size_t before);

/* value as an object with those fields, ended by an empty row; fields that are missing stay. */
int reader_object(struct reader *r, json_t *value, const struct reader_field *fields, void *target);

/* What a list is made of: least to most elements of size bytes, each read into its place. */
struct reader_elements {
    size_t least, most, size;
    int (*read)(struct reader *r, json_t *value, void *element);
};

/* value as a list, in the arena. *ret_list and *ret_count are set as far as it went. */
int reader_list(struct reader *r, json_t *value, const struct reader_elements *elements,
                void **ret_list, size_t *ret_count);

/* Text of least to most bytes in the arena, without control characters. */
int reader_take_text(struct reader *r, json_t *value, size_t least, size_t most, const char **ret);

/* Readers of fields. */

extern reader_function reader_bool; /* bool */

struct reader_bounds {
    uint64_t least, most;
    bool may_be_null; /* POLICY_LIMIT_NONE */
};
extern reader_function reader_number; /* uint64_t; more: struct reader_bounds */

struct reader_word {
    const char *word; /* NULL: the end */
    int value;
};
extern reader_function reader_choice; /* an enum; more: struct reader_word [] */

/* bool; more: const char *[2], the words for false and for true. */
extern reader_function reader_either;

struct reader_sizes {
    size_t least, most;
};
extern reader_function reader_text; /* const char *; more: struct reader_sizes of its bytes */

/* A list of ports: numbers, and ranges like "8000-8099". */
int reader_take_ports(struct reader *r, json_t *value, const struct policy_port_range **ret,
                      size_t *ret_count);

/* A list of patterns without ports; does_star: "*" is one. */
int reader_take_patterns(struct reader *r, json_t *value, bool does_star,
                         struct policy_patterns *ret);

/* A header field's name, in lower case. */
int reader_take_header_name(struct reader *r, const char *name, const char **ret);

/* The parts of a document, each in a file of its own. */
int reader_take_http(struct reader *r, json_t *value, const struct policy_http **ret);
int reader_take_v(struct reader *r, json_t *value, struct policy_text *ret);
int reader_take_methods(struct reader *r, json_t *value, const char *const **ret,
                        size_t *ret_count);
int reader_take_transform(struct reader *r, json_t *value, void *transform);
int reader_take_rule(struct reader *r, json_t *value, void *rule);
int reader_take_dns_types(struct reader *r, json_t *value, const uint16_t **ret, size_t *ret_count);
extern reader_function reader_dns, reader_tls, reader_limits, reader_log, reader_ingress;
extern reader_function reader_secrets, reader_upstream;
/* What a secret is for; value is the whole secret, and all else of it is read. */
int reader_take_secret_use(struct reader *r, json_t *value, struct policy_secret *secret);
int reader_take_ssh(struct reader *r, json_t *value, struct policy_secret *secret);
/* When all secrets are read. */
int reader_check_secret_uses(struct reader *r, const struct policy_document *d);
extern reader_function reader_phases, reader_rule_phases; /* into the whole struct */

/* When all of a document is read: rules are those of d. */
int reader_check_phases(struct reader *r, const struct policy_document *d,
                        struct policy_rule *rules);

/* What a document has that doesn't say anything. */
void reader_set_defaults(struct policy_document *d);

/* Of scrub, in transforms and secrets. */
extern const struct reader_word reader_scrub_words[];
/* Of tls, in rules and as mode of all. */
extern const struct reader_word reader_tls_words[];
