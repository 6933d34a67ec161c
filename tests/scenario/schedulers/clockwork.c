// SPDX-License-Identifier: GPL-2.0-only
/* clockwork: one segment every 10 ms, on the first subflow.
 *
 * For tests that a scheduler is asked at the time it asks for.
 */

#include "mpsched.h"

#define CLOCKWORK_INTERVAL_NS	(10 * NSEC_PER_MSEC)

struct clockwork {
	u64	next_ns;
};

static bool clockwork_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct clockwork *state = mps_conn_priv(conn);
	struct mps_segment *seg = mps_head(conn);
	struct mps_subflow *subflow;
	u64 now = mps_clock_ns();

	subflow = seg ? mps_lowest_rtt(conn, NULL) : NULL;
	if (!subflow)
		return false;
	if (now < state->next_ns) {
		mps_wake_at(conn, state->next_ns);
		return false;
	}
	state->next_ns = now + CLOCKWORK_INTERVAL_NS;
	return mps_pick_new(pick, conn, subflow, seg);
}

static struct mps_ops clockwork = {
	.next_segment	= clockwork_next_segment,
	.name		= "clockwork",
	.owner		= THIS_MODULE,
	.conn_size	= sizeof(struct clockwork),
};

mps_scheduler(clockwork);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler for tests: a segment every 10 ms");
