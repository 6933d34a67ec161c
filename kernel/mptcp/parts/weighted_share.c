// SPDX-License-Identifier: GPL-2.0-only
/* How far each path of weighted has come with its share. */

#include "parts/weighted.h"

/* of its share that a path can catch up with: a window of TCP without scaling */
#define CATCH_UP_BYTES		SZ_64K
/* Of bytes per share. Shares are no more than 1000: what two of them make of bytes
 * differs by a millionth at least, or not at all. 2^44 bytes fit.
 */
#define SCALE			((u64)SZ_1M)

static u32 weighted_share(const struct mps_conn *conn, const struct mps_subflow *subflow)
{
	return max(weighted_path_param(conn, subflow, SHARE), 1U);
}

/* The other paths fall behind the sender by no more than they may catch up with, or than this
 * pick is ahead, which may be more for a small share or, without our patches, a large fragment.
 * With strict, this holds for paths that cannot send. Such a path then counts from where the
 * sender is. The rest of the sender's division is dropped: it is in other parts.
 */
void weighted_count_sent(struct mps_conn *conn, const struct mps_pick *pick, u32 bytes)
{
	struct weighted_subflow *sent = weighted_state(pick->subflow);
	u32 step_rest, share_sent = weighted_share(conn, pick->subflow);
	u64 step = div_u64_rem(bytes * SCALE, share_sent, &step_rest);
	u64 before = sent->turn;
	struct mps_subflow *subflow;

	sent->sent_ns = mps_clock_ns();
	sent->bytes += bytes;
	sent->turn += div_u64_rem(bytes * SCALE + sent->rest, share_sent, &sent->rest);
	mps_for_each_subflow(conn, subflow) {
		struct weighted_subflow *state = weighted_state(subflow);
		u32 share = weighted_share(conn, subflow), rest;
		u64 behind = div_u64_rem(CATCH_UP_BYTES * SCALE, share, &rest);

		if (subflow == pick->subflow || (mps_param(conn, STRICT) && subflow->usable))
			continue;
		if (state->turn >= before || state->turn + behind >= sent->turn)
			continue;
		if (behind < step) {
			state->turn = before;
			state->rest = 0;
			sent->turn = before + step;
			sent->rest = step_rest;
			continue;
		}
		sent->rest = 0;
		state->turn = sent->turn - behind - !!rest;
		state->rest = rest ? share - rest : 0;
	}
}
EXPORT_SYMBOL_GPL(weighted_count_sent);

/* A new path begins exactly where the farthest one is. The rest of that one's division is
 * dropped: it is in other parts than the new path's.
 */
void weighted_begin_turn(struct mps_conn *conn, struct mps_subflow *subflow)
{
	struct weighted_subflow *farthest = weighted_state(subflow);
	struct mps_subflow *other;

	mps_for_each_subflow(conn, other)
		if (weighted_state(other)->turn > farthest->turn)
			farthest = weighted_state(other);
	farthest->rest = 0;
	weighted_state(subflow)->turn = farthest->turn;
}
EXPORT_SYMBOL_GPL(weighted_begin_turn);
