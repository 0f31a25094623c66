// SPDX-License-Identifier: Apache-2.0
/*
 * Address spaces as the kernel knows them: which files were mapped, which program runs. The pages
 * are the host's.
 */
#pragma once

#include "kernel/proc/process.h"

/*
 * A file that was mapped: how /proc/PID/maps finds its name, and what keeps a removed file charged
 * while its pages can be seen. Keyed by the host's inode number. Nobody tells when a mapping goes,
 * so the host is asked when there are many, or when there is no room for a file.
 */
struct mapped_file {
    struct path path; /* counted; mount NULL for anonymous files */
    struct inode *inode;
    int64_t noted_ns;
};

struct address_space *space_copy(const struct address_space *s);

/* Notes that f was mapped through the host descriptor. Failing to is no error: maps shows no name.
 */
void space_note_mapping(struct address_space *s, const struct file *f, struct hostfd fd);

/*
 * Forgets files that are mapped no more by the process of t, which calls right now. Those of
 * siblings whose mmap may not have run yet stay. True if any was forgotten.
 */
bool space_forget_unmapped(const struct thread *t);

/* As above, when there are twice as many as the last time. */
void space_tidy(const struct thread *t);

/* The program of a new space. Counts path; takes over the file and the command line. */
void space_set_program(struct address_space *s, struct path exe, struct file *exe_file,
                       char *cmdline, size_t cmdline_size);

/* The host's maps of p, NUL-terminated, to be freed. 0; -EFBIG when it is over 4 MiB; or -errno. */
int space_read_maps(const struct process *p, char **ret_text);

/* Looks through /proc/PID/task for a thread that is unknown. True if one was met. */
bool space_meet_threads(struct process *p);

struct exec_image;
void exec_image_free(struct exec_image *image);
