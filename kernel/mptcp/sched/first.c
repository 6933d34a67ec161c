// SPDX-License-Identifier: GPL-2.0-only
/* first: everything on the first usable subflow.
 *
 * The subflows are tried in the order of their creation. All data goes on the
 * first one that is usable, and waits while that one's congestion window is
 * full. When it fails, the next one takes over, with what was lost; when it is
 * back, so is everything else.
 *
 * Source: none; the smallest scheduler that this interface allows, and what
 * one path alone achieves. Active/standby operation is section 3.3.8 of RFC
 * 8684.
 *
 * Works where the other paths are for failures only: no reordering, no data
 * spent on an expensive path. Fails to aggregate anything, and stays on the
 * first path however bad that is, until it has had a timeout.
 */

#include "mpsched.h"

static struct mps_subflow *first_usable(struct mps_conn *conn, const struct mps_segment *seg)
{
	bool backups = mps_only_backups(conn);
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow)
		if (subflow->usable && (backups || !subflow->backup))
			return subflow;
	return NULL;
}

static bool first_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_subflow *subflow = first_usable(conn, NULL);
	struct mps_segment *seg = mps_reinjection(conn);

	if (!subflow || !mps_available(subflow))
		return false;
	if (seg)
		return mps_pick_reinjection(pick, conn, subflow, seg);
	seg = mps_head(conn);
	return seg && mps_pick_new(pick, conn, subflow, seg);
}

static struct mps_ops first_ops = {
	.next_segment	= first_next_segment,
	.get_subflow	= first_usable,
	.name		= "first",
	.owner		= THIS_MODULE,
};

mps_scheduler(first_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler: everything on the first usable subflow");
