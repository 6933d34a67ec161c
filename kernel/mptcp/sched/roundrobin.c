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
 * Works where the paths are alike. Fails where their round-trip times differ and
 * the data is not bulk: data sent on the slow path delays data that came over the
 * fast one. Without cwnd_limited the slowest path dictates the rate, and one that
 * fails stops everything until its retransmission timeout.
 *
 * Differs from the source:
 * - spare_backups: the source does not look at the flag. On, a backup subflow
 *   takes part only if no other is usable.
 * - always: the source counts a turn in a byte, by the length of the waiting
 *   data, not of the sent data; an overflow, or a turn that was exceeded, stopped
 *   everything (its issue 101). Here turns are counted in segments.
 */

#include "mpsched.h"

enum { NUM_SEGMENTS, CWND_LIMITED, SPARE_BACKUPS };

static const struct mps_param roundrobin_params[] = {
	[NUM_SEGMENTS] = MPS_UINT("num_segments", 1, 255, 1, "segments",
				  "segments in a row on one subflow"),
	[CWND_LIMITED] = MPS_BOOL("cwnd_limited", 1,
				  "pass over a subflow whose congestion window is full"),
	[SPARE_BACKUPS] = MPS_BOOL("spare_backups", 0,
				   "use a backup subflow only if no other is usable"),
};

struct roundrobin_subflow {
	u32	taken;		/* segments in this round */
};

static u32 *taken(struct mps_subflow *subflow)
{
	struct roundrobin_subflow *state = mps_subflow_priv(subflow);

	return &state->taken;
}

static bool available(const struct mps_conn *conn, const struct mps_subflow *subflow,
		      bool cwnd_test)
{
	if (!subflow->usable || mps_in_loss(subflow))
		return false;
	if (subflow->backup && !mps_may_use_backups(conn, SPARE_BACKUPS))
		return false;
	return !cwnd_test || mps_has_room(subflow);
}

/* Where the source goes through its list, the latest subflow is at the front. */
static struct mps_subflow *whose_turn(struct mps_conn *conn)
{
	struct mps_subflow *subflow, *begun = NULL, *waiting = NULL, *first = NULL;
	bool cwnd_limited = mps_param(conn, CWND_LIMITED);

	mps_for_each_subflow(conn, subflow) {
		if (!available(conn, subflow, cwnd_limited))
			continue;
		if (!first)
			first = subflow;
		if (!*taken(subflow) && !waiting)
			waiting = subflow;
		if (*taken(subflow) && *taken(subflow) < mps_param(conn, NUM_SEGMENTS))
			begun = subflow;
	}
	if (begun || waiting)
		return begun ?: waiting;

	/* all that could take part had their turn */
	mps_for_each_subflow(conn, subflow)
		if (available(conn, subflow, cwnd_limited))
			*taken(subflow) = 0;
	return first;
}

static struct mps_subflow *roundrobin_get_subflow(struct mps_conn *conn,
						  const struct mps_segment *seg)
{
	return mps_first_available(conn, seg, mps_may_use_backups(conn, SPARE_BACKUPS));
}

static bool roundrobin_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *seg = mps_reinjection(conn);
	struct mps_subflow *subflow;

	if (seg) {
		subflow = roundrobin_get_subflow(conn, seg);
		return subflow && mps_pick_reinjection(pick, conn, subflow, seg);
	}
	seg = mps_head(conn);
	if (!seg)
		return false;
	subflow = whose_turn(conn);
	if (!subflow || !available(conn, subflow, true))
		return false;
	/* even if the receive window does not let it leave */
	++*taken(subflow);
	return mps_pick_new(pick, conn, subflow, seg);
}

static struct mps_ops roundrobin_ops = {
	.next_segment	= roundrobin_next_segment,
	.get_subflow	= roundrobin_get_subflow,
	.name		= "roundrobin",
	.owner		= THIS_MODULE,
	.subflow_size	= sizeof(struct roundrobin_subflow),
	.params		= roundrobin_params,
	.num_params	= ARRAY_SIZE(roundrobin_params),
};

mps_scheduler(roundrobin_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler: every subflow in turn");
