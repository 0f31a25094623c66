// SPDX-License-Identifier: Apache-2.0
/*
 * Values as people write them: sizes, times, mounts, files with environment variables.
 * On failure the output is untouched and e says "REASON; NEXT STEP".
 */
#pragma once

#include "sandbox/error.h"
#include "sandbox/port_forward.h"
#include "sandbox/strv.h"

#define CLI_TIME_MAX_NS        (366 * 24 * 3600 * NSEC_PER_SEC)
#define CLI_ENV_FILE_MAX_BYTES (1024 * 1024)

/* Digits alone, within bounds. On false the output is untouched. */
bool cli_parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *ret);

/* Whether it is the first of two words; -EINVAL when it is neither. */
int cli_parse_choice(const char *text, const char *yes, const char *no, bool *ret,
                     struct sandbox_error *e);

/* "4096", "64K", "64M", "1G", "1T", also with B or iB behind; powers of 1024; at least 1. */
int cli_parse_size(const char *text, uint64_t *ret_bytes, struct sandbox_error *e);

/* "30", "1.5", "500ms", "30s", "2m", "1h"; more than nothing, at most a year. */
int cli_parse_time(const char *text, int64_t *ret_ns, struct sandbox_error *e);

/* HOST:GUEST[:ro|rw], rw when not given; HOST may have colons in it. The strings are the caller's.
 */
int cli_parse_mount(const char *text, char **ret_host, char **ret_guest, bool *ret_read_only,
                    struct sandbox_error *e);

/* PATH[:SIZE], also PATH:size=SIZE; *ret_bytes is 0 without one. */
int cli_parse_tmpfs(const char *text, char **ret_path, uint64_t *ret_bytes,
                    struct sandbox_error *e);

/*
 * GUESTPORT, PORT:GUESTPORT, or ADDRESS:PORT:GUESTPORT with an address of IPv4, one of IPv6 in
 * brackets, or localhost. Without an address it is 127.0.0.1, without PORT that of GUESTPORT.
 */
int cli_parse_forward(const char *text, struct port_forward *ret, struct sandbox_error *e);

/*
 * K=V sets it in env; K alone takes the value of this process's environment, and takes K out when
 * there is none.
 */
int cli_take_env(struct strv *env, const char *text, struct sandbox_error *e);

/*
 * Lines as for cli_take_env(), blanks before them, empty ones and those with # left out; values are
 * taken as they are, with no quoting. A carriage return before the end of the line is left out.
 */
int cli_take_env_file(struct strv *env, const char *path, struct sandbox_error *e);
