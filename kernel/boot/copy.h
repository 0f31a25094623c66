// SPDX-License-Identifier: Apache-2.0
/*
 * Files for somebody outside (lib/base/copy.h): the kernel walks its tree as root of the sandbox,
 * a packet's worth at each question, and keeps of a walk the open directories on its way. So it
 * takes little time for each, holds no lock, and programs go on meanwhile: what they change may be
 * seen or not, as with any program that reads a tree.
 *
 * Nothing is read but regular files of file systems that hold some: no device, no FIFO, nothing of
 * /proc and /sys.
 */
#pragma once

#include "lib/base/control.h"
#include "lib/base/copy.h"

/*
 * Answers a CONTROL_COPY_*: the bytes of records in out, for CONTROL_COPIED; 0: there is no answer.
 * text has p->text_size bytes.
 */
size_t copy_answer(const struct control_packet *p, const char *text, char out[COPY_ANSWER_MAX]);
