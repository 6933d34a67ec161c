// SPDX-License-Identifier: GPL-2.0-only
/* The bytes that bulk.c and crowd.c move are made as uapi/pattern.h says, and any wrong one is
 * found.
 */

#include <kunit/test.h>
#include <linux/module.h>

#include "../compat.h"
#include "../moving.h"
#include "../uapi/pattern.h"

#define WORDS	6
#define SEED	0x123456789abcdefull

/* One word more than the bytes: moving_verify() needs it. */
static u64 words[WORDS + 1];

static void a_stream_is_made_as_its_pattern_says(struct kunit *test)
{
	const u8 *bytes = (u8 *)words;
	unsigned int i;

	moving_fill(words, WORDS, 8 * 1000 + 3, SEED);
	for (i = 0; i < 8 * WORDS; i++)
		KUNIT_EXPECT_EQ(test, bytes[i], pattern_byte(8 * 1000 + i, SEED));
}

static void bytes_are_verified_wherever_they_begin(struct kunit *test)
{
	size_t begin, len;

	for (begin = 0; begin < 8; begin++)
		for (len = 1; len <= 8 * WORDS - begin; len++) {
			moving_fill(words, WORDS, 80 + begin, SEED);
			KUNIT_EXPECT_EQ(test, moving_verify(words, 80 + begin, len, SEED), len);
		}
}

static void the_first_wrong_byte_is_found(struct kunit *test)
{
	u8 *bytes = (u8 *)words;
	size_t begin, len, wrong;

	for (begin = 0; begin < 8; begin++)
		for (len = 1; len <= 8 * WORDS - begin; len++)
			for (wrong = 0; wrong < len; wrong++) {
				moving_fill(words, WORDS, 80 + begin, SEED);
				bytes[begin + wrong] ^= 0x10;
				bytes[begin + len - 1] ^= 0x01;
				KUNIT_EXPECT_EQ(test, moving_verify(words, 80 + begin, len, SEED),
						wrong);
			}
}

static void another_connection_has_other_bytes(struct kunit *test)
{
	u64 up = pattern_seed(SEED, 0, false);

	moving_fill(words, WORDS, 0, up);
	KUNIT_EXPECT_LT(test, moving_verify(words, 0, 8 * WORDS, pattern_seed(SEED, 1, false)), 8);
	moving_fill(words, WORDS, 0, up);
	KUNIT_EXPECT_LT(test, moving_verify(words, 0, 8 * WORDS, pattern_seed(SEED, 0, true)), 8);
}

static struct kunit_case moving_cases[] = {
	KUNIT_CASE(a_stream_is_made_as_its_pattern_says),
	KUNIT_CASE(bytes_are_verified_wherever_they_begin),
	KUNIT_CASE(the_first_wrong_byte_is_found),
	KUNIT_CASE(another_connection_has_other_bytes),
	{}
};

static struct kunit_suite moving_suite = {
	.name		= "mptcp-moving",
	.test_cases	= moving_cases,
};

kunit_test_suite(moving_suite);

MPS_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of the bytes that the kernel moves for processes");
