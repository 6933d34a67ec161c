/* SPDX-License-Identifier: GPL-2.0-only */
/* The bytes of a stream that is verified: of each 8 bytes, a word that depends on
 * their position in the stream and on the stream's seed, so that a byte that is
 * lost, repeated, changed or out of place is seen.
 */
#ifndef MPTCPLAB_PATTERN_H
#define MPTCPLAB_PATTERN_H

#include <linux/types.h>

/* from one word to the next */
#define PATTERN_STEP	0x9e3779b97f4a7c15ull

/* Word i. Odd multipliers let every byte depend on position and seed. */
static inline __u64 pattern_word(__u64 i, __u64 seed)
{
	return (i + seed * 0xd1342543de82ef95ull) * PATTERN_STEP;
}

/* The seed of one direction of a connection, which counts from 0. */
static inline __u64 pattern_seed(__u64 seed, __u32 connection, int down)
{
	return seed + (connection * 2ull + down) * 0x9fb21c651e98df25ull;
}

static inline __u8 pattern_byte(__u64 position, __u64 seed)
{
	return pattern_word(position / 8, seed) >> (8 * (position % 8));
}

#endif
