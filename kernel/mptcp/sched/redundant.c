// SPDX-License-Identifier: GPL-2.0-only
/* redundant: everything on every subflow.
 *
 * Every subflow walks through the data that is not acknowledged yet, oldest
 * first, and sends what it has not carried so far. Having come to the end, the
 * one with the lowest RTT takes new data, which the others then have to carry,
 * too. What was acknowledged meanwhile is left out, so that a slow subflow
 * never repeats what has arrived.
 *
 * Source: mptcp_redundant.c of the out-of-tree MPTCP kernels (v0.9x);
 * Froemmgen, Erbshaeusser, Buchmann, Zimmermann, Wehrle, "ReMP TCP: Low Latency
 * Multipath TCP", ICC 2016.
 *
 * Works for small amounts of data that must come soon, over paths that lose
 * packets or change: each segment arrives by the path that is fastest for it,
 * and a path that fails costs no time. Fails for bulk data: the goodput is that
 * of the best path, at the cost of all of them.
 *
 * Differs from the source:
 * - A position is a property of the segments and subflows, not a pointer into
 *   a queue with an age that has to be guessed (10 MB cost 1.3 GB once).
 * - Subflows that lag behind are asked first, and new data goes to the lowest
 *   RTT, where the source takes turns. So a full receive window stops only
 *   the new data. As all that can send do so in the same instant, nothing else
 *   changes.
 * - A backup subflow gets new data if no other is usable and never copies, as
 *   in the source; but what another backup carries does not keep it waiting.
 */

#include "mpsched.h"

static bool redundant_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_subflow *subflow;
	struct mps_segment *seg;

	if (mps_reinject(conn, pick))
		return true;

	mps_for_each_subflow(conn, subflow) {
		if (subflow->backup || !mps_available(subflow))
			continue;
		seg = mps_oldest_missing(conn, subflow);
		if (seg)
			return mps_pick_duplicate(pick, conn, subflow, seg);
	}

	seg = mps_head(conn);
	subflow = seg ? mps_lowest_rtt(conn, NULL) : NULL;
	return subflow && mps_pick_new(pick, conn, subflow, seg);
}

static struct mps_ops redundant_ops = {
	.next_segment	= redundant_next_segment,
	.name		= "redundant",
	.owner		= THIS_MODULE,
};

mps_scheduler(redundant_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler: everything on every subflow");
