// SPDX-License-Identifier: Apache-2.0
/*
 * Characters that a reader can't see, or that make text look other than it is. Unicode 15.
 */
#pragma once

#include "lib/base/base.h"

#define TEXT_ZWNJ           0x200c /* zero width non-joiner */
#define TEXT_ZWJ            0x200d /* zero width joiner */
#define TEXT_TEXT_SELECTOR  0xfe0e
#define TEXT_EMOJI_SELECTOR 0xfe0f
#define TEXT_KEYCAP         0x20e3

/*
 * Everything that has the property Default_Ignorable_Code_Point (zero-width characters, bidi
 * controls, soft hyphen, fillers, variation selectors, the tags of U+E0000), line and paragraph
 * separators, the format controls of Egyptian hieroglyphs and of interlinear annotation, and
 * noncharacters.
 */
bool text_is_hidden(uint32_t code);

/*
 * Whether a joiner or selector does its proper work between these two characters, so that it may
 * stay: ZWJ between two pictographs of one emoji; ZWJ and ZWNJ between two letters of Arabic,
 * Syriac and Indic scripts, which need them for spelling; U+FE0F in a keycap (1, U+FE0F, U+20E3).
 */
bool text_joins(uint32_t before, uint32_t code, uint32_t after);

/* Whether some character after it could make text_joins() true. */
bool text_may_join(uint32_t before, uint32_t code);

/*
 * Whether a selector of text or emoji style (U+FE0E, U+FE0F) stands behind a pictograph. All other
 * selectors, and a second one, only carry what nobody sees.
 */
bool text_selects(uint32_t before, uint32_t code);
