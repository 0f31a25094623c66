// SPDX-License-Identifier: Apache-2.0
#include "lib/text/unseen.h"

struct range {
    uint32_t first, last;
};

static const struct range hidden[] = {
    {0x00ad, 0x00ad},   /* soft hyphen */
    {0x034f, 0x034f},   /* combining grapheme joiner */
    {0x061c, 0x061c},   /* Arabic letter mark */
    {0x115f, 0x1160},   /* Hangul fillers */
    {0x17b4, 0x17b5},   /* Khmer inherent vowels */
    {0x180b, 0x180f},   /* Mongolian selectors and vowel separator */
    {0x200b, 0x200f},   /* zero width space and joiners, directional marks */
    {0x2028, 0x202e},   /* line and paragraph separators, directional embeddings and overrides */
    {0x2060, 0x206f},   /* word joiner, invisible operators, directional isolates */
    {0x3164, 0x3164},   /* Hangul filler */
    {0xfdd0, 0xfdef},   /* noncharacters */
    {0xfe00, 0xfe0f},   /* variation selectors */
    {0xfeff, 0xfeff},   /* zero width no-break space, byte order mark */
    {0xffa0, 0xffa0},   /* halfwidth Hangul filler */
    {0xfff0, 0xfffb},   /* reserved, interlinear annotation */
    {0x13430, 0x1343f}, /* Egyptian hieroglyph format controls */
    {0x1bca0, 0x1bca3}, /* shorthand format controls */
    {0x1d173, 0x1d17a}, /* musical beams, ties, slurs and phrases */
    {0xe0000, 0xe0fff}, /* tags, variation selectors supplement, reserved */
};

/*
 * Where characters with both a text and an emoji style, and those of emoji sequences, lie. The
 * blocks are taken whole: their other characters are visible symbols too.
 */
static const struct range pictographs[] = {
    {0x00a9, 0x00a9}, {0x00ae, 0x00ae},   {0x203c, 0x203c}, {0x2049, 0x2049}, {0x2122, 0x2122},
    {0x2139, 0x2139}, {0x2190, 0x21ff},   {0x2300, 0x23ff}, {0x24c2, 0x24c2}, {0x25a0, 0x27bf},
    {0x2900, 0x297f}, {0x2b00, 0x2bff},   {0x3030, 0x3030}, {0x303d, 0x303d}, {0x3297, 0x3297},
    {0x3299, 0x3299}, {0x1f000, 0x1faff},
};

static bool is_within(const struct range *ranges, size_t count, uint32_t code)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (code > ranges[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && code >= ranges[low].first;
}

bool text_is_hidden(uint32_t code)
{
    if ((code & 0xfffe) == 0xfffe)
        return true; /* the last two of each plane are noncharacters */
    return is_within(hidden, ARRAY_SIZE(hidden), code);
}

static bool is_pictograph(uint32_t code)
{
    return is_within(pictographs, ARRAY_SIZE(pictographs), code);
}

/* Arabic, Syriac, N'Ko and their like, and from U+0900 on the scripts of India and Sri Lanka. */
static bool is_joined_script(uint32_t code)
{
    return code >= 0x0620 && code <= 0x0dff;
}

static bool is_keycap_base(uint32_t code)
{
    return (code >= '0' && code <= '9') || code == '#' || code == '*';
}

bool text_may_join(uint32_t before, uint32_t code)
{
    switch (code) {
    case TEXT_ZWJ:
        return is_pictograph(before) || before == TEXT_EMOJI_SELECTOR || is_joined_script(before);
    case TEXT_ZWNJ:
        return is_joined_script(before);
    case TEXT_EMOJI_SELECTOR:
        return is_keycap_base(before);
    default:
        return false;
    }
}

bool text_joins(uint32_t before, uint32_t code, uint32_t after)
{
    if (!text_may_join(before, code))
        return false;
    if (code == TEXT_EMOJI_SELECTOR)
        return after == TEXT_KEYCAP;
    return is_joined_script(before) ? is_joined_script(after) : is_pictograph(after);
}

bool text_selects(uint32_t before, uint32_t code)
{
    return (code == TEXT_TEXT_SELECTOR || code == TEXT_EMOJI_SELECTOR) && is_pictograph(before);
}
