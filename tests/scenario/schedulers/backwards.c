// SPDX-License-Identifier: GPL-2.0-only
/* backwards: the farthest segment that the receiver takes, first.
 *
 * The worst order there is: for tests that whatever is picked arrives whole.
 */

#include "mpsched.h"

static bool backwards_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *seg, *last = NULL;
	struct mps_subflow *subflow;

	if (mps_reinject(conn, pick))
		return true;
	subflow = mps_lowest_rtt(conn, NULL);
	for (seg = mps_head(conn); seg && mps_fits_window(conn, seg);
	     seg = mps_next_unsent(conn, seg))
		last = seg;
	return subflow && last && mps_pick_new(pick, conn, subflow, last);
}

static struct mps_ops backwards = {
	.next_segment	= backwards_next_segment,
	.name		= "backwards",
	.owner		= THIS_MODULE,
};

mps_scheduler(backwards);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler for tests: farthest segment first");
