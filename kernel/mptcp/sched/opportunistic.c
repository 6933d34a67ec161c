// SPDX-License-Identifier: GPL-2.0-only
/* opportunistic: each new segment on all subflows that have room for it.
 *
 * New data goes to the lowest RTT with room. At once, a duplicate goes to every
 * other subflow that has room at that moment; none follows later.
 *
 * Source: "opportunistic redundant" of ProgMP (Froemmgen et al., "A Programming
 * Model for Application-defined Multipath TCP Scheduling", Middleware 2017).
 *
 * Works for small amounts of data that must come soon, like redundant, but a slow
 * path never falls behind. Fails for bulk data: only segments that find room on
 * several paths at once have duplicates, by chance.
 *
 * Differs from the source:
 * - spare_backups: the source does not look at the backup flag. On, a backup gets
 *   new data if no other is usable, and no duplicates.
 */

#include "parts/copies.h"
#include "parts/turns.h"

enum { SPARE_BACKUPS };

static const struct mps_param opportunistic_params[] = {
	[SPARE_BACKUPS] = MPS_BOOL("spare_backups", 0,
				   "use a backup if no other is usable, and for no duplicates"),
};

struct opportunistic_subflow {
	bool	copies;		/* it is to carry this segment, too */
	u64	copy_seq;
};

static struct opportunistic_subflow *state_of(struct mps_subflow *subflow)
{
	return mps_subflow_priv(subflow);
}

/* The segment that was sent last, on those that had room for it then. */
static bool opportunistic_copy(struct mps_conn *conn, struct mps_pick *pick)
{
	bool spare_backups = mps_param(conn, SPARE_BACKUPS);
	struct mps_segment *seg = mps_latest_sent(conn);
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow) {
		if (!state_of(subflow)->copies)
			continue;
		state_of(subflow)->copies = false;
		if (seg && mps_seq(conn, seg) == state_of(subflow)->copy_seq &&
		    !mps_carried_by(seg, subflow) && copies_available(subflow, spare_backups))
			return mps_pick_duplicate(pick, conn, subflow, seg);
	}
	return false;
}

static bool opportunistic_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *head = mps_head(conn);
	struct mps_subflow *subflow;

	if (mps_reinject(conn, pick) || opportunistic_copy(conn, pick))
		return true;
	subflow = head ? copies_lowest_rtt(conn, mps_param(conn, SPARE_BACKUPS)) : NULL;
	return subflow && mps_pick_new(pick, conn, subflow, head);
}

static void opportunistic_on_sent(struct mps_conn *conn, const struct mps_pick *pick, u32 bytes)
{
	bool spare_backups = mps_param(conn, SPARE_BACKUPS);
	struct mps_subflow *subflow;

	if (pick->kind != MPS_NEW)
		return;
	mps_for_each_subflow(conn, subflow) {
		state_of(subflow)->copies = subflow != pick->subflow &&
					    copies_available(subflow, spare_backups);
		state_of(subflow)->copy_seq = pick->seq;
	}
}

static struct mps_ops opportunistic_ops = {
	.next_segment	= opportunistic_next_segment,
	.get_subflow	= turns_get_subflow,
	.on_sent	= opportunistic_on_sent,
	.name		= "opportunistic",
	.owner		= THIS_MODULE,
	.conn_size	= sizeof(struct turns),
	.subflow_size	= sizeof(struct opportunistic_subflow),
	.params		= opportunistic_params,
	.num_params	= ARRAY_SIZE(opportunistic_params),
};

mps_scheduler(opportunistic_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler: new segments on all subflows that have room");
