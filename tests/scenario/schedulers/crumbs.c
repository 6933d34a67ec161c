// SPDX-License-Identifier: GPL-2.0-only
/* crumbs: a segment that all else waits for, on the slow path; meanwhile a byte in each packet.
 *
 * For tests of what a receiver keeps of data that is out of order.
 */

#include "mpsched.h"

struct crumbs {
	u64	held_end;	/* the segment on the slow path ends here; 0: none yet */
};

static bool crumbs_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_subflow *subflow, *fast = NULL, *slow = NULL;
	struct crumbs *own = mps_conn_priv(conn);
	struct mps_segment *seg = mps_head(conn);

	if (mps_reinject(conn, pick))
		return true;
	mps_for_each_subflow(conn, subflow) {
		if (subflow->usable && (!fast || subflow->srtt_us < fast->srtt_us))
			fast = subflow;
		if (subflow->usable && (!slow || subflow->srtt_us > slow->srtt_us))
			slow = subflow;
	}
	if (!seg || !fast || fast == slow)
		return seg && fast && mps_available(fast) && mps_pick_new(pick, conn, fast, seg);
	if (conn->una_seq >= own->held_end && mps_available(slow)) {
		own->held_end = mps_seq(conn, seg) + mps_len(seg);
		return mps_pick_new(pick, conn, slow, seg);
	}
	if (!mps_available(fast) || !mps_pick_new(pick, conn, fast, seg))
		return false;
	pick->limit_bytes = 1;
	return true;
}

static struct mps_ops crumbs = {
	.next_segment	= crumbs_next_segment,
	.conn_size	= sizeof(struct crumbs),
	.name		= "crumbs",
	.owner		= THIS_MODULE,
};

mps_scheduler(crumbs);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler for tests: a byte in each packet");
