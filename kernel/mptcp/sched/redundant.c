// SPDX-License-Identifier: GPL-2.0-only
/* redundant: everything on every subflow.
 *
 * The subflows take turns, a segment each. Every one walks through the data that
 * is not acknowledged yet, oldest first, and sends what it has not carried so
 * far. Having come to the end, it takes new data, which the others then have to
 * carry, too. Acknowledged data is left out, so that a slow subflow never repeats
 * data that has arrived.
 *
 * Source: mptcp_redundant.c of the out-of-tree MPTCP kernels (v0.9x); Froemmgen,
 * Erbshaeusser, Buchmann, Zimmermann, Wehrle, "ReMP TCP: Low Latency Multipath
 * TCP", ICC 2016. opportunistic and whenidle duplicate less.
 *
 * Works for small amounts of data that must come soon, over paths that lose
 * packets or change: each segment arrives by the path that is fastest for it,
 * and a path that fails costs no time. Fails for bulk data: the goodput is that
 * of the best path, at the cost of all of them.
 *
 * Differs from the source:
 * - always: in the source a position is a pointer into a queue that frees
 *   acknowledged data, with an age that has to be guessed: it crashed, missed
 *   data, and sent 1.3 GB for 10 MB (its issues 392 and 474). Here it is a
 *   number.
 * - copy_held: in the source a position moves on when a segment is chosen. A
 *   segment that does not fit into the window, and that another subflow then
 *   sends, has no duplicate. If it is lost, all wait for a timeout. On, it is
 *   duplicated.
 */

#include "parts/turns.h"

enum { COPY_HELD };

static const struct mps_param redundant_params[] = {
	[COPY_HELD] = MPS_BOOL("copy_held", 0,
			       "also duplicate segments that the window held back when chosen"),
};

struct redundant_subflow {
	u64	end_seq;	/* of the segment that was chosen for it last */
};

static struct redundant_subflow *state_of(struct mps_subflow *subflow)
{
	return mps_subflow_priv(subflow);
}

/* The oldest one that others have sent, behind what was chosen for the subflow last. */
static struct mps_segment *sent_by_others(struct mps_conn *conn, struct mps_subflow *subflow)
{
	struct mps_segment *seg = mps_oldest_missing(conn, subflow);

	if (mps_param(conn, COPY_HELD))
		return seg;
	while (seg && (mps_seq(conn, seg) < state_of(subflow)->end_seq ||
		       mps_carried_by(seg, subflow)))
		seg = mps_next_unacked(conn, seg);
	return seg;
}

static bool takes(struct mps_conn *conn, struct mps_subflow *subflow, struct mps_pick *pick)
{
	struct mps_segment *seg;

	if (!mps_available(subflow))
		return false;
	seg = sent_by_others(conn, subflow);
	if (seg && subflow->backup)
		return false;
	if (seg) {
		state_of(subflow)->end_seq = mps_seq(conn, seg) + mps_len(seg);
		return mps_pick_duplicate(pick, conn, subflow, seg);
	}
	seg = mps_head(conn);
	if (!seg || (subflow->backup && !mps_only_backups(conn)))
		return false;
	state_of(subflow)->end_seq = mps_seq(conn, seg) + mps_len(seg);
	return mps_pick_new(pick, conn, subflow, seg);
}

static bool redundant_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_subflow *first = turns_first(conn), *subflow = first;

	if (mps_reinjection(conn))
		return mps_reinject(conn, pick);
	while (subflow) {
		if (takes(conn, subflow, pick)) {
			turns_end(conn, subflow);
			return true;
		}
		subflow = turns_after(conn, subflow);
		if (subflow == first)
			break;
	}
	return false;
}

static struct mps_ops redundant_ops = {
	.next_segment	= redundant_next_segment,
	.get_subflow	= turns_get_subflow,
	.name		= "redundant",
	.owner		= THIS_MODULE,
	.conn_size	= sizeof(struct turns),
	.subflow_size	= sizeof(struct redundant_subflow),
	.params		= redundant_params,
	.num_params	= ARRAY_SIZE(redundant_params),
};

mps_scheduler(redundant_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler: everything on every subflow");
