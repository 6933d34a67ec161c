// SPDX-License-Identifier: GPL-2.0-only
/* gaps: a byte in each packet, every other one over paths that keep it for long.
 *
 * For a test that what arrives out of order takes no more memory than it may.
 */

#include "mpsched.h"

#define GAPS	70

struct gaps_conn {
	u32	sent;		/* segments of a byte */
};

static bool gaps_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct gaps_conn *state = mps_conn_priv(conn);
	struct mps_subflow *fast = NULL, *subflow;
	struct mps_segment *head = mps_head(conn);
	u32 slow = state->sent / 2 % 7;

	mps_for_each_subflow(conn, subflow)
		if (!fast || subflow->srtt_us < fast->srtt_us)
			fast = subflow;
	if (state->sent >= 2 * GAPS && mps_reinject(conn, pick))
		return true;
	if (!head || !fast)
		return false;
	subflow = fast;
	if (state->sent < 2 * GAPS && !(state->sent & 1)) {
		mps_for_each_subflow(conn, subflow)
			if (subflow != fast && !slow--)
				break;
	}
	if (!subflow || !mps_has_room(subflow) || !mps_pick_new(pick, conn, subflow, head))
		return false;
	if (state->sent < 2 * GAPS)
		pick->limit_bytes = 1;
	state->sent++;
	return true;
}

static struct mps_ops gaps = {
	.next_segment	= gaps_next_segment,
	.name		= "gaps",
	.owner		= THIS_MODULE,
	.conn_size	= sizeof(struct gaps_conn),
};

mps_scheduler(gaps);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler for tests: gaps between bytes");
