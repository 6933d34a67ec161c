// SPDX-License-Identifier: GPL-2.0-only
/* overflow: the first path of an order that is not full.
 *
 * Paths have an order: regular ones first, then backups, which either end has
 * marked. Within each, the lowest place (placeN) comes first; in a tie, the oldest
 * subflow. Path 1 belongs to the first subflow, path 2 to the second, and so on to
 * 8. Each segment goes to the first path in this order that is not full. The next
 * path carries only the data that does not fit, without delay. Without
 * spare_backups, backups carry such data, too.
 *
 * A path is full when its congestion window is full, or when it reaches a second
 * limit, which bounds the queue on the way. Once in each round trip of a path, the
 * limit follows the smoothed RTT:
 *
 *	limit = min(limit, cwnd) x (least RTT + queue_ms) / RTT
 *
 * Thus a path that stays busy has a queue of about queue_ms. A limit of cwnd or
 * more has no effect. Data of a subflow in trouble goes to the first path that did
 * not carry it.
 *
 * Source: ours; asked for by people whose second line is metered or shared. The
 * limit is that of FAST TCP (Jin, Wei, Low, INFOCOM 2004), with a fixed queue in
 * milliseconds in place of packets.
 *
 * Works where one line should carry all it can, and others only the rest. At the
 * beginning of a transfer the window of the first path is small: the others carry
 * data that it could carry later. weighted waits instead, for patience_ms. A path
 * whose queue other traffic fills counts as full before it carries its part.
 *
 * Differs from the source: in nothing.
 */

#include "mpsched.h"

#define PLACES		8

/* less would keep a subflow from ever having two segments to acknowledge */
#define LIMIT_MIN_PKTS	2

/* Fractions of a packet add up: a limit of 2 that may grow by a third each time stays 2 in
 * whole packets.
 */
#define LIMIT_SHIFT	8

enum { PLACE1, QUEUE_MS = PLACE1 + PLACES, SPARE_BACKUPS };

static const struct mps_param overflow_params[] = {
	MPS_UINT("place1", 0, 1000, 0, "", "place of path 1 in the order; the lowest comes first"),
	MPS_UINT("place2", 0, 1000, 0, "", "place of path 2"),
	MPS_UINT("place3", 0, 1000, 0, "", "place of path 3"),
	MPS_UINT("place4", 0, 1000, 0, "", "place of path 4"),
	MPS_UINT("place5", 0, 1000, 0, "", "place of path 5"),
	MPS_UINT("place6", 0, 1000, 0, "", "place of path 6"),
	MPS_UINT("place7", 0, 1000, 0, "", "place of path 7"),
	MPS_UINT("place8", 0, 1000, 0, "", "place of path 8"),
	MPS_UINT("queue_ms", 0, 10000, 20, "ms",
		 "how long data may queue on a path that is not full; 0: only the window counts"),
	MPS_BOOL("spare_backups", 0, "use a backup subflow only if no other is usable"),
};

struct overflow_subflow {
	u64	limit;		/* packets << LIMIT_SHIFT; 0: none */
	u32	rounds;		/* the round trip of the latest limit */
};

/* Paths beyond the last parameter come last. */
static u32 overflow_place(const struct mps_conn *conn, const struct mps_subflow *subflow)
{
	return subflow->id <= PLACES ? mps_param(conn, PLACE1 + subflow->id - 1) : U32_MAX;
}

static bool overflow_is_before(const struct mps_conn *conn, const struct mps_subflow *one,
			       const struct mps_subflow *other)
{
	u32 place = overflow_place(conn, one), other_place = overflow_place(conn, other);

	if (one->backup != other->backup)
		return other->backup;
	if (place != other_place)
		return place < other_place;
	return one->id < other->id;
}

/* The first path that would send the segment at once: one that did not carry it, if there
 * is one. `seg` NULL stands for new data. NULL: wait.
 */
static struct mps_subflow *overflow_choose(struct mps_conn *conn, const struct mps_segment *seg)
{
	bool backups = mps_may_use_backups(conn, SPARE_BACKUPS);
	struct mps_subflow *subflow, *best = NULL;
	bool best_carried = false;

	mps_for_each_subflow(conn, subflow) {
		bool carried = seg && mps_carried_by(seg, subflow);

		if (!mps_available(subflow) || (subflow->backup && !backups))
			continue;
		if (!best || carried < best_carried ||
		    (carried == best_carried && overflow_is_before(conn, subflow, best))) {
			best = subflow;
			best_carried = carried;
		}
	}
	return best;
}

static void overflow_on_ack(struct mps_conn *conn, struct mps_subflow *subflow, u64 acked_bytes)
{
	struct overflow_subflow *state = mps_subflow_priv(subflow);
	u32 queue_us = mps_param(conn, QUEUE_MS) * USEC_PER_MSEC;
	u64 cwnd = (u64)subflow->cwnd_pkts << LIMIT_SHIFT, limit;

	if (!queue_us || state->rounds == subflow->rounds || !subflow->srtt_us ||
	    subflow->min_rtt_us == U32_MAX)
		return;
	state->rounds = subflow->rounds;
	limit = state->limit ? min(state->limit, cwnd) : cwnd;
	limit = mul_u64_u32_div(limit, subflow->min_rtt_us + queue_us, subflow->srtt_us);
	if (limit >= cwnd) {
		state->limit = 0;
		mps_set_limit(subflow, ~0);
		return;
	}
	state->limit = max_t(u64, limit, LIMIT_MIN_PKTS << LIMIT_SHIFT);
	mps_set_limit(subflow, state->limit >> LIMIT_SHIFT);
}

static bool overflow_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *seg = mps_reinjection(conn);
	struct mps_subflow *subflow;

	if (seg) {
		subflow = overflow_choose(conn, seg);
		return subflow && mps_pick_reinjection(pick, conn, subflow, seg);
	}
	seg = mps_head(conn);
	subflow = seg ? overflow_choose(conn, NULL) : NULL;
	return subflow && mps_pick_new(pick, conn, subflow, seg);
}

static struct mps_ops overflow = {
	.next_segment	= overflow_next_segment,
	.get_subflow	= overflow_choose,
	.on_ack		= overflow_on_ack,
	.name		= "overflow",
	.owner		= THIS_MODULE,
	/* it picks the same subflow again while that one has room */
	.choice_bytes	= SZ_64K,
	.subflow_size	= sizeof(struct overflow_subflow),
	.params		= overflow_params,
	.num_params	= ARRAY_SIZE(overflow_params),
};

mps_scheduler(overflow);

MODULE_DESCRIPTION("MPTCP scheduler: the next path only when the first ones are full");
MODULE_LICENSE("GPL");
