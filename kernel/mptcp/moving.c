// SPDX-License-Identifier: GPL-2.0-only
/* The bytes that the kernel moves for processes: uapi/pattern.h says what they are. */

#include <kunit/visibility.h>
#include <linux/math.h>
#include <linux/string.h>

#include "moving.h"
#include "uapi/pattern.h"

void moving_fill(u64 *words, size_t count, u64 position, u64 seed)
{
	u64 word = pattern_word(position / 8, seed), *end = words + count;

	for (; words < end; words++, word += PATTERN_STEP)
		*words = word;
}
EXPORT_SYMBOL_IF_KUNIT(moving_fill);

size_t moving_verify(u64 *words, u64 position, size_t len, u64 seed)
{
	size_t begin = position % 8, end = begin + len, count = DIV_ROUND_UP(end, 8), i;
	u64 first = pattern_word(position / 8, seed), word = first, wrong = 0;
	u64 last = first + (count - 1) * PATTERN_STEP;
	u8 *bytes = (u8 *)words;

	/* fill the rest of the first and last word, so that they compare equal */
	memcpy(bytes, &first, begin);
	memcpy(bytes + end, (u8 *)&last + 8 - (8 * count - end), 8 * count - end);
	for (i = 0; i < count; i++, word += PATTERN_STEP)
		wrong |= words[i] ^ word;
	if (!wrong)
		return len;
	for (i = 0; i < len; i++)
		if (bytes[begin + i] != pattern_byte(position + i, seed))
			break;
	return i;
}
EXPORT_SYMBOL_IF_KUNIT(moving_verify);
