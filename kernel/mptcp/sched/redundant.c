// SPDX-License-Identifier: GPL-2.0-only
/* redundant: everything on every subflow.
 *
 * Every subflow walks through the data that is not acknowledged yet, oldest
 * first, and sends what it has not carried so far. Having come to the end, the
 * one with the lowest RTT takes new data, which the others then have to carry,
 * too. What was acknowledged meanwhile is left out, so that a slow subflow
 * never repeats what has arrived.
 *
 * Two more modes. 1, opportunistic: a segment is sent at once on all subflows
 * that have room for it when it is new, and on no other later. 2, when idle: new
 * data goes to the lowest RTT, and only when there is none, what is on its way
 * is copied, oldest first, to the lowest RTT of those that did not carry it.
 *
 * Source: mptcp_redundant.c of the out-of-tree MPTCP kernels (v0.9x);
 * Froemmgen, Erbshaeusser, Buchmann, Zimmermann, Wehrle, "ReMP TCP: Low Latency
 * Multipath TCP", ICC 2016. The other modes: "opportunistic redundant" and
 * "redundant if Q empty" of ProgMP (Froemmgen et al., "A Programming Model for
 * Application-defined Multipath TCP Scheduling", Middleware 2017).
 *
 * Works for small amounts of data that must come soon, over paths that lose
 * packets or change: each segment arrives by the path that is fastest for it,
 * and a path that fails costs no time. Fails for bulk data: the goodput is that
 * of the best path, at the cost of all of them. Mode 2 does not: it spends only
 * what would be idle. But it protects little more than the end of the data.
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
 * - In modes 1 and 2, ProgMP's programs do not look at the backup flag.
 */

#include "mpsched.h"

enum { MODE };
enum { FULL, OPPORTUNISTIC, WHEN_IDLE };

static const struct mps_param redundant_params[] = {
	[MODE] = MPS_UINT("mode", 0, 2, 0, "",
			  "copies 0: of everything; 1: where there is room at once; 2: when idle"),
};

struct redundant_subflow {
	u64	copy_seq;	/* mode 1: the segment that it is to carry, too */
	bool	copies;
};

static struct redundant_subflow *state_of(struct mps_subflow *subflow)
{
	return mps_subflow_priv(subflow);
}

static bool may_copy(const struct mps_subflow *subflow)
{
	return !subflow->backup && mps_available(subflow);
}

static bool redundant_copy(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_subflow *subflow;
	struct mps_segment *seg;

	mps_for_each_subflow(conn, subflow) {
		if (!may_copy(subflow))
			continue;
		seg = mps_oldest_missing(conn, subflow);
		if (seg)
			return mps_pick_duplicate(pick, conn, subflow, seg);
	}
	return false;
}

/* The segment that was sent last, on those that had room for it then. */
static bool redundant_copy_latest(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *seg = mps_latest_sent(conn);
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow) {
		if (!state_of(subflow)->copies)
			continue;
		state_of(subflow)->copies = false;
		if (seg && mps_seq(conn, seg) == state_of(subflow)->copy_seq &&
		    !mps_carried_by(seg, subflow) && may_copy(subflow))
			return mps_pick_duplicate(pick, conn, subflow, seg);
	}
	return false;
}

/* The oldest segment that a subflow with room has not carried, on the lowest
 * RTT of those.
 */
static bool redundant_copy_oldest(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_subflow *subflow, *best = NULL;
	struct mps_segment *seg, *oldest = NULL;

	mps_for_each_subflow(conn, subflow) {
		seg = may_copy(subflow) ? mps_oldest_missing(conn, subflow) : NULL;
		if (!seg)
			continue;
		if (!oldest || mps_seq(conn, seg) < mps_seq(conn, oldest) ||
		    (seg == oldest && subflow->srtt_us < best->srtt_us)) {
			oldest = seg;
			best = subflow;
		}
	}
	return best && mps_pick_duplicate(pick, conn, best, oldest);
}

static bool redundant_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	u32 mode = mps_param(conn, MODE);
	struct mps_subflow *subflow;
	struct mps_segment *seg;

	if (mps_reinject(conn, pick))
		return true;
	if (mode == FULL && redundant_copy(conn, pick))
		return true;
	if (mode == OPPORTUNISTIC && redundant_copy_latest(conn, pick))
		return true;

	seg = mps_head(conn);
	if (!seg)
		return mode == WHEN_IDLE && redundant_copy_oldest(conn, pick);
	subflow = mps_lowest_rtt(conn, NULL);
	return subflow && mps_pick_new(pick, conn, subflow, seg);
}

static void redundant_on_sent(struct mps_conn *conn, const struct mps_pick *pick, u32 bytes)
{
	struct mps_subflow *subflow;

	if (mps_param(conn, MODE) != OPPORTUNISTIC || pick->kind != MPS_NEW)
		return;
	mps_for_each_subflow(conn, subflow) {
		state_of(subflow)->copies = subflow != pick->subflow && may_copy(subflow);
		state_of(subflow)->copy_seq = pick->seq;
	}
}

static struct mps_ops redundant_ops = {
	.next_segment	= redundant_next_segment,
	.on_sent	= redundant_on_sent,
	.name		= "redundant",
	.owner		= THIS_MODULE,
	.subflow_size	= sizeof(struct redundant_subflow),
	.params		= redundant_params,
	.num_params	= ARRAY_SIZE(redundant_params),
};

mps_scheduler(redundant_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler: everything on every subflow");
