// SPDX-License-Identifier: Apache-2.0
/*
 * Parsers of what the host's /proc says about a task: proc(5). Strict: a line that is not exactly
 * as Linux writes it is an error, since whatever is shown to a guest is rebuilt from the values
 * that were parsed, and never copied. Names in maps are classified; the text of a path is not even
 * kept.
 *
 * The texts come from the host's kernel, but parts of them (a task's name, the path of a mapped
 * file) were chosen by guests.
 */
#pragma once

#include "lib/base/base.h"

/* ---- PID/stat ---- */

#define HOST_STAT_FIELDS 52

enum host_stat_field {
    HOST_STAT_MINFLT = 10,
    HOST_STAT_CMINFLT = 11,
    HOST_STAT_MAJFLT = 12,
    HOST_STAT_CMAJFLT = 13,
    HOST_STAT_UTIME = 14,
    HOST_STAT_STIME = 15,
    HOST_STAT_VSIZE = 23,
    HOST_STAT_RSS = 24,
    HOST_STAT_STARTSTACK = 28,
    HOST_STAT_PROCESSOR = 39,
    HOST_STAT_START_BRK = 47,
    HOST_STAT_ARG_START = 48,
    HOST_STAT_ARG_END = 49,
    HOST_STAT_ENV_START = 50,
    HOST_STAT_ENV_END = 51,
};

struct host_stat {
    char name[64]; /* as far as it fits */
    char state;
    uint64_t field[HOST_STAT_FIELDS + 1]; /* by the numbers of proc(5); negative ones wrapped */
};

/* 0 or -EINVAL. Fields past the 52nd are not looked at; a host that has fewer is refused. */
int host_stat_parse(const char *text, size_t size, struct host_stat *ret);

/* ---- PID/statm ---- */

#define HOST_STATM_FIELDS 7
/* Pages: size, resident, shared, text, lib, data, dt. 0 or -EINVAL. */
int host_statm_parse(const char *text, size_t size, uint64_t ret[HOST_STATM_FIELDS]);

/* ---- PID/maps, PID/smaps ---- */

enum host_map_kind {
    HOST_MAP_ANONYMOUS,
    HOST_MAP_FILE, /* any path: which file, only device and inode number say */
    HOST_MAP_HEAP,
    HOST_MAP_STACK,
    HOST_MAP_VDSO,
    HOST_MAP_VVAR,
    HOST_MAP_VVAR_VCLOCK,
    HOST_MAP_VSYSCALL,
    HOST_MAP_ZERO,   /* a shared mapping without a file: "/dev/zero (deleted)" */
    HOST_MAP_SYSV,   /* a System V segment; `sysv_key` */
    HOST_MAP_OTHER,  /* a name in brackets that is not known: shown without it */
    HOST_MAP_ROLLUP, /* of smaps_rollup */
};

struct host_map {
    uint64_t start, end;
    char permissions[5]; /* "r-xp" */
    uint64_t offset;
    uint32_t major, minor;
    uint64_t inode;
    enum host_map_kind kind;
    uint32_t sysv_key;
};

/*
 * Takes one line off the front of *text (which ends at end). 1, 0 at the end of the text, or
 * -EINVAL. A last line without a newline is an error: the text was cut.
 */
int host_map_next(const char **text, const char *end, struct host_map *ret);

/* The lines that follow a mapping in smaps: "Rss:     12 kB", "VmFlags: rd mr". */
struct host_smaps_line {
    const char *key; /* one of the known ones, a constant; NULL: a line to leave out */
    uint64_t value;
    bool is_kib;
    char flags[128]; /* of VmFlags: two-letter words, each followed by a blank; else "" */
};

/* As host_map_next; -ENOENT when the line is the first of the next mapping (nothing is taken). */
int host_smaps_next(const char **text, const char *end, struct host_smaps_line *ret);

/* ---- lines of "Key:\tNUMBER kB" in PID/status ---- */

/* The number behind "key:" at the start of a line. False when there is none. */
bool host_key_number(const char *text, size_t size, const char *key, uint64_t *ret);

/*
 * The text behind "key\t*: " at the start of a line, up to the end of the line or size, with
 * everything but printable ASCII left out. False when there is no such line. For /proc/cpuinfo.
 */
bool host_key_text(const char *text, size_t text_size, const char *key, char *ret, size_t size);
