// SPDX-License-Identifier: GPL-2.0-only
/* otias: where the segment arrives soonest, its wait in a queue included.
 *
 * Each segment, in order, goes to the subflow on which it is estimated to
 * arrive first: after the round trips that it waits for room in the congestion
 * window, behind what is queued there already, and half a round trip on the
 * way. So a segment is queued on a fast subflow whose window is full, when that
 * is sooner, and the next ones leave on a slower one before it: sent out of
 * order, so that they arrive in order.
 *
 * A segment that is sent again is not queued: it goes where it arrives soonest of
 * those that have room, if possible to one that did not carry it.
 *
 * Source: Yang, Wang, Amer, "Out-of-order Transmission for In-order Arrival
 * Scheduling for Multipath TCP", PAMS 2014: we did not have its text; the module
 * of Simone Ferlin in the out-of-tree kernel v0.89.
 *
 * Works where RTTs differ and stay as they are: little waits at the receiver.
 * Fails where they change: what is queued on a subflow cannot move any more,
 * and when the subflow fails, all of its queue is to be sent again. Half the
 * RTT stands for the delay of the path, a round trip for the time until there
 * is room, however soon that comes, and the window for the rate.
 *
 * Look-ahead: there is no plan. The queues hold at most what the receive window
 * and the send buffer admit.
 *
 * Differs from the source:
 * - spare_backups: the module does not look whether a subflow is a backup. On, one
 *   is used only if no other is usable.
 * - rp_limit: the module, when it penalises, halves cwnd and ssthresh of a
 *   subflow. On, all slower ones that carry the oldest segment get a limit.
 * - always: the module queues data where nothing is in flight although there is
 *   no room, and so no acknowledgment will come. Here that subflow gets none.
 * - always: the module's round trips of 32 bits overflow. Here they are of 64.
 */

#include "mpsched.h"

enum { SPARE_BACKUPS, RP, RP_LIMIT };

static const struct mps_param otias_params[] = {
	[SPARE_BACKUPS] = MPS_BOOL("spare_backups", 0,
				   "use a backup subflow only if no other is usable"),
	[RP]		= MPS_BOOL("rp", 0, "opportunistic retransmission and penalisation"),
	[RP_LIMIT]	= MPS_BOOL("rp_limit", 0,
				   "rp: by a limit beside cwnd, not by halving cwnd"),
};

/* How long it takes a segment that is handed to the subflow now. */
static u64 otias_arrival_us(const struct mps_subflow *subflow)
{
	u64 queued_pkts = DIV_ROUND_UP_ULL(subflow->unsent_bytes, max(subflow->mss_bytes, 1U));
	u64 cwnd_pkts = max(mps_cwnd(subflow), 1U);
	u64 room_pkts = 0, rounds = 0;

	if (subflow->in_flight_pkts < cwnd_pkts)
		room_pkts = cwnd_pkts - subflow->in_flight_pkts;
	/* it is the (queued - room + 1)th of those that wait: rounded up */
	if (queued_pkts >= room_pkts)
		rounds = div64_u64(queued_pkts - room_pkts, cwnd_pkts) + 1;
	return rounds * subflow->srtt_us + subflow->srtt_us / 2;
}

/* The soonest arrival of those whose queue moves on, the first one in a tie. NULL as
 * segment stands for new data, which may be queued, unless there is one subflow
 * only. NULL: wait.
 */
static struct mps_subflow *otias_get_subflow(struct mps_conn *conn, const struct mps_segment *seg)
{
	bool backups = mps_may_use_backups(conn, SPARE_BACKUPS);
	bool queues = !seg && !list_is_singular(&conn->subflows);
	bool carried, best_carried = false;
	struct mps_subflow *subflow, *best = NULL;
	u64 arrival_us, best_us = 0;

	mps_for_each_subflow(conn, subflow) {
		if (!mps_has_room_soon(subflow) || mps_throttled(subflow) ||
		    (subflow->backup && !backups) ||
		    !(queues || mps_has_room(subflow)))
			continue;
		carried = seg && mps_carried_by(seg, subflow);
		arrival_us = otias_arrival_us(subflow);
		if (best && (carried > best_carried ||
			     (carried == best_carried && arrival_us >= best_us)))
			continue;
		best = subflow;
		best_carried = carried;
		best_us = arrival_us;
	}
	return best;
}

/* Only one subflow is penalised, as in v0.94 and before. */
static enum mps_rp otias_rp(const struct mps_conn *conn)
{
	enum mps_rp rp = mps_rp(conn, RP, RP_LIMIT);

	return rp == MPS_RP_HALVE ? MPS_RP_HALVE_ONE : rp;
}

static bool otias_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *again = mps_reinjection(conn), *head = mps_head(conn);
	struct mps_subflow *best;

	if (!again && !head && !conn->writer_waits)
		return false;
	best = otias_get_subflow(conn, again);
	if (!best)
		return false;
	if (again)
		return mps_pick_reinjection(pick, conn, best, again);
	return mps_new_or_repeat(conn, best, head, otias_rp(conn), pick);
}

static struct mps_ops otias_ops = {
	.next_segment	= otias_next_segment,
	.get_subflow	= otias_get_subflow,
	.name		= "otias",
	.owner		= THIS_MODULE,
	.params		= otias_params,
	.num_params	= ARRAY_SIZE(otias_params),
};

mps_scheduler(otias_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler OTIAS: out-of-order transmission for in-order arrival");
