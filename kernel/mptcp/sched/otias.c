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
 * Source: Yang, Wang, Amer, "Out-of-order Transmission for In-order Arrival
 * Scheduling for Multipath TCP", PAMS 2014; the module of Simone Ferlin in the
 * out-of-tree kernel v0.89.
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
 * - The paper's text was not at hand. Its formula is known as (queued - room) /
 *   cwnd round trips; the module adds the segment itself and rounds up, so that
 *   the first one on a full window waits for a round trip, not for none. That
 *   is what this does.
 * - A backup subflow is used only if no other is usable. The source does not
 *   look at the flag.
 * - A reinjection goes where the default scheduler of v0.9x would send it: the
 *   lowest RTT of those that have room, and so the soonest arrival.
 * - With rp, repeating the oldest segment and penalising are one. The module
 *   has them apart, and both off, as here.
 */

#include "mpsched.h"

enum { RP, RP_LIMIT };

static const struct mps_param otias_params[] = {
	[RP] = MPS_BOOL("rp", 0, "opportunistic retransmission and penalisation"),
	[RP_LIMIT] = MPS_BOOL("rp_limit", 0, "rp: by a limit beside cwnd, not by halving cwnd"),
};

/* How long it takes a segment that is handed to the subflow now. */
static u64 otias_arrival_us(const struct mps_subflow *subflow)
{
	u64 queued_pkts = DIV_ROUND_UP((u64)subflow->unsent_bytes, max(subflow->mss_bytes, 1U));
	u64 cwnd_pkts = max(mps_cwnd(subflow), 1U);
	u64 room_pkts = 0, rounds = 0;

	if (subflow->in_flight_pkts < cwnd_pkts)
		room_pkts = cwnd_pkts - subflow->in_flight_pkts;
	/* it is the (queued - room + 1)th of those that wait: rounded up */
	if (queued_pkts >= room_pkts)
		rounds = (queued_pkts - room_pkts) / cwnd_pkts + 1;
	return rounds * subflow->srtt_us + subflow->srtt_us / 2;
}

/* The first one in a tie; NULL: there is none whose queue moves on. */
static struct mps_subflow *otias_soonest(struct mps_conn *conn)
{
	bool backups = mps_only_backups(conn);
	struct mps_subflow *subflow, *best = NULL;
	u64 arrival_us, best_us = 0;

	mps_for_each_subflow(conn, subflow) {
		if (!mps_has_room_soon(subflow) || (subflow->backup && !backups))
			continue;
		arrival_us = otias_arrival_us(subflow);
		if (!best || arrival_us < best_us) {
			best = subflow;
			best_us = arrival_us;
		}
	}
	return best;
}

static bool otias_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *head = mps_head(conn);
	struct mps_subflow *best;

	/* if it must wait, nothing is queued before it meanwhile */
	if (mps_reinjection(conn))
		return mps_reinject(conn, pick);
	if (!head && !conn->writer_waits)
		return false;

	best = otias_soonest(conn);
	if (!best)
		return false;
	return mps_new_or_repeat(conn, best, head, mps_rp(conn, RP, RP_LIMIT), pick);
}

static struct mps_ops otias_ops = {
	.next_segment	= otias_next_segment,
	.name		= "otias",
	.owner		= THIS_MODULE,
	.params		= otias_params,
	.num_params	= ARRAY_SIZE(otias_params),
};

mps_scheduler(otias_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler OTIAS: out-of-order transmission for in-order arrival");
