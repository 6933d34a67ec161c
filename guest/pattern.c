// SPDX-License-Identifier: GPL-2.0-only
/* Makes and verifies the bytes of a stream. */

#include <inttypes.h>

#include "pattern.h"
#include "report.h"
#include "uapi/pattern.h"

void pattern_fill(uint64_t *words, size_t count, uint64_t pos, uint64_t seed)
{
	uint64_t word = pattern_word(pos / 8, seed), *limit = words + count;

	for (; words < limit; words++, word += PATTERN_STEP)
		*words = word;
}

void pattern_verify_byte(unsigned char byte, uint64_t pos, uint64_t seed)
{
	unsigned char expected = pattern_byte(pos, seed);

	if (byte != expected)
		fail("byte %" PRIu64 " of the stream is %02x instead of %02x", pos, byte,
		     expected);
}

void pattern_verify_bytes(const unsigned char *bytes, uint64_t pos, size_t len, uint64_t seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		pattern_verify_byte(bytes[i], pos + i, seed);
}

/* Whole words at once, the bytes around them one by one. */
void pattern_verify(const uint64_t *buffer, uint64_t pos, size_t len, uint64_t seed)
{
	const unsigned char *bytes = (const unsigned char *)buffer;
	size_t begin = pos % 8, limit = begin + len;
	size_t first = (begin + 7) / 8, last = limit / 8, i;
	uint64_t origin = pos / 8, word = pattern_word(origin + first, seed), wrong = 0;

	for (i = first; i < last; i++, word += PATTERN_STEP)
		wrong |= buffer[i] ^ word;
	if (wrong || first >= last) {
		pattern_verify_bytes(bytes + begin, pos, len, seed);
		return;
	}
	pattern_verify_bytes(bytes + begin, pos, 8 * first - begin, seed);
	pattern_verify_bytes(bytes + 8 * last, 8 * (origin + last), limit - 8 * last, seed);
}
