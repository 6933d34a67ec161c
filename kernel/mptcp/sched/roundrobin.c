// SPDX-License-Identifier: GPL-2.0-only
/* roundrobin: every subflow in turn, num_segments at a time.
 *
 * In each round, every subflow gets num_segments segments in a row, in the
 * order of creation. With cwnd_limited, a subflow whose congestion window is
 * full is passed over, so that no capacity is left idle while there is data:
 * with bulk data the ACKs dictate the order in the end. Without, everything
 * waits for the subflow whose turn it is.
 *
 * Source: mptcp_rr.c of the out-of-tree MPTCP kernels (v0.9x); Paasch, Ferlin,
 * Alay, Bonaventure, "Experimental Evaluation of Multipath TCP Schedulers",
 * CSWS 2014.
 *
 * Works where the paths are alike. Fails where their round-trip times differ
 * and the data is not bulk: what was sent on the slow path holds up what came
 * over the fast one. Without cwnd_limited the slowest path dictates the rate,
 * and one that fails stops everything until its retransmission timeout.
 *
 * Differs from the source:
 * - Where several subflows wait for their turn, the first one has it. In the
 *   source the last one overwrites the others.
 * - What was sent is counted, not what would have been without the limit: no
 *   subflow misses its quota by going beyond it.
 * - A round ends for all, also for those that were passed over.
 * - A backup subflow is used only if no other is usable. The source does not
 *   look at the flag.
 * - A reinjection goes where the default scheduler of v0.9x would send it, not
 *   on the last subflow that can. If that one is full, new data does not wait.
 */

#include "mpsched.h"

enum { NUM_SEGMENTS, CWND_LIMITED };

static const struct mps_param roundrobin_params[] = {
	[NUM_SEGMENTS] = MPS_UINT("num_segments", 1, 255, 1, "segments",
				  "segments in a row on one subflow"),
	[CWND_LIMITED] = MPS_BOOL("cwnd_limited", 1,
				  "pass over a subflow whose congestion window is full"),
};

struct roundrobin_subflow {
	u32	sent;		/* new segments in this round */
};

static struct roundrobin_subflow *state_of(struct mps_subflow *subflow)
{
	return mps_subflow_priv(subflow);
}

static bool takes_part(const struct mps_conn *conn, const struct mps_subflow *subflow,
		       bool backups)
{
	if (!subflow->usable || mps_in_loss(subflow) || (subflow->backup && !backups))
		return false;
	return !mps_param(conn, CWND_LIMITED) || mps_has_room(subflow);
}

static struct mps_subflow *whose_turn(struct mps_conn *conn)
{
	struct mps_subflow *subflow, *next = NULL, *first = NULL;
	u32 quota = mps_param(conn, NUM_SEGMENTS);
	bool backups = mps_only_backups(conn);

	mps_for_each_subflow(conn, subflow) {
		u32 sent = state_of(subflow)->sent;

		if (!takes_part(conn, subflow, backups))
			continue;
		if (sent && sent < quota)
			return subflow;
		if (!sent && !next)
			next = subflow;
		if (!first)
			first = subflow;
	}
	if (next || !first)
		return next;

	/* all had their turn */
	mps_for_each_subflow(conn, subflow)
		state_of(subflow)->sent = 0;
	return first;
}

static bool roundrobin_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *head = mps_head(conn);
	struct mps_subflow *subflow;

	if (mps_reinject(conn, pick))
		return true;
	if (!head)
		return false;
	subflow = whose_turn(conn);
	if (!subflow || !mps_has_room(subflow))
		return false;
	return mps_pick_new(pick, conn, subflow, head);
}

static void roundrobin_on_sent(struct mps_conn *conn, const struct mps_pick *pick, u32 bytes)
{
	if (pick->kind == MPS_NEW)
		state_of(pick->subflow)->sent++;
}

static struct mps_ops roundrobin_ops = {
	.next_segment	= roundrobin_next_segment,
	.on_sent	= roundrobin_on_sent,
	.name		= "roundrobin",
	.owner		= THIS_MODULE,
	.subflow_size	= sizeof(struct roundrobin_subflow),
	.params		= roundrobin_params,
	.num_params	= ARRAY_SIZE(roundrobin_params),
};

mps_scheduler(roundrobin_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler: every subflow in turn");
