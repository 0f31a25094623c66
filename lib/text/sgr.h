// SPDX-License-Identifier: Apache-2.0
/*
 * Select Graphic Rendition (ECMA-48, 8.3.117; ITU-T T.416 for colours; console_codes(4)): the one
 * terminal sequence that changes nothing but how the text after it looks.
 */
#pragma once

#include "lib/base/base.h"

/* Bytes that text_sgr_clean() writes at most for that many bytes of parameters. */
#define TEXT_SGR_MAX_BYTES(size) (2 * (size) + 8)

/*
 * Writes the sequence anew with those of its parameters that are harmless: reset, bold, faint,
 * italic, underline, inverse, crossed out, overline, their ends, and colours. Left out is what
 * hides text or disturbs (conceal, blink, fonts), and the underline's colour, whose numbers a
 * terminal that does not know it takes for blink and conceal.
 *
 * params is what stands between "CSI" and "m". Returns the bytes written to out, 0 when nothing
 * of it is left, or -EINVAL when it is not such a sequence. *ret_changed: the text looks other than
 * plain afterwards; untouched when nothing is left.
 */
ssize_t text_sgr_clean(const char *params, size_t size, char *out, bool *ret_changed);
