// SPDX-License-Identifier: GPL-2.0-only
/* The player of a video that comes in segments, each available in several sizes.
 *
 * A request is the client's message right before one with several sizes. It is
 * due when there is room in the playback buffer for a segment, and chooses the
 * size by how full the buffer is then: BBA-0 of Huang et al., "A Buffer-Based
 * Approach to Rate Adaptation", SIGCOMM 2014, algorithm 1, with the sizes of a
 * segment for its rates. docs/workloads.md has it exactly, and the same is
 * computed again from the records for the figures.
 */

#include "messages.h"
#include "player.h"
#include "settings.h"

static struct {
	const struct traffic *t;
	int next;		/* all segments before this message have been counted */
	int last;		/* the segment that was chosen last; -1: none yet */
	uint64_t dry_ns;	/* when all that has arrived is played; 0: nothing has arrived */
} player = { .last = -1 };

void player_prepare(const struct traffic *t)
{
	player.t = t;
}

static bool is_segment(int number)
{
	return number < messages.count && messages.list[number].size_count > 1;
}

static void count_segments(void)
{
	for (; player.next < messages.count; player.next++) {
		uint64_t complete = messages.records[player.next].complete_ns;

		if (!is_segment(player.next))
			continue;
		if (!complete)
			break;
		if (player.dry_ns < complete)
			player.dry_ns = complete;
		player.dry_ns += player.t->segment_ns;
	}
}

uint64_t player_due_ns(int request, uint64_t ns)
{
	uint64_t room_ns;

	if (messages.list[request].down || !is_segment(request + 1))
		return ns;
	count_segments();
	room_ns = player.dry_ns + player.t->segment_ns;
	room_ns -= room_ns < player.t->buffer_ns ? room_ns : player.t->buffer_ns;
	return ns < room_ns ? room_ns : ns;
}

/* Is a size below (-1) or above (1) what the level of the buffer affords, which grows linearly
 * from the least size at the reservoir to the largest at the end of the cushion?
 */
static int compare(const struct traffic_message *segment, unsigned int choice, uint64_t level_ns)
{
	uint64_t least = segment->sizes[0], most = segment->sizes[segment->size_count - 1];
	__uint128_t is = (__uint128_t)(segment->sizes[choice] - least) * player.t->cushion_ns;
	__uint128_t affords = (__uint128_t)(most - least) * (level_ns - player.t->reservoir_ns);

	return (is > affords) - (is < affords);
}

static unsigned int choose(const struct traffic_message *segment, uint64_t level_ns)
{
	unsigned int top = segment->size_count - 1, before, choice;

	if (player.last < 0 || level_ns <= player.t->reservoir_ns)
		return 0;
	if (level_ns >= player.t->reservoir_ns + player.t->cushion_ns)
		return top;
	before = messages.records[player.last].choice;
	if (compare(segment, before < top ? before + 1 : top, level_ns) <= 0) {
		for (choice = top; choice && compare(segment, choice, level_ns) >= 0; choice--)
			;
		return choice;
	}
	if (compare(segment, before ? before - 1 : 0, level_ns) >= 0) {
		for (choice = 0; choice < top && compare(segment, choice, level_ns) <= 0; choice++)
			;
		return choice;
	}
	return before;
}

void player_choose(int request, uint64_t due_ns)
{
	uint64_t level_ns = 0;
	int segment = request + 1;

	if (messages.list[request].down || !is_segment(segment))
		return;
	count_segments();
	if (player.dry_ns > due_ns)
		level_ns = player.dry_ns - due_ns;
	messages.records[segment].choice = choose(&messages.list[segment], level_ns);
	player.last = segment;
}
